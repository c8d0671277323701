// SPDX-License-Identifier: GPL-2.0

//! Shared receive queues: receives that several queue pairs take messages into.
//!
//! A [`Memory`] that [shares](Memory::share) such a queue makes a queue pair without receives of
//! its own. The handler of the queue pair that has taken a receive is shown its completion, and
//! can read and copy what arrived meanwhile. After that the receive waits for
//! [`refill`](SharedReceiveQueue::refill), which posts it again.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_create_srq()`)
//!
//! - [`chunks`] - sending from the same buffers

mod chunks;

use super::{
    event::{
        AsyncEvent,
        EventContext,
        EventHandler, //
    },
    memory::{
        BufferId,
        Memory,
        NoForeign, //
    },
    qp::entry::{
        target,
        Entry, //
    },
    wr::{
        build_receive,
        Local, //
    }, //
};
use crate::{
    bindings,
    kernel_ext::{
        completion::Completion,
        pages::Contiguous,
        spinlock::SpinLockBh, //
    }, //
};
#[allow(
    unused_imports,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) use chunks::Chunk;
use core::{
    marker::PhantomPinned,
    ptr::NonNull, //
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    ffi::c_void,
    prelude::*,
    static_lock_class,
    sync::{
        Arc,
        UniqueArc, //
    }, //
};

/// A queue pair that takes shared receives.
pub(super) trait Taker {
    /// Handles the completion `wc` of shared receive number `receive`. In the context of
    /// completions: must not sleep.
    fn took(&self, receive: u32, wc: &bindings::ib_wc);
}

/// The part of a queue pair's context that only those with a shared receive queue have.
pub(super) struct Sharing {
    /// The queue pair, which lives until its completion queue has been freed.
    pub(super) taker: NonNull<dyn Taker>,
    /// Completed when the queue pair is in error and takes no receive any more
    /// (`IB_EVENT_QP_LAST_WQE_REACHED`).
    pub(super) last: Arc<Completion>,
}

/// Numbers of receives, of which the one that has waited longest is the first.
struct Idle {
    /// Places for all receives, used in turn.
    places: KVVec<u32>,
    first: usize,
    count: usize,
    /// The number of those that are neither here nor posted: their buffers are in use as chunks.
    claimed: usize,
}

impl Idle {
    /// Adds a receive. There is a place for each, unless a device completes one twice.
    fn push(&mut self, receive: u32) {
        let at = self.wrap(self.first.saturating_add(self.count));
        let has_place = self.count < self.places.len();
        if let Some(place) = self.places.get_mut(at).filter(|_| has_place) {
            *place = receive;
            self.count += 1;
        }
    }

    fn pop(&mut self) -> Option<u32> {
        let receive = *self.places.get(self.first).filter(|_| self.count > 0)?;
        self.count -= 1;
        self.first = self.wrap(self.first + 1);
        Some(receive)
    }

    /// Returns the index of a place that is counted beyond the last.
    fn wrap(&self, at: usize) -> usize {
        at.checked_rem(self.places.len()).unwrap_or(0)
    }
}

/// A shared receive queue and its buffers.
///
/// # Invariants
///
/// - `raw` is destroyed by this object alone, once no queue pair uses it: each holds the object
///   until its completion queue has been freed.
/// - `entries`, one for each of `buffers`, point to this object.
#[pin_data(PinnedDrop)]
pub(crate) struct SharedReceiveQueue {
    raw: NonNull<bindings::ib_srq>,
    entries: KVVec<Entry<()>>,
    /// The receives that are not posted.
    #[pin]
    idle: SpinLockBh<Idle>,
    /// Bytes of each receive.
    room: u32,
    buffers: KVVec<BufferId>,
    memory: Memory<NoForeign>,
    handler: Arc<dyn EventHandler>,
    #[pin]
    _pin: PhantomPinned,
}

// SAFETY: What changes is behind the lock; the verbs on the queue may be called from any task.
unsafe impl Send for SharedReceiveQueue {}
// SAFETY: As above, from several tasks at once. The memory is only read and copied from.
unsafe impl Sync for SharedReceiveQueue {}

