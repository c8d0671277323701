// SPDX-License-Identifier: GPL-2.0

//! Queue pairs, and the handlers that their completions drive.
//!
//! A [`QueuePair`] owns everything that its work requests refer to: the memory, the completion
//! entries, the completion queue, and the [`Completions`] handler. Its drop stops the handler,
//! drains and destroys the queue pair, frees the completion queue, and only then the rest: no
//! completion outlives what it needs.
//!
//! The handler and the memory are under one lock, taken with bottom halves off: a completion, in
//! a softirq, and a thread that calls [`QueuePair::with`] never work on them at once. Under it,
//! nothing sleeps and nothing is allocated.
//!
//! C header: `include/rdma/ib_verbs.h`
//!
//! - [`completions`], [`queue`] - the handler of completions, and the view that it posts through
//! - [`callbacks`] - what the core calls for each completion
//! - [`caps`], [`entry`], [`drain`] - sizes, completion entries, and the end
//! - [`early`] - requests that complete before there is a connection
//! - [`without_cm`] - a connection without the CM's handshake
//! - [`modify`] - the state and attributes of a queue pair, and changes of it that the CM does not
//!   make
//! - [`unreliable`], [`second`] - UC and UD queue pairs, each beside that of a connection
//! - [`multicast`] - sending datagrams to a multicast group, and receiving from one
//! - [`transfers`] - the contexts of rdma_rw
//! - [`trial`] - queues that are only tried

mod callbacks;
mod caps;
mod completions;
mod drain;
mod early;
pub(in crate::rdma) mod entry;
mod modify;
#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
mod multicast;
mod queue;
mod second;
mod transfers;
pub(crate) mod trial;
pub(in crate::rdma) mod unreliable;
mod without_cm;

pub(crate) use caps::{
    QueuePairCaps,
    DRAIN_REQUESTS, //
};
pub(crate) use completions::{
    Completions,
    Settle, //
};
pub(crate) use early::Opening;
pub(crate) use modify::RetransmissionAttributes;
pub(crate) use queue::Queue;
#[allow(
    unused_imports,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) use unreliable::{
    UnreliableCaps,
    FIRST_PSN,
    GRH_BYTES, //
};
#[allow(
    unused_imports,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) use without_cm::{
    ConnectionAttributes,
    PeerQueuePair,
    LAST_PSN, //
};

use super::{
    cm::QueuePairPlace,
    cq::{
        CompletionQueue,
        NextEvent,
        PollMode, //
    },
    event::{
        handle_qp_event,
        EventContext,
        EventHandler, //
    },
    memory::Memory,
    qp_type::QpType,
    rw::Target,
    srq::Sharing, //
};
use crate::{
    bindings,
    kernel_ext::{
        completion::Completion,
        spinlock::SpinLockBh, //
    }, //
};
use callbacks::{
    handle_completion,
    handle_drained,
    handle_transferred, //
};
use core::{
    marker::PhantomPinned,
    ptr::NonNull, //
};
use drain::{
    Drain,
    Last, //
};
use entry::{
    Callback,
    Entry, //
};
use kernel::{
    error::to_result,
    prelude::*,
    static_lock_class,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};
use second::handle_unreliable_drained;
use unreliable::Unreliable;

struct Inner<C: Completions> {
    /// Taken out at the end: completions then have nothing to drive.
    completions: Option<C>,
    memory: Memory<C::Foreign>,
}

/// Neither is ever pinned by its place here, so both may be moved out of it.
impl<C: Completions> Unpin for Inner<C> {}

/// A queue pair, its memory, and the handler of its completions. Always pinned on the heap.
///
/// # Invariants
///
/// - `raw` is the queue pair of `place`'s identifier, destroyed by this object alone, in its drop
///   or in [`end`](Self::end); what it used goes after it, in the order of the fields. It is
///   connected, not one for datagrams.
/// - `entries` point to this object.
#[pin_data(PinnedDrop)]
pub(crate) struct QueuePair<C: Completions> {
    cq: Arc<CompletionQueue>,
    #[pin]
    inner: SpinLockBh<Inner<C>>,
    entries: KVVec<Entry<C::Tag>>,
    drain: Drain,
    /// Destroyed when `raw` is.
    unreliable: Option<Unreliable>,
    raw: NonNull<bindings::ib_qp>,
    events: Arc<EventContext>,
    place: QueuePairPlace,
    /// The port of the connection.
    port: u32,
    /// Requests that the owner may have in the send queue.
    room: u32,
    /// 1 once it has been destroyed.
    destroyed: Atomic<u32>,
    #[pin]
    _pin: PhantomPinned,
}

