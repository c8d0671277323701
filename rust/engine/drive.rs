// SPDX-License-Identifier: GPL-2.0

//! Waits for workloads that are driven by completions, or polls for these completions.

#![forbid(unsafe_code)]

use super::{
    events,
    pacing,
    session::Session,
    worker::Worker, //
};
use crate::{
    engine::{
        outcome::{
            Outcome,
            Progress, //
        },
        polling::{
            Patience,
            Polling, //
        },
        queue_pair::QueuePair,
        side::Side, //
    },
    kernel_ext::time::{
        cpu_contended,
        nap,
        relax,
        yield_cpu,
        Deadline, //
    },
    logic::failure::Failure,
    rdma::{
        cq::NextEvent,
        device::Device, //
    }, //
};
use kernel::prelude::*;

/// Number of completions that a polling thread handles at a time.
pub(super) const POLL_BUDGET: u16 = 16;

/// Number of polling rounds between two checks of deadlines, keepalives and the scheduler.
pub(super) const SLOW_ROUNDS: u32 = 64;

/// Sleeps that are shorter than this one are timed by a timer of their own.
const SHORT_NAP_NS: u64 = 10_000_000;

/// Returns a function that turns an errno into a failure in the step `what`.
pub(crate) fn failed(what: &'static str) -> impl Fn(kernel::error::Error) -> Failure {
    move |error| Failure::Kernel(what, error.to_errno())
}

/// Name of the step in which a device does not take the wish for an event.
pub(super) const ARMING: &str = "arming the completion queue";

/// Name of the step that a timeout reports.
pub(super) const WHAT: &str = "waiting for the peer";

/// Waits until all workloads have reached `goal`, or one of the outcomes has failed. The wait times
/// out after `timeout` ms without activity. The calling thread polls the completion queues if
/// `polling` asks for that. Calls `send_keepalives` every `interval` ms, and has the workloads
/// [attend](Side::attend) to what completions have left, and post what is [due](Side::post_due).
///
/// # Errors
///
/// The reported failure, [`Failure::TimedOut`], or the error of `send_keepalives`.
pub(crate) fn drive<'a, W: Side>(
    queue_pairs: impl Iterator<Item = &'a QueuePair<W>> + Clone + Sync,
    goal: Progress,
    polling: Polling,
    timeout: Option<u32>,
    interval: Option<u32>,
    send_keepalives: impl FnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let wait = || {
        wait(
            queue_pairs.clone(),
            goal,
            polling,
            timeout,
            interval,
            send_keepalives,
        )
    };
    // A thread that never sleeps looks at the clock itself.
    if polling != Polling::Spin && pacing::is_paced(queue_pairs.clone()) {
        return pacing::with_timer(queue_pairs.clone(), wait);
    }
    wait()
}

/// Waits or polls for [`drive`].
#[inline(never)]
fn wait<'a, W: Side>(
    queue_pairs: impl Iterator<Item = &'a QueuePair<W>> + Clone,
    goal: Progress,
    polling: Polling,
    timeout: Option<u32>,
    interval: Option<u32>,
    send_keepalives: impl FnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (interval, mut send_keepalives) =
        with_ticks(queue_pairs.clone(), interval, send_keepalives);
    let outcomes = queue_pairs
        .clone()
        .map(|queue_pair| &**queue_pair.outcome());
    let attend = || {
        let mut queue_pairs = queue_pairs.clone();
        queue_pairs.try_fold(false, |more, queue_pair| Ok(W::attend(queue_pair)? || more))
    };
    outcomes.clone().for_each(Outcome::touch);
    if polling == Polling::Solicited {
        events::follow(
            queue_pairs.clone(),
            goal,
            timeout,
            interval,
            &mut send_keepalives,
        )?;
    }
    if let Some(patience) = polling.patience() {
        spin(
            queue_pairs.clone(),
            goal,
            patience,
            timeout,
            interval,
            &mut send_keepalives,
        )?;
    }
    Outcome::wait_all(
        outcomes,
        goal,
        WHAT,
        timeout,
        interval,
        attend,
        send_keepalives,
    )
}

/// Returns the interval, and what is to be done at it: that the workloads [tick](Side::tick), and
/// `send_keepalives` every `keepalive` ms.
fn with_ticks<'a, W: Side>(
    queue_pairs: impl Iterator<Item = &'a QueuePair<W>> + Clone,
    keepalive: Option<u32>,
    mut send_keepalives: impl FnMut() -> Result<(), Failure>,
) -> (Option<u32>, impl FnMut() -> Result<(), Failure>) {
    let tick = queue_pairs
        .clone()
        .filter_map(|queue_pair| queue_pair.with(|workload, _| workload.tick_ms())?)
        .min();
    let mut next = Deadline::after(keepalive);
    let at_interval = move || {
        if tick.is_some() {
            let mut queue_pairs = queue_pairs.clone();
            queue_pairs.try_for_each(|queue_pair| queue_pair.with(W::tick).unwrap_or(Ok(())))?;
            if !next.passed() {
                return Ok(());
            }
            next = Deadline::after(keepalive);
        }
        send_keepalives()
    };
    let interval = match (tick, keepalive) {
        (Some(tick), Some(keepalive)) => Some(tick.min(keepalive)),
        (one, other) => one.or(other),
    };
    (interval, at_interval)
}

