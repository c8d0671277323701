// SPDX-License-Identifier: GPL-2.0

//! Requests that ask for no completion, and fail.

use super::super::{
    row::{
        Need,
        Row,
        Wants, //
    },
    rule::Rule,
    steps::{
        LocalKey::Region,
        Memory::{
            InboxFrom,
            OwnUntouched,
            Untouched, //
        },
        Request,
        Rights::{
            Both,
            Write, //
        },
        Side::Requester,
        Step::{
            CloseOwn,
            Open,
            OpenOwn, //
        },
        SIZE, //
    }, //
};

const SOURCE: &str = "IBA chapter 10: a request that fails completes, whatever it asks for";
const IWARP: &str =
    "with iWARP a request may be done before the peer refuses it, and is silent then";

/// The cases.
pub(super) const ROWS: &[Row] = &[
    Row::steps(
        "unsignaled_write",
        "WRITE with a wrong key that asks for no completion",
        &[Open(Both)],
        Request::write(SIZE).other_key().unsignaled(),
        Untouched,
    )
    .need(Need::NotIwarp(IWARP))
    .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, SOURCE),
    Row::steps(
        "unsignaled_read",
        "READ with a wrong key that asks for no completion",
        &[Open(Both)],
        Request::read(SIZE).other_key().unsignaled(),
        OwnUntouched,
    )
    .rules(Rule::REMOTE_ACCESS, Rule::READ_TERMINATED, SOURCE),
    Row::steps(
        "unsignaled_atomic",
        "fetch-and-add with a wrong key that asks for no completion",
        &[Open(Both)],
        Request::add().unsignaled(),
        Untouched,
    )
    .need(Need::Atomics)
    .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, SOURCE),
    Row::steps(
        "unsignaled_send",
        "SEND without a receive that asks for no completion",
        &[],
        Request::send(SIZE).unsignaled(),
        InboxFrom(0),
    )
    .no_receives()
    .wants(Wants::NO_RNR_RETRIES)
    .need(Need::NotIwarp(IWARP))
    .rules(Rule::NO_RECEIVE, Rule::NO_RECEIVE_TERMINATED, SOURCE),
    Row::steps(
        "unsignaled_lkey",
        "SEND from memory whose local key is not valid, that asks for no completion",
        &[OpenOwn(Requester, Write), CloseOwn(Requester)],
        Request::send(SIZE).by(Region).unsignaled(),
        InboxFrom(0),
    )
    .rule(Rule::LOCAL_PROTECTION, SOURCE),
];
