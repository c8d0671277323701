// SPDX-License-Identifier: GPL-2.0

//! Conformance case about inline data, which a request holds itself once it is posted.

#![forbid(unsafe_code)]

use super::{
    end::{
        failed,
        seed,
        Place, //
    },
    order::is_over,
    pair::Pair,
    probe::Probe,
    setup::INLINE, //
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
    mr::Access,
    rdma::wr::prepared::Operation, //
};
use kernel::prelude::*;

/// Number of times that the buffer is used again.
const ROUNDS: u8 = 4;

/// Number of long WRITEs in front of the requests under test, so that a device which takes the data
/// when it sends them does so after the buffer has been overwritten.
const AHEAD: usize = 3;

/// WRITEs and SENDs inline data, and overwrites the buffer as soon as each is posted.
pub(super) fn reuse(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    let remote = pair.open(Access::RemoteWrite)?;
    let bulk = Probe::Write {
        local: pair.requester.local(Place::Exposed, pair.requester.exposed),
        remote,
    };
    let mut first = Err(0);
    let mut whole = true;
    pair.requester.begin();
    for round in 0..ROUNDS {
        let receive = pair.responder.receive(INLINE)?;
        let written = seed(true, Place::Own).wrapping_add(round.wrapping_mul(3));
        let (sent, last) = (written.wrapping_add(1), written.wrapping_add(2));
        pair.requester.overwrite(Place::Own, written)?;
        for _ in 0..AHEAD {
            let _ = pair.requester.post(&bulk);
        }
        let write = Operation::Write(remote.into());
        let _ = pair.requester.post_inline(write, INLINE);
        pair.requester.overwrite(Place::Own, sent)?;
        first = pair.requester.post_inline(Operation::Send, INLINE);
        pair.requester.overwrite(Place::Own, last)?;
        // The WRITE, which is in front of the message, has arrived when the message has.
        pair.until(|pair| {
            pair.responder.received(receive) != Ended::Missing
                || is_over(pair.requester.ended(first))
        })?;
        let holds = |place, seed| pair.responder.holds(place, 0, INLINE, seed);
        whole &= holds(Place::Exposed, written).map_err(failed)?;
        whole &= holds(Place::Inbox, sent).map_err(failed)?;
    }
    pair.look(rule, first, None, |_| Ok(whole))
}
