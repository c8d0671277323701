// SPDX-License-Identifier: GPL-2.0

//! Watches the requests of a disk that somebody else created and uses.
//!
//! A [`Tap`] hooks two tracepoints. At `block_io_start` a program has begun a request; at
//! `block_rq_issue` the disk's driver gets one. In between, requests wait, and whoever runs the
//! disk's queue also issues the requests of others, so only the first tracepoint tells whose
//! request it is. Both identify a request by its [`Request::place`].
//!
//! The disk is held open while it is tapped, so neither the disk nor its queue can be reused for
//! another one. The disk may be removed all the same; then no request comes any more.
//!
//! C headers: `include/linux/blkdev.h`, `include/linux/blk-mq.h`,
//! `include/trace/events/block.h`

use super::{
    file::{
        Kind,
        Mode,
        OpenFile, //
    },
    pages::Area,
    tracepoint::{
        exists,
        Registration, //
    }, //
};
use crate::{
    bindings,
    kernel_ext::identity::Identity, //
};
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

/// Maximum number of outstanding requests of a hardware queue.
const MAX_DEPTH: usize = bindings::BLK_MQ_MAX_DEPTH as usize;

/// A disk or a partition that is held open for reading only. Units are bytes.
///
/// # Invariants
///
/// `file` is a block device, and `queue` its queue, which has requests; `start` and `size` tell
/// which part of the disk it is.
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
    /// Opens the disk or partition at `path`, with the rights and in the namespaces of the calling
    /// task. May sleep.
    ///
    /// # Errors
    ///
    /// The errors of `open(2)`; `ENOTBLK` for anything but a block device; `EOPNOTSUPP` for a
    /// device without requests, or whose writes do not tell their position (zoned disks).
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
            let device = bindings::rust_helper_file_bdev(file.as_ptr());
            if !bindings::rust_helper_bdev_has_requests(device) {
                return Err(Error::from_errno(-(bindings::EOPNOTSUPP as c_int)));
            }
            let queue = bindings::rust_helper_bdev_queue(device);
            // INVARIANT: That queue has requests, as has been asked just now.
            Ok(Self {
                file,
                queue: NonNull::new(queue).ok_or(ENXIO)?,
                start: bindings::rust_helper_bdev_start(device),
                size: bindings::rust_helper_bdev_size(device),
                block: bindings::rust_helper_bdev_block(device),
                hardware_queues: (*queue).nr_hw_queues,
            })
        }
    }

    /// Returns the identity of the disk or partition.
    pub(crate) fn identity(&self) -> Identity {
        self.file.identity()
    }

    /// Returns the size.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Returns the logical block size.
    pub(crate) fn block(&self) -> u32 {
        self.block
    }

    /// Returns the number of possible [places](Request::place) of a request.
    pub(crate) fn places(&self) -> usize {
        self.hardware_queues as usize * MAX_DEPTH
    }

    /// Returns true until the disk is removed.
    pub(crate) fn is_there(&self) -> bool {
        // SAFETY: By the type invariant the file is an open block device.
        unsafe { bindings::rust_helper_file_bdev_is_there(self.file.as_ptr()) }
    }

    /// Returns the part of `len` bytes at `first` of the whole disk that is on the tapped disk or
    /// partition.
    fn clip(&self, first: u64, len: u32) -> Option<Range> {
        let end = first.saturating_add(u64::from(len));
        let from = first.max(self.start);
        let to = end.min(self.start.saturating_add(self.size));
        // Neither exceeds `len`.
        (from < to).then(|| Range {
            offset: from - self.start,
            bytes: (to - from) as u32,
            skip: (from - first) as u32,
        })
    }
}

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Make completed writes durable.
    Flush,
    /// Discard data.
    Discard,
    /// Erase data beyond recovery.
    SecureErase,
    /// Write zeroes.
    WriteZeroes,
}

/// Range of the tapped disk or partition that a request works on. Units are bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    /// Start of the range.
    pub(crate) offset: u64,
    /// Length of the range.
    pub(crate) bytes: u32,
    /// Length of the request's data before the range.
    pub(crate) skip: u32,
}