impl SharedReceiveQueue {
    /// Makes a queue with buffers for `receives` messages of up to `room` bytes, which `memory`
    /// gets. None is posted yet. Events go to `handler`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; the error of the memory's account; `EINVAL`, `EOPNOTSUPP` or another error of
    /// the driver's, for sizes beyond its limits or a device without such queues.
    pub(crate) fn new(
        mut memory: Memory<NoForeign>,
        receives: u32,
        room: u32,
        handler: Arc<dyn EventHandler>,
    ) -> Result<Arc<Self>> {
        let count = receives as usize;
        let mut buffers = KVVec::with_capacity(count, GFP_KERNEL)?;
        let mut places = KVVec::with_capacity(count, GFP_KERNEL)?;
        let mut entries = KVVec::with_capacity(count, GFP_KERNEL)?;
        let mut place = UniqueArc::<Self>::new_uninit(GFP_KERNEL)?;
        let this = place.as_mut_ptr();
        for receive in 0..receives {
            buffers.push(memory.add_buffer(room as usize)?, GFP_KERNEL)?;
            places.push(receive, GFP_KERNEL)?;
            let entry = Entry::new(handle_shared_receive, this.cast(), receive, ());
            entries.push(entry, GFP_KERNEL)?;
        }
        let mut attr = bindings::ib_srq_init_attr {
            event_handler: Some(handle_srq_event),
            srq_context: this.cast(),
            attr: bindings::ib_srq_attr {
                max_wr: receives,
                max_sge: 1,
                srq_limit: 0,
            },
            srq_type: bindings::ib_srq_type_IB_SRQT_BASIC,
            ..Default::default()
        };
        // SAFETY: The domain is alive while the memory is. No event comes before the queue has
        // receives, which only the object posts.
        let raw = from_err_ptr(unsafe {
            bindings::rust_helper_create_srq(memory.pd().as_ptr(), &mut attr)
        })?;
        let raw = NonNull::new(raw).ok_or(ENOMEM)?;
        let idle = Idle {
            places,
            first: 0,
            count,
            claimed: 0,
        };
        // Nothing below fails, so the queue always gets its owner.
        let made = place.pin_init_with(pin_init!(Self {
            raw,
            // INVARIANT: The entries point to where the object stays.
            entries,
            idle <- SpinLockBh::new(idle, c"rdma_srq", static_lock_class!()),
            room,
            buffers,
            memory,
            handler,
            _pin: PhantomPinned,
        }));
        match made {
            Ok(this) => Ok(this.into()),
            Err(never) => match never {},
        }
    }

    /// Returns the raw queue, valid while `self` lives.
    pub(super) fn as_ptr(&self) -> *mut bindings::ib_srq {
        self.raw.as_ptr()
    }

    /// Returns the number of its receives.
    pub(crate) fn receives(&self) -> u32 {
        u32::try_from(self.buffers.len()).unwrap_or(u32::MAX)
    }

    /// Returns the bytes that a receive has room for.
    pub(crate) fn room(&self) -> u32 {
        self.room
    }

    /// Returns the memory of the receives.
    pub(crate) fn memory(&self) -> &Memory<NoForeign> {
        &self.memory
    }

    /// Posts up to `most` of the receives that are not posted, first those that have waited
    /// longest, and returns how many these were. Any context but hard interrupts.
    ///
    /// # Errors
    ///
    /// The driver's; what is not posted then waits for the next call.
    pub(crate) fn refill(&self, most: u32) -> Result<u32> {
        for posted in 0..most {
            // In a statement of its own, so that the lock is released.
            let next = self.idle.lock().pop();
            let Some(receive) = next else {
                return Ok(posted);
            };
            if let Err(error) = self.post(receive) {
                self.give_back(receive);
                return Err(error);
            }
        }
        Ok(most)
    }

    fn post(&self, receive: u32) -> Result {
        let entry = self.entries.get(receive as usize).ok_or(EINVAL)?;
        let local = Local {
            buffer: self.buffer(receive)?,
            offset: 0,
            len: self.room,
            region: None,
        };
        build_receive(&local, 0, &self.memory, entry.cqe(), |wr| {
            // SAFETY: By the type invariant the queue is alive. The entry and the memory live until
            // it has been destroyed, and all queue pairs that use it before that; the request is
            // copied.
            to_result(unsafe { bindings::rust_helper_post_srq_recv(self.as_ptr(), wr) })
        })
    }

    /// Notes that a receive is not posted any more.
    fn give_back(&self, receive: u32) {
        self.idle.lock().push(receive);
    }

