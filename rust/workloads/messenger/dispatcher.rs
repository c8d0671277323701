// SPDX-License-Identifier: GPL-2.0

//! The dispatcher: one thread that reaps the completions of all connections in batches.
//!
//! It polls one completion queue, so that its work for a message is the same with any number of
//! connections. It looks at each of them only now and then: for their ends, and for deadlines.

#![forbid(unsafe_code)]

use super::{
    connection::Connection,
    link::Link,
    pool::Pool, //
};
use crate::{
    cm::CmId,
    engine::{
        drive::failed,
        outcome::{
            Outcome,
            Progress, //
        },
        polling::{
            Patience,
            Polling, //
        },
        queue::Queue,
        queue_pair::QueuePair, //
    },
    kernel_ext::{
        alarm::with_alarm,
        time::{
            cpu_contended,
            monotonic_ns,
            relax,
            yield_cpu,
            Deadline, //
        }, //
    },
    logic::failure::Failure, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The time between two looks at all connections, in ms.
const LOOK_MS: u32 = 50;

/// Rounds between two checks of the scheduler.
const SLOW_ROUNDS: u32 = 64;

/// Name of the step that a timeout reports.
const WHAT: &str = "waiting for the peer";

/// The same where the peer does not take what was sent.
const NOT_TAKEN: &str = "waiting for the peer to post receives";

/// A connection of a dispatcher. Fields are in drop order.
pub(super) struct Member {
    pub(super) queue_pair: QueuePair<Connection>,
    pub(super) id: Arc<CmId>,
    /// The TCP connection beside it, where the CM does not tell of the peer's end.
    pub(super) link: Option<Link>,
    /// Its number, which is higher than those of the connections before.
    pub(super) number: u32,
    /// The timeout of waits for the peer, in ms.
    timeout: u32,
    /// True once the peer was told over TCP that it is finished.
    has_said_end: bool,
    /// The deadline for the cause of its failure to be reported, or for the peer to disconnect,
    /// once it has ended.
    grace: Option<Deadline>,
    /// True once this side has [parted](Self::part).
    pub(super) has_parted: bool,
}

impl Member {
    pub(super) fn new(
        queue_pair: QueuePair<Connection>,
        id: Arc<CmId>,
        link: Option<Link>,
        number: u32,
        timeout: u32,
    ) -> Self {
        Self {
            queue_pair,
            id,
            link,
            number,
            timeout,
            has_said_end: false,
            grace: None,
            has_parted: false,
        }
    }

    /// Has it take a step. A failure of that is reported to its outcome.
    pub(super) fn with(&self, step: fn(&mut Connection, &mut Queue<'_>) -> Result<(), Failure>) {
        self.queue_pair.with(|connection, queue| {
            if let Err(failure) = step(connection, queue) {
                queue.outcome.fail(failure);
            }
        });
    }

    /// Ends the connection, which is to be taken down then: the peer learns of that, and the device
    /// begins to flush the queue pair. May sleep.
    pub(super) fn part(&mut self) {
        self.has_parted = true;
        self.id.disconnect();
        // The peer learns of the end now, and not when its requests fail.
        self.link = None;
        self.queue_pair.begin_end();
    }

    fn outcome(&self) -> &Outcome {
        self.id.outcome()
    }

    /// Returns true where both sides have ended their directions.
    pub(super) fn is_finished(&self) -> bool {
        self.outcome().reached(Progress::Finished)
    }

    /// Returns true where the peer has disconnected from a connection that is
    /// [finished](Self::is_finished), or has not within `timeout` ms: only that was lost then.
    /// Without the CM the peer is told first that it may.
    pub(super) fn has_left(&mut self, timeout: u32) -> bool {
        let deadline = *self
            .grace
            .get_or_insert_with(|| Deadline::after_ms(timeout));
        let link = self.link.as_ref();
        if let (Some(link), false) = (link, self.has_said_end) {
            link.say_end();
            self.has_said_end = true;
        }
        self.outcome().is_released() || link.is_some_and(Link::has_ended) || deadline.passed()
    }

    /// Returns the failure that has ended it; `None` where it goes on, and while the cause may
    /// still be reported.
    pub(super) fn failure(&mut self) -> Option<Failure> {
        let outcome = self.id.outcome();
        if !outcome.ended() && self.link.as_ref().is_some_and(Link::has_ended) {
            outcome.disconnected();
        }
        if !outcome.ended() {
            // What the peer says does not make up for what it does not take.
            let stuck =
                |connection: &mut Connection, _: &mut Queue<'_>| connection.is_stuck(self.timeout);
            if self.queue_pair.with(stuck) == Some(true) {
                return Some(Failure::TimedOut(NOT_TAKEN, self.timeout));
            }
            return outcome.check_deadline(WHAT, Some(self.timeout)).err();
        }
        let grace = *self.grace.get_or_insert_with(Outcome::grace);
        match outcome.settled() || grace.passed() {
            true => outcome.failure(),
            false => None,
        }
    }
}

/// The next step of a dispatcher whose host has looked at the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Serve them.
    Serve,
    /// Look again, as soon as it has handled what has completed meanwhile.
    Look,
    /// Return: there is nothing more to do.
    End,
}

/// The side whose connections a dispatcher serves.
pub(super) trait Host {
    /// Returns the connection with this number, if there is one.
    fn member(&self, number: u32) -> Option<&Member>;

    /// Has connections send what is due by now, and returns the moment of [`monotonic_ns`] at which
    /// to call this again; `None` once nothing more will be due.
    fn post_due(&mut self) -> Option<u64> {
        None
    }

    /// Looks at all connections, and returns what is to follow. No completion is handled
    /// meanwhile, so that it does no more at a time than make one connection and take one down.
    ///
    /// # Errors
    ///
    /// The failure that ends all of them.
    fn look(&mut self) -> Result<Next, Failure>;
}

/// Returns the member with this number of `members`, which are in the order of these.
pub(super) fn find(members: &[Member], number: u32) -> Option<&Member> {
    let found = members.binary_search_by_key(&number, |member| member.number);
    members.get(found.ok()?)
}

/// Serves the connections of `host` until there is nothing more to do. The calling thread polls as
/// `polling` says, and otherwise sleeps on `outcome` as soon as nothing has come. Its work counts
/// from `begun`, a [`monotonic_ns`]. Process context; sleeps.
///
/// # Errors
///
/// The host's failure, or that of the device's queues.
#[inline(never)]
pub(super) fn dispatch(
    pool: &Pool,
    outcome: &Outcome,
    polling: Polling,
    host: &mut impl Host,
    begun: u64,
) -> Result<(), Failure> {
    let mut slept = 0;
    let result = turn(pool, outcome, polling, host, &mut slept);
    let awake = monotonic_ns().saturating_sub(begun).saturating_sub(slept);
    pool.with(|state| {
        let sum = state.figures.awake_ns;
        state.figures.awake_ns = sum.saturating_add(awake);
    });
    result
}

fn turn(
    pool: &Pool,
    outcome: &Outcome,
    polling: Polling,
    host: &mut impl Host,
    slept: &mut u64,
) -> Result<(), Failure> {
    let mut patience = Patience::of(polling);
    let mut next = Deadline::after_ms(LOOK_MS);
    let mut seen = 0;
    let mut rounds = 0u32;
    let mut looks = true;
    loop {
        let found = pool.poll() > 0;
        pool.refill().map_err(failed("posting receives"))?;
        while let Some(number) = pool.next_waiting() {
            if let Some(member) = host.member(number) {
                member.with(Connection::resume);
            }
        }
        let due = host.post_due();
        rounds = rounds.wrapping_add(1);
        let finished = pool.finished();
        looks |= finished != seen || next.passed();
        seen = finished;
        if looks {
            if let Some(failure) = pool.error() {
                return Err(failure);
            }
            match host.look()? {
                Next::End => return Ok(()),
                Next::Look => continue,
                Next::Serve => looks = false,
            }
            next = Deadline::after_ms(LOOK_MS);
        }
        if patience.ends(found) && !pool.arm().map_err(failed("arming the completion queue"))? {
            let since = monotonic_ns();
            sleep(outcome, next, due)?;
            *slept = slept.saturating_add(monotonic_ns().saturating_sub(since));
            pool.with(|state| state.figures.sleeps = state.figures.sleeps.saturating_add(1));
            // What has woken it may be the end of a connection, or a new one.
            let is_due = due.is_some_and(|due| due <= monotonic_ns());
            looks = !pool.take_due() && !is_due;
        }
        // The event that is waited for may need this CPU.
        if rounds % SLOW_ROUNDS == 0 || !found && cpu_contended() {
            yield_cpu();
        }
        relax();
    }
}

/// Sleeps until something is reported to `outcome`, until `deadline`, or until the moment `due`.
///
/// # Errors
///
/// [`Failure::Kernel`] without memory for a timer.
fn sleep(outcome: &Outcome, deadline: Deadline, due: Option<u64>) -> Result<(), Failure> {
    match due {
        None => outcome.pause(deadline),
        Some(due) if due <= monotonic_ns() => {}
        Some(due) => {
            let ring = || {
                outcome.wake();
                None
            };
            with_alarm(due, &ring, || outcome.pause(deadline))
                .map_err(failed("starting the client"))?;
        }
    }
    Ok(())
}
