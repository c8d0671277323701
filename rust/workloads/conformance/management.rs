// SPDX-License-Identifier: GPL-2.0

//! Conformance cases about connection requests, beside a connection.

#![forbid(unsafe_code)]

use super::{
    caller::Caller,
    pair::{
        Pair,
        LOST_MS, //
    }, //
};
use crate::{
    cm::listener::Request,
    kernel_ext::time::monotonic_ms,
    logic::{
        conformance::{
            answer::Answer,
            observation::{
                Ended,
                Seen, //
            }, //
            rule::{
                Fabric,
                Rule, //
            },
        },
        failure::{
            Failure,
            CONNECTING, //
        }, //
    }, //
};
use kernel::prelude::*;

/// Most time in ms in which iWARP has to say that nobody answers. Drivers wait for up to 60 s.
const GIVES_UP_MS: u32 = 90_000;

/// Asks for a connection, which the listener neither accepts nor rejects.
///
/// With iWARP the device has to give up in time. The CM of InfiniBand goes on for longer than
/// consumers wait, so the case does as they do, and withdraws the request.
#[inline(never)]
pub(super) fn unanswered(
    rule: &Rule,
    pair: &mut Pair<'_>,
    caller: Caller<'_>,
) -> Result<Seen, Failure> {
    let deadlines = pair.deadlines;
    let timeout = deadlines.timeout_ms;
    pair.requester.begin();
    let mut since = monotonic_ms();
    caller.ask(timeout)?;
    // Where the case ends early, this is rejected before the caller goes: with iWARP that waits for
    // an answer.
    let request = request_of(pair, &caller)?;
    if request.is_none() && caller.answer().is_none() {
        return Err(Failure::TimedOut(CONNECTING, timeout));
    }
    let patience = match pair.fabric {
        Fabric::InfiniBand => LOST_MS.min(timeout),
        Fabric::Iwarp => GIVES_UP_MS,
    };
    deadlines.until(&[], patience, || Ok(caller.answer().is_some()))?;
    let answer = match (caller.answer(), pair.fabric) {
        (Some(answer), _) => answer,
        (None, Fabric::Iwarp) => Answer::Silent,
        (None, Fabric::InfiniBand) => {
            since = monotonic_ms();
            drop(caller);
            let told = || match &request {
                Some(request) => request.id.outcome().failure().is_some(),
                None => false,
            };
            Answer::Withdrawn {
                told: deadlines.until(&[], timeout, || Ok(told()))?,
            }
        }
    };
    let after_ms = monotonic_ms().saturating_sub(since);
    drop(request);
    answered(rule, pair, answer, after_ms)
}

/// Asks for a connection with private data whose last bytes are not 0, and compares it with what
/// the listener is told.
#[inline(never)]
pub(super) fn private_data(
    rule: &Rule,
    pair: &mut Pair<'_>,
    caller: Caller<'_>,
) -> Result<Seen, Failure> {
    let compares_depths = pair.fabric == Fabric::InfiniBand;
    pair.requester.begin();
    let since = monotonic_ms();
    caller.ask_in_full(pair.deadlines.timeout_ms)?;
    let request = request_of(pair, &caller)?;
    let after_ms = monotonic_ms().saturating_sub(since);
    let answer = match &request {
        Some(request) => Answer::Came {
            whole: caller.is_in_full(request, compares_depths),
        },
        None => caller.answer().unwrap_or(Answer::Silent),
    };
    // In this order, as above.
    drop(request);
    drop(caller);
    answered(rule, pair, answer, after_ms)
}

/// Returns the request of `caller` once it has come; `None` where it has been answered before, or
/// nothing comes within the timeout.
fn request_of(pair: &Pair<'_>, caller: &Caller<'_>) -> Result<Option<Request>, Failure> {
    let deadlines = pair.deadlines;
    let mut request = None;
    deadlines.until(&[], deadlines.timeout_ms, || {
        request = caller.taken();
        Ok(request.is_some() || caller.answer().is_some())
    })?;
    Ok(request)
}

/// Asks for a connection in the name of the requester's queue pair, which the responder is
/// connected with.
///
/// To the responder that is a requester which has lost the connection, and whose new queue pair
/// has the old one's number.
#[inline(never)]
pub(super) fn stale(rule: &Rule, pair: &mut Pair<'_>, caller: Caller<'_>) -> Result<Seen, Failure> {
    let deadlines = pair.deadlines;
    let timeout = deadlines.timeout_ms;
    pair.requester.begin();
    let since = monotonic_ms();
    caller.ask_as(pair.requester.number(), timeout)?;
    deadlines.until(&[], timeout, || {
        // The listener is not to see the request. If it does, it rejects it.
        drop(caller.taken());
        Ok(caller.answer().is_some())
    })?;
    let answer = caller.answer().unwrap_or(Answer::Silent);
    let after_ms = monotonic_ms().saturating_sub(since);
    // Each disconnects when it is told, by which the other one is told.
    for end in [&pair.requester, &pair.responder] {
        let told = || matches!(end.outcome().failure(), Some(Failure::Disconnected));
        if deadlines.until(&[], timeout, || Ok(told()))? {
            end.disconnect();
        }
    }
    answered(rule, pair, answer, after_ms)
}

/// Returns the observations about the connection beside a request that ended with `answer`.
fn answered(
    rule: &Rule,
    pair: &mut Pair<'_>,
    answer: Answer,
    after_ms: u64,
) -> Result<Seen, Failure> {
    let seen = pair.look(rule, Err(0), None, |_| Ok(true))?;
    Ok(Seen {
        first: Ended::Answer(answer),
        after_ms: Some(after_ms),
        ..seen
    })
}