// SAFETY: All mutable state is behind the lock; the verbs may be called from any task, and `C`
// and its tags are `Send`.
unsafe impl<C: Completions> Send for QueuePair<C> {}
// SAFETY: Shared access to the handler and the memory is behind the lock, tags are `Sync`, and
// the verbs may be called from several tasks at once.
unsafe impl<C: Completions> Sync for QueuePair<C> {}

impl<C: Completions> QueuePair<C> {
    /// Creates a queue pair on the identifier of `memory`, with a completion entry for each of
    /// `tags`. Asynchronous events go to `handler`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EBUSY` where the identifier has a queue pair; `EINVAL` or the driver's error
    /// for sizes beyond its limits, and for more inline data than it takes; `EINVAL` for an
    /// identifier of datagrams, whose requests have another form, for sizes that do not go
    /// together, for a memory that shares receives with [`PollMode::Pool`], and for one whose
    /// shared completion queue has no room for those of its shared receives.
    pub(crate) fn new(
        mut memory: Memory<C::Foreign>,
        caps: &QueuePairCaps,
        poll: PollMode,
        tags: &[C::Tag],
        handler: Arc<dyn EventHandler>,
        completions: C,
    ) -> Result<Pin<KBox<Self>>> {
        let room = KBox::<Self>::new_uninit(GFP_KERNEL)?;
        let entries = Entry::list(tags, handle_completion::<C>, room.as_ptr().cast())?;
        let drain = Drain::new(room.as_ptr().cast(), handle_drained::<C>)?;
        memory.attach_transfers(handle_transferred::<C>, room.as_ptr().cast());
        let place = memory.id().claim_queue_pair()?;
        let id = place.id().clone();
        // What is posted has the form of a connected queue pair's requests.
        if id.qp_type() == QpType::Ud.as_raw() {
            return Err(EINVAL);
        }
        let shared = memory.shared().cloned();
        let joint = memory.completions().cloned();
        caps.check(poll, joint.is_some())?;
        memory.set_inline(caps.max_inline_data);
        let sharing = match &shared {
            // Completions in the pool's queues cannot be told to be of this queue pair.
            Some(_) if joint.is_none() && poll == PollMode::Pool => return Err(EINVAL),
            Some(_) => Some(Sharing {
                taker: NonNull::new(room.as_ptr().cast_mut()).ok_or(EINVAL)?,
                last: Arc::pin_init(Completion::new(), GFP_KERNEL)?,
            }),
            None => None,
        };
        let taker = sharing.as_ref().map(|sharing| sharing.taker);
        let context = EventContext {
            handler,
            id,
            sharing,
            users: None,
        };
        let events = Arc::new(context, GFP_KERNEL)?;
        let cq = match joint {
            // Its events and completions are told by the one queue pair that there is.
            Some(_) if caps.unreliable.is_some() => return Err(EINVAL),
            Some(cq) if shared.as_ref().is_none_or(|queue| cq.has_room_for(queue)) => cq,
            Some(_) => return Err(EINVAL),
            None => {
                let entries = caps.all_completions(&events.id.device()?, shared.as_deref())?;
                let cq = CompletionQueue::new(entries, poll, events.clone())?;
                Arc::new(cq, GFP_KERNEL)?
            }
        };
        let port = events.id.device()?.port();
        let id = events.id.as_ptr();
        let mut attr = bindings::ib_qp_init_attr {
            event_handler: Some(handle_qp_event),
            qp_context: Arc::as_ptr(&events).cast_mut().cast(),
            ..caps.attributes(&cq, shared.as_deref(), events.id.qp_type(), port)?
        };
        // Before the other, so that its own drop is its end where that one fails.
        let unreliable = match &caps.unreliable {
            Some(other) => {
                let callback: Callback = handle_unreliable_drained::<C>;
                let drain = (room.as_ptr().cast(), callback);
                let pd = memory.pd();
                Some(Unreliable::new(caps, other, pd, &cq, &events, drain)?)
            }
            None => None,
        };
        // SAFETY: The identifier is bound to the device of the domain and the completion queue.
        // The context is held until the queue pair has been destroyed, after which no event
        // comes.
        to_result(unsafe { bindings::rdma_create_qp(id, memory.pd().as_ptr(), &mut attr) })?;
        caps.check_inline(&attr).inspect_err(|_| {
            // SAFETY: The identifier is valid; the call above set its queue pair, to which nothing
            // was posted.
            unsafe { bindings::rdma_destroy_qp(id) }
        })?;
        // SAFETY: The identifier is valid; the call above set its queue pair.
        let raw = NonNull::new(unsafe { (*id).qp }).ok_or(ENODEV)?;
        if let Some(users) = cq.users() {
            // It stays valid until the drop has the queue forget it.
            let own = |device| caps.own_completions(&device, shared.is_some());
            events
                .id
                .device()
                .and_then(own)
                .and_then(|completions| users.add(raw, taker, completions))
                .inspect_err(|_| {
                    // SAFETY: As above: nothing was posted to it.
                    unsafe { bindings::rdma_destroy_qp(id) }
                })?;
        }
        let room_of_sq = match events.id.device() {
            Ok(device) => caps.room(&device, attr.cap.max_send_wr),
            Err(_) => 0,
        };
        // Nothing below fails, so the queue pair always gets its owner.
        let init = pin_init!(Self {
            inner <- SpinLockBh::new(
                Inner { completions: Some(completions), memory },
                c"rdma_qp",
                static_lock_class!(),
            ),
            // INVARIANT: The entries point to where the object stays.
            entries,
            drain,
            unreliable,
            cq,
            raw,
            events,
            place,
            port,
            room: room_of_sq,
            destroyed: Atomic::new(0),
            _pin: PhantomPinned,
        });
        match room.write_pin_init(init) {
            Ok(this) => Ok(this),
            Err(never) => match never {},
        }
    }

