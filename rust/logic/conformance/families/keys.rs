// SPDX-License-Identifier: GPL-2.0

//! Keys of the peer's memory that are not, or no longer, valid.

use super::super::{
    observation::Ended::{
        Refused,
        Status, //
    },
    row::{
        Need,
        Row, //
    },
    rule::{
        Rule,
        OK, //
    },
    special::Special,
    steps::{
        Memory::{
            OwnUntouched,
            Untouched, //
        },
        Request,
        Rights::{
            Atomic,
            Both, //
        },
        Step::{
            Close,
            Open,
            Renew, //
        },
        SIZE, //
    }, //
};

use crate::logic::failure::errno;

const SOURCE: &str = "IBA chapter 9 (R_Key validation, remote access error); RFC 5040";
const EMPTY: &str = "IBA C9-88: the R_Key of a request of 0 bytes is not checked";

/// The rule for a request of 0 bytes.
const UNCHECKED: Rule = Rule {
    text: "success without a look at the key, and the connection goes on",
    ..Rule::HARMLESS
};

/// The cases.
pub(super) const ROWS: &[Row] = &[
    Row::steps(
        "stale_rkey",
        "WRITE with the old key of a region that was registered again with a new one",
        &[Open(Both), Renew],
        Request::write(SIZE),
        Untouched,
    )
    .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, SOURCE),
    Row::steps(
        "read_of_stale_rkey",
        "READ with the old key of a region that was registered again with a new one",
        &[Open(Both), Renew],
        Request::read(SIZE),
        OwnUntouched,
    )
    .rules(Rule::REMOTE_ACCESS, Rule::READ_TERMINATED, SOURCE),
    Row::steps(
        "atomic_on_stale_rkey",
        "fetch-and-add with the old key of a region that was registered again with a new one",
        &[Open(Atomic), Close, Open(Both), Renew],
        Request::add(),
        Untouched,
    )
    .need(Need::Atomics)
    .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, SOURCE),
    Row::special(
        "wrong_pd",
        "WRITE to a region of another protection domain",
        Special::WrongPd,
    )
    .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, SOURCE),
    Row::steps(
        "invalidated_mr",
        "WRITE to a region that its owner has invalidated",
        &[Open(Both), Close],
        Request::write(SIZE),
        Untouched,
    )
    .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, SOURCE),
    Row::steps(
        "read_of_invalidated_mr",
        "READ of a region that its owner has invalidated",
        &[Open(Both), Close],
        Request::read(SIZE),
        OwnUntouched,
    )
    .rules(Rule::REMOTE_ACCESS, Rule::READ_TERMINATED, SOURCE),
    Row::steps(
        "atomic_on_invalidated_mr",
        "fetch-and-add in a region that its owner has invalidated",
        &[Open(Atomic), Close],
        Request::add(),
        Untouched,
    )
    .need(Need::Atomics)
    .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, SOURCE),
    Row::steps(
        "write_with_other_key",
        "WRITE with a key that was never given out, of a region that is open",
        &[Open(Both)],
        Request::write(SIZE).other_key(),
        Untouched,
    )
    .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, SOURCE),
    Row::steps(
        "read_with_other_key",
        "READ with a key that was never given out, of a region that is open",
        &[Open(Both)],
        Request::read(SIZE).other_key(),
        OwnUntouched,
    )
    .rules(Rule::REMOTE_ACCESS, Rule::READ_TERMINATED, SOURCE),
    Row::steps(
        "atomic_with_other_key",
        "fetch-and-add with a key that was never given out, of a region that is open",
        &[Open(Atomic)],
        Request::add().other_key(),
        Untouched,
    )
    .need(Need::Atomics)
    .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, SOURCE),
    Row::steps(
        "zero_length",
        "WRITE of 0 bytes, with a key that was never given out",
        &[Open(Both)],
        Request::write(0).other_key(),
        Untouched,
    )
    .rule(UNCHECKED, EMPTY),
    Row::steps(
        "read_of_zero_length",
        "READ of 0 bytes, with a key that was never given out",
        &[Open(Both)],
        Request::read(0).other_key(),
        OwnUntouched,
    )
    .rules(
        UNCHECKED,
        Rule {
            text: "success without a look at the key, or refused with EINVAL, and the connection \
                   goes on",
            first: &[Status(OK), Refused(errno::EINVAL)],
            ..Rule::HARMLESS
        },
        EMPTY,
    ),
];
