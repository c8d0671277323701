// SPDX-License-Identifier: GPL-2.0

//! Watching the requests of a disk that somebody else made and uses.
//!
//! A [`Tap`] hooks two tracepoints. At `block_io_start` a program has begun a request;
//! at `block_rq_issue` the disk's driver is given one. Between the two, requests wait,
//! and whoever lets the disk's queue run hands over those of others: only the first
//! tells whose a request is. What is common to both is its [`Request::place`].
//!
//! The disk is held open while it is tapped, so neither it nor its queue is another
//! one's; it may be removed all the same, after which no request comes.
//!
//! C headers: `include/linux/blkdev.h`, `include/linux/blk-mq.h`,
//! `include/trace/events/block.h`

use super::{
    area::Area,
    file::{
        Identity,
        Kind,
        Mode,
        OpenFile, //
    },
    tracepoint::Registration, //
};
use crate::bindings;
use core::{
    iter,
    marker::PhantomData,
    ptr::NonNull, //
};
use kernel::{
    ffi::{
        c_char,
        c_int,
        c_void, //
    },
    prelude::*,
    sync::Arc, //
};

/// Requests that a hardware queue can have under way at most.
const MAX_DEPTH: usize = bindings::BLK_MQ_MAX_DEPTH as usize;

/// A disk or a partition that is held open, to be looked at only. Units are bytes.
///
/// # Invariants
///
/// `file` is a block device, and `queue` its queue, which has requests; `start` and `size`
/// say which part of the disk it is.
pub(crate) struct Disk {
    file: OpenFile,
    queue: NonNull<bindings::request_queue>,
    start: u64,
    size: u64,
    block: u32,
    hardware_queues: u32,
}

// SAFETY: The queue is only compared with others.
unsafe impl Send for Disk {}
// SAFETY: As above; the file is `Sync`.
unsafe impl Sync for Disk {}

impl Disk {
    /// Opens the disk or partition at `path`, with the rights and as seen by the calling
    /// task. May sleep.
    ///
    /// # Errors
    ///
    /// As `open(2)` has them; `ENOTBLK` for what is no block device; `EOPNOTSUPP` for one
    /// that has no requests, or whose writes do not say where they go (zoned disks).
    pub(crate) fn open(path: &CStr) -> Result<Self> {
        let file = match OpenFile::open(path, Mode::Read) {
            Ok(file) if file.kind() == Kind::Block => file,
            Ok(_) => return Err(ENOTBLK),
            Err(error) if error == EINVAL => return Err(ENOTBLK),
            Err(error) => return Err(error),
        };
        // SAFETY: The file is that of a block device, whose queue and disk live as
        // long as it is open.
        unsafe {
            let device = bindings::krping_file_bdev(file.as_ptr());
            if !bindings::krping_bdev_has_requests(device) {
                return Err(Error::from_errno(-(bindings::EOPNOTSUPP as c_int)));
            }
            let queue = bindings::krping_bdev_queue(device);
            // INVARIANT: That queue has requests, as has been asked just now.
            Ok(Self {
                file,
                queue: NonNull::new(queue).ok_or(ENXIO)?,
                start: bindings::krping_bdev_start(device),
                size: bindings::krping_bdev_size(device),
                block: bindings::krping_bdev_block(device),
                hardware_queues: (*queue).nr_hw_queues,
            })
        }
    }

    /// What tells it from others.
    pub(crate) fn identity(&self) -> Identity {
        self.file.identity()
    }

    /// How large it is.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The unit in which it is addressed.
    pub(crate) fn block(&self) -> u32 {
        self.block
    }

    /// How many [places](Request::place) its requests have.
    pub(crate) fn places(&self) -> usize {
        (self.hardware_queues as usize).saturating_mul(MAX_DEPTH)
    }

    /// Whether it has not been removed.
    pub(crate) fn is_there(&self) -> bool {
        // SAFETY: By the type invariant the file is an open block device.
        unsafe { bindings::krping_file_bdev_is_there(self.file.as_ptr()) }
    }

    /// The part of `len` bytes at `first` of the whole disk that is within it.
    fn clip(&self, first: u64, len: u32) -> Option<Range> {
        let end = first.saturating_add(u64::from(len));
        let from = first.max(self.start);
        let to = end.min(self.start.saturating_add(self.size));
        // Neither exceeds `len`.
        (from < to).then(|| Range {
            offset: from.wrapping_sub(self.start),
            bytes: to.wrapping_sub(from) as u32,
            skip: from.wrapping_sub(first) as u32,
        })
    }
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Makes durable what has been written.
    Flush,
    /// Gives up what is there.
    Discard,
    /// Gives up what is there, beyond recovery.
    SecureErase,
    /// Writes zeroes.
    WriteZeroes,
}

