// SPDX-License-Identifier: GPL-2.0

//! Conformance cases about shared receive queues, of which the responder takes its receives.

#![forbid(unsafe_code)]

use super::{
    end::failed,
    pair::Pair, //
};
use crate::logic::{
    conformance::{
        observation::{
            Ended,
            Seen, //
        }, //
        rule::Rule,
    },
    failure::Failure, //
};
use kernel::prelude::*;

/// Number of receives that are posted.
const RECEIVES: usize = 16;

/// Sizes that a queue is resized to: more than it has, and fewer than are posted.
pub(super) const GROWN: u32 = 256;
pub(super) const SHRUNK: u32 = 2;

/// Number of posted receives below which the device has to tell.
const LIMIT: u32 = 4;

/// Takes receives until one less than the limit is left. The event must come then, once, and not
/// before.
pub(super) fn limit(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    pair.responder.receives(RECEIVES)?;
    pair.responder.arm_shared(LIMIT)?;
    pair.requester.begin();
    let message = pair.message();
    let before = RECEIVES.saturating_sub(LIMIT as usize);
    for _ in 0..before {
        let _ = pair.requester.post(&message);
    }
    pair.until(|pair| pair.responder.completed(true) >= before)?;
    let early = pair.responder.watch().limit_events();
    let first = pair.requester.post(&message);
    let ends = [&pair.requester, &pair.responder];
    let told = pair.hears(&ends, || pair.responder.watch().limit_events() != early)?;
    // So that the message after the case finds the receive that is posted for it.
    for _ in 1..LIMIT {
        let _ = pair.requester.post(&message);
    }
    let mut seen = pair.look(rule, first, None, |_| Ok(true))?;
    if !told || early != 0 || pair.responder.watch().limit_events() != 1 {
        seen.first = Ended::Missing;
    }
    Ok(seen)
}

/// Resizes the shared queue to `receives` while others are posted, and has messages arrive in them.
pub(super) fn resize(rule: &Rule, pair: &mut Pair<'_>, receives: u32) -> Result<Seen, Failure> {
    pair.responder.receives(RECEIVES)?;
    let resized = pair.responder.resize_shared(receives);
    pair.requester.begin();
    let message = pair.message();
    for _ in 0..RECEIVES {
        let _ = pair.requester.post(&message);
    }
    let mut seen = pair.look(rule, Err(0), None, |_| Ok(true))?;
    seen.first = match resized {
        Ok(()) => Ended::Status(0),
        Err(error) => Ended::Refused(error.to_errno().saturating_neg()),
    };
    Ok(seen)
}

/// Drains the responder while messages arrive. The device must tell of the last receive that it has
/// taken, and all of them must have completed when the drain ends.
pub(super) fn drain(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    pair.responder.receives(RECEIVES)?;
    pair.requester.begin();
    let message = pair.message();
    for _ in 0..RECEIVES {
        let _ = pair.requester.post(&message);
    }
    pair.until(|pair| pair.responder.completed(true) > 0)?;
    pair.responder.drain().map_err(failed)?;
    // Soft-RoCE tells again with each packet that comes.
    let told = pair.responder.watch().last_receives() > 0;
    let drained = pair.responder.completed(true);
    let mut seen = pair.look(rule, Err(0), None, |_| Ok(true))?;
    let late = pair.responder.completed(true) != drained;
    seen.first = if told && !late {
        Ended::Status(0)
    } else {
        Ended::Missing
    };
    Ok(seen)
}