    /// Runs `f` on the handler and the queue, unless the handler has been stopped. Any context
    /// but hard interrupts; `f` must not sleep.
    pub(crate) fn with<R>(
        &self,
        f: impl FnOnce(&mut C, &mut Queue<'_, C::Tag, C::Foreign>) -> R,
    ) -> Option<R> {
        let mut inner = self.inner.lock();
        let Inner {
            completions,
            memory,
        } = &mut *inner;
        let unreliable = self.unreliable.as_ref();
        let mut queue = Queue::new(self.target(), unreliable, &self.entries, memory);
        completions
            .as_mut()
            .map(|completions| f(completions, &mut queue))
    }

    /// Returns the queue pair as its transfers know it.
    fn target(&self) -> Target {
        Target {
            qp: self.raw,
            port: self.port,
        }
    }

    /// Returns the number of the queue pair, which the peer knows. Any context.
    pub(crate) fn number(&self) -> u32 {
        // SAFETY: By the type invariant the queue pair is alive; its number does not change.
        unsafe { (*self.raw.as_ptr()).qp_num }
    }

    /// Returns the number of requests that the send queue has room for.
    pub(crate) fn send_room(&self) -> u32 {
        self.room
    }

    /// Ends the handler and hands it back: completions from now on drive nothing. `None` where
    /// it was stopped before. Any context but hard interrupts.
    pub(crate) fn stop(&self) -> Option<C> {
        self.inner.lock().completions.take()
    }

    /// Stops the handler, drains and destroys the queue pair, and hands the handler back once
    /// `give_back` was called with each object that a region was still mapped over. Process
    /// context; sleeps.
    pub(crate) fn end(
        this: Pin<KBox<Self>>,
        mut give_back: impl FnMut(&mut C, C::Foreign),
    ) -> Option<C> {
        let mut completions = this.stop();
        this.destroy();
        // Without the lock, since freeing a region sleeps.
        let pop_region = || this.inner.lock().memory.pop_region();
        while let Some(region) = pop_region() {
            if let (Some(object), Some(completions)) = (region.into_object(), &mut completions) {
                give_back(completions, object);
            }
        }
        completions
    }

    /// Drains and destroys it, once.
    fn destroy(&self) {
        if self.destroyed.xchg(1, Relaxed) != 0 {
            return;
        }
        if let Err(error) = self.flush() {
            C::undrained(error);
            // Then it works on nothing any more, too. There is no more that could be done.
            let _ = self.modify_to_reset();
        }
        let nth_transfer = |index| self.inner.lock().memory.nth_transfer(index);
        let mut index = 0;
        // Before the queue pair goes, which has their registrations. Their memory and their entries
        // stay until completions are not handled any more.
        while let Some(id) = nth_transfer(index) {
            // Nobody else has taken it, as this object is the caller's alone.
            let _ = self.with_transfer(id, |transfer| {
                // SAFETY: By the type invariant the queue pair is alive, and the transfer is of its
                // memory. It has been drained or reset, unless the driver refuses both; the memory
                // goes after the queue pair.
                unsafe { transfer.end(self.target()) };
                Ok(())
            });
            index += 1;
        }
        if let Some(unreliable) = &self.unreliable {
            // As below: nothing is posted any more.
            unreliable.destroy();
        }
        // SAFETY: By the type invariant; only the drop and `end` come here, which have the
        // object alone, and whose handler has been stopped, so nothing is posted any more. The
        // device uses no memory of a queue pair that is destroyed. A completion that is still to
        // be handled finds its entry: the completion queue is the first of the fields to go,
        // after the last callback, or forgets the queue pair before.
        unsafe { bindings::rdma_destroy_qp(self.place.id().as_ptr()) };
        // The completions in a queue that stays have to be handled before this object goes.
        self.cq.forget(self.raw);
    }

    /// Puts it into error, and waits until all requests have completed, or it is to be destroyed
    /// all the same.
    fn flush(&self) -> Result {
        let last = self.events.sharing.as_ref().map(|sharing| &*sharing.last);
        let timeout_ms = C::DRAIN_TIMEOUT_MS;
        let flushed = self
            .drain
            .flush(self.raw, &self.cq, last, Last::Write, timeout_ms);
        let unreliable = self.unreliable.as_ref();
        flushed.and(unreliable.map_or(Ok(()), |other| other.flush(&self.cq, timeout_ms)))
    }

    /// Handles up to `budget` completions, for [`PollMode::Direct`], and returns their number.
    /// Process context.
    pub(crate) fn poll(&self, budget: u16) -> usize {
        self.cq.poll(budget)
    }

    /// Asks the device for an event when the next completion of those comes, for
    /// [`PollMode::Notified`]. Returns true where completions may have come meanwhile that have
    /// none: poll once more. Any context but the event's own.
    ///
    /// # Errors
    ///
    /// `EINVAL` in any other mode; the driver's.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    pub(crate) fn arm(&self, next: NextEvent) -> Result<bool> {
        self.cq.arm(next)
    }

    /// Returns the number of completions that the device says their queue holds.
    pub(crate) fn max_completions(&self) -> u32 {
        self.cq.entries()
    }

    /// Puts the queue pair into error and waits until all requests have completed, which the
    /// handler is shown. For [`PollMode::Direct`]. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// The driver's; `ETIMEDOUT` where it does not flush its queues.
    pub(crate) fn drain(&self) -> Result {
        self.flush()?;
        if self.events.sharing.is_none() {
            // SAFETY: By the type invariant the queue pair is ours, and its completions may be
            // polled by several at once. It has just been seen to flush what is posted, so this
            // ends as well.
            unsafe { bindings::ib_drain_qp(self.raw.as_ptr()) };
        }
        Ok(())
    }
}

#[pinned_drop]
impl<C: Completions> PinnedDrop for QueuePair<C> {
    fn drop(self: Pin<&mut Self>) {
        drop(self.stop());
        self.destroy();
    }
}
