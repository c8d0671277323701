// SPDX-License-Identifier: GPL-2.0

//! Completion queues and work completions.
//!
//! A completion queue is of one queue pair, or is [shared](CompletionQueue::shared) by several.
//!
//! C header: `include/rdma/ib_verbs.h`
//!
//! - [`users`] - the queue pairs that share one

mod users;

use super::{
    cm::Id,
    event::{
        handle_completion_event,
        handle_cq_event,
        EventContext,
        EventHandler, //
    }, //
};
use crate::{
    bindings,
    rdma::{
        memory::place::Owner,
        srq::SharedReceiveQueue, //
    }, //
};
use core::ptr::NonNull;
use kernel::{
    error::from_err_ptr,
    prelude::*,
    sync::Arc, //
};
#[allow(
    unused_imports,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) use users::Receives;
pub(super) use users::Users;

/// The way in which completions are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PollMode {
    /// The core calls back from a softirq after the device's event.
    Event,
    /// The same, on a completion queue of the device's pool, which other queue pairs share. Errors
    /// of that queue are told to nobody.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    Pool,
    /// A thread of the owner polls, see [`QueuePair::poll`](super::qp::QueuePair::poll).
    Direct,
    /// Polling by a thread of the owner, with events of the device for the completion queue: one
    /// [`EventHandler::completion_event`](super::event::EventHandler::completion_event) for each
    /// [`QueuePair::arm`](super::qp::QueuePair::arm).
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    Notified,
}

/// The completions of which the next one raises an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) enum NextEvent {
    /// All.
    Any,
    /// Receives of messages whose sender asked for the event, and errors.
    Solicited,
}

impl NextEvent {
    fn flags(self) -> bindings::ib_cq_notify_flags {
        let which = match self {
            Self::Any => bindings::ib_cq_notify_flags_IB_CQ_NEXT_COMP,
            Self::Solicited => bindings::ib_cq_notify_flags_IB_CQ_SOLICITED,
        };
        which | bindings::ib_cq_notify_flags_IB_CQ_REPORT_MISSED_EVENTS
    }
}

/// A completion, successful or not.
///
/// Only the callback of completions makes one, and it is shown only as long as it is handled. So
/// it can be taken for the device's word: that a key is invalid, that a READ is done.
#[derive(Clone, Copy)]
pub(crate) struct WorkCompletion<'a> {
    wc: &'a bindings::ib_wc,
    entry: u32,
    owner: Owner,
}

impl<'a> WorkCompletion<'a> {
    /// Wraps the completion of the request with completion entry `entry`, of the queue pair
    /// whose memory is that of `owner`.
    pub(super) fn new(wc: &'a bindings::ib_wc, entry: u32, owner: Owner) -> Self {
        Self { wc, entry, owner }
    }

    /// Returns the number of the completion entry that the request was posted with.
    pub(super) fn entry(&self) -> u32 {
        self.entry
    }

    /// Returns the owner of the memory that the request named.
    pub(super) fn owner(&self) -> Owner {
        self.owner
    }

    /// Returns the status, of `enum ib_wc_status`. Unless it is success, no other field of the
    /// device's but [`vendor_err`](Self::vendor_err) is valid, and the methods for them say so.
    pub(crate) fn status(&self) -> u32 {
        self.wc.status
    }

    /// Returns true where the request was done.
    pub(crate) fn is_success(&self) -> bool {
        self.wc.status == bindings::ib_wc_status_IB_WC_SUCCESS
    }

    /// Returns the driver's number for an error.
    pub(crate) fn vendor_err(&self) -> u32 {
        self.wc.vendor_err
    }

