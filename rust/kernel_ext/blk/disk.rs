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
use crate::bindings;
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
            Atomic,
            Relaxed, //
        },
        Arc, //
    },
    types::Opaque, //
};

/// The shape of a disk, as it is created. Sizes are in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// The number in its name.
    pub(crate) number: u32,
    /// Its size.
    pub(crate) size: u64,
    /// The unit in which it can be addressed.
    pub(crate) block: u32,
    /// What the memory of requests must be aligned to.
    pub(crate) alignment: u32,
    /// The most that one request transfers.
    pub(crate) max_bytes: u32,
    /// Bounds in memory that no segment of a request crosses.
    pub(crate) segment_mask: u64,
    /// The most that one request discards or zeroes; 0 where it cannot.
    pub(crate) max_discard: u32,
    /// Whether it refuses to be written.
    pub(crate) read_only: bool,
    /// Whether what it has taken lasts only once it was flushed: else it is sent neither a flush
    /// nor FUA.
    pub(crate) cache: bool,
    /// Whether memory must not change while it is written from there.
    pub(crate) stable: bool,
    /// Hardware queues, at most as many as there are CPUs.
    pub(crate) queues: u16,
    /// Requests under way in each of them.
    pub(crate) depth: u16,
}

/// How many hardware queues a disk can have: one for each CPU.
pub(crate) fn max_queues() -> u32 {
    // SAFETY: Reads a number of the kernel's that does not change.
    unsafe { bindings::krping_possible_cpus() }
}

/// What C finds at a disk: it begins with a `struct krping_disk`.
#[repr(C)]
struct Private {
    /// The text in `/sys/block/NAME/serial`.
    serial: *const c_char,
    /// Whether it refuses to be opened.
    closed: Atomic<u32>,
}

impl Private {
    /// That of a disk with the text `serial`, which must outlive it.
    fn new(serial: &CStr) -> Self {
        Self {
            serial: serial.as_char_ptr(),
            closed: Atomic::new(0),
        }
    }
}

/// A disk. Dropping it removes it.
///
/// All segments of a request but the first begin at the start of a page, and all but
/// the last end at the end of one, so that one fast registration covers them.
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
    /// What `/sys/block/NAME/serial` has.
    _serial: CString,
    /// Whether it is visible.
    added: Atomic<u32>,
    private: KBox<Private>,
}

// SAFETY: The block layer's functions may be called from any task.
unsafe impl<T: Operations> Send for Disk<T> {}
// SAFETY: As above.
unsafe impl<T: Operations> Sync for Disk<T> {}

