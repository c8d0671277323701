// SPDX-License-Identifier: GPL-2.0

//! The conformance cases that are lists of steps, and the check of memory after them.

#![forbid(unsafe_code)]

use super::{
    end::{
        byte,
        failed,
        seed,
        End,
        Taken, //
    },
    pair::{
        Pair,
        LATER, //
    },
    probe::{
        Manner,
        Probe,
        IMMEDIATE, //
    }, //
};
use crate::{
    logic::{
        conformance::{
            observation::{
                Ended,
                Seen,
                Told, //
            },
            rule::{
                Fabric,
                Rule, //
            },
            steps::{
                At,
                Local,
                LocalKey,
                Memory,
                Op,
                Place,
                Region,
                RemoteKey,
                Request,
                Rights,
                Side,
                Step,
                Steps, //
            }, //
        },
        failure::Failure,
        wire::Advertisement, //
    },
    mr::{
        Access,
        RegionId, //
    },
    rdma::wr::{
        self,
        atomic::AtomicOp, //
    }, //
};
use kernel::prelude::*;

/// Bits to flip in a key to get one that was never given out. They are in the part of the key that
/// its owner chooses.
pub(super) const OTHER_KEY: u32 = 0x55;

/// A number that no memory has.
const ANY: u64 = 7;

/// Number of bytes of an atomic operation.
pub(super) const WORD: usize = 8;

/// The results of the steps so far.
#[derive(Default)]
struct Progress {
    /// The peer's memory, once it is open.
    remote: Option<Advertisement>,
    /// The slot number of the receive that the request is for.
    receive: Option<usize>,
}

/// Does the steps of a case on `pair`, and returns the observations.
///
/// # Errors
///
/// A step before the request failed, the command was cancelled, or the device removed.
pub(super) fn run(rule: &Rule, pair: &mut Pair<'_>, steps: &Steps) -> Result<Seen, Failure> {
    let mut progress = Progress::default();
    prepare(pair, steps)?;
    for step in steps.before {
        progress.take(pair, step)?;
    }
    if steps.receives {
        pair.responder.receives(LATER)?;
    }
    pair.requester.begin();
    pair.message = progress.message(&steps.request)?;
    let first = progress.post(pair, &steps.request)?;
    if steps.request.op == Op::Read && pair.fabric == Fabric::Iwarp {
        // What is sent behind a READ may complete before it, which other cases are about.
        pair.until(|pair| pair.requester.ended(first) != Ended::Missing)?;
    }
    pair.post_later();
    for step in steps.after {
        progress.take(pair, step)?;
    }
    pair.look_until(
        rule,
        first,
        progress.receive,
        steps.memory.is_changed(),
        |pair| steps.memory.holds(pair),
    )
}

impl Progress {
    /// Takes a step.
    fn take(&mut self, pair: &mut Pair<'_>, step: &Step) -> Result<(), Failure> {
        match *step {
            Step::Open(rights) => self.remote = Some(pair.open(rights.into())?),
            Step::Close => pair.close()?,
            Step::Renew => {
                pair.close()?;
                pair.responder.renew_key().map_err(failed)?;
                pair.open(Access::Remote)?;
            }
            Step::RenewAtOnce => {
                let region = pair.responder.region;
                // Where it fails, so does what is posted behind it.
                let _ = pair.responder.post(&Probe::Invalidate { region });
                pair.responder.renew_key().map_err(failed)?;
                self.remote = Some(pair.open(Access::Remote)?);
            }
            Step::OpenOwn(side, rights) => pair.open_own_of(side, rights.into())?,
            Step::CloseOwn(side) => pair.close_own_of(side)?,
            Step::Receive(local) => {
                let (local, manner) = operand(&pair.responder, local);
                self.receive = Some(pair.responder.receive_into(&local, manner.flipped)?);
            }
            Step::Receives(count) => pair.responder.receives(count)?,
            Step::Do(request) => {
                let taken = self.post(pair, &request)?;
                pair.succeeds(taken)?;
            }
            Step::Forbid(rights) => pair.responder.forbid(rights)?,
            Step::Error(Side::Requester) => pair.requester.set_error()?,
            Step::Error(Side::Responder) => pair.responder.set_error()?,
            Step::Wait(ms) => pair.rest(ms)?,
        }
        Ok(())
    }

