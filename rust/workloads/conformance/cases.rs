// SPDX-License-Identifier: GPL-2.0

//! Actions of the conformance cases: steps, or a function for what is special.

#![forbid(unsafe_code)]

use super::{
    caller::Caller,
    datagrams,
    end::{
        failed,
        Place, //
    },
    events,
    inline,
    limits,
    management,
    mapping,
    order,
    pair::{
        untouched,
        written,
        Pair, //
    },
    probe::Probe,
    race,
    shared,
    solicited,
    steps, //
};
use crate::{
    logic::{
        conformance::{
            observation::{
                Ended,
                Seen, //
            },
            row::Act,
            rule::Rule,
            special::{
                Fate,
                Special, //
            },
            steps::SIZE,
            Case, //
        },
        failure::Failure, //
    },
    mr::Access,
    rdma::cm::Membership, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Objects that a case has beside the connection under test, those that its [`Setup`] wants.
///
/// [`Setup`]: super::Setup
pub(crate) struct Beside<'r, 'a> {
    /// Another connection.
    pub(crate) third_party: Option<&'r mut Pair<'a>>,
    /// Identifier that asks for one.
    pub(crate) caller: Option<Caller<'r>>,
    /// A multicast group of this device.
    pub(crate) group: Option<Arc<Membership>>,
    /// Number of times that the case has been run before.
    pub(crate) round: u32,
}

/// Runs `case` on `pair`.
///
/// # Errors
///
/// The reason why the case was not tried: it could not be prepared, or the command was cancelled.
#[inline(never)]
pub(crate) fn run(
    case: Case,
    rule: &Rule,
    pair: &mut Pair<'_>,
    beside: Beside<'_, '_>,
) -> Result<Seen, Failure> {
    let special = match &case.row().act {
        Act::Steps(steps) => return steps::run(rule, pair, steps),
        Act::Special(special) => *special,
    };
    let Beside {
        third_party,
        caller,
        group,
        round,
    } = beside;
    let caller = caller.ok_or_else(|| failed(EINVAL));
    let third_party = third_party.ok_or_else(|| failed(EINVAL));
    match special {
        Special::WrongPd => {
            // The third party only provides memory to be checked, so nothing else is done with it.
            let third_party = third_party?;
            let remote = third_party.open(Access::Remote)?;
            let local = pair.requester.local(Place::Own, SIZE);
            pair.attempt(rule, &Probe::Write { local, remote }, |_| {
                third_party.responder.is_intact(false, Place::Exposed, 0)
            })
        }
        Special::PortDown => {
            let remote = pair.open(Access::Remote)?;
            let local = pair.requester.local(Place::Own, SIZE);
            let first = Ok(pair.requester.sent);
            pair.attempt(rule, &Probe::Write { local, remote }, |pair| {
                // Data that was not acknowledged may have arrived.
                let done = pair.requester.ended(first) == Ended::Status(0);
                Ok(written(pair, SIZE)? || !done && untouched(pair)?)
            })
        }
        Special::ReadsBeyondDepth => order::reads(rule, pair),
        Special::ReadInvalidated => order::read_invalidated(rule, pair),
        Special::ReadAfterWrite => order::read_after_write(rule, pair),
        Special::ReadFence => order::read_fence(rule, pair),
        Special::ReadsFence => order::reads_fence(rule, pair),
        Special::MapOverGap => mapping::over_gap(rule, pair),
        Special::WriteThenFlag => order::write_then_flag(rule, pair),
        Special::Unanswered => management::unanswered(rule, pair, caller?),
        Special::StaleConnection => management::stale(rule, pair, caller?),
        Special::PrivateData => management::private_data(rule, pair, caller?),
        Special::InlineReuse => inline::reuse(rule, pair),
        Special::HandlerPolls => events::handler_polls(rule, pair),
        Special::Rearm => events::rearm(rule, pair),
        Special::Solicited => solicited::message(rule, pair),
        Special::SolicitedError => solicited::error(rule, pair),
        Special::SendsInError => race::sends_in_error(rule, pair),
        Special::Race(fate) => race::run(rule, pair, fate, false, round),
        Special::RaceAtomics => race::run(rule, pair, Fate::ResponderError, true, round),
        Special::SrqLimit => shared::limit(rule, pair),
        Special::SrqGrown => shared::resize(rule, pair, shared::GROWN),
        Special::SrqShrunk => shared::resize(rule, pair, shared::SHRUNK),
        Special::SrqDrain => shared::drain(rule, pair),
        Special::UdBadQkey => datagrams::bad_qkey(rule, pair),
        Special::UdBadAh => datagrams::bad_address(rule, pair),
        Special::UdUnknown => datagrams::unknown(rule, pair),
        Special::UdToConnection => datagrams::to_connection(rule, pair),
        Special::ConnectionToUd => datagrams::of_connection(rule, pair),
        Special::UdAboveMtu => datagrams::above_mtu(rule, pair),
        Special::UdShortReceive => datagrams::short_receive(rule, pair),
        Special::UdMulticast => {
            let group = group.ok_or_else(|| failed(EINVAL))?;
            datagrams::multicast(rule, pair, third_party?, &group)
        }
        Special::SqFull => limits::send_queue(rule, pair),
        Special::ListBeyondQueue => limits::list(rule, pair),
        Special::CqExact => limits::completion_queue(rule, pair, false),
        Special::CqOverrun => limits::completion_queue(rule, pair, true),
        Special::FlushOrder => limits::flush(rule, pair),
        Special::Drain => limits::drain(rule, pair),
    }
}
