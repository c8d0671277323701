// SPDX-License-Identifier: GPL-2.0

//! What each case does. Those about the limits of queues are in `limits`.

#![forbid(unsafe_code)]

use super::{
    end::{
        failed,
        seed,
        Place, //
    },
    limits,
    pair::Pair,
    setup::{
        GUARD,
        SIZE, //
    }, //
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
        probe::Probe,
        Local, //
    }, //
};
use kernel::prelude::*;

/// Bytes of a receive that is too short.
const SHORT: u32 = 64;

/// Bytes of an atomic operation.
const ATOMIC: u32 = 8;

/// What a key that was never given out differs in: the part that its owner chooses.
const OTHER_KEY: u32 = 0x55;

/// Runs `case` on `pair`; `stranger` is another connection where [`Setup`] asks for it.
///
/// # Errors
///
/// What kept it from being tried at all: it could not be prepared, or the command is
/// cancelled.
///
/// [`Setup`]: super::Setup
pub(crate) fn run(
    case: Case,
    rule: &Rule,
    pair: &mut Pair<'_>,
    stranger: Option<&mut Pair<'_>>,
) -> Result<Seen, Failure> {
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
            write(rule, pair, remote, SIZE.saturating_add(1))
        }
        Case::WrongPd => {
            // The memory must be there to be looked at, and nothing else is done with it.
            let stranger = stranger.ok_or_else(|| failed(EINVAL))?;
            let remote = stranger.open(Access::Remote)?;
            let local = pair.requester.local(Place::Own, SIZE);
            pair.attempt(rule, &Probe::Write { local, remote }, |_| {
                stranger.responder.is_intact(false, Place::Exposed, 0)
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
            };
            pair.attempt_into(rule, &probe, Some(receive), untouched)
        }
        Case::Rnr => {
            let message = pair.message();
            pair.attempt_into(rule, &message, None, |pair| {
                pair.responder.is_intact(false, Place::Inbox, 0)
            })
        }
        Case::UnsupportedOpcode => {
            let remote = pair.open(Access::Remote)?;
            let local = pair.requester.local(Place::Own, ATOMIC);
            pair.attempt(rule, &Probe::MaskedSwap { local, remote }, untouched)
        }
        Case::ZeroLength => {
            let mut remote = pair.open(Access::Remote)?;
            remote.rkey ^= OTHER_KEY;
            write(rule, pair, remote, 0)
        }
        Case::RetryExhausted => {
            let remote = pair.open(Access::Remote)?;
            pair.responder.break_off()?;
            let local = pair.requester.local(Place::Own, SIZE);
            pair.attempt_into(rule, &Probe::Write { local, remote }, None, untouched)
        }
        Case::PortDown => {
            let remote = pair.open(Access::Remote)?;
            let local = pair.requester.local(Place::Own, SIZE);
            let first = Ok(pair.requester.sent);
            pair.attempt(rule, &Probe::Write { local, remote }, |pair| {
                // What was not acknowledged may have arrived.
                let done = pair.requester.ended(first) == Ended::Status(0);
                Ok(written(pair, SIZE)? || !done && untouched(pair)?)
            })
        }
        Case::SqFull => limits::send_queue(rule, pair),
        Case::CqExact => limits::completion_queue(rule, pair, false),
        Case::CqOverrun => limits::completion_queue(rule, pair, true),
        Case::FlushOrder => limits::flush(rule, pair),
        Case::Drain => limits::drain(rule, pair),
    }
}

/// Tries a WRITE of `len` bytes to `remote`.
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

/// Whether nothing was written to what is opened to the requester, or behind it.
pub(super) fn untouched(pair: &Pair<'_>) -> Result<bool> {
    pair.responder.is_intact(false, Place::Exposed, 0)
}

/// Whether what the requester has written is there, and nothing behind it.
pub(super) fn written(pair: &Pair<'_>, len: u32) -> Result<bool> {
    let (end, size) = (&pair.responder, pair.responder.exposed);
    Ok(end.holds(Place::Exposed, 0, len, seed(true, Place::Own))?
        && end.holds(
            Place::Exposed,
            size,
            size.saturating_add(GUARD),
            seed(false, Place::Exposed),
        )?)
}
