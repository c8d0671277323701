// SPDX-License-Identifier: GPL-2.0

//! Reliable connected queue pairs, and the workloads that their completions
//! drive.
//!
//! A [`QueuePair`] owns everything that its work requests refer to: the memory,
//! the completion entries, the completion queue, and the [`Workload`] that its
//! completions are handed to. Its drop stops the workload, drains and destroys
//! the queue pair, frees the completion queue, and only then the rest: no
//! completion outlives what it needs.
//!
//! The workload and the memory are under one lock, taken with bottom halves off:
//! a completion handler, in a softirq, and the thread that starts or
//! ends the workload never work on it at once. In it, nothing sleeps and nothing
//! is allocated. It is taken before the lock of [`Outcome`], never after.
//!
//! C header: `include/rdma/ib_verbs.h`

mod depths;
mod drain;
mod queue;
pub(crate) mod sizing;
mod workload;

pub(crate) use depths::Depths;
pub(crate) use drain::DRAINS;
pub(crate) use queue::Queue;
pub(crate) use workload::{
    Settle,
    Workload, //
};

use drain::Drain;

use crate::{
    bindings,
    cm::{
        outcome_of,
        static_text,
        QueuePairPlace, //
    },
    engine::outcome::{
        new_bell,
        Outcome, //
    },
    kernel_ext::{
        blk::request::Request,
        spinlock::SpinLockBh, //
    },
    logic::failure::{
        Failure,
        Operation, //
    },
    mr::{
        Memory,
        Region, //
    },
    rdma::{
        cq::{
            CompletionQueue,
            PollMode,
            RawCompletion,
            WorkCompletion, //
        },
        wr::batch::Batch, //
    }, //
};
use core::{
    marker::PhantomPinned,
    ptr::NonNull, //
};
use kernel::{
    error::to_result,
    ffi::c_void,
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

/// Operations that completions tell apart.
const OPERATIONS: usize = 8;

/// Where the device finds the callback of a request.
///
/// # Invariants
///
/// `raw` is the first field, so that a pointer to it is one to the entry.
#[repr(C)]
struct Entry {
    raw: bindings::ib_cqe,
    owner: *const c_void,
    op: Operation,
    slot: usize,
}

/// The entry of an operation in a slot.
fn entry_index(op: Operation, slot: usize) -> usize {
    slot.saturating_mul(OPERATIONS).saturating_add(op as usize)
}

/// All operations, in the order of their entries.
const ALL: [Operation; OPERATIONS] = [
    Operation::Send,
    Operation::Read,
    Operation::Write,
    Operation::Register,
    Operation::Invalidate,
    Operation::Receive,
    Operation::Control,
    Operation::Atomic,
];

struct Inner<W> {
    /// Taken out at the end: completions then have nothing to drive. In a box, as it is too
    /// large to be moved over the stack.
    workload: Option<KBox<W>>,
    /// Its requests name `memory`.
    batch: Batch,
    memory: Memory,
}

/// Neither is ever pinned by its place here, so both may be moved out of it.
impl<W> Unpin for Inner<W> {}

/// A queue pair, its memory, and its workload. Always pinned on the heap.
///
/// # Invariants
///
/// - `raw` is the queue pair of `place`'s identifier, destroyed by this object
///   alone, in its drop or in [`end`](Self::end); what it used goes after it, in the order
///   of the fields.
/// - `entries` point to this object.
#[pin_data(PinnedDrop)]
pub(crate) struct QueuePair<W: Workload> {
    cq: CompletionQueue,
    #[pin]
    inner: SpinLockBh<Inner<W>>,
    entries: KVVec<Entry>,
    drain: Drain,
    raw: NonNull<bindings::ib_qp>,
    outcome: Arc<Outcome>,
    place: QueuePairPlace,
    /// Whether it has been destroyed.
    destroyed: Atomic<u32>,
    #[pin]
    _pin: PhantomPinned,
}

// SAFETY: All mutable state is behind the lock; the verbs may be called from any
// task, and `W` is `Send`.
unsafe impl<W: Workload> Send for QueuePair<W> {}
// SAFETY: As above.
unsafe impl<W: Workload> Sync for QueuePair<W> {}

impl<W: Workload> QueuePair<W> {
    /// Creates a queue pair on the identifier of `memory`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EBUSY` where the identifier has a queue pair; `EINVAL` or what
    /// else the device says for depths beyond it.
    pub(crate) fn new(
        memory: Memory,
        depths: Depths,
        poll: PollMode,
        workload: KBox<W>,
    ) -> Result<Pin<KBox<Self>>> {
        let room = KBox::<Self>::new_uninit(GFP_KERNEL)?;
        let owner = room.as_ptr().cast();
        let entries = Self::entries(depths.slots, owner)?;
        let drained = new_bell()?;
        let batch = Batch::new(depths.batch, usize::from(depths.pieces))?;
        let place = memory.id().claim_queue_pair()?;
        let id = place.id();
        let outcome = id.outcome().clone();
        let cq = CompletionQueue::new(id, depths.entries()?, poll, &outcome)?;
        let mut attr = bindings::ib_qp_init_attr {
            event_handler: Some(handle_qp_event),
            qp_context: id.as_ptr().cast(),
            ..depths.attributes(&cq)?
        };
        // SAFETY: The identifier is bound to the device of the domain and the
        // completion queue. The context, the identifier, is held until the queue
        // pair has been destroyed, after which no event comes.
        to_result(unsafe { bindings::rdma_create_qp(id.as_ptr(), memory.pd(), &mut attr) })?;
        // SAFETY: The identifier is valid; the call above set its queue pair.
        let raw = NonNull::new(unsafe { (*id.as_ptr()).qp }).ok_or(ENODEV)?;
        // Nothing below fails, so the queue pair always gets its owner.
        let init = pin_init!(&this in Self {
            inner <- SpinLockBh::new(
                Inner { workload: Some(workload), batch, memory },
                c"krping_qp",
                static_lock_class!(),
            ),
            // INVARIANT: The entries point to where the object stays.
            entries,
            drain: Drain::new(this.as_ptr().cast_const().cast(), handle_drained::<W>, drained),
            cq,
            raw,
            outcome,
            place,
            destroyed: Atomic::new(0),
            _pin: PhantomPinned,
        });
        match room.write_pin_init(init) {
            Ok(this) => Ok(this),
            Err(never) => match never {},
        }
    }

    /// The entries of `slots` slots of the queue pair at `owner`.
    fn entries(slots: usize, owner: *const c_void) -> Result<KVVec<Entry>> {
        let count = slots.checked_mul(OPERATIONS).ok_or(ERANGE)?;
        let mut entries = KVVec::with_capacity(count, GFP_KERNEL)?;
        for slot in 0..slots {
            for op in ALL {
                let entry = Entry {
                    raw: bindings::ib_cqe {
                        done: Some(handle_completion::<W>),
                    },
                    owner,
                    op,
                    slot,
                };
                entries.push_within_capacity(entry).map_err(|_| ENOMEM)?;
            }
        }
        Ok(entries)
    }

    /// Runs `f` on the workload and the queue, unless it has been stopped. Any
    /// context but hard interrupts; `f` must not sleep.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut W, &mut Queue<'_>) -> R) -> Option<R> {
        let mut inner = self.inner.lock();
        let Inner {
            workload,
            batch,
            memory,
        } = &mut *inner;
        let mut queue = Queue {
            raw: self.raw,
            entries: &self.entries,
            memory,
            batch,
            outcome: &self.outcome,
        };
        workload.as_mut().map(|workload| f(workload, &mut queue))
    }

    /// Ends the workload and hands it back: what completes from now on drives
    /// nothing. `None` where it was stopped before.
    pub(crate) fn stop(&self) -> Option<KBox<W>> {
        self.inner.lock().workload.take()
    }

    /// Stops the workload, drains and destroys the queue pair, and hands the workload back
    /// once `give_back` was called with each request that a region still had. Process
    /// context; sleeps.
    pub(crate) fn end(
        this: Pin<KBox<Self>>,
        mut give_back: impl FnMut(&mut W, Request),
    ) -> Option<KBox<W>> {
        let mut workload = this.stop();
        this.destroy();
        while let Some(region) = this.pop_region() {
            if let (Some(request), Some(workload)) = (region.into_request(), &mut workload) {
                give_back(workload, request);
            }
        }
        workload
    }

    fn pop_region(&self) -> Option<Region> {
        self.inner.lock().memory.pop_region()
    }

    /// Drains and destroys it, once.
    fn destroy(&self) {
        if self.destroyed.xchg(1, Relaxed) != 0 {
            return;
        }
        if let Err(error) = self.drain.flush(self.raw, &self.cq, W::PATIENCE_MS) {
            let failure = Failure::Kernel("flushing a queue pair", error.to_errno());
            pr_warn!("{}; it is destroyed all the same\n", failure);
        }
        // SAFETY: By the type invariant; only the drop and `end` come here, which have the
        // object alone, and whose workload has been stopped, so nothing is posted any more.
        // The device uses no memory of a queue pair that is destroyed. A completion that is
        // still to be handled finds its entry: the completion queue is the first of the
        // fields to go, after the last handler.
        unsafe { bindings::rdma_destroy_qp(self.place.id().as_ptr()) };
    }

    /// Handles up to `budget` completions, for [`PollMode::Direct`]. Returns how
    /// many there were. Process context.
    pub(crate) fn poll(&self, budget: u16) -> usize {
        self.cq.poll(budget)
    }

    /// How many completions the device says that their queue holds.
    pub(crate) fn completions(&self) -> u32 {
        self.cq.entries()
    }

    /// The state that the device says it is in: `enum ib_qp_state`. Process context;
    /// may sleep.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn state(&self) -> Result<u32> {
        let mut attr = bindings::ib_qp_attr::default();
        let mut init = bindings::ib_qp_init_attr::default();
        // SAFETY: By the type invariant the queue pair is alive; both are valid for
        // writes.
        to_result(unsafe {
            bindings::ib_query_qp(
                self.raw.as_ptr(),
                &mut attr,
                bindings::ib_qp_attr_mask_IB_QP_STATE as i32,
                &mut init,
            )
        })?;
        Ok(attr.qp_state)
    }

    /// Puts it into error, without a word to the peer. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn break_off(&self) -> Result {
        self.drain.enter_error(self.raw)
    }

    /// Puts it into error and waits until all requests have completed, which the
    /// workload is shown. For [`PollMode::Direct`]. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// What the device says; `ETIMEDOUT` where it does not flush its queues.
    pub(crate) fn drain(&self) -> Result {
        self.drain.flush(self.raw, &self.cq, W::PATIENCE_MS)?;
        // SAFETY: By the type invariant the queue pair is ours, and nobody else polls.
        // It has just been seen to flush what is posted, so this ends as well.
        unsafe { bindings::ib_drain_qp(self.raw.as_ptr()) };
        Ok(())
    }

    /// Whether the workload is to [`look`](Self::look) at all.
    pub(crate) fn watches(&self) -> bool {
        self.with(|workload, _| workload.watches()).unwrap_or(false)
    }

    /// Has the workload look for what no completion tells, for
    /// [`PollMode::Direct`]. Returns whether there was any. Process context.
    pub(crate) fn look(&self) -> bool {
        self.with(|workload, queue| match workload.look(queue) {
            Ok(false) => false,
            Ok(true) => {
                queue.outcome.touch();
                true
            }
            Err(failure) => {
                queue.outcome.fail(failure);
                true
            }
        })
        .unwrap_or(false)
    }

    /// Where this queue pair reports to.
    pub(crate) fn outcome(&self) -> &Arc<Outcome> {
        &self.outcome
    }

    fn completed(&self, op: Operation, slot: usize, wc: &bindings::ib_wc) {
        let done = self.with(|workload, queue| {
            if workload.takes(&RawCompletion::new(op, slot, wc)) {
                return None;
            }
            let result = if wc.status == bindings::ib_wc_status_IB_WC_SUCCESS {
                // After the end, a peer has nothing to be served any more.
                if queue.outcome.settled() {
                    return None;
                }
                // That this side says that it is there is no sign of the other.
                if op != Operation::Control {
                    queue.outcome.touch();
                }
                workload.completed(queue, &WorkCompletion::new(op, slot, wc))
            } else {
                Err(Failure::Completion {
                    status: wc.status,
                    vendor: wc.vendor_err,
                    op,
                    iteration: workload.iteration(),
                })
            };
            result.map_err(|failure| queue.outcome.fail(failure)).ok()
        });
        done.flatten().settle();
    }
}

