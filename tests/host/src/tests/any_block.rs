// SPDX-License-Identifier: GPL-2.0

//! Commands of disks and taps, for property tests.

use super::any_command::{
    addr,
    allow,
    TAG, //
};
use crate::logic::{
    command::{
        block_options::StoreName,
        Addr,
        BlockOptions,
        Comm,
        Command,
        CpuList,
        Load,
        MemMode,
        PathName,
        PatternKind,
        Role,
        Tag,
        Test, //
    },
    conformance::CaseSet,
    failure::errno, //
};
use proptest::{
    option,
    prelude::*,
    sample::select, //
};

/// Who takes part in the test of a disk or tap.
pub(super) const SIDES: [(Role, Test); 5] = [
    (Role::Server, Test::Block),
    (Role::Client, Test::Block),
    (Role::Loopback, Test::Block),
    (Role::Server, Test::Tap),
    (Role::Client, Test::Tap),
];

fn store() -> impl Strategy<Value = StoreName> {
    let path = "/([!-+\\--~]([ -+\\--~]{0,252}[!-+\\--~])?)?";
    let path = path.prop_map(|path| StoreName::Path(PathName::new(&path).unwrap()));
    prop_oneof![Just(StoreName::Ram), path]
}

/// Bytes of a store; defaults and multiples of units are frequent.
fn bytes() -> impl Strategy<Value = u64> {
    let most = (1u64 << 63) / 512 - 1;
    prop_oneof![Just(0), 8u64..100, 8u64..=most, Just(most)].prop_map(|sectors| sectors * 512)
}

fn options(role: Role, test: Test) -> impl Strategy<Value = BlockOptions> {
    let numbers = (
        prop_oneof![Just(1u16), 1u16..=64],
        prop_oneof![Just(128u16), 1u16..=1024],
        prop_oneof![Just(30u32), 0u32..=86400],
        prop_oneof![Just(0u32), 0u32..=86400],
    );
    let ring = prop_oneof![Just(16u64 << 20), 1u64 << 20..=1 << 30];
    let names = (
        "[!-+\\--~]([ -+\\--~]{0,30}[!-+\\--~])?",
        option::of("[!-+\\--~]{1,15}"),
    );
    let bits = any::<[bool; 3]>();
    (option::of(store()), (bytes(), ring), numbers, names, bits).prop_map(
        move |(store, (bytes, ring), numbers, (disk, comm), bits)| {
            let (queues, depth, reconnect_s, request_timeout_s) = numbers;
            let [ro, log, direct] = bits;
            let none = BlockOptions::NONE;
            let keeps = role != Role::Client;
            if test == Test::Tap && !keeps {
                return BlockOptions {
                    bytes: ring,
                    tap: PathName::new(&disk),
                    comm: comm.map(|comm| Comm::new(&comm).unwrap()),
                    ..none
                };
            }
            let mut options = none;
            if keeps {
                options.log = log && test == Test::Tap;
                options.store = match store {
                    None if options.log => None,
                    None => Some(StoreName::Ram),
                    store => store,
                };
                options.bytes = match options.store {
                    None => 0,
                    Some(StoreName::Ram) => bytes.max(4096),
                    Some(_) => bytes,
                };
                options.read_only = ro && test == Test::Block;
                options.direct = direct && matches!(options.store, Some(StoreName::Path(_)));
            }
            if test == Test::Block && role != Role::Server {
                (options.queues, options.depth) = (queues, depth);
                options.reconnect_s = reconnect_s;
                options.request_timeout_s = request_timeout_s;
            }
            options
        },
    )
}

/// Any command of a disk or tap that keeps the rules.
pub(super) fn block_command() -> impl Strategy<Value = Command> {
    select(&SIDES).prop_flat_map(|(role, test)| {
        let numbers = (
            option::of(1u16..),
            prop_oneof![Just(0), any::<u64>()],
            option::of(1u32..=1024),
        );
        let rare = (
            option::of(any::<u8>()),
            option::of(1u32..=3_600_000),
            option::of(select(&["ok", "EIO", "ENOSPC", "ESTALE"])),
            TAG,
            any::<[bool; 3]>(),
        );
        (option::of(addr()), options(role, test), numbers, rare).prop_map(
            move |(addr, block, (port, count, threads), rare)| {
                let (tos, timeout_ms, expect, tag, [persist, pin, detach]) = rare;
                let is_server = role == Role::Server;
                let cpus = if pin { CpuList::parse("0-2+5") } else { None };
                let default = if role == Role::Loopback { 0 } else { 9999 };
                Command {
                    role,
                    test,
                    addr: match addr {
                        None if !is_server => Some(Addr::V4([192, 0, 2, 1])),
                        addr => addr,
                    },
                    port: port.unwrap_or(default),
                    count: match (test, role) {
                        (Test::Tap, Role::Client) => count,
                        _ => 0,
                    },
                    duration_s: None,
                    size: 0,
                    load: Load::new(test),
                    verbose: false,
                    validate: false,
                    server_inv: false,
                    read_inv: false,
                    local_dma_lkey: false,
                    poll: false,
                    persist: persist && is_server,
                    allow: allow(pin && is_server),
                    max_memory: (persist && is_server).then_some(4096),
                    detach: detach && (is_server || test == Test::Block),
                    unsafe_global_rkey: false,
                    mem_mode: MemMode::Dma,
                    tos,
                    txdepth: 64,
                    threads: threads.filter(|_| is_server).unwrap_or(1),
                    timeout_ms,
                    cpus: cpus.unwrap_or(CpuList::EMPTY),
                    max_p99_ns: None,
                    min_bw: None,
                    expect: expect.map(|name| errno::number(name).unwrap_or(0)),
                    pattern: PatternKind::Text,
                    tag: Tag::new(&tag).expect("the strategy keeps its rules"),
                    block,
                    cases: CaseSet::EMPTY,
                }
            },
        )
    })
}
