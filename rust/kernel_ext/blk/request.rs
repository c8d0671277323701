// SPDX-License-Identifier: GPL-2.0

//! Requests to a disk.
//!
//! C header: `include/linux/blk-mq.h`

use crate::{
    bindings,
    kernel_ext::pages::Contiguous, //
};
use core::{
    mem::ManuallyDrop,
    ptr::NonNull, //
};
use kernel::prelude::*;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// To read.
    Read,
    /// To write.
    Write,
    /// To make lasting all that was written.
    Flush,
    /// To forget a range.
    Discard,
    /// To fill a range with zeroes.
    WriteZeroes,
    /// Something else.
    Other,
}

/// Where the data of a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the disk.
    Out,
    /// From the disk.
    In,
}

/// The bits of a request's flags that say what it asks for.
const OP_MASK: u32 = 0xff;

/// What has become of a request so far, over all connections that it was sent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct History {
    /// When it was sent first, in nanoseconds of the monotonic clock.
    pub(crate) first_ns: u64,
    /// How often it was sent and not answered.
    pub(crate) losses: u32,
    /// How often of these, the last ones in a row, nothing else was answered either after it.
    pub(crate) in_vain: u32,
}

impl History {
    /// That of a request which is sent for the first time, at `first_ns` of the monotonic clock.
    pub(crate) fn first(first_ns: u64) -> Self {
        Self {
            first_ns,
            losses: 0,
            in_vain: 0,
        }
    }
}

/// A started request, which its owner must end or requeue.
///
/// # Invariants
///
/// `raw` is a request that has been started, and that nobody else ends or requeues.
pub(crate) struct Request {
    raw: NonNull<bindings::request>,
}

// SAFETY: The owner of a started request may work on it from any context.
unsafe impl Send for Request {}
// SAFETY: Methods that take `&self` only read what does not change while it is
// started, or copy its data, for which any context will do.
unsafe impl Sync for Request {}

impl Request {
    /// Takes over a request that has been started.
    ///
    /// # Safety
    ///
    /// `raw` is such a request, and nobody else ends or requeues it.
    pub(super) unsafe fn from_raw(raw: NonNull<bindings::request>) -> Self {
        // INVARIANT: By the function's requirements.
        Self { raw }
    }

    /// Gives up the ownership, not the request.
    pub(super) fn release(self) {
        let _ = ManuallyDrop::new(self);
    }

    fn raw(&self) -> &bindings::request {
        // SAFETY: By the type invariant; what is read through it does not change
        // while the request is started.
        unsafe { self.raw.as_ref() }
    }

    /// What it asks for.
    pub(crate) fn op(&self) -> Op {
        match self.raw().cmd_flags & OP_MASK {
            bindings::req_op_REQ_OP_READ => Op::Read,
            bindings::req_op_REQ_OP_WRITE => Op::Write,
            bindings::req_op_REQ_OP_FLUSH => Op::Flush,
            bindings::req_op_REQ_OP_DISCARD => Op::Discard,
            bindings::req_op_REQ_OP_WRITE_ZEROES => Op::WriteZeroes,
            _ => Op::Other,
        }
    }

    /// Where its data goes; `None` for one without data.
    pub(crate) fn direction(&self) -> Option<Direction> {
        match self.op() {
            Op::Read => Some(Direction::In),
            Op::Write => Some(Direction::Out),
            _ => None,
        }
    }

    /// Whether what it writes must last when it ends.
    pub(crate) fn is_fua(&self) -> bool {
        self.raw().cmd_flags & (1 << bindings::req_flag_bits___REQ_FUA) != 0
    }

    /// Whether blocks that it zeroes keep the space that they take.
    pub(crate) fn keeps_space(&self) -> bool {
        self.raw().cmd_flags & (1 << bindings::req_flag_bits___REQ_NOUNMAP) != 0
    }

    /// How often its disk was opened while nobody had it open, modulo 2^32.
    pub(crate) fn uses(&self) -> u32 {
        // SAFETY: By the type invariant the request is started, so its disk has not been removed.
        unsafe { super::disk::uses(self.raw().q) }
    }

    /// Where on the disk, in bytes.
    pub(crate) fn offset(&self) -> u64 {
        self.raw().__sector << bindings::SECTOR_SHIFT
    }

    /// How many bytes of the disk.
    pub(crate) fn bytes(&self) -> u32 {
        self.raw().__data_len
    }

    /// Its number among those of its hardware queue that are under way.
    pub(crate) fn tag(&self) -> usize {
        usize::try_from(self.raw().tag).unwrap_or(usize::MAX)
    }

