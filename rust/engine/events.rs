// SPDX-License-Identifier: GPL-2.0

//! Threads that sleep until events of their completion queues.
//!
//! The device raises one event for each time that a completion queue is armed, and its handler only
//! wakes the thread. The thread handles what has come and arms the queue again, for the completions
//! that the workload waits for. Others stay in the queue until an event, and are then handled with
//! the one that has raised it.

#![forbid(unsafe_code)]

use super::{
    drive::{
        failed,
        ARMING,
        POLL_BUDGET,
        SLOW_ROUNDS,
        WHAT, //
    },
    outcome::{
        Outcome,
        Progress, //
    },
    queue_pair::QueuePair,
    side::Side,
    workload::Workload, //
};
use crate::{
    kernel_ext::time::{
        relax,
        yield_cpu,
        Deadline, //
    },
    logic::failure::Failure,
    rdma::{
        cq::NextEvent,
        event::{
            AsyncEvent,
            EventHandler, //
        }, //
    }, //
};
use kernel::sync::{
    atomic::{
        Acquire,
        Atomic,
        Full,
        Relaxed,
        Release, //
    },
    Arc, //
};

/// The events of a queue pair, and those of its completion queue that nobody has attended to.
pub(crate) struct Events {
    outcome: Arc<Outcome>,
    /// Number of events of the completion queue.
    count: Atomic<u64>,
    /// 1 where completions are to be looked for.
    due: Atomic<u32>,
}

impl Events {
    /// Creates the receiver of events of a queue pair, which wake the thread that waits for
    /// `outcome`.
    pub(super) fn new(outcome: Arc<Outcome>) -> Self {
        Self {
            outcome,
            count: Atomic::new(0),
            due: Atomic::new(0),
        }
    }

    /// Returns the number of events of the completion queue so far. Any context.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Has completions be looked for, as after an event. Any context.
    fn set_due(&self) {
        self.due.store(1, Release);
    }

    /// Returns true where completions are to be looked for. Any context.
    fn is_due(&self) -> bool {
        self.due.load(Acquire) != 0
    }

    /// Returns true where completions were to be looked for, and notes that they are. Any context.
    fn take_due(&self) -> bool {
        self.due.xchg(0, Full) != 0
    }
}

impl EventHandler for Events {
    fn async_event(&self, event: AsyncEvent) {
        self.outcome.async_event(event);
    }

    fn completion_event(&self) {
        self.count.fetch_add(1, Relaxed);
        self.set_due();
        self.outcome.wake();
    }
}

/// Handles what has come to a queue pair with an event, up to a budget, and arms its completion
/// queue again. Where `any` is true, other completions are handled, too. Returns true where there
/// was something.
fn attend<W: Workload>(queue_pair: &QueuePair<W>, any: bool) -> Result<bool, Failure> {
    let next = || match any {
        true => NextEvent::Any,
        false => queue_pair.next_event(),
    };
    let events = queue_pair.events();
    if !events.take_due() && next() == NextEvent::Solicited {
        // It has been armed for that, and nothing has come.
        return Ok(false);
    }
    let handled = queue_pair.poll(POLL_BUDGET);
    if handled >= usize::from(POLL_BUDGET) {
        events.set_due();
        return Ok(true);
    }
    if queue_pair.arm(next()).map_err(failed(ARMING))? {
        events.set_due();
    }
    Ok(handled > 0 || events.is_due())
}

/// Returns the failure of a queue pair that has had no activity for its time: completions without
/// an event are told from none at all. `None` where one of them has ended the workload.
fn late<W: Workload>(queue_pair: &QueuePair<W>, timeout: Option<u32>) -> Option<Failure> {
    let outcome = queue_pair.outcome();
    let late = outcome.check_deadline(WHAT, timeout).err()?;
    match queue_pair.poll(POLL_BUDGET) {
        0 => Some(late),
        _ if outcome.failure().is_some() => None,
        _ => timeout.map(Failure::NoEvent),
    }
}

/// Sleeps and handles completions until all workloads have ended or reached `goal`, or one has
/// failed.
///
/// # Errors
///
/// [`Failure::TimedOut`] or [`Failure::NoEvent`] after `timeout` ms without activity; the error of
/// `send_keepalives`, which is called every `interval` ms; the driver's, where it does not take the
/// wish for an event.
pub(super) fn follow<'a, W: Side>(
    queue_pairs: impl Iterator<Item = &'a QueuePair<W>> + Clone,
    goal: Progress,
    timeout: Option<u32>,
    interval: Option<u32>,
    send_keepalives: &mut impl FnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut next = Deadline::after(interval);
    let mut grace = None;
    let mut rounds = 0u32;
    // Nobody has armed them, or for what the workload waited for before.
    queue_pairs.clone().for_each(|each| each.events().set_due());
    loop {
        let (mut running, mut moved) = (false, false);
        let mut wait = next;
        for queue_pair in queue_pairs.clone() {
            let outcome = queue_pair.outcome();
            let ends = outcome.ended();
            if ends {
                if outcome.reached(Progress::Finished) {
                    continue;
                }
                // The completion that tells the cause may itself have to be looked for.
                let until = *grace.get_or_insert_with(Outcome::grace);
                if outcome.settled() || until.passed() {
                    return Ok(());
                }
                wait = wait.sooner(until);
            }
            running |= goal == Progress::Finished || !outcome.reached(goal);
            moved |= attend(queue_pair, ends)?;
            moved |= W::attend(queue_pair)?;
            wait = wait.sooner(outcome.deadline(timeout));
        }
        if !running {
            return Ok(());
        }
        // All share one wait queue.
        if let Some(queue_pair) = queue_pairs.clone().next().filter(|_| !moved) {
            queue_pair.outcome().pause(wait);
        }
        rounds = rounds.wrapping_add(1);
        if !moved || rounds % SLOW_ROUNDS == 0 {
            yield_cpu();
            for queue_pair in queue_pairs.clone() {
                let failure = match queue_pair.outcome().ended() {
                    true => None,
                    false => late(queue_pair, timeout),
                };
                failure.map_or(Ok(()), Err)?;
            }
            if next.passed() {
                send_keepalives()?;
                next = Deadline::after(interval);
            }
        }
        relax();
    }
}
