// SPDX-License-Identifier: GPL-2.0

//! Conformance cases about the order in which requests take effect.

#![forbid(unsafe_code)]

use super::{
    end::{
        byte,
        failed,
        seed,
        Place, //
    },
    pair::{
        Pair,
        LATER, //
    },
    probe::Probe, //
};
use crate::{
    kernel_ext::time::{
        monotonic_ns,
        relax,
        Deadline, //
    },
    logic::{
        conformance::{
            observation::{
                Ended,
                Seen, //
            }, //
            rule::Rule,
            steps::SIZE,
        },
        failure::Failure,
        wire::Advertisement, //
    },
    mr::Access,
    rdma::wr::Local, //
};
use kernel::prelude::*;

/// Number of READs that are posted where one may be under way.
const READS: usize = 16;

/// Size in bytes of each.
const READ: u32 = 64;

/// Number of READs in front of a fence: as many as a connection has under way.
const FENCED: u32 = 4;

/// Number of times that a flag is written behind data.
const ROUNDS: u8 = 8;

/// Size in bytes of the flag.
const FLAG: u32 = 64;

/// Time in ns between two values of the first byte that READs bring.
const TICK_NS: u64 = 15_000;

/// Most time in ms for which a CPU watches memory for a flag. After that it is looked at from time
/// to time.
const WATCH_MS: u32 = 20;

/// Posts more READs than the connection may have under way, of memory whose first byte changes all
/// the time, and counts those that were served before the READ in front of them had arrived.
pub(super) fn reads(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    let remote = pair.open(Access::RemoteRead)?;
    pair.open_own()?;
    pair.responder.receives(LATER)?;
    pair.requester.begin();
    let mut last = Err(0);
    for number in 0..READS {
        let local = Local {
            offset: place_of(number) as u32,
            ..pair.requester.own(READ)
        };
        last = pair.requester.post(&Probe::Read { local, remote });
    }
    let awaited = watch_reads(pair).map_err(failed)?;
    pair.post_later();
    let mut seen = pair.look(rule, last, None, |pair| {
        let open = seed(false, Place::Exposed);
        let own = seed(true, Place::Own);
        pair.requester.matches(Place::Own, |at| match at {
            at if at >= place_of(READS) => byte(own, at),
            // The first byte of each is the time.
            at if at % READ as usize == 0 => pair.requester.byte_at(Place::Own, at).unwrap_or(0),
            at => byte(open, at % READ as usize),
        })
    })?;
    for (number, unarrived) in awaited.iter().enumerate() {
        let at = place_of(number.saturating_add(1));
        let served = pair.requester.byte_at(Place::Own, at).map_err(failed)?;
        seen.ahead = seen.ahead.saturating_add(u32::from(served < *unarrived));
    }
    Ok(seen)
}

/// Returns the offset of the memory of a READ.
fn place_of(number: usize) -> usize {
    number.saturating_mul(READ as usize)
}

/// Counts the time in the first byte that READs bring, until the last has arrived. Returns for each
/// READ but the last the latest time at which it had not arrived.
///
/// A READ that brings an earlier time was served while the one in front of it was under way.
fn watch_reads(pair: &mut Pair<'_>) -> Result<[u8; READS - 1]> {
    let own = seed(true, Place::Own);
    let mut unarrived = [0; READS - 1];
    let mut time = 0;
    let until = Deadline::after_ms(WATCH_MS);
    // They arrive one after the other, so only the first that has not arrived is looked at.
    let mut next = 0;
    while !until.passed() && time < u8::MAX && next < unarrived.len() {
        pair.responder.set_first_byte(Place::Exposed, time)?;
        let end = place_of(next.saturating_add(1)).saturating_sub(1);
        if pair.requester.byte_at(Place::Own, end)? != byte(own, end) {
            next += 1;
            continue;
        }
        for latest in unarrived.iter_mut().skip(next) {
            *latest = time;
        }
        let then = monotonic_ns().saturating_add(TICK_NS);
        while monotonic_ns() < then {
            relax();
        }
        time += 1;
    }
    Ok(unarrived)
}

/// READs memory that the responder invalidates as soon as the first byte has arrived.
pub(super) fn read_invalidated(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    let remote = pair.open(Access::RemoteRead)?;
    pair.open_own()?;
    pair.responder.receives(LATER)?;
    pair.requester.begin();
    let size = pair.requester.exposed;
    let local = pair.requester.own(size);
    let first = pair.requester.post(&Probe::Read { local, remote });
    let before = byte(seed(true, Place::Own), 0);
    watch(|| Ok(pair.requester.byte_at(Place::Own, 0)? != before))?;
    // It may be flushed where the READ has failed.
    let region = pair.responder.region;
    let closed = pair.responder.post(&Probe::Invalidate { region });
    pair.until(|pair| pair.responder.ended(closed) != Ended::Missing)?;
    pair.post_later();
    pair.look(rule, first, None, |pair| {
        pair.requester.is_intact(true, Place::Own, size)
    })
}

