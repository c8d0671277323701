// SPDX-License-Identifier: GPL-2.0

//! A disk and its hardware queues.
//!
//! C headers: `include/linux/blkdev.h`, `include/linux/blk-mq.h`

use super::{
    request::{
        History,
        Request, //
    },
    Operations, //
};
use crate::{
    bindings,
    kernel_ext::blk::uses::{
        count_use,
        uses, //
    }, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    ffi::{
        c_char,
        c_int,
        c_uint, //
    },
    page::PAGE_SIZE,
    prelude::*,
    static_lock_class,
    str::CString,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Full,
            Relaxed,
            Release, //
        },
        Arc, //
    },
    types::Opaque, //
};

/// Properties of a new disk. Sizes are in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Size of the disk.
    pub(crate) size: u64,
    /// Logical block size.
    pub(crate) block: u32,
    /// Physical block size; 0 where it is not known.
    pub(crate) physical: u32,
    /// The smallest size of I/O without a penalty; 0 where it is not known.
    pub(crate) minimum: u32,
    /// The size of I/O for the highest throughput; 0 where it is not known.
    pub(crate) optimal: u32,
    /// Size that is discarded in one piece; 0 where it is not known.
    pub(crate) discard: u32,
    /// Required alignment of a request's memory.
    pub(crate) alignment: u32,
    /// Maximum size of a request's data.
    pub(crate) max_bytes: u32,
    /// Mask of the memory boundaries that no segment of a request crosses.
    pub(crate) segment_mask: u64,
    /// Maximum size of a discard or of writing zeroes; 0 if neither is supported.
    pub(crate) max_discard: u32,
    /// True for a disk that cannot be written.
    pub(crate) read_only: bool,
    /// True if the disk has a volatile write cache. Otherwise it gets neither flushes nor FUA.
    pub(crate) cache: bool,
    /// True if the memory of a write must not change until the write ends.
    pub(crate) stable: bool,
    /// Number of hardware queues, at most one for each CPU.
    pub(crate) queues: u16,
    /// Number of outstanding requests per hardware queue.
    pub(crate) depth: u16,
}

/// Returns the maximum number of hardware queues of a disk: one for each possible CPU.
pub(crate) fn max_queues() -> u32 {
    // SAFETY: Reads a number of the kernel's that does not change.
    unsafe { bindings::rust_helper_possible_cpus() }
}

/// Texts in `/sys/block/NAME` by which programs tell disks apart.
pub(crate) struct Labels {
    /// Text of the attribute `serial`.
    pub(crate) serial: CString,
    /// Text of the attribute `tag`.
    pub(crate) tag: CString,
}

/// Private data of a disk, as C accesses it: it starts with a `struct rust_helper_disk`.
#[repr(C)]
struct Private {
    /// The text in `/sys/block/NAME/serial`.
    serial: *const c_char,
    /// The text in `/sys/block/NAME/tag`.
    tag: *const c_char,
    /// Nonzero if the disk refuses to be opened.
    closed: Atomic<u32>,
}

impl Private {
    /// Creates the private data of a disk with `labels`, whose texts must outlive it.
    fn new(labels: &Labels) -> Self {
        Self {
            serial: labels.serial.as_char_ptr(),
            tag: labels.tag.as_char_ptr(),
            closed: Atomic::new(0),
        }
    }
}

/// A disk, removed when dropped.
///
/// All segments of a request but the first start at a page boundary, and all but the last end at
/// one, so that one fast registration covers them.
///
/// # Invariants
///
/// - `tag_set` is allocated, and is freed by this object alone. Queues point to it and the
///   block layer writes to it, so it is pinned, and nobody here has a reference to its contents.
/// - `raw` is a disk of that tag set whose queue's data is `data` and whose private
///   data is `private`; this object alone removes it.
pub(crate) struct Disk<T: Operations> {
    raw: NonNull<bindings::gendisk>,
    tag_set: Pin<KBox<Opaque<bindings::blk_mq_tag_set>>>,
    data: Arc<T>,
    /// The texts that `private` points to.
    _labels: Labels,
    /// [`NEW`], [`TAKEN`] or [`VISIBLE`].
    state: Atomic<u32>,
    /// Number of calls that have stopped requests and not been resumed.
    quiesced: Atomic<u32>,
    private: KBox<Private>,
}

