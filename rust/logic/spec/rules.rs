// SPDX-License-Identifier: GPL-2.0

//! What makes one command of its options: the role, the defaults that depend on other options, and
//! which options go together.

use super::{
    block_rules,
    options::{
        Opt,
        OptSet, //
    }, //
};
use crate::logic::{
    command::{
        limits,
        parse_error::Reason,
        value::{
            invalid,
            Given,
            Result,
            SIZE, //
        },
        Command,
        Load,
        MemMode,
        Role,
        Test, //
    },
    conformance, //
};

const LATENCY: &str = "wlat, rlat or slat";
const BANDWIDTH: &str = "bw, rbw or sbw";
const MICROBENCH: &str = "wlat, rlat, slat, bw, rbw or sbw";

/// Options whose meaning depends on others.
pub(crate) struct Late<'a> {
    pub(crate) size: Option<Given<'a>>,
    pub(crate) tap: Option<Given<'a>>,
}

/// Completes `command`, whose options are `given` and those of them not read yet `late`, and checks
/// them against each other.
pub(crate) fn settle<'a>(command: &mut Command, late: &Late<'a>, given: OptSet) -> Result<'a, ()> {
    if given.has(Opt::Neg) {
        return conformance::settle(command, given);
    }
    let role = role(given)?;
    command.role = role;
    if !given.has(Opt::Port) {
        command.port = Command::new(role).port;
    }
    not_both(given)?;
    // Only a registered key can be invalidated. C krping has no `mem_mode`, so its lines
    // name none.
    let invalidates = given.has(Opt::ServerInv) || given.has(Opt::ReadInv);
    if invalidates && !given.has(Opt::MemMode) {
        command.mem_mode = MemMode::Reg;
    }
    if command.test == Test::Caps {
        fits_caps(command, given)?;
    }
    take(command, late)?;
    if command.addr.is_none() && role != Role::Server {
        return Err(invalid(role.as_str(), Reason::NoAddr));
    }
    // A server without a test serves any, with the client's load.
    if role == Role::Server && command.test == Test::PingPong {
        command.load = Load::new(command.test);
    } else {
        if !given.has(Opt::SignalEvery) {
            command.load.signal_every = Load::new(command.test).signal_every;
        }
        fits_test(command, given)?;
    }
    fits_rest(command, given)?;
    block_rules::are_placed(command, given)?;
    if command.test.is_block() {
        block_rules::fits(command, given)?;
    }
    command.load.imm |= command.needs_imm();
    // INVARIANT: each line of `Command`'s was checked above.
    Ok(())
}

/// The one role that is given; `caps` needs none.
fn role(given: OptSet) -> Result<'static, Role> {
    let roles = [
        (Opt::Client, Role::Client),
        (Opt::Server, Role::Server),
        (Opt::Loopback, Role::Loopback),
    ];
    let mut found = roles.into_iter().filter(|(opt, _)| given.has(*opt));
    match (found.next(), found.next()) {
        (None, _) if given.has(Opt::Caps) => Ok(Role::Client),
        (None, _) => Err(invalid("", Reason::NoRole)),
        (Some((_, role)), None) => Ok(role),
        (Some((_, role)), Some((_, other))) => {
            let other = other.as_str();
            Err(invalid(role.as_str(), Reason::TwoRoles { other }))
        }
    }
}

/// Takes the options whose meaning depends on the role and the test.
fn take<'a>(command: &mut Command, late: &Late<'a>) -> Result<'a, ()> {
    let is_block = command.test.is_block();
    if !command.test.has_size() {
        command.size = 0;
    }
    if let Some(tap) = late.tap {
        block_rules::take_tap(command, tap)?;
    }
    match late.size {
        Some(size) if is_block => block_rules::take_size(command, size),
        Some(size) => {
            command.size = size.scaled("4K", limits::SIZE, &SIZE)?;
            Ok(())
        }
        None => Ok(()),
    }
}