/// Where on the tapped disk or partition a request works. Units are bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    /// From here.
    pub(crate) offset: u64,
    /// So many.
    pub(crate) bytes: u32,
    /// How much of the request's data comes before those.
    pub(crate) skip: u32,
}

/// A request of a tapped disk, while a probe looks at it. It cannot be changed.
///
/// # Invariants
///
/// `raw` is a request of `disk` for `'a`, of which nobody changes meanwhile what is read here:
/// its driver has not been given it yet. Other fields may change, so no reference to it is made.
pub(crate) struct Request<'a> {
    raw: NonNull<bindings::request>,
    disk: &'a Disk,
    _during: PhantomData<&'a bindings::request>,
}

impl Request<'_> {
    /// What it does; `None` for what is no matter of blocks, such as a command of a
    /// user's to the drive.
    pub(crate) fn operation(&self) -> Option<Operation> {
        // SAFETY: By the type invariant.
        match unsafe { bindings::krping_rq_op(self.raw.as_ptr()) } {
            bindings::req_op_REQ_OP_READ => Some(Operation::Read),
            bindings::req_op_REQ_OP_WRITE => Some(Operation::Write),
            bindings::req_op_REQ_OP_FLUSH => Some(Operation::Flush),
            bindings::req_op_REQ_OP_DISCARD => Some(Operation::Discard),
            bindings::req_op_REQ_OP_SECURE_ERASE => Some(Operation::SecureErase),
            bindings::req_op_REQ_OP_WRITE_ZEROES => Some(Operation::WriteZeroes),
            _ => None,
        }
    }

    /// Whether the disk has to make it durable before it says that it is done.
    pub(crate) fn is_fua(&self) -> bool {
        // SAFETY: By the type invariant.
        unsafe { bindings::krping_rq_is_fua(self.raw.as_ptr()) }
    }

    /// The place that it has from its beginning to its end, and that no other request of
    /// the disk has meanwhile; but a flush has that of the request which asked for it.
    /// Below [`Disk::places`], unless the disk has been given more queues since.
    pub(crate) fn place(&self) -> usize {
        // SAFETY: By the type invariant; its hardware queue is that of its disk.
        let (queue, tag, scheduler_tag) = unsafe {
            let raw = self.raw.as_ptr();
            let queue = (*(*raw).mq_hctx).queue_num;
            (queue, (*raw).tag, (*raw).internal_tag)
        };
        // With a scheduler, the driver's tag comes late.
        let tag = usize::try_from(scheduler_tag).or(usize::try_from(tag));
        (queue as usize)
            .saturating_mul(MAX_DEPTH)
            .saturating_add(tag.unwrap_or(usize::MAX))
    }

    /// Where on the tapped disk or partition it works. Only discards have more than one
    /// range; a flush, and what is for other partitions, has none.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range> + '_ {
        let several = matches!(
            self.operation(),
            Some(Operation::Discard | Operation::SecureErase)
        );
        let whole = (!several).then(|| {
            // SAFETY: By the type invariant.
            unsafe {
                (
                    bindings::krping_rq_offset(self.raw.as_ptr()),
                    bindings::krping_rq_bytes(self.raw.as_ptr()),
                )
            }
        });
        // The kernel crate's prelude has another `chain`.
        Iterator::chain(whole.into_iter(), self.bios().filter(move |_| several))
            .filter_map(|(first, len)| self.disk.clip(first, len))
    }

    /// First byte and length of what each of its bios is about. Only a discard's may lie
    /// apart.
    fn bios(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        // SAFETY: By the type invariant; its bios are its own.
        let first = NonNull::new(unsafe { (*self.raw.as_ptr()).bio });
        iter::successors(first, |bio| {
            // SAFETY: As above.
            NonNull::new(unsafe { (*bio.as_ptr()).bi_next })
        })
        .map(|bio| {
            // SAFETY: As above.
            let at = unsafe { (*bio.as_ptr()).bi_iter };
            (at.bi_sector << bindings::SECTOR_SHIFT, at.bi_size)
        })
    }

    /// Copies `len` bytes of a write's data, from `skip` on, to `offset` of `to`. Any
    /// context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where it has not so many, or `to` has not; some may have been copied.
    pub(crate) fn copy(&self, skip: usize, to: &Area, offset: usize, len: usize) -> Result {
        if self.operation() != Some(Operation::Write) {
            return Err(EINVAL);
        }
        let to = to.at(offset, len)?;
        // SAFETY: By the type invariant, and a write's bios have data. `to` is valid for
        // so many bytes. A program may change its data meanwhile, in which case the disk
        // gets this or that just as well.
        let copied = unsafe { bindings::krping_rq_copy(self.raw.as_ptr(), skip, to.cast(), len) };
        if copied == len {
            Ok(())
        } else {
            Err(EINVAL)
        }
    }
}