    /// When it was made, in nanoseconds of the monotonic clock; `None` where the disk's
    /// `iostats` are off, so that nobody looked.
    pub(crate) fn started_ns(&self) -> Option<u64> {
        // SAFETY: By the type invariant; a flag is read that does not change.
        let timed = unsafe { bindings::krping_request_is_timed(self.raw.as_ptr()) };
        timed.then(|| self.raw().start_time_ns)
    }

    /// What has become of it, where it was sent before.
    pub(crate) fn history(&self) -> Option<History> {
        let raw = self.raw.as_ptr();
        // SAFETY: By the type invariant the request is there. The tag set has room for a
        // `History` behind each request, which was written when the mark was set. The block
        // layer takes the mark from each new request, and from no other.
        unsafe {
            bindings::krping_request_is_repeated(raw)
                .then(|| bindings::krping_request_data(raw).cast::<History>().read())
        }
    }

    /// Notes what has become of it, for as long as it is repeated. Any context.
    pub(crate) fn set_history(&mut self, history: History) {
        let raw = self.raw.as_ptr();
        // SAFETY: As for `history`. The request is ours, so nobody else writes there. Of what is
        // beside the mark only the block layer's timer writes meanwhile, on which nothing hangs:
        // there is nothing to be done when it expires.
        unsafe {
            bindings::krping_request_data(raw)
                .cast::<History>()
                .write(history);
            bindings::krping_mark_repeated(raw);
        }
    }

    /// Writes its segments to `list`, and returns how many there are.
    ///
    /// # Errors
    ///
    /// `EINVAL` for one without data, or with more segments than `list` has room for.
    pub(crate) fn fill(&self, list: &mut [bindings::scatterlist]) -> Result<usize> {
        let segments = self.raw().nr_phys_segments.max(1);
        if self.direction().is_none() || usize::from(segments) > list.len() {
            return Err(EINVAL);
        }
        let mut last = core::ptr::null_mut();
        // SAFETY: The list has room for all segments of the request, which is
        // started, so that its memory stays. No more than these are written, and the rest of
        // the list, which may be long, is left alone.
        let count = unsafe {
            bindings::sg_init_table(list.as_mut_ptr(), u32::from(segments));
            bindings::__blk_rq_map_sg(self.raw.as_ptr(), list.as_mut_ptr(), &mut last)
        };
        usize::try_from(count).map_err(|_| EINVAL)
    }

    /// Copies what it writes to `offset` of `to`. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where it writes nothing, or more than there is room for.
    pub(crate) fn copy_to(&self, to: &Contiguous, offset: usize) -> Result {
        self.check(Direction::Out, to, offset)?;
        // SAFETY: The request is started, so its memory stays; `to` has room for it.
        unsafe { bindings::krping_copy_request(self.raw.as_ptr(), to.as_ptr().add(offset).cast()) };
        Ok(())
    }

    /// Copies what it reads from `offset` of `from`. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where it reads nothing, or more than is there.
    pub(crate) fn copy_from(&self, from: &Contiguous, offset: usize) -> Result {
        self.check(Direction::In, from, offset)?;
        // SAFETY: As for `copy_to`.
        unsafe {
            bindings::krping_fill_request(self.raw.as_ptr(), from.as_ptr().add(offset).cast())
        };
        Ok(())
    }

    fn check(&self, direction: Direction, memory: &Contiguous, offset: usize) -> Result {
        let end = offset.checked_add(self.bytes() as usize);
        let fits = end.is_some_and(|end| end <= memory.len());
        if self.direction() == Some(direction) && fits {
            Ok(())
        } else {
            Err(EINVAL)
        }
    }

    /// Ends it, with a positive `errno` or 0. Softirq or process context; what
    /// follows from the end may run in it, so no lock of the driver's is held.
    pub(crate) fn end(self, errno: i32) {
        let this = ManuallyDrop::new(self);
        // SAFETY: By the type invariant the request is ours to end.
        unsafe {
            let status = bindings::errno_to_blk_status(errno.saturating_neg());
            bindings::blk_mq_end_request(this.raw.as_ptr(), status);
        }
    }

    /// Gives it back, to be queued again when the disk's requeued requests are
    /// kicked. Any context.
    pub(crate) fn requeue(self) {
        let this = ManuallyDrop::new(self);
        // SAFETY: By the type invariant the request is ours.
        unsafe { bindings::blk_mq_requeue_request(this.raw.as_ptr(), false) };
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; `end` and the like do not come here.
        unsafe {
            let status = bindings::errno_to_blk_status(EIO.to_errno());
            bindings::blk_mq_end_request(self.raw.as_ptr(), status);
        }
    }
}
