// SPDX-License-Identifier: GPL-2.0

//! Commands for property tests.

use super::any_block::block_command;
use crate::logic::{
    command::{
        allow::AllowList,
        Addr,
        BlockOptions,
        Command,
        CpuList,
        Load,
        MemMode,
        PatternKind,
        Role,
        Tag,
        Test, //
    },
    conformance::CaseSet,
    failure::errno,
    text::IfName, //
};
use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::select, //
};

/// Those without a disk.
pub(super) const TESTS: [Test; 8] = [
    Test::PingPong,
    Test::FastReg,
    Test::WriteLatency,
    Test::ReadLatency,
    Test::SendLatency,
    Test::WriteBandwidth,
    Test::ReadBandwidth,
    Test::SendBandwidth,
];

pub(super) fn addr() -> impl Strategy<Value = Addr> {
    let scope = "[!-.0-9;-~]{3,15}".prop_filter("no comma", |name| !name.contains(','));
    let link_local = (any::<u64>(), scope).prop_map(|(host, name)| Addr::V6 {
        addr: (0xfe80_u128 << 112 | u128::from(host)).to_be_bytes(),
        scope: IfName::new(&name),
    });
    let global = any::<[u8; 16]>().prop_filter_map("link-local", |addr| {
        let is_link_local = u16::from_be_bytes([addr[0], addr[1]]) & 0xffc0 == 0xfe80;
        (!is_link_local).then_some(Addr::V6 { addr, scope: None })
    });
    prop_oneof![any::<[u8; 4]>().prop_map(Addr::V4), link_local, global]
}

/// Ranges of CPUs, as they are written and as they are.
pub(super) fn cpus() -> impl Strategy<Value = (String, Vec<u32>)> {
    let range = (0u32..=8191, option::of(0u32..40));
    vec(range, 1..=8).prop_map(|ranges| {
        let mut texts = Vec::new();
        let mut cpus = Vec::new();
        for (first, more) in ranges {
            let last = (first + more.unwrap_or(0)).min(8191);
            texts.push(match more {
                None => format!("{first}"),
                Some(_) => format!("{first}-{last}"),
            });
            cpus.extend(first..=last);
        }
        (texts.join("+"), cpus)
    })
}

/// Any load that suits the test and the size.
pub(super) fn load(test: Test, size: u32) -> impl Strategy<Value = Load> {
    use Test::*;

    let is_bandwidth = matches!(test, WriteBandwidth | ReadBandwidth | SendBandwidth);
    let is_latency = matches!(test, WriteLatency | ReadLatency | SendLatency);
    let is_microbench = is_bandwidth || is_latency;
    let flags = any::<[bool; 4]>();
    // Defaults are not shown, so they need to be frequent.
    let number = || prop_oneof![Just(1u16), Just(16), 1u16..=1024];
    let numbers = (1u16..=256, number(), number(), 1u8..=16);
    (flags, numbers).prop_map(move |(flags, (qps, postlist, signal_every, sge))| {
        let [duplex, imm, inline, untimed] = flags;
        Load {
            duplex: duplex && is_bandwidth,
            imm: imm && matches!(test, WriteLatency | WriteBandwidth),
            inline: inline && is_microbench && !matches!(test, ReadLatency | ReadBandwidth),
            untimed: untimed && is_latency,
            qps: if is_microbench { qps } else { 1 },
            postlist: if is_bandwidth { postlist } else { 1 },
            signal_every: if is_microbench && test != ReadLatency {
                signal_every
            } else {
                1
            },
            sge: if is_microbench {
                sge.min(size.try_into().unwrap_or(u8::MAX))
            } else {
                1
            },
        }
    })
}

