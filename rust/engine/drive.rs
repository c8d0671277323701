// SPDX-License-Identifier: GPL-2.0

//! Waits for workloads that completions drive, and polls for them.

#![forbid(unsafe_code)]

use super::{
    session::Session,
    worker::Worker, //
};
use crate::{
    engine::outcome::{
        Outcome,
        Progress, //
    },
    kernel_ext::time::{
        give_way,
        others_wait,
        relax,
        Deadline, //
    },
    logic::{
        command::Command,
        failure::Failure, //
    },
    rdma::{
        cq::PollMode,
        device::Device,
        qp::{
            QueuePair,
            Workload, //
        }, //
    }, //
};
use kernel::prelude::*;

/// Completions handled at a time by a thread that polls.
const POLL_BUDGET: u16 = 16;

/// Rounds of polling between two looks at what need not be looked at each time.
const SLOW_ROUNDS: u32 = 64;

/// Turns an errno into a failure that says what was being done.
pub(crate) fn failed(what: &'static str) -> impl Fn(kernel::error::Error) -> Failure {
    move |error| Failure::Kernel(what, error.to_errno())
}

/// What a drive waits for.
const WHAT: &str = "waiting for the peer";

/// Waits until all workloads have come as far as `goal`, or the outcome of one has
/// failed, at most `timeout` ms without a sign of life. Where completion queues are polled,
/// this is the thread that does it. Every `beat` ms, `beaten` is called.
///
/// # Errors
///
/// The failure, [`Failure::TimedOut`], or what `beaten` returns.
pub(crate) fn drive<'a, W: Workload>(
    queue_pairs: impl Iterator<Item = &'a QueuePair<W>> + Clone,
    goal: Progress,
    poll: PollMode,
    timeout: Option<u32>,
    beat: Option<u32>,
    mut beaten: impl FnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let outcomes = queue_pairs
        .clone()
        .map(|queue_pair| &**queue_pair.outcome());
    outcomes.clone().for_each(Outcome::touch);
    if poll == PollMode::Direct {
        spin(queue_pairs, goal, timeout, beat, &mut beaten)?;
    }
    Outcome::wait_all(outcomes, goal, WHAT, timeout, beat, beaten)
}

/// Polls until all have ended or come as far as `goal`, or one has failed.
fn spin<'a, W: Workload>(
    queue_pairs: impl Iterator<Item = &'a QueuePair<W>> + Clone,
    goal: Progress,
    timeout: Option<u32>,
    beat: Option<u32>,
    beaten: &mut impl FnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut next = Deadline::after(beat);
    let watches = queue_pairs.clone().any(QueuePair::watches);
    let mut grace = None;
    let mut rounds = 0u32;
    loop {
        let (mut running, mut moved) = (false, false);
        for queue_pair in queue_pairs.clone() {
            let outcome = queue_pair.outcome();
            if outcome.ended() {
                if outcome.reached(Progress::Finished) {
                    continue;
                }
                // The completion that tells the cause may have to be polled for.
                let until = *grace.get_or_insert_with(Outcome::grace);
                if outcome.settled() || until.passed() {
                    return Ok(());
                }
            }
            running |= goal == Progress::Finished || !outcome.reached(goal);
            moved |= watches && queue_pair.look();
            moved |= queue_pair.poll(POLL_BUDGET) > 0;
        }
        if !running {
            return Ok(());
        }
        // What is waited for may need this very CPU.
        if !moved && others_wait() {
            give_way();
        }
        rounds = rounds.wrapping_add(1);
        if rounds % SLOW_ROUNDS == 0 {
            // Whatever waits for each thread to have switched, as RCU's tasks do.
            give_way();
            for queue_pair in queue_pairs.clone() {
                let outcome = queue_pair.outcome();
                if !outcome.ended() {
                    outcome.check_deadline(WHAT, timeout)?;
                }
            }
            if next.passed() {
                beaten()?;
                next = Deadline::after(beat);
            }
        }
        relax();
    }
}

/// How long the end of a run waits for the peer to notice: a peer that is there
/// answers at once, unless the request or the answer got lost.
pub(crate) fn patience(session: &Session, result: &Result<(), Failure>) -> Deadline {
    Deadline::after_ms(match result {
        Ok(()) => session.timeout(),
        Err(_) => session.timeout().min(500),
    })
}

/// How a command wants completions to be found.
pub(crate) fn poll_mode(command: &Command) -> PollMode {
    if command.poll {
        PollMode::Direct
    } else {
        PollMode::Event
    }
}

/// Says on which device a thread works.
pub(crate) fn note_device(worker: &Worker, device: &Device<'_>) {
    worker.set_device(device.name());
}
