// SPDX-License-Identifier: GPL-2.0

//! The callbacks of completions, which show them to the handler of their queue pair.
//!
//! C header: `include/rdma/ib_verbs.h` (`struct ib_cqe`)

use super::{
    completions::Settle,
    entry::{
        target,
        Entry, //
    },
    Completions,
    QueuePair, //
};
use crate::{
    bindings,
    rdma::{
        cq::WorkCompletion,
        srq::Taker, //
    }, //
};

impl<C: Completions> QueuePair<C> {
    /// Shows the handler the completion of a request of entry `entry`. The number of its own entry,
    /// where it has one, is `number`.
    fn completed(&self, entry: &Entry<C::Tag>, number: u32, wc: &bindings::ib_wc) {
        let done = self.with(|completions, queue| {
            let wc = WorkCompletion::new(wc, number, queue.memory().owner());
            completions.completed(queue, entry.tag, &wc)
        });
        done.settle();
    }
}

impl<C: Completions> Taker for QueuePair<C> {
    fn took(&self, receive: u32, wc: &bindings::ib_wc) {
        let done = self.with(|completions, queue| {
            // No request of the queue pair has that entry, so the completion is taken for none.
            let wc = WorkCompletion::new(wc, u32::MAX, queue.memory().owner());
            let tag = C::shared(receive)?;
            Some(completions.completed(queue, tag, &wc))
        });
        done.settle();
    }
}

/// The callback of every completion.
///
/// # Safety
///
/// Called by the core for a request whose entry is one of a `QueuePair<C>`.
pub(super) unsafe extern "C" fn handle_completion<C: Completions>(
    _cq: *mut bindings::ib_cq,
    wc: *mut bindings::ib_wc,
) {
    // SAFETY: The completion is valid during the call. Its entry and the queue pair, which owns
    // that, live until the completion queue has been freed, or has forgotten the queue pair, and
    // both wait for this call.
    unsafe {
        let wc = &*wc;
        let (queue_pair, entry) = target::<QueuePair<C>, C::Tag>(wc);
        queue_pair.completed(entry, entry.index, wc);
    }
}

/// The callback of the last requests of transfers.
///
/// # Safety
///
/// Called by the core for a request whose entry is that of a transfer in the memory of a
/// `QueuePair<C>`.
pub(super) unsafe extern "C" fn handle_transferred<C: Completions>(
    _cq: *mut bindings::ib_cq,
    wc: *mut bindings::ib_wc,
) {
    // SAFETY: The completion is valid during the call. Its entry and the queue pair, whose memory
    // has the transfer, live until the completion queue has been freed, or has forgotten the queue
    // pair, and both wait for this call. The entry does not change while its request is under way.
    unsafe {
        let wc = &*wc;
        let (queue_pair, own) = target::<QueuePair<C>, u32>(wc);
        if let Some(entry) = queue_pair.entries.get(own.tag as usize) {
            queue_pair.completed(entry, own.index, wc);
        }
    }
}

/// The callback of the requests that drain a queue pair.
///
/// # Safety
///
/// Called by the core for a request whose entry is one of a `QueuePair<C>`'s drain.
pub(super) unsafe extern "C" fn handle_drained<C: Completions>(
    _cq: *mut bindings::ib_cq,
    wc: *mut bindings::ib_wc,
) {
    // SAFETY: The completion is valid during the call. Its entry and the queue pair, which owns
    // that, live until the completion queue has been freed, or has forgotten the queue pair, and
    // both wait for this call.
    unsafe {
        let (queue_pair, entry) = target::<QueuePair<C>, ()>(&*wc);
        queue_pair.drain.done(entry.index);
    }
}
