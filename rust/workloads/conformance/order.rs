// SPDX-License-Identifier: GPL-2.0

//! Conformance cases about the order in which requests take effect.

#![forbid(unsafe_code)]

use super::{
    end::{
        failed,
        seed,
        Place, //
    },
    pair::{
        Pair,
        LATER, //
    },
    probe::Probe,
    setup::SIZE, //
};
use crate::{
    kernel_ext::time::{
        relax,
        Deadline, //
    },
    logic::{
        conformance::{
            expectation::Rule,
            observation::{
                Ended,
                Seen, //
            }, //
        },
        failure::Failure, //
    },
    mr::Access,
    rdma::wr::Local, //
};
use kernel::prelude::*;

/// Number of READs that are posted where one may be under way.
const READS: usize = 16;

/// Number of times that a flag is written behind data.
const ROUNDS: u8 = 8;

/// Size in bytes of the flag.
const FLAG: u32 = 64;

/// Most time in ms for which a CPU watches memory for a flag. After that it is looked at from time
/// to time.
const WATCH_MS: u32 = 20;

/// Posts more READs than the connection may have under way.
pub(super) fn reads(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    let remote = pair.open(Access::RemoteRead)?;
    pair.open_own(true)?;
    pair.responder.receives(LATER)?;
    pair.requester.begin();
    let local = pair.requester.own(SIZE);
    let read = Probe::Read { local, remote };
    for _ in 1..READS {
        let _ = pair.requester.post(&read);
    }
    let last = pair.requester.post(&read);
    pair.post_later();
    pair.look(rule, last, None, |pair| {
        let brought = seed(false, Place::Exposed);
        pair.requester.holds(Place::Own, 0, SIZE, brought)
    })
}

/// READs the memory that a WRITE fills, both posted at once.
pub(super) fn read_after_write(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    let remote = pair.open(Access::Remote)?;
    pair.open_own(true)?;
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
    pair.open_own(true)?;
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