#[pinned_drop]
impl<W: Workload> PinnedDrop for QueuePair<W> {
    fn drop(self: Pin<&mut Self>) {
        drop(self.stop());
        self.destroy();
    }
}

/// The callback of every completion.
///
/// # Safety
///
/// Called by the core for a request whose entry is one of a `QueuePair<W>`.
unsafe extern "C" fn handle_completion<W: Workload>(
    _cq: *mut bindings::ib_cq,
    wc: *mut bindings::ib_wc,
) {
    // SAFETY: The completion is valid during the call.
    let wc = unsafe { &*wc };
    // SAFETY: As this function's.
    let (queue_pair, entry) = unsafe { target::<W>(wc) };
    queue_pair.completed(entry.op, entry.slot, wc);
}

/// The queue pair and the entry that a completion belongs to.
///
/// # Safety
///
/// `wc` is that of a request whose entry is one of a `QueuePair<W>`, and is being
/// handled.
unsafe fn target<'a, W: Workload>(wc: &'a bindings::ib_wc) -> (&'a QueuePair<W>, &'a Entry) {
    // SAFETY: The completion's entry is the first field of an `Entry` that points
    // to its queue pair, and both live until the completion queue has been freed, which
    // waits for the handling of this one.
    unsafe {
        let entry = &*(*wc.__bindgen_anon_1.wr_cqe.as_ref()).cast::<Entry>();
        (&*entry.owner.cast::<QueuePair<W>>(), entry)
    }
}

