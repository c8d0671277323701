// SPDX-License-Identifier: GPL-2.0

//! Tells which load a client can have: what a server asks of one that comes over the wire, without
//! the options that it was made of.

use super::{
    limits,
    load::Load,
    options::Opt,
    role::Role,
    service::Service,
    tests::Test, //
};
use crate::logic::measure::slots::{
    self,
    Slots, //
};

/// Returns true where the client of a `test` with data of `size` bytes can have this load, and
/// `validate` or not.
pub(crate) fn suits(load: &Load, validate: bool, test: Test, size: u32) -> bool {
    let goes = |opt: Opt| opt.spec().goes_with(Role::Client, test);
    suits_service(load, validate, test)
        && (!load.duplex || goes(Opt::Duplex))
        && (!load.imm || goes(Opt::Imm))
        && (!load.inline || goes(Opt::Inline))
        && (!load.untimed || goes(Opt::Untimed))
        && (!load.solicited || goes(Opt::Solicited) && raises_events(load, test))
        && (!load.sig_all || goes(Opt::SigAll) && load.signal_every == 1)
        && (!load.paced || goes(Opt::Rate) && can_follow_clock(load, test))
        && (load.qps == 1 || goes(Opt::Qps))
        && (load.postlist == 1 || goes(Opt::PostList))
        && (load.signal_every == 1 || goes(Opt::SignalEvery))
        && (load.sge == 1 || goes(Opt::Sge))
        && (load.buffers == 1 || goes(Opt::Buffers) && !load.full)
        && (load.buffers == 1 || !load.service.is_unreliable())
        && (!load.mixed || goes(Opt::Sizes) && !load.duplex && !validate)
        && (!load.mixed || !load.service.is_unreliable())
        && (load.segs == 1 || goes(Opt::Segs))
        && (load.offset == 0 || goes(Opt::Offset))
        && (!load.biovec || goes(Opt::BioVec))
        && (!test.is_rw() || rw_pages(load, size).is_some_and(|n| n >= load.segs.into()))
        && u32::from(load.sge) <= size
        && test.only_size().is_none_or(|only| size == only)
        && (!validate || goes(Opt::Validate))
        && (!load.full || validate && compared(load, test, size))
}

/// Returns true where a client of `test` with this load can post operations when they are due.
fn can_follow_clock(load: &Load, test: Test) -> bool {
    hinders_clock(load).is_none() && !may_lose_turns(load, test) && !load.untimed
}

/// Returns the option of this load with which operations cannot be posted when they are due.
pub(super) fn hinders_clock(load: &Load) -> Option<Opt> {
    match load {
        _ if load.duplex => Some(Opt::Duplex),
        _ if load.solicited => Some(Opt::Solicited),
        _ if load.postlist != 1 => Some(Opt::PostList),
        _ if load.signal_every != 1 => Some(Opt::SignalEvery),
        _ => None,
    }
}

/// Returns true where the sides of `test` take turns, and what gives the turn may be lost.
pub(super) fn may_lose_turns(load: &Load, test: Test) -> bool {
    load.service.is_unreliable() && test.is_latency()
}

/// Returns true where the operations of a client of `test` with this load raise events at a peer
/// that waits for these only.
fn raises_events(load: &Load, test: Test) -> bool {
    !load.duplex && (load.imm || !test.takes_imm())
}

/// Returns true where a client of `test` with this load, and `validate` or not, can have the
/// service.
fn suits_service(load: &Load, validate: bool, test: Test) -> bool {
    let sends = test.takes_datagrams();
    match load.service {
        Service::Rc => true,
        Service::Uc | Service::Ud if load.duplex => false,
        Service::Uc => {
            let compares = !validate || load.imm || sends;
            test.takes_unreliable() && compares && (!load.full || sends)
        }
        Service::Ud => sends,
    }
}

/// Returns true where all messages of a client of `test` with this load can be compared.
fn compared(load: &Load, test: Test, size: u32) -> bool {
    test.takes_full()
        && size <= slots::LARGEST
        && load.depth() <= Slots::of(size).under_way()
        // Otherwise nothing says that a message has arrived.
        && (load.imm || !test.takes_imm())
}

/// Returns the pages of the server's memory of a transfer; `None` for more than one can have.
pub(super) fn rw_pages(load: &Load, size: u32) -> Option<u32> {
    let end = size.checked_add(load.offset.into())?;
    (end <= limits::MOST_RW).then_some(end.div_ceil(limits::RW_PAGE))
}