/// Who looks at the requests of a tapped disk. In any context, in the way of the disk's
/// I/O: must neither sleep nor wait.
pub(crate) trait Watch: Send + Sync + 'static {
    /// A program, which is the calling task, has begun a request. Only for a [`Tap`] that
    /// follows programs.
    fn started(&self, request: &Request<'_>);

    /// The driver is about to be given a request: for the first time, or again after it
    /// has handed it back.
    fn issued(&self, request: &Request<'_>);
}

/// A disk, and who watches it.
pub(crate) struct Tapped<W> {
    /// The disk.
    pub(crate) disk: Disk,
    /// Who watches it.
    pub(crate) watch: W,
}

/// The hooks on a disk. Dropping it removes them, and waits until no probe runs.
pub(crate) struct Tap<W: Watch> {
    _issued: Registration<Tapped<W>>,
    _started: Option<Registration<Tapped<W>>>,
}

impl<W: Watch> Tap<W> {
    /// Begins to watch, and with `programs` to tell whose requests are whose. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOENT` where the kernel has not these tracepoints; `ENOMEM`.
    pub(crate) fn new(tapped: &Arc<Tapped<W>>, programs: bool) -> Result<Self> {
        let started = if programs {
            let probe: Probe = probe_started::<W>;
            let probe = NonNull::new(probe as *mut c_void).ok_or(EINVAL)?;
            // SAFETY: The tracepoint has one argument, the request, as the probe.
            Some(unsafe { Registration::new(c"block_io_start", probe, tapped.clone()) }?)
        } else {
            None
        };
        let probe: Probe = probe_issued::<W>;
        let probe = NonNull::new(probe as *mut c_void).ok_or(EINVAL)?;
        Ok(Self {
            // SAFETY: As above.
            _issued: unsafe { Registration::new(c"block_rq_issue", probe, tapped.clone()) }?,
            _started: started,
        })
    }
}

impl<W: Watch> Tapped<W> {
    /// `rq`, if it is one of the disk's.
    ///
    /// # Safety
    ///
    /// `rq` is a request as [`Request`] demands it, as long as the result is used.
    unsafe fn request(&self, rq: *mut bindings::request) -> Option<Request<'_>> {
        let raw = NonNull::new(rq)?;
        // SAFETY: By the function's requirements.
        let queue = unsafe { (*raw.as_ptr()).q };
        // INVARIANT: A queue is one disk's, and this one is held open.
        (queue == self.disk.queue.as_ptr()).then_some(Request {
            raw,
            disk: &self.disk,
            _during: PhantomData,
        })
    }
}

/// A probe of these tracepoints. Its type is exactly that which the kernel calls: where it checks
/// indirect calls (CFI), another pointer in place of `void *` would stop it.
type Probe = unsafe extern "C" fn(*mut c_void, *mut bindings::request);

/// The probe of `block_io_start`.
///
/// # Safety
///
/// Called at that tracepoint with what it was registered with: `tapped` is a `Tapped<W>`.
unsafe extern "C" fn probe_started<W: Watch>(tapped: *mut c_void, rq: *mut bindings::request) {
    // SAFETY: The registration holds the data until no probe runs. The request belongs
    // to the calling task, which is here.
    unsafe {
        let tapped = &*tapped.cast::<Tapped<W>>();
        if let Some(request) = tapped.request(rq) {
            tapped.watch.started(&request);
        }
    }
}

/// The probe of `block_rq_issue`.
///
/// # Safety
///
/// Called at that tracepoint with what it was registered with: `tapped` is a `Tapped<W>`.
unsafe extern "C" fn probe_issued<W: Watch>(tapped: *mut c_void, rq: *mut bindings::request) {
    // SAFETY: The registration holds the data until no probe runs. The request belongs to
    // the driver, which is here to begin it.
    unsafe {
        let tapped = &*tapped.cast::<Tapped<W>>();
        if let Some(request) = tapped.request(rq) {
            tapped.watch.issued(&request);
        }
    }
}

/// The longest name of a task, with the NUL at its end.
const NAME_LEN: usize = bindings::TASK_COMM_LEN as usize;

/// Whether the calling task is called `name`. Any context that is a task's.
pub(crate) fn caller_is(name: &[u8]) -> bool {
    let mut comm: [c_char; NAME_LEN] = [0; NAME_LEN];
    // SAFETY: There is room for a name. A rename may run at the same time, and mix both.
    unsafe { bindings::krping_current_comm(comm.as_mut_ptr()) };
    let len = comm.iter().position(|byte| *byte == 0).unwrap_or(NAME_LEN);
    comm.iter().take(len).eq(name)
}
