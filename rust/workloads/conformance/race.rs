// SPDX-License-Identifier: GPL-2.0

//! Conformance cases about requests that are under way while their connection ends.

#![forbid(unsafe_code)]

use super::{
    end::{
        failed,
        seed,
        End,
        Place,
        Taken, //
    },
    pair::{
        Pair,
        LOST_MS, //
    },
    probe::{
        Manner,
        Probe, //
    },
    setup::MANY,
    steps::{
        initial,
        number_then,
        OTHER_KEY,
        WORD, //
    }, //
};
use crate::{
    kernel_ext::time::{
        relax,
        Deadline, //
    },
    logic::{
        conformance::{
            observation::{
                Ended,
                Seen,
                Tally, //
            },
            rule::{
                Fabric,
                Rule, //
            },
            special::Fate,
            steps::{
                Rights,
                Side, //
            }, //
        },
        data::mix::mix,
        failure::Failure,
        wire::Advertisement, //
    },
    mr::Access,
    rdma::wr::atomic::AtomicOp, //
};
use kernel::prelude::*;

/// Number of messages, fewer than there are receives.
const MESSAGES: usize = 480;

/// Number of messages that have arrived when the queue pair is put into error.
const ARRIVED: usize = 16;

/// Puts the responder's queue pair into error while messages arrive. No more receives may succeed
/// than messages were sent.
pub(super) fn sends_in_error(rule: &Rule, pair: &mut Pair<'_>) -> Result<Seen, Failure> {
    pair.responder.receives(MANY as usize)?;
    pair.requester.begin();
    let message = pair.message();
    for _ in 0..MESSAGES {
        let _ = pair.requester.post(&message);
    }
    spin(pair, |pair| pair.responder.completed(true) >= ARRIVED);
    pair.responder.set_error()?;
    let none: Taken = Err(0);
    let mut seen = pair.look(rule, none, None, |_| Ok(true))?;
    seen.receives = seen.receives.at_most(seen.rest.posted);
    seen.first = Ended::Status(0);
    Ok(seen)
}

/// Handles completions of both ends until `done` returns true, or it is plain that this does not
/// come. Does not pause, as all others would complete meanwhile.
fn spin(pair: &Pair<'_>, done: impl Fn(&Pair<'_>) -> bool) {
    let until = Deadline::after_ms(LOST_MS);
    while !done(pair) && !until.passed() {
        pair.requester.poll();
        pair.responder.poll();
        relax();
    }
}

/// Most requests of an end before the event, fewer than its send queue holds.
const MOST: usize = 24;

/// Most requests of an end after it.
const LATE: usize = 4;

/// Number of receives of each end, enough for all of these.
const RECEIVES: usize = MOST + LATE;

/// Choices that are the same in each run.
struct Choices(u64);

impl Choices {
    /// Returns a number below `count`, which is small.
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(1);
        ((mix(self.0) >> 32).wrapping_mul(count as u64) >> 32) as usize
    }
}

/// The requests of one end.
struct Traffic {
    side: Side,
    /// The memory of the peer.
    remote: Advertisement,
    /// Only fetch-and-adds are posted.
    atomics: bool,
    /// Its own region will be valid once what is posted has been done.
    valid: bool,
    /// Number of messages that need a receive.
    messages: u32,
    /// Bits of the slot numbers of those that ask for no completion where they succeed.
    silent: u64,
    /// Number of those that do ask.
    signaled: usize,
}

impl Traffic {
    /// Opens the memory of the peer of `side` to it.
    fn new(pair: &mut Pair<'_>, side: Side, atomics: bool) -> Result<Self, Failure> {
        let access = match atomics {
            true => Access::RemoteAtomic,
            false => Access::Remote,
        };
        let remote = pair.open_of(side.peer(), access)?;
        pair.end_mut(side).receives(RECEIVES)?;
        Ok(Self {
            side,
            remote,
            atomics,
            valid: false,
            messages: 0,
            silent: 0,
            signaled: 0,
        })
    }

    /// Posts so many requests, of which the last one asks for a completion.
    ///
    /// # Errors
    ///
    /// The errno, positive, with which the device refuses one.
    fn post(
        &mut self,
        pair: &mut Pair<'_>,
        choices: &mut Choices,
        count: usize,
    ) -> Result<(), i32> {
        let fabric = pair.fabric;
        let end = pair.end_mut(self.side);
        for left in (0..count).rev() {
            let probe = self.next(end, fabric, choices);
            let signaled = left == 0 || choices.below(3) > 0;
            let slot = end.post_as(
                &probe,
                Manner {
                    signaled,
                    ..Manner::PLAIN
                },
            )?;
            match signaled {
                true => self.signaled = self.signaled.saturating_add(1),
                false => self.silent |= 1_u64.checked_shl(slot as u32).unwrap_or(0),
            }
        }
        Ok(())
    }

    /// Chooses the next request.
    fn next(&mut self, end: &End, fabric: Fabric, choices: &mut Choices) -> Probe {
        let remote = self.remote;
        let len = choices.below(end.exposed as usize).saturating_add(1) as u32;
        let data = end.local(Place::Exposed, len);
        if self.atomics {
            return Probe::Atomic {
                op: AtomicOp::FetchAdd(1),
                local: end.local(Place::Own, WORD as u32),
                remote,
            };
        }
        let region = end.own_region;
        let kind = choices.below(8);
        if kind <= 2 {
            self.messages = self.messages.saturating_add(1);
        }
        match kind {
            0 if fabric == Fabric::InfiniBand => Probe::SendImmediate { local: data },
            1 if fabric == Fabric::InfiniBand => Probe::WriteImmediate {
                local: data,
                remote,
            },
            0..=2 => Probe::Send {
                local: data,
                invalidate: None,
                fence: false,
            },
            3 if fabric == Fabric::InfiniBand => {
                self.valid = !self.valid;
                match self.valid {
                    true => Probe::Register {
                        region,
                        access: Access::RemoteWrite,
                    },
                    false => Probe::Invalidate { region },
                }
            }
            // siw lets others overtake READs, and completes some twice; other cases are of that.
            6.. if fabric == Fabric::InfiniBand => Probe::Read {
                local: end.local(Place::Own, len),
                remote,
            },
            _ => Probe::Write {
                local: data,
                remote,
            },
        }
    }