/// A read-only view of a tapped disk's request, valid while a probe runs.
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
    /// Returns the operation; `None` for anything but block I/O, such as a user's command to the
    /// drive.
    pub(crate) fn operation(&self) -> Option<Operation> {
        // SAFETY: By the type invariant.
        match unsafe { bindings::rust_helper_rq_op(self.raw.as_ptr()) } {
            bindings::req_op_REQ_OP_READ => Some(Operation::Read),
            bindings::req_op_REQ_OP_WRITE => Some(Operation::Write),
            bindings::req_op_REQ_OP_FLUSH => Some(Operation::Flush),
            bindings::req_op_REQ_OP_DISCARD => Some(Operation::Discard),
            bindings::req_op_REQ_OP_SECURE_ERASE => Some(Operation::SecureErase),
            bindings::req_op_REQ_OP_WRITE_ZEROES => Some(Operation::WriteZeroes),
            _ => None,
        }
    }

    /// Returns true if the disk must make the data durable before it completes the request.
    pub(crate) fn is_fua(&self) -> bool {
        // SAFETY: By the type invariant.
        unsafe { bindings::rust_helper_rq_is_fua(self.raw.as_ptr()) }
    }

    /// Returns the place of the request. It keeps its place from its beginning to its end, and no
    /// other request of the disk has it meanwhile, except a flush, which has the place of the
    /// request that asked for it. Places are below [`Disk::places`], unless queues were added to
    /// the disk later.
    pub(crate) fn place(&self) -> usize {
        // SAFETY: By the type invariant; its hardware queue is that of its disk.
        let (queue, tag, scheduler_tag) = unsafe {
            let raw = self.raw.as_ptr();
            let queue = (*(*raw).mq_hctx).queue_num;
            (queue, (*raw).tag, (*raw).internal_tag)
        };
        // With a scheduler, the driver's tag is assigned late.
        let tag = usize::try_from(scheduler_tag).or(usize::try_from(tag));
        (queue as usize)
            .saturating_mul(MAX_DEPTH)
            .saturating_add(tag.unwrap_or(usize::MAX))
    }

    /// Returns the ranges of the tapped disk or partition that the request works on. Only a discard
    /// can have more than one range. A flush, or a request for another partition, has none.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = Range> + '_ {
        let several = matches!(
            self.operation(),
            Some(Operation::Discard | Operation::SecureErase)
        );
        let whole = (!several).then(|| {
            // SAFETY: By the type invariant.
            unsafe {
                (
                    bindings::rust_helper_rq_offset(self.raw.as_ptr()),
                    bindings::rust_helper_rq_bytes(self.raw.as_ptr()),
                )
            }
        });
        // The kernel crate's prelude has another `chain`.
        Iterator::chain(whole.into_iter(), self.bios().filter(move |_| several))
            .filter_map(|(first, len)| self.disk.clip(first, len))
    }

    /// Returns the first byte and the length of each bio. Only the bios of a discard may be apart.
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

    /// Copies `len` bytes of a write's data, starting at `skip`, to `offset` of `to`. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the request or `to` has fewer bytes; some may have been copied.
    pub(crate) fn copy(&self, skip: usize, to: &Area, offset: usize, len: usize) -> Result {
        if self.operation() != Some(Operation::Write) {
            return Err(EINVAL);
        }
        let to = to.at(offset, len)?;
        // SAFETY: By the type invariant, and a write's bios have data. `to` is valid for
        // so many bytes. A program may change its data meanwhile, in which case the disk
        // gets this or that just as well.
        let copied =
            unsafe { bindings::rust_helper_rq_copy(self.raw.as_ptr(), skip, to.cast(), len) };
        if copied == len {
            Ok(())
        } else {
            Err(EINVAL)
        }
    }
}

/// Watcher of a tapped disk's requests. Its methods run in any context, in the path of the disk's
/// I/O, and must neither sleep nor wait.
pub(crate) trait Watch: Send + Sync + 'static {
    /// Called when the calling task, a program, has begun a request. Only for a [`Tap`] that
    /// follows programs.
    fn started(&self, request: &Request<'_>);

    /// Called when the driver is about to get a request: for the first time, or again after it has
    /// handed the request back.
    fn issued(&self, request: &Request<'_>);
}

/// A disk and its watcher.
pub(crate) struct Tapped<W> {
    /// The disk.
    pub(crate) disk: Disk,
    /// Watcher of the disk.
    pub(crate) watch: W,
}

/// Name of the tracepoint at which a program has begun a request.
const STARTED: &CStr = c"block_io_start";

/// Returns true where the kernel tells which program begins a request. May sleep.
pub(crate) fn tells_programs() -> bool {
    exists(STARTED)
}

/// Hooks on a disk. Dropping it removes them, and waits until no probe runs.
pub(crate) struct Tap<W: Watch> {
    _issued: Registration<Tapped<W>>,
    _started: Option<Registration<Tapped<W>>>,
}

impl<W: Watch> Tap<W> {
    /// Starts watching. With `programs`, also reports which program begins each request. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOENT` if the kernel does not have these tracepoints; `ENOMEM`.
    pub(crate) fn new(tapped: &Arc<Tapped<W>>, programs: bool) -> Result<Self> {
        let started = if programs {
            let probe: Probe = probe_started::<W>;
            let probe = NonNull::new(probe as *mut c_void).ok_or(EINVAL)?;
            // SAFETY: The tracepoint has one argument, the request, as the probe.
            Some(unsafe { Registration::new(STARTED, probe, tapped.clone()) }?)
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
    /// Returns `rq` if it is a request of the disk.
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

/// A probe of these tracepoints. Its type must match exactly what the kernel calls: where indirect
/// calls are checked (CFI), another pointer type in place of `void *` would be fatal.
type Probe = unsafe extern "C" fn(*mut c_void, *mut bindings::request);

/// Probe of `block_io_start`.
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

/// Probe of `block_rq_issue`.
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

/// Longest name of a task, including the NUL at its end.
const NAME_LEN: usize = bindings::TASK_COMM_LEN as usize;

/// Returns true if the calling task has the name `name`. Any task context.
pub(crate) fn caller_is(name: &[u8]) -> bool {
    let mut comm: [c_char; NAME_LEN] = [0; NAME_LEN];
    // SAFETY: There is room for a name. A rename may run at the same time, and mix both.
    unsafe { bindings::rust_helper_current_comm(comm.as_mut_ptr()) };
    let len = comm.iter().position(|byte| *byte == 0).unwrap_or(NAME_LEN);
    comm.iter().take(len).eq(name)
}
