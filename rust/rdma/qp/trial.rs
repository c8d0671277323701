// SPDX-License-Identifier: GPL-2.0

//! Queues that are made, and destroyed at once, to see whether the device makes them.
//!
//! Nothing is ever posted to them.
//!
//! C header: `include/rdma/ib_verbs.h`

use super::QueuePairCaps;
use crate::{
    bindings,
    rdma::{
        cq::{
            CompletionQueue,
            PollMode, //
        },
        event::{
            AsyncEvent,
            EventContext,
            EventHandler, //
        },
        pd::ProtectionDomain, //
    }, //
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    prelude::*,
    sync::Arc, //
};

/// Ignores all events: queues that are not used have none that matter.
struct Ignore;

impl EventHandler for Ignore {
    fn async_event(&self, _: AsyncEvent) {}
}

/// Makes a completion queue of `entries` on the device of `pd`. May sleep.
///
/// # Errors
///
/// The driver's.
pub(crate) fn make_completion_queue(pd: &ProtectionDomain, entries: u32) -> Result {
    completion_queue(pd, entries).map(drop)
}

/// Nothing completes on it, so it does not matter that nobody polls.
fn completion_queue(pd: &ProtectionDomain, entries: u32) -> Result<CompletionQueue> {
    let events = EventContext {
        handler: Arc::new(Ignore, GFP_KERNEL)?,
        id: pd.id().clone(),
        sharing: None,
        users: None,
    };
    CompletionQueue::new(entries, PollMode::Direct, Arc::new(events, GFP_KERNEL)?)
}

/// Makes a queue pair of that size in `pd`, and its completion queue. May sleep.
///
/// # Errors
///
/// `EINVAL` where its requests hold less inline data; the driver's.
pub(crate) fn make_queue_pair(pd: &ProtectionDomain, caps: &QueuePairCaps) -> Result {
    let device = pd.id().device()?;
    let cq = completion_queue(pd, caps.all_completions(&device, None)?)?;
    let mut attr = caps.attributes(&cq, None, pd.id().qp_type(), device.port())?;
    // SAFETY: The domain and the completion queue are of one device, and outlive the
    // queue pair.
    let qp = from_err_ptr(unsafe {
        bindings::ib_create_qp_kernel(pd.as_ptr(), &mut attr, c"rdma_trial".as_char_ptr())
    })?;
    // SAFETY: Created just now, and nobody else knows it.
    to_result(unsafe { bindings::ib_destroy_qp_user(qp, core::ptr::null_mut()) })?;
    caps.check_inline(&attr)
}
