// SPDX-License-Identifier: GPL-2.0

//! The roles and tests that options go with.

use crate::logic::spec::{
    role::Role,
    tests::{
        Family,
        Test, //
    }, //
};

/// Tests that connect to another host.
pub(super) fn connects(_: Role, test: Test) -> bool {
    !matches!(test, Test::Caps | Test::Conformance)
}

/// The side that connects to another host, and chooses from where.
pub(super) fn dials(role: Role, _: Test) -> bool {
    role == Role::Client
}

pub(super) fn all_but_caps(_: Role, test: Test) -> bool {
    test != Test::Caps
}

pub(super) fn iterates(_: Role, test: Test) -> bool {
    test.iterates()
}

pub(super) fn stream(_: Role, test: Test) -> bool {
    test.is_stream()
}

pub(super) fn messenger(_: Role, test: Test) -> bool {
    test.is_messenger()
}

/// The side of messages that begins them.
pub(super) fn sends_messages(role: Role, test: Test) -> bool {
    role != Role::Server && test.is_messenger()
}

/// Tests that repeat what they do until a number or a time is reached.
pub(super) fn repeats(role: Role, test: Test) -> bool {
    test.iterates() || test.is_stream() || sends_messages(role, test)
}

/// Tests whose connections have queues of their own, of a depth that can be said.
pub(super) fn has_queues(_: Role, test: Test) -> bool {
    test.iterates() || test.is_stream()
}

/// Tests with queues that a thread can poll.
pub(super) fn polls(role: Role, test: Test) -> bool {
    has_queues(role, test) || test.is_messenger()
}

/// Tests whose buffers all belong to a connection, or are shared by some.
pub(super) fn buffers(role: Role, test: Test) -> bool {
    has_queues(role, test) || test.is_messenger()
}

/// Tests with connections whose retransmission can be chosen.
pub(super) fn retransmits(role: Role, test: Test) -> bool {
    has_queues(role, test) || test.is_messenger()
}

/// The ping/pong; `fr` has no use for these options, and never minded.
pub(super) fn pings(_: Role, test: Test) -> bool {
    matches!(test.spec().family, Family::PingPong | Family::FastReg)
}

pub(super) fn microbench(_: Role, test: Test) -> bool {
    test.is_microbench()
}

pub(super) fn bandwidth(_: Role, test: Test) -> bool {
    test.is_bandwidth()
}

pub(super) fn rw(_: Role, test: Test) -> bool {
    test.is_rw()
}

/// Tests that measure the latency of each operation.
pub(super) fn limits_p99(_: Role, test: Test) -> bool {
    test == Test::PingPong || test.is_latency() || test.is_rw()
}

pub(super) fn latency(_: Role, test: Test) -> bool {
    test.is_latency()
}

pub(super) fn server(role: Role, test: Test) -> bool {
    role == Role::Server && connects(role, test)
}

/// The side whose connections can share receives: it serves microbenchmarks.
pub(super) fn shares(role: Role, test: Test) -> bool {
    let any = role == Role::Server && test == Test::PingPong;
    any || role != Role::Client && test.is_microbench()
}

/// The side that has a disk.
pub(super) fn disk(role: Role, test: Test) -> bool {
    role != Role::Server && test == Test::Block
}

/// The server of a tap.
pub(super) fn copies(role: Role, test: Test) -> bool {
    role == Role::Server && test == Test::Tap
}

/// The server of a disk.
pub(super) fn exports(role: Role, test: Test) -> bool {
    role != Role::Client && test == Test::Block
}
