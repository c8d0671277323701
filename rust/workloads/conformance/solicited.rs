// SPDX-License-Identifier: GPL-2.0

//! Conformance cases about the events of solicited messages.

#![forbid(unsafe_code)]

use super::{
    end::Place,
    events::{
        arm,
        told, //
    },
    pair::{
        Pair,
        LATER, //
    },
    probe::Probe, //
};
use crate::{
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

/// Time in ms for which an event that must not come is waited for.
const QUIET_MS: u32 = 100;

/// Sends a message that is not solicited, and then one that is, to a completion queue that is armed
/// for solicited ones.
pub(super) fn message(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    pair.responder.receives(2)?;
    pair.requester.begin();
    let before = arm(&pair.responder, NextEvent::Solicited)?;
    let plain = pair.message();
    let taken = pair.requester.post(&plain);
    pair.until(|pair| {
        pair.requester.ended(taken) != Ended::Missing && pair.responder.completed(true) == 1
    })?;
    let watch = pair.responder.watch();
    let spurious = pair
        .deadlines
        .until(&[], QUIET_MS, || Ok(watch.events() != before))?;
    let local = pair.requester.local(Place::Exposed, pair.requester.exposed);
    let first = pair.requester.post(&Probe::Solicited { local });
    let told = told(pair, &pair.responder, &pair.requester, before)?;
    pair.responder.receives(LATER)?;
    pair.post_later();
    let mut seen = pair.look(rule, first, None, |_| Ok(true))?;
    if spurious || !told {
        seen.first = Ended::Missing;
    }
    Ok(seen)
}

/// Puts a queue pair into error that has receives posted, and whose completion queue is armed for
/// solicited messages.
pub(super) fn error(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    pair.responder.receives(1)?;
    pair.requester.begin();
    let message = pair.message();
    let first = pair.requester.post(&message);
    pair.until(|pair| {
        pair.requester.ended(first) != Ended::Missing && pair.responder.completed(true) == 1
    })?;
    pair.responder.receives(LATER)?;
    let before = arm(&pair.responder, NextEvent::Solicited)?;
    pair.responder.set_error()?;
    let told = told(pair, &pair.responder, &pair.requester, before)?;
    let mut seen = pair.look(rule, first, None, |_| Ok(true))?;
    if !told {
        seen.first = Ended::Missing;
    }
    Ok(seen)
}