/// The disk has never been added.
const NEW: u32 = 0;
/// Somebody adds or removes the disk, has removed it, or has failed to add it.
const TAKEN: u32 = 1;
/// The disk has been added, and not been removed.
const VISIBLE: u32 = 2;

// SAFETY: The block layer's functions may be called from any task.
unsafe impl<T: Operations> Send for Disk<T> {}
// SAFETY: As above.
unsafe impl<T: Operations> Sync for Disk<T> {}

impl<T: Operations> Disk<T> {
    /// Creates the disk `/dev/NAME` with `labels`. It is not visible yet. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` for a shape that the block layer rejects, and for a name of more than 31
    /// bytes.
    pub(crate) fn new(data: Arc<T>, shape: &Shape, name: &CStr, labels: Labels) -> Result<Self> {
        let tag_set = KBox::pin(
            Opaque::new(bindings::blk_mq_tag_set {
                ops: &Vtable::<T>::TABLE,
                nr_hw_queues: c_uint::from(shape.queues),
                queue_depth: c_uint::from(shape.depth),
                numa_node: bindings::NUMA_NO_NODE,
                cmd_size: c_uint::try_from(size_of::<History>()).map_err(|_| EINVAL)?,
                // Do not let CPU hotplug wait for requests with the lock of all CPUs held: requests
                // that are held for a connection may need that very lock to be answered. A request
                // needs no CPU of its queue, because completions come from the device.
                flags: bindings::BLK_MQ_F_NO_SCHED_BY_DEFAULT | bindings::BLK_MQ_F_STACKING,
                ..Default::default()
            }),
            GFP_KERNEL,
        )?;
        // SAFETY: The set is zeroed but for what a driver sets, and stays where it is.
        to_result(unsafe { bindings::blk_mq_alloc_tag_set(tag_set.get()) })?;
        let made = KBox::new(Private::new(&labels), GFP_KERNEL)
            .map_err(Error::from)
            .and_then(|private| {
                let raw = Self::allocate(tag_set.get(), &data, shape, name, &private)?;
                Ok((raw, private))
            });
        match made {
            // INVARIANT: Allocated just now, with this data and this private data, which
            // stays where it is, as do the texts of the labels.
            Ok((raw, private)) => Ok(Self {
                raw,
                tag_set,
                data,
                _labels: labels,
                state: Atomic::new(NEW),
                quiesced: Atomic::new(0),
                private,
            }),
            Err(error) => {
                // SAFETY: Allocated just now, and no queue uses it.
                unsafe { bindings::blk_mq_free_tag_set(tag_set.get()) };
                Err(error)
            }
        }
    }

    fn allocate(
        tag_set: *mut bindings::blk_mq_tag_set,
        data: &Arc<T>,
        shape: &Shape,
        name: &CStr,
        private: &Private,
    ) -> Result<NonNull<bindings::gendisk>> {
        if name.to_bytes_with_nul().len() > bindings::DISK_NAME_LEN as usize {
            return Err(EINVAL);
        }
        let sectors = |bytes: u32| bytes >> bindings::SECTOR_SHIFT;
        let page = u32::try_from(PAGE_SIZE).map_err(|_| EINVAL)?;
        let mut limits = bindings::queue_limits {
            logical_block_size: shape.block,
            physical_block_size: shape.physical.max(shape.block),
            io_min: shape.minimum,
            io_opt: shape.optimal,
            max_hw_sectors: sectors(shape.max_bytes),
            max_segments: u16::try_from(shape.max_bytes.div_ceil(page) + 1).map_err(|_| EINVAL)?,
            max_hw_discard_sectors: sectors(shape.max_discard),
            max_write_zeroes_sectors: sectors(shape.max_discard),
            discard_granularity: shape.discard.max(shape.block),
            dma_alignment: shape.alignment.saturating_sub(1),
            virt_boundary_mask: PAGE_SIZE - 1,
            seg_boundary_mask: shape.segment_mask as usize,
            ..Default::default()
        };
        let queue_data = Arc::as_ptr(data).cast_mut().cast();
        // SAFETY: The tag set is allocated and outlives the queue's use of it. The
        // data is held as long as requests come: until the disk has been removed.
        let raw = from_err_ptr(unsafe {
            bindings::rust_helper_alloc_disk(
                tag_set,
                &mut limits,
                shape.cache,
                shape.stable,
                queue_data,
                static_lock_class!().as_ptr(),
            )
        })?;
        let disk = NonNull::new(raw).ok_or(ENOMEM)?;
        // SAFETY: The disk is ours, and nobody sees it yet.
        unsafe {
            (*raw).fops = &raw const bindings::rust_helper_disk_operations;
            (*raw).private_data = core::ptr::from_ref(private).cast_mut().cast();
            for (to, from) in (*raw).disk_name.iter_mut().zip(name.to_bytes_with_nul()) {
                *to = *from as c_char;
            }
            bindings::set_capacity(raw, shape.size >> bindings::SECTOR_SHIFT);
            if shape.read_only {
                bindings::set_disk_ro(raw, true);
            }
        }
        Ok(disk)
    }

