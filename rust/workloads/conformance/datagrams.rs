// SPDX-License-Identifier: GPL-2.0

//! Conformance cases about datagrams, which go by an unreliable queue pair beside that of the
//! connection.
//!
//! In most, a good datagram arrives before the one under test, which must not.

#![forbid(unsafe_code)]

use super::{
    end::{
        failed,
        seed,
        Place, //
    },
    pair::Pair,
    setup::LONG, //
};
use crate::{
    logic::{
        conformance::{
            observation::{
                Ended,
                Seen,
                Told, //
            },
            rule::Rule,
            steps::SIZE, //
        },
        failure::Failure, //
    },
    rdma::{
        cm::Membership,
        qp::GRH_BYTES, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A Q_Key that no sender has.
const OTHER_QKEY: u32 = 0x0055_aa55;

/// The highest bit of a queue pair's number, which no device comes to that counts them.
pub(super) const UNUSED: u32 = 1 << 23;

/// Size in bytes of a receive that is too short: of its header, and of a part of the datagram.
const SHORT: u32 = 128;

/// Size in bytes of a datagram that fits into it.
const FITS: u32 = 64;

/// Sends a datagram to a queue pair that has another Q_Key by then.
pub(super) fn bad_qkey(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    connect(pair)?;
    pair.responder.set_datagram_qkey(OTHER_QKEY)?;
    lost(rule, pair, SIZE)
}

/// Sends a datagram to an address that nobody has.
pub(super) fn bad_address(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    connect(pair)?;
    pair.requester.misdirect_datagrams()?;
    lost(rule, pair, SIZE)
}

/// Sends a datagram to a number that no queue pair has.
pub(super) fn unknown(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    let number = pair.responder.datagram_number()? ^ UNUSED;
    connect_to(pair, number)?;
    lost(rule, pair, SIZE)
}

/// Sends a datagram to the responder's queue pair of the connection, which has a receive posted.
pub(super) fn to_connection(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    let number = pair.responder.number();
    connect_to(pair, number)?;
    let receive = pair.responder.receive(pair.responder.exposed)?;
    pair.requester.begin();
    let first = pair.requester.post_datagram(SIZE);
    let ends = [&pair.requester, &pair.responder];
    let came = pair.hears(&ends, || pair.responder.received(receive) != Ended::Missing)?;
    let intact = pair.responder.is_intact(false, Place::Inbox, 0);
    let lost = !came && intact.map_err(failed)?;
    // The receive is for a message of the connection.
    let message = pair.message();
    let _ = pair.requester.post(&message);
    pair.look(rule, first, Some(receive), |_| Ok(lost))
}

/// Sends a message of the connection, which leads to the responder's queue pair for datagrams.
pub(super) fn of_connection(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    let own = pair.requester.datagram_number()?;
    pair.responder.connect_datagrams(own)?;
    let receive = pair.responder.receive_datagram(SIZE + GRH_BYTES)?;
    pair.requester.begin();
    let message = pair.message();
    let first = pair.requester.post(&message);
    pair.post_later();
    pair.look(rule, first, None, |pair| {
        Ok(pair.responder.received(receive) == Ended::Missing
            && pair.responder.is_intact(false, Place::Inbox, 0)?)
    })
}

/// Sends a datagram that does not fit into a packet.
pub(super) fn above_mtu(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    connect(pair)?;
    lost(rule, pair, LONG)
}

/// Sends a datagram that is longer than its receive, which must be dropped, and then one that fits
/// and has other data, which must arrive there.
pub(super) fn short_receive(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    connect(pair)?;
    let receive = pair.responder.receive_datagram(SHORT)?;
    pair.requester.begin();
    let _ = pair.requester.post_datagram(SIZE);
    let ends = [&pair.requester, &pair.responder];
    let early = pair.hears(&ends, || pair.responder.received(receive) != Ended::Missing)?;
    let other = seed(true, Place::Exposed).wrapping_add(1);
    pair.requester.overwrite(Place::Exposed, other)?;
    let first = pair.requester.post_datagram(FITS);
    let ends = [&pair.requester, &pair.responder];
    pair.hears(&ends, || pair.responder.received(receive) != Ended::Missing)?;
    let right = !early && pair.responder.holds_datagram(FITS, other)?;
    let mut seen = pair.look(rule, first, None, |pair| {
        Ok(right && pair.responder.is_intact(false, Place::Inbox, SHORT)?)
    })?;
    seen.receive = Some(pair.responder.received(receive));
    // The data of other messages is what it was.
    pair.requester
        .overwrite(Place::Exposed, seed(true, Place::Exposed))?;
    if seen.works.is_some() {
        seen.works = Some(pair.sends()?);
    }
    Ok(seen)
}

/// Sends a datagram to `group`, which the responders of both connections are attached to.
pub(super) fn multicast(
    rule: &Rule,
    pair: &mut Pair<'_>,
    other: &mut Pair<'_>,
    group: &Arc<Membership>,
) -> Result<Seen, Failure> {
    connect(pair)?;
    let number = pair.requester.datagram_number()?;
    other.responder.connect_datagrams(number)?;
    pair.requester.send_to_group(group)?;
    for member in [&pair.responder, &other.responder] {
        member.receive_from_group(group)?;
    }
    let receive = pair.responder.receive_datagram(SIZE + GRH_BYTES)?;
    let others = other.responder.receive_datagram(SIZE + GRH_BYTES)?;
    pair.requester.begin();
    let first = pair.requester.post_datagram(SIZE);
    let ends = [&pair.requester, &pair.responder, &other.responder];
    pair.hears(&ends, || {
        pair.responder.received(receive) != Ended::Missing
            && other.responder.received(others) != Ended::Missing
    })?;
    let sent = seed(true, Place::Exposed);
    pair.look(rule, first, Some(receive), |pair| {
        let members = [(&pair.responder, receive), (&other.responder, others)];
        Ok(members.iter().all(|(member, receive)| {
            member.received(*receive) == Ended::Status(0)
                && matches!(member.holds_datagram(SIZE, sent), Ok(true))
        }))
    })
}

/// Connects the queue pairs for datagrams, and checks them with one.
fn connect(pair: &mut Pair<'_>) -> Result<(), Failure> {
    let number = pair.responder.datagram_number()?;
    connect_to(pair, number)?;
    let receive = pair.responder.receive_datagram(SIZE + GRH_BYTES)?;
    let _ = pair.requester.post_datagram(SIZE);
    let ends = [&pair.requester, &pair.responder];
    let came = || pair.responder.received(receive) == Ended::Status(0);
    let sent = seed(true, Place::Exposed);
    if !pair.hears(&ends, came)?
        || pair.responder.told(receive) != Some(Told::plain(SIZE + GRH_BYTES))
        || !pair.responder.holds_datagram(SIZE, sent)?
    {
        return Err(Failure::WrongData("the datagram"));
    }
    pair.responder.clear_inbox()
}

/// Connects the requester's queue pair for datagrams to `number`, and the responder's to it.
fn connect_to(pair: &mut Pair<'_>, number: u32) -> Result<(), Failure> {
    let own = pair.requester.datagram_number()?;
    pair.requester.connect_datagrams(number)?;
    pair.responder.connect_datagrams(own)
}

/// Sends a datagram of `len` bytes, which must not arrive.
fn lost(rule: &Rule, pair: &mut Pair<'_>, len: u32) -> Result<Seen, Failure> {
    let receive = pair.responder.receive_datagram(LONG)?;
    pair.requester.begin();
    let first = pair.requester.post_datagram(len);
    let ends = [&pair.requester, &pair.responder];
    let came = || pair.responder.received(receive) != Ended::Missing;
    let came = pair.hears(&ends, came)?;
    pair.look(rule, first, None, |pair| {
        Ok(!came && pair.responder.is_intact(false, Place::Inbox, 0)?)
    })
}
