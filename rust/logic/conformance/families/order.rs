// SPDX-License-Identifier: GPL-2.0

//! The order in which requests take effect.

use super::{
    super::{
        observation::Ended::{
            Missing,
            Refused,
            Status, //
        },
        row::{
            Need,
            Row,
            Wants, //
        },
        rule::{
            RestRule,
            Rule,
            StateRule,
            LOC_QP_OP, //
        },
        special::Special,
        steps::{
            Memory::{
                self,
                Brought,
                OwnUntouched,
                Written, //
            },
            Op::WriteImmediate,
            Request,
            Rights::{
                Both,
                Write, //
            },
            Side,
            Step::{
                self,
                Open,
                OpenOwn,
                Receives,
                Wait, //
            },
            SIZE, //
        }, //
    },
    retries::{
        LATE_MS,
        REPEATED, //
    }, //
};
use crate::logic::failure::errno;

const NUMBERED: Need = Need::NotIwarp("iWARP has no packet sequence numbers");
const NUMBERS: &str = "IBA chapter 9 (packet sequence numbers have 24 bits, and wrap)";
const OPEN: &[Step] = &[Open(Both)];
const SOURCE: &str = "IBA chapters 9 and 10 (ordering rules)";

/// The demand on memory after a WRITE of 8000 bytes.
const WRITTEN: Memory = Written {
    to: 0,
    from: 0,
    len: 8000,
};

/// Makes a case of a request whose packet sequence numbers wrap after the first packet.
const fn wraps(name: &'static str, does: &'static str, request: Request, memory: Memory) -> Row {
    Row::steps(name, does, OPEN, request, memory)
        .wants(Wants::LAST_PSN)
        .need(NUMBERED)
        .rule(Rule::HARMLESS, NUMBERS)
}

/// The cases.
pub(super) const ROWS: &[Row] = &[
    Row::special(
        "reads_beyond_depth",
        "more READs than the connection allows at a time",
        Special::ReadsBeyondDepth,
    )
    .wants(Wants {
        times: 4,
        ..Wants::LONG
    })
    .rule(
        Rule {
            text:
                "success of all READs, of which no more than the connection allows are under way \
                   at a time; the connection goes on",
            ..Rule::HARMLESS
        },
        "IBA chapters 9 and 11 (initiator depth)",
    ),
    Row::special(
        "read_after_write",
        "READ of memory that a WRITE before it fills",
        Special::ReadAfterWrite,
    )
    .rule(
        Rule {
            text: "success, and the READ brings the WRITE's data; the connection goes on",
            ..Rule::HARMLESS
        },
        SOURCE,
    ),
    Row::special(
        "read_fence",
        "SEND of what a READ before it brings, with a fence between them",
        Special::ReadFence,
    )
    .wants(Wants::LONG)
    .rule(
        Rule {
            text: "success, and the message is what the READ has brought; the connection goes on",
            ..Rule::HARMLESS
        },
        SOURCE,
    ),
    Row::special(
        "reads_fence",
        "SEND of what the last of four READs before it brings, with a fence between them",
        Special::ReadsFence,
    )
    .rule(
        Rule {
            text: "success, and the message is what the READ has brought; the connection goes on",
            ..Rule::HARMLESS
        },
        SOURCE,
    ),
    Row::steps(
        "read_without_depth",
        "READ where the connection allows none at a time",
        &[Open(Both), OpenOwn(Side::Requester, Write)],
        Request::read(SIZE),
        OwnUntouched,
    )
    .wants(Wants {
        no_reads: true,
        ..Wants::NOTHING
    })
    .rule(
        Rule {
            text: "it does not go out: it is refused, fails or waits; memory unchanged",
            first: &[
                Refused(errno::EINVAL),
                Refused(errno::EOPNOTSUPP),
                Status(LOC_QP_OP),
                Missing,
            ],
            rest: RestRule::Any,
            requester: StateRule::Any,
            responder: StateRule::Any,
            ..Rule::LOCAL_ERROR
        },
        "IBA chapters 9 and 11 (initiator depth)",
    ),
    Row::special(
        "write_then_flag",
        "WRITE of a flag behind a WRITE of data, to memory that the responder watches",
        Special::WriteThenFlag,
    )
    .wants(Wants::LONG)
    .need(Need::NotIwarp(
        "iWARP places what arrives in any order until a receive completes",
    ))
    .rule(
        Rule {
            text: "success, and whoever sees the flag sees the data; the connection goes on",
            ..Rule::HARMLESS
        },
        SOURCE,
    ),
    wraps(
        "write_psn_wraps",
        "WRITE of 8000 bytes whose packet sequence numbers wrap",
        Request::write(8000),
        WRITTEN,
    ),
    wraps(
        "read_psn_wraps",
        "READ of 8000 bytes whose packet sequence numbers wrap",
        Request::read(8000),
        Brought(0, 8000),
    ),
    wraps(
        "rnr_psn_wraps",
        "WRITE of 8000 bytes with immediate data whose packet sequence numbers wrap, to a peer \
         that posts receives a while later",
        Request::new(WriteImmediate, 8000),
        WRITTEN,
    )
    .no_receives()
    .then(&[Wait(LATE_MS), Receives(3)])
    .rule(REPEATED, NUMBERS),
];
