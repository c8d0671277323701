// SPDX-License-Identifier: GPL-2.0

//! Queues that are made, and destroyed at once, to see whether the device makes
//! them: the same as those of a run, but that nothing is ever posted.
//!
//! C header: `include/rdma/ib_verbs.h`

use super::Depths;
use crate::{
    bindings,
    mr::Memory,
    rdma::cq::{
        CompletionQueue,
        PollMode, //
    }, //
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    prelude::*, //
};

/// Makes a completion queue of `entries` on the device of `memory`. May sleep.
///
/// # Errors
///
/// What the device says.
pub(crate) fn make_completions(memory: &Memory, entries: u32) -> Result {
    completions(memory, entries).map(drop)
}

/// Nothing completes on it, so it does not matter that nobody polls.
fn completions(memory: &Memory, entries: u32) -> Result<CompletionQueue> {
    let id = memory.id();
    CompletionQueue::new(id, entries, PollMode::Direct, id.outcome())
}

/// Makes a queue pair of that size in the domain of `memory`, and its completion
/// queue. May sleep.
///
/// # Errors
///
/// What the device says.
pub(crate) fn make_queue_pair(memory: &Memory, depths: &Depths) -> Result {
    let cq = completions(memory, depths.entries()?)?;
    let mut attr = depths.attributes(&cq)?;
    // SAFETY: The domain and the completion queue are of one device, and outlive the
    // queue pair.
    let qp = from_err_ptr(unsafe {
        bindings::ib_create_qp_kernel(memory.pd(), &mut attr, c"krping".as_char_ptr())
    })?;
    // SAFETY: Created just now, and nobody else knows it.
    to_result(unsafe { bindings::ib_destroy_qp_user(qp, core::ptr::null_mut()) })
}