/// Checks that of options that stand for each other's place only one is given.
fn not_both(given: OptSet) -> Result<'static, ()> {
    let groups: [&[Opt]; 4] = [
        &[Opt::Addr, Opt::Addr6],
        &[
            Opt::Fr,
            Opt::Wlat,
            Opt::Rlat,
            Opt::Slat,
            Opt::Bw,
            Opt::Rbw,
            Opt::Sbw,
            Opt::Blk,
            Opt::Tap,
            Opt::Caps,
        ],
        &[Opt::ServerInv, Opt::ReadInv],
        &[Opt::MaxP99, Opt::Untimed],
    ];
    for group in groups {
        let mut given = group.iter().filter(|opt| given.has(**opt));
        if let (Some(one), Some(other)) = (given.next(), given.next()) {
            let other = other.name();
            return Err(invalid(one.name(), Reason::Both { other }));
        }
    }
    Ok(())
}

/// What says where the device is, and what becomes of the command.
const CAPS: [Opt; 7] = [
    Opt::Caps,
    Opt::Client,
    Opt::Addr,
    Opt::Addr6,
    Opt::Timeout,
    Opt::Expect,
    Opt::Tag,
];

/// Checks what is given to a command that asks what a device can do.
fn fits_caps(command: &Command, given: OptSet) -> Result<'static, ()> {
    let name = Opt::Caps.name();
    match given.iter().find(|opt| !CAPS.contains(opt)) {
        None if command.addr.is_none() => Err(invalid(name, Reason::NoDevice)),
        None => Ok(()),
        Some(opt) => {
            let (test, valid) = (Test::Caps, "the other tests");
            Err(invalid(opt.name(), Reason::WrongTest { test, valid }))
        }
    }
}

/// Checks each option against the test.
fn fits_test(command: &Command, given: OptSet) -> Result<'static, ()> {
    let test = command.test;
    let (microbench, bandwidth) = (test.is_microbench(), test.is_bandwidth());
    let iterates = !microbench && !test.is_block();
    let timed = test == Test::PingPong || test.is_latency();
    let unsignaled = "wlat, slat, bw, rbw or sbw";
    let rules = [
        (
            Opt::Validate,
            iterates || bandwidth,
            "the ping/pong, bw, rbw or sbw",
        ),
        (Opt::ServerInv, iterates, "the ping/pong"),
        (Opt::ReadInv, iterates, "the ping/pong"),
        (Opt::Duplex, bandwidth, BANDWIDTH),
        (Opt::Qps, microbench, MICROBENCH),
        (Opt::PostList, bandwidth, BANDWIDTH),
        (Opt::SignalEvery, test.takes_signal_every(), unsignaled),
        (Opt::Inline, test.takes_inline(), "wlat, slat, bw or sbw"),
        (Opt::Sge, microbench, MICROBENCH),
        (Opt::Imm, test.takes_imm(), "wlat or bw"),
        (Opt::Untimed, test.is_latency(), LATENCY),
        (Opt::MaxP99, timed, "the ping/pong, wlat, rlat or slat"),
        (Opt::MinBw, bandwidth, BANDWIDTH),
    ];
    for (opt, holds, valid) in rules {
        if given.has(opt) && !holds {
            return Err(invalid(opt.name(), Reason::WrongTest { test, valid }));
        }
    }
    if microbench && command.mem_mode == MemMode::Reg {
        return Err(invalid(Opt::MemMode.name(), Reason::RegWithTest { test }));
    }
    let (sge, size) = (command.load.sge, command.size);
    if u32::from(sge) > size && test.has_size() {
        return Err(invalid(Opt::Sge.name(), Reason::SgeAboveSize { sge, size }));
    }
    Ok(())
}

/// Checks options against the role and the memory mode.
fn fits_rest(command: &Command, given: OptSet) -> Result<'static, ()> {
    let is_server = command.role == Role::Server;
    let is_reg = command.mem_mode == MemMode::Reg;
    let rules = [
        (Opt::Fr, !is_server, Reason::FollowsClient),
        (Opt::Persist, is_server, Reason::NeedsServer),
        (Opt::Allow, is_server, Reason::NeedsServer),
        (Opt::MaxMemory, is_server, Reason::NeedsServer),
        (Opt::ServerInv, is_reg, Reason::NeedsReg),
        (Opt::ReadInv, is_reg, Reason::NeedsReg),
        (Opt::UnsafeGlobalRkey, !is_reg, Reason::NeedsDma),
    ];
    for (opt, holds, reason) in rules {
        if given.has(opt) && !holds {
            return Err(invalid(opt.name(), reason));
        }
    }
    Ok(())
}