    /// Posts a request at the requester.
    fn post(&self, pair: &mut Pair<'_>, request: &Request) -> Result<Taken, Failure> {
        let (local, manner) = operand(&pair.requester, request.local);
        let manner = Manner {
            signaled: request.signaled,
            ..manner
        };
        let probe = self.probe(pair, request, local)?;
        Ok(pair.requester.post_as(&probe, manner))
    }

    fn probe(
        &self,
        pair: &Pair<'_>,
        request: &Request,
        local: wr::Local,
    ) -> Result<Probe, Failure> {
        let remote = || self.remote(request);
        let end = &pair.requester;
        let atomic = |op| {
            Ok::<_, Failure>(Probe::Atomic {
                op,
                local,
                remote: remote()?,
            })
        };
        Ok(match request.op {
            Op::Send => Probe::Send {
                local,
                invalidate: None,
                fence: false,
            },
            Op::SendInvalidate => Probe::Send {
                local,
                invalidate: Some(remote()?.rkey),
                fence: false,
            },
            Op::SendImmediate => Probe::SendImmediate { local },
            Op::Write => Probe::Write {
                local,
                remote: remote()?,
            },
            Op::WriteImmediate => Probe::WriteImmediate {
                local,
                remote: remote()?,
            },
            Op::Read => Probe::Read {
                local,
                remote: remote()?,
            },
            Op::FetchAdd => atomic(AtomicOp::FetchAdd(1))?,
            Op::CompareSwap => atomic(AtomicOp::CompareSwap(initial(), !initial()))?,
            Op::CompareOther => atomic(AtomicOp::CompareSwap(!initial(), ANY))?,
            Op::MaskedSwap => atomic(AtomicOp::MaskedCompareSwap)?,
            Op::Register(region, rights) => Probe::Register {
                region: region_of(end, region)?,
                access: rights.into(),
            },
            Op::Invalidate(region) => Probe::Invalidate {
                region: region_of(end, region)?,
            },
        })
    }

    /// Returns what the receive of `request` is to tell, if it takes one.
    fn message(&self, request: &Request) -> Result<Option<Told>, Failure> {
        let plain = Told::plain(request.local.len);
        Ok(match request.op {
            Op::Send => Some(plain),
            Op::SendInvalidate => Some(Told {
                invalidated: Some(self.remote(request)?.rkey),
                ..plain
            }),
            Op::SendImmediate | Op::WriteImmediate => Some(Told {
                immediate: Some(IMMEDIATE),
                ..plain
            }),
            _ => None,
        })
    }

    /// Returns the peer's memory as `request` names it.
    fn remote(&self, request: &Request) -> Result<Advertisement, Failure> {
        let mut remote = self.remote.ok_or_else(|| failed(EINVAL))?;
        remote.addr = match request.at {
            At::Start(offset) => remote.addr.wrapping_add_signed(offset),
            At::Top(bytes) => 0u64.wrapping_sub(bytes),
        };
        if request.key == RemoteKey::Other {
            remote.rkey ^= OTHER_KEY;
        }
        Ok(remote)
    }
}

/// Registers the memory that a READ brings data to, unless the steps do so.
fn prepare(pair: &mut Pair<'_>, steps: &Steps) -> Result<(), Failure> {
    let opens = |step: &Step| matches!(step, Step::OpenOwn(Side::Requester, _));
    match steps.request.op {
        Op::Read if !steps.before.iter().any(opens) => pair.open_own(),
        _ => Ok(()),
    }
}

