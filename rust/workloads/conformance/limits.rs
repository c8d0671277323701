// SPDX-License-Identifier: GPL-2.0

//! Conformance cases about the capacity of queues, and about flushing and draining them.

#![forbid(unsafe_code)]

use super::{
    end::{
        failed,
        Place,
        Taken, //
    },
    pair::Pair,
    probe::Probe,
    setup::MANY, //
};
use crate::{
    logic::{
        conformance::{
            observation::{
                Ended,
                Seen, //
            }, //
            rule::{
                Fabric,
                Rule, //
            },
            steps::SIZE,
        },
        failure::{
            errno,
            Failure, //
        },
        wire::Advertisement, //
    },
    mr::Access,
    workloads::conformance::pair::{
        untouched,
        written, //
    }, //
};
use kernel::prelude::*;

/// Number of requests that are posted behind one that fails, or in a queue that is drained.
const FLUSHED: usize = 16;

/// Number of receives posted at one end, to be flushed.
const RECEIVES: usize = 4;

/// Time in ms after which missing completions are taken to be lost.
const LOSS_MS: u32 = 500;

/// Number of completions beyond the capacity of the completion queue.
const BEYOND: u32 = 16;

/// Posts requests until the send queue is full, then lets them complete.
pub(super) fn send_queue(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    // Keep the requests in the queue. On InfiniBand, they are messages that the peer has no receive
    // for yet. On iWARP these would end the connection, so WRITEs that take long are used.
    let waits = pair.fabric == Fabric::InfiniBand;
    let probe = if waits {
        pair.message()
    } else {
        let remote = pair.open(Access::Remote)?;
        let local = pair.requester.local(Place::Own, pair.requester.exposed);
        Probe::Write { local, remote }
    };
    pair.requester.begin();
    let mut refused: Taken = Ok(usize::MAX);
    let mut taken = 0;
    while refused.is_ok() {
        refused = pair.requester.post(&probe);
        taken += usize::from(refused.is_ok());
    }
    if refused == Err(errno::ENOSPC) {
        return Err(Failure::Unsupported(
            "the send queue holds far more than it was asked to",
        ));
    }
    if waits {
        pair.responder.receives(taken)?;
    }
    pair.look(rule, refused, None, |pair| {
        Ok(waits || written(pair, pair.responder.exposed)?)
    })
}

/// Posts a list of more requests than the send queue holds. Those in front of the first one that is
/// refused must be done, though nothing is posted after them.
pub(super) fn list(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    let remote = pair.open(Access::Remote)?;
    pair.requester.begin();
    let first = pair.requester.post_writes(remote, SIZE, MANY as usize)?;
    pair.look_until(rule, first, None, first.is_ok(), |pair| match first {
        Ok(_) => written(pair, SIZE),
        Err(_) => untouched(pair),
    })
}

/// Lets completions accumulate: exactly as many as the completion queue holds according to the
/// device, or more if `overrun` is true.
pub(super) fn completion_queue(
    rule: &Rule,
    pair: &mut Pair<'_>,
    overrun: bool,
) -> Result<Seen, Failure> {
    let remote = pair.open(Access::Remote)?;
    pair.open_own()?;
    let holds = pair.requester.completions();
    let count = if overrun {
        holds.saturating_add(BEYOND)
    } else {
        holds
    };
    // The requests before and after these need some room, too.
    if count.saturating_add(BEYOND) > MANY {
        return Err(Failure::Unsupported(
            "the completion queue holds more than can be posted",
        ));
    }
    pair.requester.begin();
    // These WRITEs fill only the first half of the open memory, so that the arrival of the last one
    // can be seen.
    let local = pair.requester.local(Place::Own, SIZE / 2);
    for _ in 1..count {
        let taken = pair.requester.post(&Probe::Write { local, remote });
        taken.map_err(|number| Failure::Kernel("posting", number.saturating_neg()))?;
    }
    let last = pair.requester.post(&last(pair, remote));
    // The requester's completion queue is not polled meanwhile.
    let ends = [&pair.responder];
    pair.deadlines.until(&ends, pair.deadlines.timeout_ms, || {
        let landed = match pair.fabric {
            Fabric::InfiniBand => !pair
                .requester
                .is_intact(true, Place::Own, SIZE / 2)
                .map_err(failed)?,
            Fabric::Iwarp => written(pair, SIZE).map_err(failed)?,
        };
        Ok(landed || pair.requester.event().is_some())
    })?;
    if overrun {
        // Completions that do not come soon are lost.
        pair.deadlines.timeout_ms = pair.deadlines.timeout_ms.min(LOSS_MS);
    }
    pair.look(rule, last, None, |_| Ok(true))
}

/// Returns the request that follows many WRITEs. Its effect can be seen in memory, and shows that
/// the requests before it are done as well.
fn last(pair: &Pair<'_>, remote: Advertisement) -> Probe {
    let local = pair.requester.own(SIZE);
    match pair.fabric {
        Fabric::InfiniBand => Probe::Read { local, remote },
        Fabric::Iwarp => Probe::Write { local, remote },
    }
}

/// Posts many requests behind one that fails, with receives posted at both ends.
pub(super) fn flush(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    let remote = pair.open(Access::RemoteRead)?;
    pair.requester.receives(RECEIVES)?;
    pair.responder.receives(RECEIVES)?;
    pair.requester.begin();
    let local = pair.requester.local(Place::Own, SIZE);
    let first = pair.requester.post(&Probe::Write { local, remote });
    let message = pair.message();
    for _ in 0..FLUSHED {
        let _ = pair.requester.post(&message);
    }
    let mut seen = pair.look(rule, first, None, untouched)?;
    seen.receives = seen.receives.and(&pair.requester.receives_tally());
    Ok(seen)
}

/// Drains a queue pair that has requests in flight.
pub(super) fn drain(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    pair.responder.receives(FLUSHED)?;
    pair.requester.receives(RECEIVES)?;
    pair.requester.begin();
    let message = pair.message();
    for _ in 0..FLUSHED {
        let _ = pair.requester.post(&message);
    }
    let drained = pair.requester.drain();
    // Requests that have not completed by now were not waited for.
    let (rest, receives) = (
        pair.requester.sends(Err(0)),
        pair.requester.receives_tally(),
    );
    let mut seen = pair.found(rule, Err(0), None, |_| Ok(true))?;
    seen.first = match drained {
        Ok(()) => Ended::Status(0),
        Err(error) => Ended::Refused(-error.to_errno()),
    };
    (seen.rest, seen.receives) = (rest, receives);
    Ok(seen)
}
