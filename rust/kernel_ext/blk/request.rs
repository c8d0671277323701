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

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Make all completed writes durable.
    Flush,
    /// Discard a range.
    Discard,
    /// Fill a range with zeroes.
    WriteZeroes,
    /// Any other operation.
    Other,
}

/// Direction of a request's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the disk.
    Out,
    /// From the disk.
    In,
}

/// Bits of a request's flags that contain the operation.
const OP_MASK: u32 = 0xff;

/// Send history of a request, over all connections that it was sent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct History {
    /// Time of the first send, in nanoseconds of the monotonic clock.
    pub(crate) first_ns: u64,
    /// Number of times that the request was sent and not answered.
    pub(crate) losses: u32,
    /// Number of consecutive losses, up to the latest, in which no other request was answered after
    /// this one was sent.
    pub(crate) in_vain: u32,
}

impl History {
    /// Creates the history of a request that is first sent at `first_ns` of the monotonic clock.
    pub(crate) fn first(first_ns: u64) -> Self {
        Self {
            first_ns,
            losses: 0,
            in_vain: 0,
        }
    }
}

/// A started request. The owner must end or requeue it; dropping it ends it with `EIO`.
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
    /// Takes ownership of a started request.
    ///
    /// # Safety
    ///
    /// `raw` is such a request, and nobody else ends or requeues it.
    pub(super) unsafe fn from_raw(raw: NonNull<bindings::request>) -> Self {
        // INVARIANT: By the function's requirements.
        Self { raw }
    }

    /// Gives up the ownership without ending the request.
    pub(super) fn release(self) {
        let _ = ManuallyDrop::new(self);
    }

    fn raw(&self) -> &bindings::request {
        // SAFETY: By the type invariant; what is read through it does not change
        // while the request is started.
        unsafe { self.raw.as_ref() }
    }

    /// Returns the operation.
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

    /// Returns the direction of the data; `None` for a request without data.
    pub(crate) fn direction(&self) -> Option<Direction> {
        match self.op() {
            Op::Read => Some(Direction::In),
            Op::Write => Some(Direction::Out),
            _ => None,
        }
    }

    /// Returns true if written data must be durable when the request ends.
    pub(crate) fn is_fua(&self) -> bool {
        self.raw().cmd_flags & (1 << bindings::req_flag_bits___REQ_FUA) != 0
    }

    /// Returns true if zeroed blocks must keep their allocated space.
    pub(crate) fn keeps_space(&self) -> bool {
        self.raw().cmd_flags & (1 << bindings::req_flag_bits___REQ_NOUNMAP) != 0
    }

    /// Returns how often the disk was opened while nobody had it open, modulo 2^32.
    pub(crate) fn uses(&self) -> u32 {
        // SAFETY: By the type invariant the request is started, so its disk has not been removed.
        unsafe { super::uses::uses(self.raw().q) }
    }

    /// Returns the position on the disk, in bytes.
    pub(crate) fn offset(&self) -> u64 {
        self.raw().__sector << bindings::SECTOR_SHIFT
    }

    /// Returns the number of bytes on the disk that the request covers.
    pub(crate) fn bytes(&self) -> u32 {
        self.raw().__data_len
    }

    /// Returns the tag, which is unique among the outstanding requests of the hardware queue.
    pub(crate) fn tag(&self) -> usize {
        usize::try_from(self.raw().tag).unwrap_or(usize::MAX)
    }

    /// Returns the time when the request was created, in nanoseconds of the monotonic clock; `None`
    /// if the disk's `iostats` are off.
    pub(crate) fn started_ns(&self) -> Option<u64> {
        // SAFETY: By the type invariant; a flag is read that does not change.
        let timed = unsafe { bindings::rust_helper_request_is_timed(self.raw.as_ptr()) };
        timed.then(|| self.raw().start_time_ns)
    }

    /// Returns the send history of a request that was sent before.
    pub(crate) fn history(&self) -> Option<History> {
        let raw = self.raw.as_ptr();
        // SAFETY: By the type invariant the request is there. The tag set has room for a
        // `History` behind each request, which was written when the mark was set. The block
        // layer takes the mark from each new request, and from no other.
        unsafe {
            bindings::rust_helper_request_is_repeated(raw).then(|| {
                bindings::rust_helper_request_data(raw)
                    .cast::<History>()
                    .read()
            })
        }
    }

    /// Stores the send history, for as long as the request is repeated. Any context.
    pub(crate) fn set_history(&mut self, history: History) {
        let raw = self.raw.as_ptr();
        // SAFETY: As for `history`. The request is ours, so nobody else writes there. Of what is
        // beside the mark only the block layer's timer writes meanwhile, on which nothing hangs:
        // there is nothing to be done when it expires.
        unsafe {
            bindings::rust_helper_request_data(raw)
                .cast::<History>()
                .write(history);
            bindings::rust_helper_mark_repeated(raw);
        }
    }

    /// Writes the request's segments to `list`, and returns their number.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a request without data, or with more segments than `list` has room for.
    pub(crate) fn fill(&self, list: &mut [bindings::scatterlist]) -> Result<usize> {
        let segments = self.raw().nr_phys_segments.max(1);
        if self.direction().is_none() || usize::from(segments) > list.len() {
            return Err(EINVAL);
        }
        // SAFETY: The list has room for all segments of the request, which is
        // started, so that its memory stays. No more than these are written, and the rest of
        // the list, which may be long, is left alone.
        let count = unsafe {
            bindings::sg_init_table(list.as_mut_ptr(), u32::from(segments));
            bindings::rust_helper_blk_rq_map_sg(self.raw.as_ptr(), list.as_mut_ptr())
        };
        usize::try_from(count).map_err(|_| EINVAL)
    }

    /// Copies the data of a write to `offset` of `to`. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` for any other operation, or if `to` has too little room.
    pub(crate) fn copy_to(&self, to: &Contiguous, offset: usize) -> Result {
        self.check(Direction::Out, to, offset)?;
        // SAFETY: The request is started, so its memory stays; `to` has room for it.
        unsafe {
            bindings::rust_helper_copy_request(self.raw.as_ptr(), to.as_ptr().add(offset).cast())
        };
        Ok(())
    }

    /// Copies data for a read from `offset` of `from`. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` for any other operation, or if `from` has too little data.
    pub(crate) fn copy_from(&self, from: &Contiguous, offset: usize) -> Result {
        self.check(Direction::In, from, offset)?;
        // SAFETY: As for `copy_to`.
        unsafe {
            bindings::rust_helper_fill_request(self.raw.as_ptr(), from.as_ptr().add(offset).cast())
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

    /// Ends the request with a positive `errno` or 0. Softirq or process context. The completion
    /// may run other code of the block layer's users, so the caller must not hold any lock of the
    /// driver.
    pub(crate) fn end(self, errno: i32) {
        let this = ManuallyDrop::new(self);
        // SAFETY: By the type invariant the request is ours to end.
        unsafe {
            let status = bindings::errno_to_blk_status(errno.saturating_neg());
            bindings::blk_mq_end_request(this.raw.as_ptr(), status);
        }
    }

    /// Requeues the request. It is queued again when the disk's requeue list is kicked. Any
    /// context.
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
