// SPDX-License-Identifier: GPL-2.0

//! Actions of the conformance cases. Those about the limits of queues are in `limits`.

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
    order,
    pair::{
        untouched,
        written,
        Pair, //
    },
    probe::Probe,
    setup::SIZE,
    shared,
    solicited, //
};
use crate::{
    logic::{
        conformance::{
            expectation::Rule,
            observation::{
                Ended,
                Seen, //
            },
            Case, //
        },
        failure::Failure,
        wire::Advertisement, //
    },
    mr::Access,
    rdma::wr::{
        atomic::AtomicOp,
        Local, //
    }, //
};
use kernel::prelude::*;

/// Size in bytes of a receive that is too short.
const SHORT: u32 = 64;

/// Size in bytes of the operand of an atomic operation.
const ATOMIC: u32 = 8;

/// Number of bytes by which an address is made one that no word of 8 bytes may have.
const MISALIGNED: u64 = 4;

/// Bits to flip in a key to get one that was never given out. They are in the part of the key that
/// its owner chooses.
const OTHER_KEY: u32 = 0x55;

/// Runs `case` on `pair`. `third_party` is another connection, and `caller` what asks for one, for
/// cases whose [`Setup`] says so.
///
/// # Errors
///
/// The reason why the case was not tried: it could not be prepared, or the command was cancelled.
///
/// [`Setup`]: super::Setup
#[inline(never)]
pub(crate) fn run(
    case: Case,
    rule: &Rule,
    pair: &mut Pair<'_>,
    third_party: Option<&mut Pair<'_>>,
    caller: Option<Caller<'_>>,
) -> Result<Seen, Failure> {
    let caller = caller.ok_or_else(|| failed(EINVAL));
    match case {
        Case::StaleRkey => {
            let stale = pair.open(Access::Remote)?;
            pair.close()?;
            pair.responder.renew_key().map_err(failed)?;
            pair.open(Access::Remote)?;
            write(rule, pair, stale, SIZE)
        }
        Case::ReadOfWriteOnly => {
            let remote = pair.open(Access::RemoteWrite)?;
            pair.open_own(true)?;
            let local = pair.requester.own(SIZE);
            pair.attempt(rule, &Probe::Read { local, remote }, |pair| {
                pair.requester.is_intact(true, Place::Own, 0)
            })
        }
        Case::WriteOfReadOnly => {
            let remote = pair.open(Access::RemoteRead)?;
            write(rule, pair, remote, SIZE)
        }
        Case::LengthPastMr => {
            let remote = pair.open(Access::Remote)?;
            write(rule, pair, remote, SIZE + 1)
        }
        Case::WrongPd => {
            // The third party only provides memory to be checked, so nothing else is done with it.
            let third_party = third_party.ok_or_else(|| failed(EINVAL))?;
            let remote = third_party.open(Access::Remote)?;
            let local = pair.requester.local(Place::Own, SIZE);
            pair.attempt(rule, &Probe::Write { local, remote }, |_| {
                third_party.responder.is_intact(false, Place::Exposed, 0)
            })
        }
        Case::InvalidatedMr => {
            let remote = pair.open(Access::Remote)?;
            pair.close()?;
            write(rule, pair, remote, SIZE)
        }
        Case::DoubleInvalidate => {
            pair.open_own(true)?;
            pair.open_own(false)?;
            let region = pair.requester.own_region;
            pair.attempt(rule, &Probe::Invalidate { region }, untouched)
        }
        Case::RegMrOnValid => {
            pair.open_own(true)?;
            let region = pair.requester.own_region;
            let access = Access::RemoteWrite;
            pair.attempt(rule, &Probe::Register { region, access }, untouched)
        }
        Case::StaleLkey => {
            pair.open_own(true)?;
            pair.open_own(false)?;
            let probe = Probe::Send {
                local: pair.requester.own(SIZE),
                invalidate: None,
                fence: false,
            };
            pair.attempt(rule, &probe, |pair| {
                pair.responder.is_intact(false, Place::Inbox, 0)
            })
        }
        Case::SendTooLong => {
            let receive = pair.responder.receive(SHORT)?;
            pair.responder.receives(1)?;
            let message = pair.message();
            pair.attempt_into(rule, &message, Some(receive), |pair| {
                pair.responder.is_intact(false, Place::Inbox, SHORT)
            })
        }
        Case::SendInvStale => {
            let remote = pair.open(Access::Remote)?;
            let receive = pair.responder.receive(SIZE)?;
            pair.responder.receives(1)?;
            let probe = Probe::Send {
                local: pair.requester.local(Place::Own, SIZE),
                invalidate: Some(remote.rkey ^ OTHER_KEY),
                fence: false,
            };
            pair.attempt_into(rule, &probe, Some(receive), untouched)
        }
        Case::Rnr => {
            let message = pair.message();
            pair.attempt_into(rule, &message, None, |pair| {
                pair.responder.is_intact(false, Place::Inbox, 0)
            })
        }
        Case::SrqEmpty => {
            let message = pair.message();
            pair.attempt_into(rule, &message, None, |_| Ok(true))
        }
        Case::UnsupportedOpcode => {
            let remote = pair.open(Access::Remote)?;
            atomic(rule, pair, AtomicOp::MaskedCompareSwap, remote)
        }
        Case::ZeroLength => {
            let mut remote = pair.open(Access::Remote)?;
            remote.rkey ^= OTHER_KEY;
            write(rule, pair, remote, 0)
        }
        Case::RetryExhausted => {
            let remote = pair.open(Access::Remote)?;
            pair.responder.set_error()?;
            let local = pair.requester.local(Place::Own, SIZE);
            pair.attempt_into(rule, &Probe::Write { local, remote }, None, untouched)
        }
        Case::PortDown => {
            let remote = pair.open(Access::Remote)?;
            let local = pair.requester.local(Place::Own, SIZE);
            let first = Ok(pair.requester.sent);
            pair.attempt(rule, &Probe::Write { local, remote }, |pair| {
                // Data that was not acknowledged may have arrived.
                let done = pair.requester.ended(first) == Ended::Status(0);
                Ok(written(pair, SIZE)? || !done && untouched(pair)?)
            })
        }
        Case::AtomicMisaligned => {
            let mut remote = pair.open(Access::RemoteAtomic)?;
            remote.addr = remote.addr.wrapping_add(MISALIGNED);
            atomic(rule, pair, AtomicOp::FetchAdd(1), remote)
        }
        Case::AtomicNoRight => {
            let remote = pair.open(Access::Remote)?;
            atomic(rule, pair, AtomicOp::FetchAdd(1), remote)
        }
        Case::ReadsBeyondDepth => order::reads(rule, pair),
        Case::ReadAfterWrite => order::read_after_write(rule, pair),
        Case::ReadFence => order::read_fence(rule, pair),
        Case::WriteThenFlag => order::write_then_flag(rule, pair),
        Case::Unanswered => management::unanswered(rule, pair, caller?),
        Case::StaleConnection => management::stale(rule, pair, caller?),
        Case::InlineReuse => inline::reuse(rule, pair),
        Case::HandlerPolls => events::handler_polls(rule, pair),
        Case::Rearm => events::rearm(rule, pair),
        Case::Solicited => solicited::message(rule, pair),
        Case::SolicitedError => solicited::error(rule, pair),
        Case::SrqLimit => shared::limit(rule, pair),
        Case::SrqDrain => shared::drain(rule, pair),
        Case::UdBadQkey => datagrams::bad_qkey(rule, pair),
        Case::UdBadAh => datagrams::bad_address(rule, pair),
        Case::UdAboveMtu => datagrams::above_mtu(rule, pair),
        Case::SqFull => limits::send_queue(rule, pair),
        Case::CqExact => limits::completion_queue(rule, pair, false),
        Case::CqOverrun => limits::completion_queue(rule, pair, true),
        Case::FlushOrder => limits::flush(rule, pair),
        Case::Drain => limits::drain(rule, pair),
    }
}

/// Tries an atomic operation on `remote`, which must leave the memory unchanged.
fn atomic(
    rule: &Rule,
    pair: &mut Pair<'_>,
    op: AtomicOp,
    remote: Advertisement,
) -> Result<Seen, Failure> {
    let local = pair.requester.local(Place::Own, ATOMIC);
    pair.attempt(rule, &Probe::Atomic { op, local, remote }, untouched)
}

/// Tries a WRITE of `len` bytes to `remote`, which must leave the memory unchanged.
fn write(
    rule: &Rule,
    pair: &mut Pair<'_>,
    remote: Advertisement,
    len: u32,
) -> Result<Seen, Failure> {
    let local = Local {
        len,
        ..pair.requester.local(Place::Own, SIZE)
    };
    pair.attempt(rule, &Probe::Write { local, remote }, untouched)
}