    /// Makes the disk visible, which reads its partition table. Once, whether that fails or not.
    /// Sleeps. Another thread must answer requests meanwhile.
    ///
    /// # Errors
    ///
    /// `EBUSY` if it was called before; `ENOMEM`; `EEXIST` if the name is taken.
    pub(crate) fn add(&self) -> Result {
        self.state.cmpxchg(NEW, TAKEN, Full).map_err(|_| EBUSY)?;
        // SAFETY: By the type invariant the disk is there, and has not been added before. Its
        // private data has texts that live until it has been removed, and with it the
        // attributes that show them.
        to_result(unsafe { bindings::rust_helper_add_disk(self.raw.as_ptr()) })?;
        // The disk was opened to read the partition table, and the files of a kernel thread are
        // closed later. Until then the disk would count as open.
        // SAFETY: Process context, and no lock is held.
        unsafe { bindings::flush_delayed_fput() };
        self.state.store(VISIBLE, Release);
        Ok(())
    }

    /// Makes the disk refuse to be opened from now on (`ENXIO`), unless somebody has it or a
    /// partition of it open. Returns true if it was closed. Sleeps while the disk is being opened
    /// or closed.
    ///
    /// # Errors
    ///
    /// `EINTR` if the calling task is killed while it sleeps.
    pub(crate) fn close(&self) -> Result<bool> {
        let raw = self.raw.as_ptr();
        // SAFETY: By the type invariant the disk is there. Nobody opens it while the lock
        // is held, under which `rust_helper_disk_open` is called as well.
        unsafe {
            to_result(bindings::rust_helper_disk_lock(raw))?;
            let unused = bindings::rust_helper_disk_openers(raw) == 0;
            if unused {
                self.private.closed.store(1, Relaxed);
            }
            bindings::rust_helper_disk_unlock(raw);
            Ok(unused)
        }
    }

    /// Returns how often the disk was opened while nobody had it open, modulo 2^32. Any context.
    pub(crate) fn uses(&self) -> u32 {
        // SAFETY: By the type invariant the disk is there, with a queue, and ours.
        unsafe { uses((*self.raw.as_ptr()).queue) }
    }

    /// Removes the disk, after writing back its cached data. Sleeps until no request is left.
    /// Another thread must answer requests meanwhile.
    pub(crate) fn remove(&self) {
        if self.state.cmpxchg(VISIBLE, TAKEN, Full).is_ok() {
            // SAFETY: By the type invariant the disk is there; it was added, and is
            // removed once.
            unsafe { bindings::del_gendisk(self.raw.as_ptr()) };
        }
    }

    /// Makes all requests fail at once from now on. May sleep.
    pub(crate) fn mark_dead(&self) {
        if self.state.load(Acquire) == VISIBLE {
            // SAFETY: By the type invariant the disk is there.
            unsafe { bindings::blk_mark_disk_dead(self.raw.as_ptr()) };
        }
    }