    /// Returns what the device says of a request that was done.
    fn done(&self) -> Option<&'a bindings::ib_wc> {
        self.is_success().then_some(self.wc)
    }

    /// Returns the operation that the device says it has done: `enum ib_wc_opcode`. `None` where
    /// it has failed.
    pub(crate) fn opcode(&self) -> Option<Opcode> {
        self.done().map(|wc| Opcode(wc.opcode))
    }

    /// Returns the number of bytes that arrived, for a receive and an RDMA READ; none where it has
    /// failed.
    pub(crate) fn byte_len(&self) -> u32 {
        self.done().map_or(0, |wc| wc.byte_len)
    }

    /// Returns the key that the peer invalidated with its SEND, for a receive.
    pub(crate) fn invalidated(&self) -> Option<u32> {
        (self.is_success()
            && self.wc.wc_flags & bindings::ib_wc_flags_IB_WC_WITH_INVALIDATE as i32 != 0)
            // SAFETY: With this flag the union holds the key; any bits are valid.
            .then(|| unsafe { *self.wc.ex.invalidate_rkey.as_ref() })
    }

    /// Returns the queue pair that the completion is of.
    pub(super) fn qp(&self) -> *mut bindings::ib_qp {
        self.wc.qp
    }

    /// Returns true for a request to the send queue that was done.
    pub(super) fn is_send(&self) -> bool {
        self.done()
            .is_some_and(|wc| wc.opcode & bindings::ib_wc_opcode_IB_WC_RECV == 0)
    }

    /// Returns the number of the queue pair that sent a datagram, for a receive.
    pub(super) fn src_qp(&self) -> Option<u32> {
        self.done().map(|wc| wc.src_qp)
    }

    /// Returns true where the datagram of a receive begins with a routing header.
    pub(super) fn has_routing_header(&self) -> bool {
        let grh = bindings::ib_wc_flags_IB_WC_GRH as i32;
        self.done().is_some_and(|wc| wc.wc_flags & grh != 0)
    }

    /// Returns the immediate data that came with a message, for a receive.
    pub(crate) fn immediate(&self) -> Option<u32> {
        let with_immediate = bindings::ib_wc_flags_IB_WC_WITH_IMM as i32;
        let wc = self.done()?;
        (wc.wc_flags & with_immediate != 0)
            // SAFETY: With this flag the union holds the immediate data; any bits are valid.
            .then(|| u32::from_be(unsafe { *wc.ex.imm_data.as_ref() }))
    }
}

/// The operation of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opcode(bindings::ib_wc_opcode);

#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
impl Opcode {
    /// SEND, with or without invalidation or immediate data.
    pub(crate) const SEND: Self = Self(bindings::ib_wc_opcode_IB_WC_SEND);
    /// RDMA READ.
    pub(crate) const RDMA_READ: Self = Self(bindings::ib_wc_opcode_IB_WC_RDMA_READ);
    /// RDMA WRITE.
    pub(crate) const RDMA_WRITE: Self = Self(bindings::ib_wc_opcode_IB_WC_RDMA_WRITE);
    /// Atomic fetch-and-add.
    pub(crate) const FETCH_ADD: Self = Self(bindings::ib_wc_opcode_IB_WC_FETCH_ADD);
    /// Atomic compare-and-swap with masks.
    pub(crate) const MASKED_COMP_SWAP: Self = Self(bindings::ib_wc_opcode_IB_WC_MASKED_COMP_SWAP);
    /// REG_MR.
    pub(crate) const REG_MR: Self = Self(bindings::ib_wc_opcode_IB_WC_REG_MR);
    /// LOCAL_INV.
    pub(crate) const LOCAL_INV: Self = Self(bindings::ib_wc_opcode_IB_WC_LOCAL_INV);
    /// A receive that a SEND has taken.
    pub(crate) const RECV: Self = Self(bindings::ib_wc_opcode_IB_WC_RECV);
    /// A receive that an RDMA WRITE with immediate data has taken, and left as it was.
    pub(crate) const RECV_RDMA_WITH_IMM: Self =
        Self(bindings::ib_wc_opcode_IB_WC_RECV_RDMA_WITH_IMM);
}

/// A completion queue of the core's API.
///
/// # Invariants
///
/// `raw` is a completion queue on the device of the identifier of `_events`. With
/// [`PollMode::Pool`] it is the pool's, which keeps room for `entries` completions until this
/// object is dropped; otherwise it is freed by this object alone. Queue pairs that use it are
/// destroyed before it is dropped.
pub(crate) struct CompletionQueue {
    raw: NonNull<bindings::ib_cq>,
    mode: PollMode,
    entries: u32,
    events: Arc<EventContext>,
}

// SAFETY: The verbs on the queue may be called from any task.
unsafe impl Send for CompletionQueue {}
// SAFETY: As above, from several tasks at once; those who share it poll one at a time.
unsafe impl Sync for CompletionQueue {}