    /// Has the device tell when fewer than `limit` receives are posted, once: an event for which
    /// [`AsyncEvent::is_srq_limit`] is true. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub(crate) fn arm(&self, limit: u32) -> Result {
        let mut attr = bindings::ib_srq_attr {
            srq_limit: limit,
            ..Default::default()
        };
        self.modify(&mut attr, bindings::ib_srq_attr_mask_IB_SRQ_LIMIT)
    }

    /// Has the device make the queue hold `receives`, or more. Those that are posted stay. Process
    /// context; may sleep.
    ///
    /// # Errors
    ///
    /// The driver's: `EINVAL` where more are posted, and where the device cannot resize queues, or
    /// another one.
    #[allow(dead_code, reason = "for the users of the module")]
    pub(crate) fn resize(&self, receives: u32) -> Result {
        let mut attr = bindings::ib_srq_attr {
            max_wr: receives,
            ..Default::default()
        };
        self.modify(&mut attr, bindings::ib_srq_attr_mask_IB_SRQ_MAX_WR)
    }

    fn modify(&self, attr: &mut bindings::ib_srq_attr, mask: bindings::ib_srq_attr_mask) -> Result {
        // SAFETY: By the type invariant the queue is alive; the attributes are valid for a write.
        to_result(unsafe { bindings::ib_modify_srq(self.as_ptr(), attr, mask) })
    }

    fn buffer(&self, receive: u32) -> Result<BufferId> {
        self.buffers.get(receive as usize).copied().ok_or(EINVAL)
    }

    /// Copies what has arrived in a receive, from byte `offset` on. For the handler of its
    /// completion; any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a receive that there is not, or more than it has room for.
    pub(crate) fn read(&self, receive: u32, offset: usize, to: &mut [u8]) -> Result {
        self.memory.read(self.buffer(receive)?, offset, to)
    }

    /// Copies `len` bytes that have arrived in a receive to the beginning of `to`. For the handler
    /// of its completion; any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a receive that there is not, or more than either has room for.
    pub(super) fn copy(&self, receive: u32, to: &Contiguous, len: usize) -> Result {
        let buffer = self.buffer(receive)?;
        self.memory.sync_for_cpu(buffer, 0, len)?;
        self.memory.pages(buffer)?.copy_to(0, to, 0, len)?;
        self.memory.sync_for_device(buffer, 0, len)
    }
}

#[pinned_drop]
impl PinnedDrop for SharedReceiveQueue {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: By the type invariant; no queue pair uses it any more, so that the device gives
        // up the buffers. May sleep here.
        unsafe { bindings::rust_helper_destroy_srq(self.as_ptr()) };
    }
}

/// The callback of the completions of shared receives.
///
/// # Safety
///
/// Called by the core for a receive of a [`SharedReceiveQueue`], which a queue pair has taken whose
/// completion queue has an [`EventContext`] with [`Sharing`].
unsafe extern "C" fn handle_shared_receive(cq: *mut bindings::ib_cq, wc: *mut bindings::ib_wc) {
    // SAFETY: The completion and its queue are valid during the call. The shared queue lives until
    // the completion queue has been freed, or has forgotten the queue pair, which waits for this
    // call; so does the queue pair, and the context of the completion queue.
    unsafe {
        let wc = &*wc;
        let (queue, entry) = target::<SharedReceiveQueue, ()>(wc);
        let context = &*(*cq).cq_context.cast::<EventContext>();
        let taker = match &context.users {
            Some(users) => users.taker(wc.qp),
            None => context.sharing.as_ref().map(|sharing| sharing.taker),
        };
        if let Some(taker) = taker {
            taker.as_ref().took(entry.index, wc);
        }
        queue.give_back(entry.index);
    }
}

/// The callback of the events of a shared receive queue.
///
/// # Safety
///
/// `context` is a [`SharedReceiveQueue`] that has not been destroyed.
unsafe extern "C" fn handle_srq_event(event: *mut bindings::ib_event, context: *mut c_void) {
    // SAFETY: The event is valid during the call, and the context by the function's requirements.
    let (kind, queue) = unsafe { ((*event).event, &*context.cast::<SharedReceiveQueue>()) };
    queue.handler.async_event(AsyncEvent::new(kind));
}