/// What goes with each test, and what to run the command on and how to judge it.
type Rest = (Load, (String, Vec<u32>), Option<u64>, Option<&'static str>);

fn rest(test: Test, size: u32) -> impl Strategy<Value = Rest> {
    let limit = option::of(prop_oneof![1u64..=1_000_000_000_000, 1u64..=5]);
    const NAMES: [&str; 5] = ["ok", "EINTR", "ETIMEDOUT", "ECONNRESET", "ERANGE"];
    (load(test, size), cpus(), limit, option::of(select(&NAMES)))
}

/// Any command that keeps the rules.
pub(super) fn command() -> impl Strategy<Value = Command> {
    prop_oneof![4 => plain_command(), 2 => block_command(), 1 => caps_command()]
}

/// Two networks, or all addresses.
pub(super) fn allow(given: bool) -> AllowList {
    if given {
        AllowList::parse("192.0.2.0/24+::1").unwrap()
    } else {
        AllowList::ALL
    }
}

/// Any that asks what a device can do.
fn caps_command() -> impl Strategy<Value = Command> {
    let timeout = option::of(1u32..=3_600_000);
    let expect = option::of(select(&["ok", "ENODEV", "EINTR"]));
    (addr(), timeout, expect, TAG).prop_map(|(addr, timeout_ms, expect, tag)| Command {
        role: Role::Client,
        test: Test::Caps,
        addr: Some(addr),
        port: 9999,
        count: 0,
        duration_s: None,
        size: 0,
        load: Load::new(Test::Caps),
        verbose: false,
        validate: false,
        server_inv: false,
        read_inv: false,
        local_dma_lkey: false,
        poll: false,
        persist: false,
        allow: AllowList::ALL,
        max_memory: None,
        detach: false,
        unsafe_global_rkey: false,
        mem_mode: MemMode::Dma,
        tos: None,
        txdepth: 64,
        threads: 1,
        timeout_ms,
        cpus: CpuList::EMPTY,
        max_p99_ns: None,
        min_bw: None,
        expect: expect.map(|name| errno::number(name).unwrap_or(0)),
        pattern: PatternKind::Text,
        tag: Tag::new(&tag).expect("the strategy keeps its rules"),
        block: BlockOptions::NONE,
        cases: CaseSet::EMPTY,
    })
}

/// What `tag=` takes.
pub(super) const TAG: &str = "([!-+\\--~]([ -+\\--~]{0,62}[!-+\\--~])?)?";

/// Any without a disk.
fn plain_command() -> impl Strategy<Value = Command> {
    let role = prop_oneof![Just(Role::Client), Just(Role::Server), Just(Role::Loopback)];
    let size = prop_oneof![1u32.., 1u32..20];
    let sizes = (1u16.., any::<u64>(), 1u32..=65536, 1u32..=1024);
    let rare = (
        option::of(any::<u8>()),
        option::of(1u32..=3_600_000),
        option::of(1u32..=86400),
        TAG,
    );
    let bits = any::<[bool; 13]>();
    (role, select(&TESTS), size)
        .prop_flat_map(move |(role, test, size)| {
            let rest = rest(test, size);
            (Just((role, test, size)), option::of(addr()), rest)
        })
        .prop_flat_map(move |begin| (Just(begin), sizes.clone(), rare.clone(), bits))
        .prop_map(|(begin, sizes, rare, bits)| {
            let ((role, test, size), addr, (load, (cpus, _), limit, expect)) = begin;
            let (port, count, txdepth, threads) = sizes;
            let (tos, timeout_ms, duration_s, tag) = rare;
            let [verbose, validate, inv, which, lkey, poll, persist, detach, ..] = bits;
            let [.., rkey, reg, bin, pin, plain] = bits;
            let is_server = role == Role::Server;
            let test = match test {
                Test::FastReg if is_server => Test::PingPong,
                test => test,
            };
            let reg = reg && !test.is_microbench();
            let is_timed = test == Test::PingPong || (test.is_latency() && !load.untimed);
            let implied_imm = test == Test::WriteLatency && !is_server && !poll;
            let mut command = Command {
                role,
                test,
                addr: addr.or(if is_server {
                    None
                } else {
                    Some(Addr::V4([192, 0, 2, 1]))
                }),
                port,
                count,
                duration_s,
                size,
                load: Load {
                    imm: load.imm || implied_imm,
                    ..load
                },
                verbose,
                validate: validate && !test.is_latency(),
                server_inv: reg && inv && which,
                read_inv: reg && inv && !which,
                local_dma_lkey: lkey,
                poll,
                persist: persist && is_server,
                allow: allow(poll && is_server),
                max_memory: (lkey && is_server).then_some(1 << 30),
                detach: detach && is_server,
                unsafe_global_rkey: rkey && !reg,
                mem_mode: if reg { MemMode::Reg } else { MemMode::Dma },
                tos,
                txdepth,
                threads,
                timeout_ms,
                cpus: match pin {
                    true => CpuList::parse(&cpus).expect("the strategy keeps its rules"),
                    false => CpuList::EMPTY,
                },
                max_p99_ns: limit.filter(|_| is_timed),
                min_bw: limit.filter(|_| test.is_bandwidth()),
                expect: expect.map(|name| errno::number(name).unwrap_or(0)),
                pattern: if bin {
                    PatternKind::Binary
                } else {
                    PatternKind::Text
                },
                tag: Tag::new(&tag).expect("the strategy keeps its rules"),
                block: BlockOptions::NONE,
                cases: CaseSet::EMPTY,
            };
            if plain {
                // Defaults are not shown, so they need a case of their own.
                command.port = if role == Role::Loopback { 0 } else { 9999 };
                command.count = 0;
                command.txdepth = 64;
                command.threads = 1;
                if command.load.sge <= 64 {
                    command.size = 64;
                }
            }
            command
        })
}
