// SPDX-License-Identifier: GPL-2.0

//! Peers that have no receive posted.

use super::super::{
    row::{
        Need,
        Row,
        Wants, //
    },
    rule::Rule,
    steps::{
        Memory::{
            self,
            Any,
            InboxFrom, //
        },
        Op::WriteImmediate,
        Request,
        Rights::Both,
        Step::{
            Open,
            Receives,
            Wait, //
        },
        SIZE, //
    }, //
};

const SOURCE: &str = "IBA chapters 9 (RNR NAK) and 11 (RNR retry counter exceeded); RFC 5041";
const AGAIN: &str = "IBA chapter 9: with an RNR retry count of 7 a request is repeated without \
                     end, and is executed once";
const IWARP: Need = Need::NotIwarp("iWARP ends a connection whose peer has no receive posted");

/// Time in ms for which a peer has no receive posted.
pub(super) const LATE_MS: u32 = 50;

/// The rule for messages that are repeated.
pub(super) const REPEATED: Rule = Rule {
    text: "success once there are receives; each message arrives once, and the connection goes on",
    receives_end: true,
    ..Rule::HARMLESS
};

/// The cases.
pub(super) const ROWS: &[Row] = &[
    Row::steps(
        "rnr",
        "SEND to a peer that has no receive posted, without RNR retries",
        &[],
        Request::send(SIZE),
        InboxFrom(0),
    )
    .no_receives()
    .wants(Wants::NO_RNR_RETRIES)
    .rules(Rule::NO_RECEIVE, Rule::NO_RECEIVE_TERMINATED, SOURCE),
    Row::steps(
        "srq_empty",
        "SEND to a peer whose shared receive queue has no receive posted, without RNR retries",
        &[],
        Request::send(SIZE),
        Any,
    )
    .no_receives()
    .wants(Wants {
        shared: true,
        ..Wants::NO_RNR_RETRIES
    })
    .need(Need::SharedReceives)
    .rules(Rule::NO_RECEIVE, Rule::NO_RECEIVE_TERMINATED, SOURCE),
    Row::steps(
        "rnr_then_receive",
        "SEND to a peer that posts receives a while later, with RNR retries without end",
        &[],
        Request::send(SIZE),
        Any,
    )
    .no_receives()
    .then(&[Wait(LATE_MS), Receives(3)])
    .need(IWARP)
    .rule(REPEATED, AGAIN),
    Row::steps(
        "rnr_timer",
        "SEND to a peer that posts receives a while later, with one RNR retry, after a longer while",
        &[],
        Request::send(SIZE),
        Any,
    )
    .no_receives()
    .then(&[Wait(2 * LATE_MS), Receives(3)])
    .wants(Wants::SLOW_RNR)
    .need(IWARP)
    .rule(
        REPEATED,
        "IBA chapter 9: a request is not repeated before the time of the RNR NAK has passed",
    ),
    Row::steps(
        "srq_then_receive",
        "SEND to a peer whose shared receive queue gets receives a while later, with RNR retries \
         without end",
        &[],
        Request::send(SIZE),
        Any,
    )
    .no_receives()
    .then(&[Wait(LATE_MS), Receives(3)])
    .wants(Wants::SHARED)
    .need(Need::SharedReceives)
    .rules(
        REPEATED,
        // Receives that nobody has taken stay in the shared queue.
        Rule {
            receives_end: false,
            ..Rule::NO_RECEIVE_TERMINATED
        },
        AGAIN,
    ),
    Row::steps(
        "write_imm_then_receive",
        "WRITE with immediate data to a peer that posts receives a while later, with RNR retries \
         without end",
        &[Open(Both)],
        Request::new(WriteImmediate, SIZE),
        Memory::ALL_WRITTEN,
    )
    .no_receives()
    .then(&[Wait(LATE_MS), Receives(3)])
    .need(IWARP)
    .rule(REPEATED, AGAIN),
];
