// SPDX-License-Identifier: GPL-2.0

//! Operations that a region or a queue pair does not permit.

use super::super::{
    row::{
        Need,
        Row, //
    },
    rule::Rule,
    steps::{
        Memory::{
            OwnUntouched,
            Untouched, //
        },
        Request,
        Rights::{
            self,
            Atomic,
            Both,
            Local, //
        },
        Step::{
            Forbid,
            Open, //
        },
        SIZE, //
    }, //
};

const SOURCE: &str = "IBA chapters 9 and 10 (access rights of keys); RFC 5040";
const QUEUE_PAIR: &str = "IBA chapter 9 (requests that a queue pair is not configured for), \
                          11 (Modify Queue Pair)";
const IWARP: &str = "iWARP leaves it to the region what a peer may do";

/// The cases.
pub(super) const ROWS: &[Row] = &[
    Row::steps(
        "read_of_write_only",
        "READ of memory that is opened for WRITEs only",
        &[Open(Rights::Write)],
        Request::read(SIZE),
        OwnUntouched,
    )
    .rules(Rule::REMOTE_ACCESS, Rule::READ_TERMINATED, SOURCE),
    Row::steps(
        "write_of_read_only",
        "WRITE to memory that is opened for READs only",
        &[Open(Rights::Read)],
        Request::write(SIZE),
        Untouched,
    )
    .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, SOURCE),
    Row::steps(
        "read_of_local_only",
        "READ of memory that is registered for this side only",
        &[Open(Local)],
        Request::read(SIZE),
        OwnUntouched,
    )
    .rules(Rule::REMOTE_ACCESS, Rule::READ_TERMINATED, SOURCE),
    Row::steps(
        "write_of_local_only",
        "WRITE to memory that is registered for this side only",
        &[Open(Local)],
        Request::write(SIZE),
        Untouched,
    )
    .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, SOURCE),
    Row::steps(
        "atomic_no_right",
        "fetch-and-add in memory that is opened for READs and WRITEs only",
        &[Open(Both)],
        Request::add(),
        Untouched,
    )
    .need(Need::Atomics)
    .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, SOURCE),
    Row::steps(
        "write_of_atomic_only",
        "WRITE to memory that is opened for atomic operations only",
        &[Open(Atomic)],
        Request::write(SIZE),
        Untouched,
    )
    .need(Need::Atomics)
    .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, SOURCE),
    Row::steps(
        "read_of_atomic_only",
        "READ of memory that is opened for atomic operations only",
        &[Open(Atomic)],
        Request::read(SIZE),
        OwnUntouched,
    )
    .need(Need::Atomics)
    .rules(Rule::REMOTE_ACCESS, Rule::READ_TERMINATED, SOURCE),
    Row::steps(
        "read_not_permitted",
        "READ from a queue pair that does not permit READs, of memory that is open",
        &[Open(Both), Forbid(Rights::Read)],
        Request::read(SIZE),
        OwnUntouched,
    )
    .need(Need::NotIwarp(IWARP))
    .rules(Rule::NOT_PERMITTED, Rule::READ_TERMINATED, QUEUE_PAIR),
    Row::steps(
        "write_not_permitted",
        "WRITE to a queue pair that does not permit WRITEs, to memory that is open",
        &[Open(Both), Forbid(Rights::Write)],
        Request::write(SIZE),
        Untouched,
    )
    .need(Need::NotIwarp(IWARP))
    .rules(Rule::NOT_PERMITTED, Rule::TERMINATED, QUEUE_PAIR),
    Row::steps(
        "atomic_not_permitted",
        "fetch-and-add of a queue pair that does not permit atomic operations",
        &[Open(Atomic), Forbid(Atomic)],
        Request::add(),
        Untouched,
    )
    .need(Need::Atomics)
    .rules(Rule::NOT_PERMITTED, Rule::TERMINATED, QUEUE_PAIR),
];