    /// Returns what has become of its requests and receives, and the status of the request that
    /// failed.
    fn ended(&self, pair: &Pair<'_>, peer: &Self) -> (Tally, Tally, Option<u32>) {
        let end = pair.end(self.side);
        let silent = |slot: usize| self.silent >> (slot & 63) & 1 != 0;
        let (sends, failed) = end.ended_at(false, silent);
        let (receives, _) = end.ended_at(true, |_| false);
        (sends, receives.at_most(peer.messages), failed)
    }
}

/// Has requests of both ends under way while `fate` comes to them, drains both queue pairs, and
/// returns what has become of each. `round` is the number of times that it was done before, by
/// which the requests and the instant differ.
pub(super) fn run(
    rule: &Rule,
    pair: &mut Pair<'_>,
    fate: Fate,
    atomics: bool,
    round: u32,
) -> Result<Seen, Failure> {
    let mut choices = Choices(u64::from(round) << 32);
    let mut own = Traffic::new(pair, Side::Requester, atomics)?;
    let mut theirs = Traffic::new(pair, Side::Responder, false)?;
    for side in [Side::Requester, Side::Responder] {
        pair.end_mut(side).begin();
    }
    let refused = |number: i32| Failure::Kernel("posting", number.saturating_neg());
    for traffic in [&mut own, &mut theirs] {
        let count = match traffic.side {
            Side::Responder if atomics => 0,
            _ => choices.below(MOST).saturating_add(1),
        };
        traffic.post(pair, &mut choices, count).map_err(refused)?;
    }
    let instant = choices.below(own.signaled);
    spin(pair, |pair| pair.requester.completed(false) >= instant);
    let mut destroyed = None;
    match fate {
        Fate::RequesterError => pair.requester.set_error()?,
        Fate::ResponderError => pair.responder.set_error()?,
        Fate::Disconnect => pair.requester.disconnect(),
        Fate::Forbid => pair.responder.forbid(Rights::Both)?,
        Fate::Invalidate => {
            let region = pair.responder.region;
            let closed = pair.responder.post(&Probe::Invalidate { region });
            closed.map_err(refused)?;
        }
        Fate::BadKey => {
            let mut remote = own.remote;
            remote.rkey ^= OTHER_KEY;
            let local = pair.requester.local(Place::Exposed, 1);
            let bad = pair.requester.post(&Probe::Write { local, remote });
            bad.map_err(refused)?;
        }
        Fate::Destroy => {
            // What is missing after that was not waited for.
            let _ = pair.responder.drain();
            destroyed = Some((theirs.ended(pair, &own), guarded(pair, Side::Responder)));
            pair.responder.destroy();
        }
    }
    for traffic in [&mut own, &mut theirs] {
        let count = choices.below(LATE);
        // A queue pair in error may refuse them.
        let _ = traffic.post(pair, &mut choices, count);
    }
    if choices.below(2) > 0 {
        let ends = [&pair.requester, &pair.responder];
        pair.deadlines.until(&ends, LOST_MS, || {
            Ok(own.ended(pair, &theirs).0.missing() == 0
                && (destroyed.is_some() || theirs.ended(pair, &own).0.missing() == 0))
        })?;
    }
    for end in [&pair.requester, &pair.responder] {
        let _ = end.drain();
    }
    let (sends, receives, error) = own.ended(pair, &theirs);
    let ((their_sends, their_receives, their_error), their_guards) =
        destroyed.unwrap_or_else(|| (theirs.ended(pair, &own), guarded(pair, Side::Responder)));
    let added = !atomics || is_added(pair, sends)?;
    let guards = guarded(pair, Side::Requester) && their_guards && added;
    let mut seen = pair.found(rule, Err(0), None, |_| Ok(guards))?;
    let mut errors = [error, their_error]
        .into_iter()
        .flatten()
        .map(Ended::Status);
    let bad = errors.clone().find(|error| !rule.first.contains(error));
    seen.first = bad.or(errors.next()).unwrap_or(Ended::Status(0));
    seen.rest = sends.and(&their_sends);
    seen.receives = receives.and(&their_receives);
    Ok(seen)
}

/// Returns true where nothing was written behind the buffers of an end.
fn guarded(pair: &Pair<'_>, side: Side) -> bool {
    let end = pair.end(side);
    [Place::Exposed, Place::Own, Place::Inbox]
        .into_iter()
        .all(|place| {
            end.is_intact(side == Side::Requester, place, end.exposed)
                .unwrap_or(false)
        })
}

/// Returns true where the number at the responder is higher by as many as fetch-and-adds
/// succeeded, or by some of those that did not.
fn is_added(pair: &Pair<'_>, sends: Tally) -> Result<bool, Failure> {
    let open = seed(false, Place::Exposed);
    // One may have been done though its answer was lost.
    for added in sends.done..=sends.posted.saturating_add(1) {
        let number = initial().wrapping_add(u64::from(added));
        if number_then(&pair.responder, Place::Exposed, number, open).map_err(failed)? {
            return Ok(true);
        }
    }
    Ok(false)
}
