// SPDX-License-Identifier: GPL-2.0

//! Conformance case about requests that are done once, whatever happens meanwhile.

#![forbid(unsafe_code)]

use super::{
    end::Taken,
    pair::{
        Pair,
        LOST_MS, //
    },
    setup::MANY, //
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
            },
            rule::Rule, //
        },
        failure::Failure, //
    }, //
};

/// Number of messages, fewer than there are receives.
const MESSAGES: usize = 480;

/// Number of messages that have arrived when the queue pair is put into error.
const ARRIVED: usize = 16;

/// Puts the responder's queue pair into error while messages arrive. No more receives may succeed
/// than messages were sent.
pub(super) fn sends_in_error(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    pair.responder.receives(MANY as usize)?;
    pair.requester.begin();
    let message = pair.message();
    for _ in 0..MESSAGES {
        let _ = pair.requester.post(&message);
    }
    // Without a pause, in which all others would arrive.
    let until = Deadline::after_ms(LOST_MS);
    while pair.responder.taken() < ARRIVED && !until.passed() {
        pair.responder.poll();
        relax();
    }
    pair.responder.set_error()?;
    let none: Taken = Err(0);
    let mut seen = pair.look(rule, none, None, |_| Ok(true))?;
    let beyond = seen.receives.done.saturating_sub(seen.rest.posted);
    seen.receives.repeated = seen.receives.repeated.saturating_add(beyond);
    seen.first = Ended::Status(0);
    Ok(seen)
}
