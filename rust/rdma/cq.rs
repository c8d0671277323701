// SPDX-License-Identifier: GPL-2.0

//! Completion queues and what they report.
//!
//! C header: `include/rdma/ib_verbs.h`

use crate::{
    bindings,
    cm::{
        static_text,
        CmId, //
    },
    engine::outcome::Outcome,
    logic::failure::{
        Failure,
        Operation, //
    }, //
};
use core::ptr::NonNull;
use kernel::{
    error::from_err_ptr,
    ffi::c_void,
    prelude::*,
    sync::Arc, //
};

/// How completions are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PollMode {
    /// The core calls back from a softirq after the device's event.
    Event,
    /// The workload's thread looks, see [`CompletionQueue::poll`].
    Direct,
}

/// A successful completion.
///
/// Nobody but this file makes one, and it is shown only as long as it is handled. So who has
/// one can take it for the device's word: that a key is invalid, that a READ is done.
#[derive(Debug)]
pub(crate) struct WorkCompletion {
    /// What completed.
    pub(crate) op: Operation,
    /// For a receive, the number that it was posted with.
    pub(crate) slot: usize,
    /// For a receive and an RDMA READ, how many bytes arrived.
    pub(crate) bytes: u32,
    /// For a receive, the key that the peer invalidated with its SEND.
    pub(crate) invalidated: Option<u32>,
    /// For a receive, the immediate that came with it.
    pub(crate) immediate: Option<u32>,
    /// A receive that a WRITE with an immediate has taken, and left as it was.
    pub(crate) written: bool,
    _made_here: (),
}

impl WorkCompletion {
    pub(super) fn new(op: Operation, slot: usize, wc: &bindings::ib_wc) -> Self {
        let invalidated = (wc.wc_flags & bindings::ib_wc_flags_IB_WC_WITH_INVALIDATE as i32 != 0)
            // SAFETY: With this flag the union holds the key; any bits are valid.
            .then(|| unsafe { *wc.ex.invalidate_rkey.as_ref() });
        let immediate = (wc.wc_flags & bindings::ib_wc_flags_IB_WC_WITH_IMM as i32 != 0)
            // SAFETY: With this flag the union holds the immediate; any bits are valid.
            .then(|| u32::from_be(unsafe { *wc.ex.imm_data.as_ref() }));
        Self {
            op,
            slot,
            immediate,
            bytes: wc.byte_len,
            invalidated,
            written: wc.opcode == bindings::ib_wc_opcode_IB_WC_RECV_RDMA_WITH_IMM,
            _made_here: (),
        }
    }
}

/// Any completion, as the device gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawCompletion {
    /// What completed.
    pub(crate) op: Operation,
    /// The number that it was posted with.
    pub(crate) slot: usize,
    /// `enum ib_wc_status`.
    pub(crate) status: u32,
    /// Whether it says, where it was done, that it was the operation that was posted.
    pub(crate) names_its_op: bool,
}

impl RawCompletion {
    pub(super) fn new(op: Operation, slot: usize, wc: &bindings::ib_wc) -> Self {
        let opcode = match op {
            Operation::Send | Operation::Control => bindings::ib_wc_opcode_IB_WC_SEND,
            Operation::Read => bindings::ib_wc_opcode_IB_WC_RDMA_READ,
            Operation::Write => bindings::ib_wc_opcode_IB_WC_RDMA_WRITE,
            Operation::Register => bindings::ib_wc_opcode_IB_WC_REG_MR,
            Operation::Invalidate => bindings::ib_wc_opcode_IB_WC_LOCAL_INV,
            Operation::Receive => bindings::ib_wc_opcode_IB_WC_RECV,
            Operation::Atomic => bindings::ib_wc_opcode_IB_WC_MASKED_COMP_SWAP,
        };
        Self {
            op,
            slot,
            status: wc.status,
            // Other completions need not have an opcode.
            names_its_op: wc.status != bindings::ib_wc_status_IB_WC_SUCCESS || wc.opcode == opcode,
        }
    }
}