impl CompletionQueue {
    /// Makes a queue that up to `queue_pairs` queue pairs of the device of `id` share, with room
    /// for `completions` of their requests, and for all of `receives`, which they take. A thread
    /// [polls](Self::poll) it, with the events of [`PollMode::Notified`], which `handler` gets. May
    /// sleep.
    ///
    /// A memory that [completes to](super::memory::Memory::complete_to) it makes a queue pair
    /// without a completion queue of its own.
    ///
    /// # Errors
    ///
    /// `ENODEV` for an unbound identifier; `ERANGE`, `EINVAL` or the driver's error for a size
    /// beyond its limit; `ENOMEM`.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    pub(crate) fn shared(
        id: &Arc<Id>,
        queue_pairs: usize,
        completions: u32,
        receives: Receives,
        handler: Arc<dyn EventHandler>,
    ) -> Result<Arc<Self>> {
        let entries = receives.queue.receives().checked_add(completions);
        let entries = entries.ok_or(ERANGE)?;
        let events = EventContext {
            handler,
            id: id.clone(),
            sharing: None,
            users: Some(Users::new(queue_pairs, completions, receives)?),
        };
        let events = Arc::new(events, GFP_KERNEL)?;
        let cq = Self::new(entries, PollMode::Notified, events)?;
        Ok(Arc::new(cq, GFP_KERNEL)?)
    }

    /// Makes a queue for `entries` completions on the device of the identifier of `events`, which
    /// gets its errors, unless the queue is the pool's. May sleep.
    ///
    /// # Errors
    ///
    /// `ENODEV` for an unbound identifier; `EINVAL` for no entries; `ERANGE`, `EINVAL` or the
    /// driver's error for a size beyond its limit.
    pub(super) fn new(entries: u32, mode: PollMode, events: Arc<EventContext>) -> Result<Self> {
        if entries == 0 {
            // The core would warn.
            return Err(EINVAL);
        }
        let context = match mode {
            PollMode::Pool => return Self::from_pool(entries, events),
            PollMode::Event => bindings::ib_poll_context_IB_POLL_SOFTIRQ,
            PollMode::Direct | PollMode::Notified => bindings::ib_poll_context_IB_POLL_DIRECT,
        };
        let count = i32::try_from(entries).map_err(|_| ERANGE)?;
        // SAFETY: The device is alive while the identifier is.
        let raw = from_err_ptr(unsafe {
            bindings::rust_helper_alloc_cq(
                events.id.device()?.as_ptr(),
                Arc::as_ptr(&events).cast_mut().cast(),
                count,
                context,
            )
        })?;
        // SAFETY: The queue is ours, and nothing is attached to it yet. The
        // context is held at least as long as the queue.
        unsafe { (*raw).event_handler = Some(handle_cq_event) };
        if mode == PollMode::Notified {
            // SAFETY: As above. The core has no use for the events of a queue that is polled: it
            // never asks the device for one.
            unsafe { (*raw).comp_handler = Some(handle_completion_event) };
        }
        // INVARIANT: Allocated just now.
        Ok(Self {
            raw: NonNull::new(raw).ok_or(ENOMEM)?,
            mode,
            entries,
            events,
        })
    }

    /// Takes room for `entries` completions in a queue of the device's pool.
    fn from_pool(entries: u32, events: Arc<EventContext>) -> Result<Self> {
        let device = events.id.device()?;
        if entries > device.max_cqe() {
            // The pool would never have a queue that is large enough, and look for one for ever.
            return Err(EINVAL);
        }
        // SAFETY: The device is alive while the identifier is. Any vector may serve.
        let raw = from_err_ptr(unsafe {
            bindings::ib_cq_pool_get(
                device.as_ptr(),
                entries,
                -1,
                bindings::ib_poll_context_IB_POLL_SOFTIRQ,
            )
        })?;
        // INVARIANT: The pool has just set the room aside.
        Ok(Self {
            raw: NonNull::new(raw).ok_or(ENOMEM)?,
            mode: PollMode::Pool,
            entries,
            events,
        })
    }

    /// Returns the identifier on whose device it is.
    pub(super) fn id(&self) -> &Arc<Id> {
        &self.events.id
    }

    /// Returns the raw queue, valid while `self` lives.
    pub(super) fn as_ptr(&self) -> *mut bindings::ib_cq {
        self.raw.as_ptr()
    }

    /// Returns the number of completions that the device says it holds, as many as asked for or
    /// more.
    pub(super) fn entries(&self) -> u32 {
        // SAFETY: The queue is alive, and does not change its size.
        u32::try_from(unsafe { (*self.as_ptr()).cqe }).unwrap_or(0)
    }

    /// Returns true where completions are found by polling only.
    pub(super) fn is_polled(&self) -> bool {
        match self.mode {
            PollMode::Event | PollMode::Pool => false,
            PollMode::Direct | PollMode::Notified => true,
        }
    }

    /// Asks the device for an event when the next completion of those comes. Returns true where
    /// completions that have come already may have none, so that it has to be polled once more.
    /// Any context but the event's own.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the events are not the owner's; the driver's.
    pub(crate) fn arm(&self, next: NextEvent) -> Result<bool> {
        if self.mode != PollMode::Notified {
            return Err(EINVAL);
        }
        // SAFETY: The queue is alive.
        match unsafe { bindings::rust_helper_req_notify_cq(self.as_ptr(), next.flags()) } {
            0 => Ok(false),
            error if error < 0 => Err(Error::from_errno(error)),
            _ => Ok(true),
        }
    }

    /// Handles up to `budget` completions, and returns their number; none where the core does
    /// that. The receives among them are posted again where the queue is shared. Process context.
    /// May sleep where it is, and another thread polls; not for the handlers of completions.
    pub(crate) fn poll(&self, budget: u16) -> usize {
        let users = self.users();
        let _poller = users.map(|users| users.poller.lock());
        let handled = match self.mode {
            PollMode::Event | PollMode::Pool => 0,
            // SAFETY: The queue is alive and made for being polled directly.
            PollMode::Direct | PollMode::Notified => usize::try_from(unsafe {
                bindings::ib_process_cq_direct(self.as_ptr(), i32::from(budget))
            })
            .unwrap_or(0),
        };
        if let (Some(users), 1..) = (users, handled) {
            users.refill();
        }
        handled
    }

    /// Returns the queue pairs that share the queue; `None` where it is of one.
    pub(super) fn users(&self) -> Option<&Arc<Users>> {
        self.events.users.as_ref()
    }

    /// Returns true where the queue has room for all receives of `queue`, beside what the queue
    /// pairs post themselves.
    pub(super) fn has_room_for(&self, queue: &SharedReceiveQueue) -> bool {
        self.users().is_some_and(|users| users.take(queue))
    }

    /// Removes the queue pair that was at `qp`, and has been destroyed, from those that share the
    /// queue, once all completions that there were of it have been handled. Process context; may
    /// sleep.
    pub(super) fn forget(&self, qp: NonNull<bindings::ib_qp>) {
        let Some(users) = self.users() else {
            return;
        };
        // Those of others come meanwhile, but not before what is there.
        let mut left = usize::try_from(self.entries()).unwrap_or(usize::MAX);
        while left > 0 {
            match self.poll(FORGET_BUDGET) {
                0 => break,
                handled => left = left.saturating_sub(handled),
            }
        }
        users.remove(qp);
    }
}

/// Completions that are handled at a time for a queue pair that goes.
const FORGET_BUDGET: u16 = 64;

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        if !self.is_polled() {
            // ib_free_cq() waits until the softirq has given the queue back, but the core rearms
            // it after that. The pool does not wait at all: completions of the queue pair, which
            // gets no more, may still be handled, or wait for that.
            // SAFETY: May sleep here, and no lock is held; the queue is alive.
            unsafe { bindings::rust_helper_settle_softirq_cq(self.as_ptr()) };
        }
        // SAFETY: By the type invariant it is there, and is freed or given back once; its queue
        // pair is gone. No handler of that runs any more.
        unsafe {
            match self.mode {
                PollMode::Pool => bindings::ib_cq_pool_put(self.as_ptr(), self.entries),
                PollMode::Event | PollMode::Direct | PollMode::Notified => {
                    bindings::ib_free_cq(self.as_ptr());
                }
            }
        }
    }
}