/// READs the memory that a WRITE fills, both posted at once.
pub(super) fn read_after_write(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    let remote = pair.open(Access::Remote)?;
    pair.open_own()?;
    pair.responder.receives(LATER)?;
    pair.requester.begin();
    let local = pair.requester.local(Place::Exposed, SIZE);
    let _ = pair.requester.post(&Probe::Write { local, remote });
    let local = pair.requester.own(SIZE);
    let first = pair.requester.post(&Probe::Read { local, remote });
    pair.post_later();
    pair.look(rule, first, None, |pair| {
        let written = seed(true, Place::Exposed);
        pair.requester.holds(Place::Own, 0, SIZE, written)
    })
}

/// SENDs what a READ brings, both posted at once.
pub(super) fn read_fence(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    let remote = pair.open(Access::RemoteRead)?;
    pair.open_own()?;
    let size = pair.requester.exposed;
    let receive = pair.responder.receive(size)?;
    pair.requester.begin();
    let local = pair.requester.own(size);
    let _ = pair.requester.post(&Probe::Read { local, remote });
    let first = pair.requester.post(&Probe::Send {
        local,
        invalidate: None,
        fence: true,
    });
    pair.look(rule, first, Some(receive), |pair| {
        let brought = seed(false, Place::Exposed);
        pair.responder.holds(Place::Inbox, 0, size, brought)
    })
}

/// SENDs what the last of several READs brings, all posted at once.
pub(super) fn reads_fence(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    let remote = pair.open(Access::RemoteRead)?;
    pair.open_own()?;
    let size = pair.requester.exposed;
    let part = size / FENCED;
    let receive = pair.responder.receive(part)?;
    pair.requester.begin();
    for number in 0..FENCED {
        let offset = number * part;
        let local = Local {
            offset,
            ..pair.requester.own(part)
        };
        let remote = Advertisement {
            addr: remote.addr.wrapping_add(offset.into()),
            ..remote
        };
        let _ = pair.requester.post(&Probe::Read { local, remote });
    }
    let last = (FENCED - 1) * part;
    let first = pair.requester.post(&Probe::Send {
        local: Local {
            offset: last,
            ..pair.requester.own(part)
        },
        invalidate: None,
        fence: true,
    });
    pair.look(rule, first, Some(receive), |pair| {
        let (brought, before) = (seed(false, Place::Exposed), seed(false, Place::Inbox));
        pair.responder.matches(Place::Inbox, |at| match at {
            at if at < part as usize => byte(brought, at + last as usize),
            at => byte(before, at),
        })
    })
}

/// WRITEs data and then a flag, several times, while the responder watches its memory for the flag.
pub(super) fn write_then_flag(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    let remote = pair.open(Access::RemoteWrite)?;
    let size = pair.requester.exposed;
    let (data, flag) = (size.saturating_sub(FLAG), size);
    let mut first = Err(0);
    let mut whole = true;
    pair.responder.receives(LATER)?;
    pair.requester.begin();
    for round in 1..=ROUNDS {
        let sent = seed(true, Place::Own).wrapping_add(round.wrapping_mul(2));
        pair.requester.fill(Place::Own, sent).map_err(failed)?;
        let local = pair.requester.local(Place::Own, data);
        let _ = pair.requester.post(&Probe::Write { local, remote });
        let mut behind = remote;
        behind.addr = behind.addr.wrapping_add(u64::from(data));
        let local = Local {
            offset: data,
            len: FLAG,
            ..local
        };
        first = pair.requester.post(&Probe::Write {
            local,
            remote: behind,
        });
        let seen = |pair: &Pair<'_>| pair.responder.holds(Place::Exposed, data, flag, sent);
        watch(|| seen(pair))?;
        // Where it did not come soon, it comes with the completion or not at all.
        pair.until(|pair| seen(pair).unwrap_or(true) || is_over(pair.requester.ended(first)))?;
        let arrived = seen(pair).map_err(failed)?;
        whole &= arrived && intact(pair, data, sent).map_err(failed)?;
    }
    pair.post_later();
    pair.look(rule, first, None, |_| Ok(whole))
}

/// Calls `seen` until it returns true, for at most [`WATCH_MS`], without giving up the CPU.
fn watch(seen: impl Fn() -> Result<bool>) -> Result<(), Failure> {
    let until = Deadline::after_ms(WATCH_MS);
    while !seen().map_err(failed)? && !until.passed() {
        relax();
    }
    Ok(())
}

/// Returns true if the request has failed, so that it need not have had an effect.
pub(super) fn is_over(ended: Ended) -> bool {
    !matches!(ended, Ended::Missing | Ended::Status(0))
}

/// Returns true if the first `len` bytes of the open memory are those of `sent`.
fn intact(pair: &Pair<'_>, len: u32, sent: u8) -> Result<bool> {
    pair.responder.holds(Place::Exposed, 0, len, sent)
}
