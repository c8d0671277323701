// SPDX-License-Identifier: GPL-2.0

//! Requests of a queue pair that is in error.

use super::super::{
    row::{
        Need,
        Row, //
    },
    rule::Rule,
    steps::{
        Memory::{
            self,
            InboxFrom,
            OwnUntouched,
            Untouched, //
        },
        Op::{
            Invalidate,
            Register, //
        },
        Region::Own,
        Request,
        Rights::{
            Atomic,
            Both,
            Write, //
        },
        Side::Requester,
        Step::{
            self,
            Error,
            Open, //
        },
        SIZE, //
    }, //
};

const SOURCE: &str = "IBA chapter 10: requests posted to a queue pair in error are flushed";

/// Makes a case of a request of a queue pair that is in error.
const fn flushed(
    name: &'static str,
    does: &'static str,
    before: &'static [Step],
    request: Request,
    memory: Memory,
) -> Row {
    Row::steps(name, does, before, request, memory).rule(Rule::FLUSHED, SOURCE)
}

/// The cases.
pub(super) const ROWS: &[Row] = &[
    flushed(
        "send_in_error",
        "SEND of a queue pair in error",
        &[Error(Requester)],
        Request::send(SIZE),
        InboxFrom(0),
    ),
    flushed(
        "write_in_error",
        "WRITE of a queue pair in error",
        &[Open(Both), Error(Requester)],
        Request::write(SIZE),
        Untouched,
    ),
    flushed(
        "read_in_error",
        "READ of a queue pair in error",
        &[Open(Both), Error(Requester)],
        Request::read(SIZE),
        OwnUntouched,
    ),
    flushed(
        "atomic_in_error",
        "fetch-and-add of a queue pair in error",
        &[Open(Atomic), Error(Requester)],
        Request::add(),
        Untouched,
    )
    .need(Need::Atomics),
    flushed(
        "register_in_error",
        "REG_MR of a queue pair in error",
        &[Error(Requester)],
        Request::new(Register(Own, Write), 0),
        Untouched,
    ),
    flushed(
        "invalidate_in_error",
        "LOCAL_INV of a queue pair in error",
        &[Error(Requester)],
        Request::new(Invalidate(Own), 0),
        Untouched,
    ),
];