/// Sleeps until one of `queue_pairs` has a completion or a report, until `deadline`, or until one
/// of them has had no activity for `timeout` ms. Where `nap_ns` is given, sleeps no longer than
/// that.
///
/// # Errors
///
/// The driver's, where it does not take the wish for an event.
fn sleep<'a, W: Side>(
    queue_pairs: impl Iterator<Item = &'a QueuePair<W>> + Clone,
    deadline: Deadline,
    timeout: Option<u32>,
    nap_ns: Option<u64>,
) -> Result<(), Failure> {
    let mut wait = deadline;
    match nap_ns {
        // Too short for the clock of deadlines: over before an event is missed.
        Some(ns) if ns < SHORT_NAP_NS => {
            nap(ns);
            return Ok(());
        }
        Some(ns) => {
            let ms = u32::try_from(ns / 1_000_000).unwrap_or(u32::MAX);
            wait = wait.sooner(Deadline::after_ms(ms));
        }
        None => {}
    }
    for queue_pair in queue_pairs.clone() {
        wait = wait.sooner(queue_pair.outcome().deadline(timeout));
        if queue_pair.arm(NextEvent::Any).map_err(failed(ARMING))? {
            return Ok(());
        }
    }
    // All share one wait queue.
    if let Some(queue_pair) = queue_pairs.into_iter().next() {
        queue_pair.outcome().pause(wait);
    }
    Ok(())
}

/// Polls until all workloads have ended or reached `goal`, or one has failed. Sleeps where nothing
/// has come for as long as `patience` lasts.
fn spin<'a, W: Side>(
    queue_pairs: impl Iterator<Item = &'a QueuePair<W>> + Clone,
    goal: Progress,
    mut patience: Patience,
    timeout: Option<u32>,
    interval: Option<u32>,
    send_keepalives: &mut impl FnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut next = Deadline::after(interval);
    let watches = queue_pairs.clone().any(QueuePair::watches);
    let is_paced = pacing::is_paced(queue_pairs.clone());
    let mut grace = None;
    let mut rounds = 0u32;
    loop {
        let (mut running, mut moved, mut ending) = (false, false, false);
        if is_paced {
            pacing::post_due(queue_pairs.clone());
        }
        for queue_pair in queue_pairs.clone() {
            let outcome = queue_pair.outcome();
            if outcome.ended() {
                if outcome.reached(Progress::Finished) {
                    continue;
                }
                // The completion that tells the cause may itself have to be polled for.
                let until = *grace.get_or_insert_with(Outcome::grace);
                if outcome.settled() || until.passed() {
                    return Ok(());
                }
                ending = true;
            }
            running |= goal == Progress::Finished || !outcome.reached(goal);
            moved |= watches && queue_pair.look();
            moved |= queue_pair.poll(POLL_BUDGET) > 0;
            moved |= W::attend(queue_pair)?;
        }
        if !running {
            return Ok(());
        }
        // The event that is waited for may need this CPU.
        if !moved && cpu_contended() {
            yield_cpu();
        }
        rounds = rounds.wrapping_add(1);
        let slept = patience.ends(moved || ending);
        if slept {
            let nap_ns = watches.then(|| patience.nap_ns());
            sleep(queue_pairs.clone(), next, timeout, nap_ns)?;
        }
        if slept || rounds % SLOW_ROUNDS == 0 {
            // Lets waiters proceed that need every thread to have switched, as RCU tasks do.
            yield_cpu();
            for queue_pair in queue_pairs.clone() {
                let outcome = queue_pair.outcome();
                if !outcome.ended() {
                    outcome.check_deadline(WHAT, timeout)?;
                }
            }
            if next.passed() {
                send_keepalives()?;
                next = Deadline::after(interval);
            }
        }
        relax();
    }
}

/// Returns the deadline for the peer to notice the end of a run. A peer that is alive answers at
/// once, unless the request or the answer was lost.
pub(crate) fn disconnect_deadline(session: &Session, result: &Result<(), Failure>) -> Deadline {
    Deadline::after_ms(match result {
        Ok(()) => session.timeout(),
        Err(_) => session.timeout().min(500),
    })
}

/// Records the device that a thread works on.
pub(crate) fn note_device(worker: &Worker, device: &Device<'_>) {
    worker.set_device(device.name());
}
