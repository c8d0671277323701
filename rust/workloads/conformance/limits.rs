// SPDX-License-Identifier: GPL-2.0

//! Cases about how much queues hold, and how they are emptied.

#![forbid(unsafe_code)]

use super::{
    cases::{
        untouched,
        written, //
    },
    end::{
        failed,
        Place,
        Taken, //
    },
    pair::Pair,
    setup::{
        MANY,
        SIZE, //
    }, //
};
use crate::{
    logic::{
        conformance::{
            expectation::{
                Fabric,
                Rule, //
            },
            observation::{
                Ended,
                Seen, //
            }, //
        },
        failure::{
            errno,
            Failure, //
        },
        wire::Advertisement, //
    },
    mr::Access,
    rdma::wr::probe::Probe, //
};
use kernel::prelude::*;

/// Requests behind one that fails.
const FLUSHED: usize = 16;

/// Receives that are flushed at each end.
const RECEIVES: usize = 4;

/// How long completions may take that were not lost, in ms.
const LOSS_MS: u32 = 500;

/// Completions beyond what their queue holds.
const BEYOND: u32 = 16;

/// Posts until the send queue takes no more, and lets it go on.
pub(super) fn send_queue(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    // What stays in the queue: what the peer has no receive for yet; where such a
    // request would end the connection, what takes long.
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

/// Lets completions pile up: exactly as many as the device says that their queue
/// holds, or more.
pub(super) fn completion_queue(
    rule: &Rule,
    pair: &mut Pair<'_>,
    overrun: bool,
) -> Result<Seen, Failure> {
    let remote = pair.open(Access::Remote)?;
    pair.open_own(true)?;
    let holds = pair.requester.completions();
    let count = if overrun {
        holds.saturating_add(BEYOND)
    } else {
        holds
    };
    // The rounds before and after need some room, too.
    if count.saturating_add(BEYOND) > MANY {
        return Err(Failure::Unsupported(
            "the completion queue holds more than can be posted",
        ));
    }
    pair.requester.begin();
    // Short ones into the first half of what is opened, so that the last is seen.
    let local = pair.requester.local(Place::Own, SIZE / 2);
    for _ in 1..count {
        let taken = pair.requester.post(&Probe::Write { local, remote });
        taken.map_err(|number| Failure::Kernel("posting", number.saturating_neg()))?;
    }
    let last = pair.requester.post(&last(pair, remote));
    // Nobody looks at the requester's queue meanwhile.
    let ends = [&pair.responder];
    pair.patience.until(&ends, pair.patience.timeout_ms, || {
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
        // What has not come soon was lost.
        pair.patience.timeout_ms = pair.patience.timeout_ms.min(LOSS_MS);
    }
    pair.look(rule, last, None, |_| Ok(true))
}

/// The last of many WRITEs: that it is done can be seen in memory, and then so are
/// those before it.
fn last(pair: &Pair<'_>, remote: Advertisement) -> Probe {
    let local = pair.requester.own(SIZE);
    match pair.fabric {
        Fabric::InfiniBand => Probe::Read { local, remote },
        Fabric::Iwarp => Probe::Write { local, remote },
    }
}

/// Posts many requests behind one that fails, and receives at both ends.
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

/// Drains a queue pair in the midst of its work.
pub(super) fn drain(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    pair.responder.receives(FLUSHED)?;
    pair.requester.receives(RECEIVES)?;
    pair.requester.begin();
    let message = pair.message();
    for _ in 0..FLUSHED {
        let _ = pair.requester.post(&message);
    }
    let drained = pair.requester.drain();
    // What has not completed by now was not waited for.
    let (rest, receives) = (
        pair.requester.sends(Err(0)),
        pair.requester.receives_tally(),
    );
    let mut seen = pair.found(rule, Err(0), None, |_| Ok(true))?;
    seen.first = match drained {
        Ok(()) => Ended::Status(0),
        Err(error) => Ended::Refused(error.to_errno().saturating_neg()),
    };
    (seen.rest, seen.receives) = (rest, receives);
    Ok(seen)
}