/// The callback of the requests that drain a queue pair.
///
/// # Safety
///
/// Called by the core for a request whose entry is one of a `QueuePair<W>`'s drain.
unsafe extern "C" fn handle_drained<W: Workload>(
    _cq: *mut bindings::ib_cq,
    wc: *mut bindings::ib_wc,
) {
    // SAFETY: The completion is valid during the call; otherwise as this function's.
    let (queue_pair, entry) = unsafe { target::<W>(&*wc) };
    queue_pair.drain.done(entry.slot);
}

/// The callback of asynchronous events of a queue pair. Called by a worker.
///
/// # Safety
///
/// `context` is the identifier of a `CmId` that the queue pair was created on.
unsafe extern "C" fn handle_qp_event(event: *mut bindings::ib_event, context: *mut c_void) {
    // SAFETY: The event is valid during the call, and the identifier is held until
    // the queue pair has been destroyed.
    let (kind, outcome) = unsafe { ((*event).event, outcome_of(context.cast())) };
    if kind == bindings::ib_event_type_IB_EVENT_COMM_EST {
        // A message has overtaken the client's last word of three, which may be lost: the
        // connection is up.
        // SAFETY: As above. It may be called in any context; where the CM knows already, it
        // fails, which does not matter.
        let _ = unsafe { bindings::rdma_notify(context.cast(), kind) };
    }
    if matches!(
        kind,
        bindings::ib_event_type_IB_EVENT_QP_FATAL
            | bindings::ib_event_type_IB_EVENT_QP_REQ_ERR
            | bindings::ib_event_type_IB_EVENT_QP_ACCESS_ERR
    ) {
        // SAFETY: The kernel's names of events are static.
        let name = unsafe { static_text(bindings::ib_event_msg(kind)) };
        outcome.fail(Failure::Async(kind, name));
    }
}