    /// Stops new requests until [`resume`](Self::resume). Sleeps until no request is on its way to
    /// [`Operations::queue`].
    pub(crate) fn quiesce(&self) {
        // SAFETY: By the type invariant the disk is there, and with it its queue.
        unsafe { bindings::blk_mq_quiesce_queue((*self.raw.as_ptr()).queue) };
        self.quiesced.fetch_add(1, Full);
    }

    /// Lets requests come again, including requeued ones, that were [stopped](Self::quiesce). May
    /// sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if none are stopped.
    pub(crate) fn resume(&self) -> Result {
        // The kernel counts, too, and warns of one too many.
        let mut count = self.quiesced.load(Relaxed);
        loop {
            let rest = count.checked_sub(1).ok_or(EINVAL)?;
            match self.quiesced.cmpxchg(count, rest, Full) {
                Ok(_) => break,
                Err(now) => count = now,
            }
        }
        // SAFETY: As for `quiesce`; the disk has a queue as long as it is there.
        unsafe {
            let queue = (*self.raw.as_ptr()).queue;
            bindings::blk_mq_unquiesce_queue(queue);
            bindings::blk_mq_kick_requeue_list(queue);
        }
        Ok(())
    }

    /// Returns the driver's data.
    pub(crate) fn data(&self) -> &Arc<T> {
        &self.data
    }
}

impl<T: Operations> Drop for Disk<T> {
    fn drop(&mut self) {
        self.remove();
        // SAFETY: By the type invariant both are ours. Nobody sees the disk any more,
        // and who still has it open finds a queue that takes no request.
        unsafe {
            bindings::put_disk(self.raw.as_ptr());
            bindings::blk_mq_free_tag_set(self.tag_set.get());
        }
    }
}

/// Refuses to open a closed disk, and counts the uses of a disk. A use lasts from the first open to
/// the last close.
///
/// # Safety
///
/// Called by the block layer with the disk's `open_mutex` held, for a disk that has not been
/// removed.
#[no_mangle]
unsafe extern "C" fn rust_helper_disk_open(disk: *mut bindings::gendisk) -> c_int {
    // SAFETY: By the type invariant of `Disk`, which removes the disk before it goes.
    let private = unsafe { &*(*disk).private_data.cast::<Private>() };
    if private.closed.load(Relaxed) != 0 {
        return ENXIO.to_errno();
    }
    // SAFETY: As above; the lock makes this the one writer.
    unsafe {
        if bindings::rust_helper_disk_openers(disk) == 0 {
            count_use((*disk).queue);
        }
    }
    0
}

/// C operations of disks whose data is a `T`.
struct Vtable<T>(PhantomData<T>);

impl<T: Operations> Vtable<T> {
    const TABLE: bindings::blk_mq_ops = bindings::blk_mq_ops {
        queue_rq: Some(Self::queue_rq),
        ..pin_init::zeroed()
    };

    /// # Safety
    ///
    /// Called by the block layer for a queue whose data is a `T`.
    unsafe extern "C" fn queue_rq(
        hctx: *mut bindings::blk_mq_hw_ctx,
        request: *const bindings::blk_mq_queue_data,
    ) -> bindings::blk_status_t {
        // SAFETY: All are valid during the call, and the data until the disk has been
        // removed. The request is handed over, and is ours once started.
        let (data, queue, request) = unsafe {
            let Some(raw) = NonNull::new((*request).rq) else {
                return bindings::errno_to_blk_status(EIO.to_errno());
            };
            bindings::blk_mq_start_request(raw.as_ptr());
            let data = &*(*(*hctx).queue).queuedata.cast::<T>();
            (data, (*hctx).queue_num, Request::from_raw(raw))
        };
        match data.queue(queue as usize, request) {
            Ok(()) => bindings::BLK_STS_OK as bindings::blk_status_t,
            Err(request) => {
                // The block layer takes the request back because of this status.
                request.release();
                // SAFETY: A mere translation; this errno is that of BLK_STS_RESOURCE.
                unsafe { bindings::errno_to_blk_status(ENOMEM.to_errno()) }
            }
        }
    }
}
