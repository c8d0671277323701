// SPDX-License-Identifier: GPL-2.0

//! Memory of the requester that it may not use.

use super::super::{
    row::{
        Need,
        Row,
        Wants, //
    },
    rule::Rule,
    steps::{
        LocalKey::{
            Other,
            Region, //
        },
        Memory::{
            self,
            InboxFrom,
            OwnUntouched,
            Untouched, //
        },
        Request,
        Rights::{
            Atomic,
            Both,
            Read,
            Write, //
        },
        Side::Requester,
        Step::{
            self,
            CloseOwn,
            Open,
            OpenOwn, //
        },
        FRONT,
        SIZE, //
    }, //
};

const SOURCE: &str = "IBA chapters 10 (L_Keys) and 11 (local protection error)";

/// Length of a region that begins behind the start of its buffer.
const LEN: u32 = SIZE - FRONT;

/// Memory at both ends is open.
const OPEN: &[Step] = &[Open(Both), OpenOwn(Requester, Write)];

/// The requester's memory was, and the responder's is.
const CLOSED: &[Step] = &[Open(Both), OpenOwn(Requester, Write), CloseOwn(Requester)];

/// The same for atomic operations.
const OPEN_ATOMIC: &[Step] = &[Open(Atomic), OpenOwn(Requester, Write)];

/// The same for atomic operations.
const CLOSED_ATOMIC: &[Step] = &[Open(Atomic), OpenOwn(Requester, Write), CloseOwn(Requester)];

/// Makes a case of a request with local memory that it may not use.
const fn refused(
    name: &'static str,
    does: &'static str,
    before: &'static [Step],
    request: Request,
    memory: Memory,
) -> Row {
    Row::steps(name, does, before, request, memory).rule(Rule::LOCAL_PROTECTION, SOURCE)
}

/// The cases.
pub(super) const ROWS: &[Row] = &[
    refused(
        "stale_lkey",
        "SEND from memory whose local key is not valid any more",
        CLOSED,
        Request::send(SIZE).by(Region),
        InboxFrom(0),
    ),
    refused(
        "write_of_stale_lkey",
        "WRITE from memory whose local key is not valid any more",
        CLOSED,
        Request::write(SIZE).by(Region),
        Untouched,
    ),
    refused(
        "read_into_stale_lkey",
        "READ into memory whose local key is not valid any more",
        CLOSED,
        Request::read(SIZE),
        OwnUntouched,
    ),
    refused(
        "atomic_into_stale_lkey",
        "fetch-and-add into memory whose local key is not valid any more",
        CLOSED_ATOMIC,
        Request::add().by(Region),
        OwnUntouched,
    )
    .need(Need::Atomics),
    refused(
        "send_by_other_lkey",
        "SEND from memory with a key that differs from its own",
        OPEN,
        Request::send(SIZE).by(Other),
        InboxFrom(0),
    ),
    refused(
        "write_by_other_lkey",
        "WRITE from memory with a key that differs from its own",
        OPEN,
        Request::write(SIZE).by(Other),
        Untouched,
    ),
    refused(
        "read_by_other_lkey",
        "READ into memory with a key that differs from its own",
        OPEN,
        Request::read(SIZE).by(Other),
        OwnUntouched,
    ),
    refused(
        "atomic_by_other_lkey",
        "fetch-and-add into memory with a key that differs from its own",
        OPEN_ATOMIC,
        Request::add().by(Other),
        OwnUntouched,
    )
    .need(Need::Atomics),
    refused(
        "send_past_lkey",
        "SEND of one byte more than the local region has",
        OPEN,
        Request::send(LEN + 1).from(FRONT).by(Region),
        InboxFrom(0),
    )
    .wants(Wants::OWN_FRONT),
    refused(
        "send_before_lkey",
        "SEND of memory that begins one byte in front of the local region",
        OPEN,
        Request::send(LEN).from(FRONT - 1).by(Region),
        InboxFrom(0),
    )
    .wants(Wants::OWN_FRONT),
    refused(
        "write_past_lkey",
        "WRITE of memory that ends one byte behind the local region",
        OPEN,
        Request::write(LEN).from(FRONT + 1).by(Region),
        Untouched,
    )
    .wants(Wants::OWN_FRONT),
    refused(
        "write_before_lkey",
        "WRITE of memory that begins one byte in front of the local region",
        OPEN,
        Request::write(LEN).from(FRONT - 1).by(Region),
        Untouched,
    )
    .wants(Wants::OWN_FRONT),
    refused(
        "read_past_lkey",
        "READ into memory that ends one byte behind the local region",
        OPEN,
        Request::read(LEN).from(FRONT + 1),
        OwnUntouched,
    )
    .wants(Wants::OWN_FRONT),
    refused(
        "read_before_lkey",
        "READ into memory that begins one byte in front of the local region",
        OPEN,
        Request::read(LEN).from(FRONT - 1),
        OwnUntouched,
    )
    .wants(Wants::OWN_FRONT),
    refused(
        "read_into_read_only",
        "READ into memory that this side may only read",
        &[Open(Both), OpenOwn(Requester, Read)],
        Request::read(SIZE),
        OwnUntouched,
    ),
    refused(
        "atomic_into_read_only",
        "fetch-and-add into memory that this side may only read",
        &[Open(Atomic), OpenOwn(Requester, Read)],
        Request::add().by(Region),
        OwnUntouched,
    )
    .need(Need::Atomics),
    refused(
        "write_of_both_keys_wrong",
        "WRITE with a wrong key on both sides",
        OPEN,
        Request::write(SIZE).by(Other).other_key(),
        Untouched,
    ),
];
