// SPDX-License-Identifier: GPL-2.0

//! Conformance cases about the events of a completion queue.

#![forbid(unsafe_code)]

use super::{
    end::{
        End,
        Taken, //
    },
    pair::{
        Pair,
        LATER,
        LOST_MS, //
    },
    watch::Polled, //
};
use crate::{
    kernel_ext::time::{
        relax,
        Deadline, //
    },
    logic::{
        conformance::{
            observation::{
                Ended,
                Seen, //
            }, //
            rule::Rule,
        },
        failure::Failure, //
    },
    rdma::cq::NextEvent, //
};

/// Most events in whose handler a poll is tried. On a busy machine many handlers do not run beside
/// the thread.
const ATTEMPTS: usize = 400;

/// Time in ms after which no other event is tried.
const TRYING_MS: u32 = 5000;

/// Number of polls that did not end before the handler, after which none will. A CPU that its
/// host has stopped for a moment delays one.
const ENOUGH: usize = 3;

/// Number of times that events are asked for while completions come.
const ROUNDS: usize = 200;

/// Number of completions that come in each.
const BURST: usize = 2;

/// Most times that a completion queue is polled before it has to be empty.
const POLLS: usize = 100;

/// Polls the completion queue while the handler of its event runs.
///
/// The handler does not poll itself: where the device calls it with the lock of the queue held,
/// that would never end. It waits a moment for a thread on another CPU that polls, and a lock that
/// keeps that thread out would keep the handler out.
pub(super) fn handler_polls(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    pair.requester.begin();
    let mut first = Err(0);
    let (mut meanwhile, mut afterwards) = (false, 0);
    let until = Deadline::after_ms(TRYING_MS.min(pair.deadlines.timeout_ms));
    for _ in 0..ATTEMPTS {
        if meanwhile || afterwards == ENOUGH || until.passed() {
            break;
        }
        let (taken, polled) = poll_in_event(pair)?;
        first = taken;
        meanwhile = polled == Polled::Meanwhile;
        afterwards += usize::from(polled == Polled::Afterwards);
        pair.until(|pair| pair.requester.is_done(false))?;
    }
    if !meanwhile && afterwards < ENOUGH {
        return Err(Failure::Unsupported(
            "no event came on another CPU than the one that waits for it",
        ));
    }
    pair.responder.receives(LATER)?;
    pair.post_later();
    let mut seen = pair.look(rule, first, None, |_| Ok(true))?;
    if !meanwhile {
        seen.first = Ended::Missing;
    }
    Ok(seen)
}

/// Sends a message, and polls in the event of its completion.
fn poll_in_event(pair: &mut Pair<'_>) -> Result<(Taken, Polled), Failure> {
    pair.responder.receives(1)?;
    let before = arm(&pair.requester, NextEvent::Any)?;
    pair.requester.watch().expect_poll();
    let message = pair.message();
    let taken = pair.requester.post(&message);
    let until = Deadline::after_ms(LOST_MS);
    let end = &pair.requester;
    let polled = end.watch().poll_in_event(
        before,
        || {
            end.poll();
        },
        || {
            relax();
            until.passed()
        },
    );
    Ok((taken, polled))
}

/// Asks for events while completions come, and waits for each event that must come.
pub(super) fn rearm(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    pair.requester.begin();
    let message = pair.message();
    let mut first = Err(0);
    let mut lost = false;
    for _ in 0..ROUNDS {
        pair.responder.receives(BURST)?;
        let mut before = arm(&pair.requester, NextEvent::Any)?;
        for _ in 0..BURST {
            first = pair.requester.post(&message);
        }
        while !pair.requester.is_done(false) && !lost {
            lost = !told(pair, &pair.requester, &pair.responder, before)?;
            pair.requester.poll();
            before = arm(&pair.requester, NextEvent::Any)?;
        }
        if lost {
            break;
        }
    }
    pair.responder.receives(LATER)?;
    pair.post_later();
    let mut seen = pair.look(rule, first, None, |_| Ok(true))?;
    if lost {
        seen.first = Ended::Missing;
    }
    Ok(seen)
}

/// Asks for an event of `end`'s completions of the kind `next`, and handles those that may have
/// none. Returns the number of events before that.
pub(super) fn arm(end: &End, next: NextEvent) -> Result<u32, Failure> {
    for _ in 0..POLLS {
        let before = end.watch().events();
        if !end.arm(next)? {
            return Ok(before);
        }
        end.poll();
    }
    Err(Failure::Unsupported(
        "the device always says that completions may have come without an event",
    ))
}

/// Waits for an event of `end`'s completions beyond the number `before`, and returns false if there
/// was none. The completions of the `other` end are handled meanwhile, but not those of `end`.
pub(super) fn told(pair: &Pair<'_>, end: &End, other: &End, before: u32) -> Result<bool, Failure> {
    let watch = end.watch();
    pair.hears(&[other], || watch.events() != before)
}