/// A completion queue of the core's API.
///
/// # Invariants
///
/// `raw` is a completion queue on the device of `_id`, freed by this
/// object alone. Queue pairs that use it are destroyed before it is dropped.
pub(super) struct CompletionQueue {
    raw: NonNull<bindings::ib_cq>,
    mode: PollMode,
    _outcome: Arc<Outcome>,
    _id: Arc<CmId>,
}

impl CompletionQueue {
    /// Allocates a queue for `entries` completions on the device of `id`, whose
    /// errors go to `outcome`. May sleep.
    pub(super) fn new(
        id: &Arc<CmId>,
        entries: u32,
        mode: PollMode,
        outcome: &Arc<Outcome>,
    ) -> Result<Self> {
        let context = match mode {
            PollMode::Event => bindings::ib_poll_context_IB_POLL_SOFTIRQ,
            PollMode::Direct => bindings::ib_poll_context_IB_POLL_DIRECT,
        };
        let entries = i32::try_from(entries).map_err(|_| ERANGE)?;
        // SAFETY: The device is alive while `id` is.
        let raw = from_err_ptr(unsafe {
            bindings::krping_alloc_cq(
                id.device()?.as_ptr(),
                Arc::as_ptr(outcome).cast_mut().cast(),
                entries,
                context,
            )
        })?;
        // SAFETY: The queue is ours, and nothing is attached to it yet. The
        // context, the outcome, is held at least as long as the queue.
        unsafe { (*raw).event_handler = Some(handle_cq_event) };
        // INVARIANT: Allocated just now.
        Ok(Self {
            raw: NonNull::new(raw).ok_or(ENOMEM)?,
            mode,
            _outcome: outcome.clone(),
            _id: id.clone(),
        })
    }

    /// The raw queue.
    pub(super) fn as_ptr(&self) -> *mut bindings::ib_cq {
        self.raw.as_ptr()
    }

    /// How many completions the device says that it holds, as many as asked for or more.
    pub(super) fn entries(&self) -> u32 {
        // SAFETY: The queue is alive, and does not change its size.
        u32::try_from(unsafe { (*self.as_ptr()).cqe }).unwrap_or(0)
    }

    /// Whether completions are found by polling only.
    pub(super) fn is_polled(&self) -> bool {
        self.mode == PollMode::Direct
    }

    /// Handles up to `budget` completions; none where the core does that.
    pub(super) fn poll(&self, budget: u16) -> usize {
        match self.mode {
            PollMode::Event => 0,
            // SAFETY: The queue is alive and made for being polled directly.
            PollMode::Direct => usize::try_from(unsafe {
                bindings::ib_process_cq_direct(self.as_ptr(), i32::from(budget))
            })
            .unwrap_or(0),
        }
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        if self.mode == PollMode::Event {
            // ib_free_cq() waits until the softirq has given the queue back, but the
            // core rearms it after that.
            // SAFETY: May sleep here, and no lock is held; the queue is alive.
            unsafe { bindings::krping_settle_softirq_cq(self.as_ptr()) };
        }
        // SAFETY: By the type invariant it is there, and is freed once; its
        // queue pair is gone. No handler of it runs any more.
        unsafe { bindings::ib_free_cq(self.as_ptr()) }
    }
}

/// The callback of errors of a completion queue. May be called in any context.
///
/// # Safety
///
/// `context` is the `Outcome` that the queue was allocated with.
unsafe extern "C" fn handle_cq_event(event: *mut bindings::ib_event, context: *mut c_void) {
    // SAFETY: The event is valid during the call, and the outcome is held at
    // least as long as the queue.
    let (kind, outcome) = unsafe { ((*event).event, &*context.cast::<Outcome>()) };
    // SAFETY: The kernel's names of events are static.
    let name = unsafe { static_text(bindings::ib_event_msg(kind)) };
    outcome.fail(Failure::Async(kind, name));
}