/// Returns `local` as an operand at `end`, and the manner in which it is posted.
fn operand(end: &End, local: Local) -> (wr::Local, Manner) {
    let whole = match local.key {
        LocalKey::Dma => end.local(local.place, local.len),
        LocalKey::Region | LocalKey::Other => wr::Local {
            region: Some(end.own_region),
            ..end.local(local.place, local.len)
        },
    };
    let flipped = match local.key {
        LocalKey::Dma | LocalKey::Region => 0,
        LocalKey::Other => OTHER_KEY,
    };
    let operand = wr::Local {
        offset: local.offset,
        ..whole
    };
    let manner = Manner {
        flipped,
        ..Manner::PLAIN
    };
    (operand, manner)
}

fn region_of(end: &End, region: Region) -> Result<RegionId, Failure> {
    match region {
        Region::Own => Ok(end.own_region),
        Region::OtherDomain => end.other_region.ok_or_else(|| failed(EINVAL)),
    }
}

/// Returns the number in the first 8 bytes of the responder's open memory in the beginning.
pub(super) fn initial() -> u64 {
    let open = seed(false, Place::Exposed);
    u64::from_ne_bytes(core::array::from_fn(|at| byte(open, at)))
}

impl From<Rights> for Access {
    fn from(rights: Rights) -> Self {
        match rights {
            Rights::Local => Self::Local,
            Rights::Read => Self::RemoteRead,
            Rights::Write => Self::RemoteWrite,
            Rights::Both => Self::Remote,
            Rights::Atomic => Self::RemoteAtomic,
        }
    }
}

impl Memory {
    /// Returns true where something is to be there that was not in the beginning.
    fn is_changed(self) -> bool {
        match self {
            Self::Any
            | Self::Untouched
            | Self::OwnUntouched
            | Self::InboxFrom(_)
            | Self::TheirsUntouched => false,
            Self::Written { .. }
            | Self::Brought(..)
            | Self::Received(..)
            | Self::Counted(..)
            | Self::Swapped => true,
        }
    }

    /// Returns true where the memory of `pair` is as demanded.
    fn holds(self, pair: &Pair<'_>) -> Result<bool> {
        let (own, theirs) = (&pair.requester, &pair.responder);
        let sent = seed(true, Place::Own);
        let open = seed(false, Place::Exposed);
        match self {
            Self::Any => Ok(true),
            Self::Untouched => theirs.is_intact(false, Place::Exposed, 0),
            Self::OwnUntouched => own.is_intact(true, Place::Own, 0),
            Self::InboxFrom(from) => theirs.is_intact(false, Place::Inbox, from),
            Self::TheirsUntouched => theirs.is_intact(false, Place::Own, 0),
            Self::Written { to, from, len } => theirs.matches(Place::Exposed, |at| {
                match at.checked_sub(to as usize).filter(|at| *at < len as usize) {
                    Some(written) => byte(sent, written.wrapping_add(from as usize)),
                    None => byte(open, at),
                }
            }),
            Self::Brought(from, len) => own.matches(Place::Own, |at| match at {
                at if at < len as usize => byte(open, at.wrapping_add(from as usize)),
                at => byte(sent, at),
            }),
            Self::Received(from, len) => theirs.matches(Place::Own, |at| match at {
                at if at < len as usize => byte(sent, at.wrapping_add(from as usize)),
                at => byte(seed(false, Place::Own), at),
            }),
            Self::Counted(there, here) => {
                let there = initial().wrapping_add(there);
                let here = initial().wrapping_add(here);
                Ok(number_then(theirs, Place::Exposed, there, open)?
                    && number_then(own, Place::Own, here, sent)?)
            }
            Self::Swapped => Ok(number_then(theirs, Place::Exposed, !initial(), open)?
                && number_then(own, Place::Own, initial(), sent)?),
        }
    }
}

/// Returns true where a buffer begins with `number`, and has the bytes derived from `seed` behind
/// it.
pub(super) fn number_then(end: &End, place: Place, number: u64, seed: u8) -> Result<bool> {
    let bytes: [u8; WORD] = number.to_ne_bytes();
    end.matches(place, |at| bytes.get(at).copied().unwrap_or(byte(seed, at)))
}
