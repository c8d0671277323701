// SPDX-License-Identifier: GPL-2.0

//! Has workloads post at moments of the clock (`rate=`): by a timer, in whose softirq they post, or
//! by the thread that polls.

#![forbid(unsafe_code)]

use super::{
    drive::failed,
    queue_pair::QueuePair,
    side::Side, //
};
use crate::{
    kernel_ext::{
        alarm::with_alarm,
        time::monotonic_ns, //
    },
    logic::failure::Failure, //
};

/// Least time in ns from the end of one call of the timer to the next. What is due meanwhile is
/// posted together, so that a rate that is too high leaves time for all else on this CPU.
const LEAST_NS: u64 = 5_000;

/// Returns true where one of the workloads posts at moments of the clock.
pub(super) fn is_paced<'a, W: Side>(
    mut queue_pairs: impl Iterator<Item = &'a QueuePair<W>>,
) -> bool {
    queue_pairs.any(|queue_pair| queue_pair.with(|workload, _| workload.is_paced()) == Some(true))
}

/// Has each workload post what is due by now, and returns the first moment at which one of them is
/// to be asked again; `None` where none is. A failure is reported to the outcome. Any context but
/// hard interrupts.
pub(super) fn post_due<'a, W: Side>(
    queue_pairs: impl Iterator<Item = &'a QueuePair<W>>,
) -> Option<u64> {
    let post = |workload: &mut W, queue: &mut super::queue::Queue<'_>| {
        if queue.outcome.ended() {
            return None;
        }
        workload.post_due(queue).unwrap_or_else(|failure| {
            queue.outcome.fail(failure);
            None
        })
    };
    queue_pairs
        .filter_map(|queue_pair| queue_pair.with(post)?)
        .min()
}

/// Calls `f`. Until that returns, a timer has the workloads of `queue_pairs` post what is due.
/// Process context; may sleep.
///
/// # Errors
///
/// [`Failure::Kernel`] without memory for the timer; the error of `f`.
#[inline(never)]
pub(super) fn with_timer<'a, W: Side>(
    queue_pairs: impl Iterator<Item = &'a QueuePair<W>> + Clone + Sync,
    f: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some(first) = post_due(queue_pairs.clone()) else {
        return f();
    };
    let ring = || {
        let next = post_due(queue_pairs.clone())?;
        Some(next.max(monotonic_ns().saturating_add(LEAST_NS)))
    };
    with_alarm(first, &ring, f).map_err(failed("starting the client"))?
}