impl<T: Operations> Disk<T> {
    /// Creates a disk that nobody sees yet, with `serial` as its serial number. May
    /// sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` for a shape that the block layer refuses.
    pub(crate) fn new(data: Arc<T>, shape: &Shape, serial: CString) -> Result<Self> {
        let tag_set = KBox::pin(
            Opaque::new(bindings::blk_mq_tag_set {
                ops: &Vtable::<T>::TABLE,
                nr_hw_queues: c_uint::from(shape.queues),
                queue_depth: c_uint::from(shape.depth),
                numa_node: bindings::NUMA_NO_NODE,
                cmd_size: c_uint::try_from(size_of::<History>()).map_err(|_| EINVAL)?,
                // Not to have the end of a CPU wait for requests, with the lock of all CPUs held:
                // those that are held for a connection may need just that lock to be answered.
                // A request needs no CPU of its queue, as completions come from the device.
                flags: bindings::BLK_MQ_F_NO_SCHED_BY_DEFAULT | bindings::BLK_MQ_F_STACKING,
                ..Default::default()
            }),
            GFP_KERNEL,
        )?;
        // SAFETY: The set is zeroed but for what a driver sets, and stays where it is.
        to_result(unsafe { bindings::blk_mq_alloc_tag_set(tag_set.get()) })?;
        let made = KBox::new(Private::new(&serial), GFP_KERNEL)
            .map_err(Error::from)
            .and_then(|private| {
                let raw = Self::allocate(tag_set.get(), &data, shape, &private)?;
                Ok((raw, private))
            });
        match made {
            // INVARIANT: Allocated just now, with this data and this private data, which
            // stays where it is, as does the text of the serial number.
            Ok((raw, private)) => Ok(Self {
                raw,
                tag_set,
                data,
                _serial: serial,
                added: Atomic::new(0),
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
        private: &Private,
    ) -> Result<NonNull<bindings::gendisk>> {
        let when = |given: bool, feature: u32| if given { feature } else { 0 };
        let sectors = |bytes: u32| bytes >> bindings::SECTOR_SHIFT;
        let page = u32::try_from(PAGE_SIZE).map_err(|_| EINVAL)?;
        let mut limits = bindings::queue_limits {
            features: when(shape.cache, bindings::krping_block_KRPING_BLOCK_CACHE)
                | when(shape.stable, bindings::krping_block_KRPING_BLOCK_STABLE),
            logical_block_size: shape.block,
            physical_block_size: shape.block,
            max_hw_sectors: sectors(shape.max_bytes),
            max_segments: u16::try_from(shape.max_bytes.div_ceil(page).saturating_add(1))
                .map_err(|_| EINVAL)?,
            max_hw_discard_sectors: sectors(shape.max_discard),
            max_write_zeroes_sectors: sectors(shape.max_discard),
            discard_granularity: shape.block,
            dma_alignment: shape.alignment.saturating_sub(1),
            virt_boundary_mask: PAGE_SIZE.wrapping_sub(1),
            seg_boundary_mask: shape.segment_mask as usize,
            ..Default::default()
        };
        let queue_data = Arc::as_ptr(data).cast_mut().cast();
        // SAFETY: The tag set is allocated and outlives the queue's use of it. The
        // data is held as long as requests come: until the disk has been removed.
        let raw = from_err_ptr(unsafe {
            bindings::__blk_mq_alloc_disk(
                tag_set,
                &mut limits,
                queue_data,
                static_lock_class!().as_ptr(),
            )
        })?;
        let disk = NonNull::new(raw).ok_or(ENOMEM)?;
        // SAFETY: The disk is ours, and nobody sees it yet.
        unsafe {
            (*raw).fops = &raw const bindings::krping_disk_operations;
            (*raw).private_data = core::ptr::from_ref(private).cast_mut().cast();
            bindings::krping_name_disk(raw, shape.number);
            bindings::set_capacity(raw, shape.size >> bindings::SECTOR_SHIFT);
            if shape.read_only {
                bindings::set_disk_ro(raw, true);
            }
        }
        Ok(disk)
    }

    /// Makes it visible, which reads its partition table. Sleeps; requests must be
    /// answered meanwhile, by another thread.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `EEXIST` for a name that is taken.
    pub(crate) fn add(&self) -> Result {
        // SAFETY: By the type invariant the disk is there, and not added yet. Its
        // private data is a text that lives until it has been removed, and with it the
        // attribute that shows it.
        to_result(unsafe { bindings::krping_add_disk(self.raw.as_ptr()) })?;
        // It was opened to read the partition table, and a kernel thread's files are
        // closed later: until then it would count as open.
        // SAFETY: Process context, and no lock is held.
        unsafe { bindings::flush_delayed_fput() };
        self.added.store(1, Relaxed);
        Ok(())
    }

    /// Has it refuse to be opened from now on (`ENXIO`), unless somebody has it open, be it
    /// as a whole or as partitions: returns whether it does. Sleeps while it is being opened
    /// or closed.
    ///
    /// # Errors
    ///
    /// `EINTR` where the calling task is killed while it sleeps.
    pub(crate) fn close(&self) -> Result<bool> {
        let raw = self.raw.as_ptr();
        // SAFETY: By the type invariant the disk is there. Nobody opens it while the lock
        // is held, under which `krping_disk_open` is called as well.
        unsafe {
            to_result(bindings::krping_disk_lock(raw))?;
            let unused = bindings::krping_disk_openers(raw) == 0;
            if unused {
                self.private.closed.store(1, Relaxed);
            }
            bindings::krping_disk_unlock(raw);
            Ok(unused)
        }
    }

    /// How often it was opened while nobody had it open, modulo 2^32. Any context.
    pub(crate) fn uses(&self) -> u32 {
        // SAFETY: By the type invariant the disk is there, with a queue, and ours.
        unsafe { uses((*self.raw.as_ptr()).queue) }
    }

    /// Removes it: what was written is written out first. Sleeps until no request is
    /// left; they must be answered meanwhile, by another thread.
    pub(crate) fn remove(&self) {
        if self.added.xchg(0, Relaxed) != 0 {
            // SAFETY: By the type invariant the disk is there; it was added, and is
            // removed once.
            unsafe { bindings::del_gendisk(self.raw.as_ptr()) };
        }
    }

    /// Has all requests that come from now on fail at once. May sleep.
    pub(crate) fn mark_dead(&self) {
        if self.added.load(Relaxed) != 0 {
            // SAFETY: By the type invariant the disk is there.
            unsafe { bindings::blk_mark_disk_dead(self.raw.as_ptr()) };
        }
    }

    /// Has no request come any more, until [`resume`](Self::resume). Sleeps until
    /// none is on its way to [`Operations::queue`].
    pub(crate) fn quiesce(&self) {
        // SAFETY: By the type invariant the tag set is there; the kernel locks it.
        unsafe { bindings::blk_mq_quiesce_tagset(self.tag_set.get()) };
    }

    /// Lets requests come again, those that were requeued too. May sleep.
    pub(crate) fn resume(&self) {
        // SAFETY: As for `quiesce`; the disk has a queue as long as it is there.
        unsafe {
            bindings::blk_mq_unquiesce_tagset(self.tag_set.get());
            bindings::blk_mq_kick_requeue_list((*self.raw.as_ptr()).queue);
        }
    }

    /// The driver's data.
    pub(crate) fn data(&self) -> &Arc<T> {
        &self.data
    }
}

/// How often a disk of `queue` was opened while nobody had it open, modulo 2^32. What the tag
/// set has in place of a driver's data is this number.
///
/// # Safety
///
/// `queue` is that of a disk of ours which has not been removed.
pub(super) unsafe fn uses(queue: *mut bindings::request_queue) -> u32 {
    // SAFETY: By the function's requirements the tag set is there. Its one writer holds a lock of
    // the disk's, and writes the number as a whole.
    unsafe {
        (&raw const (*(*queue).tag_set).driver_data)
            .read_volatile()
            .addr() as u32
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

/// Refuses to open a disk that has been closed, and counts its uses, each from the first opening to
/// the last close.
///
/// # Safety
///
/// Called by the block layer with the disk's `open_mutex` held, for a disk that has not been
/// removed.
#[no_mangle]
unsafe extern "C" fn krping_disk_open(
    disk: *mut bindings::gendisk,
    _: bindings::blk_mode_t,
) -> c_int {
    // SAFETY: By the type invariant of `Disk`, which removes the disk before it goes.
    let private = unsafe { &*(*disk).private_data.cast::<Private>() };
    if private.closed.load(Relaxed) != 0 {
        return ENXIO.to_errno();
    }
    // SAFETY: As above, and for `uses`.
    unsafe {
        if bindings::krping_disk_openers(disk) == 0 {
            let queue = (*disk).queue;
            let next = uses(queue).wrapping_add(1) as usize;
            (&raw mut (*(*queue).tag_set).driver_data)
                .write_volatile(core::ptr::without_provenance_mut(next));
        }
    }
    0
}

/// The C operations of disks whose data is a `T`.
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
                // The block layer takes it back with the status.
                request.release();
                // SAFETY: A mere translation; this errno is that of BLK_STS_RESOURCE.
                unsafe { bindings::errno_to_blk_status(ENOMEM.to_errno()) }
            }
        }
    }
}
