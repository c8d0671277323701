// SPDX-License-Identifier: GPL-2.0

//! Immediate data.

use super::{
    super::{
        observation::Ended::Status,
        row::{
            Need,
            Row,
            Wants, //
        },
        rule::{
            Rule,
            LOC_ACCESS,
            REM_ACCESS, //
        },
        steps::{
            Memory::{
                self,
                Any,
                InboxFrom,
                Received,
                Untouched,
                Written, //
            },
            Op::{
                SendImmediate,
                WriteImmediate, //
            },
            Request,
            Rights::{
                Both,
                Read, //
            },
            Step::Open,
            SIZE, //
        }, //
    },
    receives::{
        inbox,
        APART,
        SHORT,
        TOO_LONG, //
    }, //
};
use crate::logic::failure::STATUS_FLUSHED;

const SOURCE: &str = "IBA chapter 9: immediate data takes a receive, and completes it";
const KEY: &str =
    "IBA chapter 9: a request is checked before it is executed; C9-88: its R_Key where it has data";
const IWARP: Need = Need::NotIwarp("iWARP has no immediate data");

/// The rule for a WRITE that is refused.
const REFUSED: Rule = Rule {
    text: "remote access error, both queue pairs in error, later requests flushed; the receive \
           fails, memory unchanged",
    receive: &[
        Status(STATUS_FLUSHED),
        Status(LOC_ACCESS),
        Status(REM_ACCESS),
    ],
    ..Rule::REMOTE_ACCESS
};

/// The cases.
pub(super) const ROWS: &[Row] = &[
    Row::steps(
        "send_imm",
        "SEND with immediate data",
        APART,
        Request::new(SendImmediate, SIZE),
        Received(0, SIZE),
    )
    .need(IWARP)
    .rule(Rule::ARRIVES, SOURCE),
    Row::steps(
        "send_imm_too_long",
        "SEND with immediate data of a message larger than the receive",
        &[inbox(SHORT)],
        Request::new(SendImmediate, SIZE),
        InboxFrom(SHORT),
    )
    .need(IWARP)
    .rules(TOO_LONG, Rule::TERMINATED, SOURCE),
    Row::steps(
        "send_imm_no_receive",
        "SEND with immediate data to a peer that has no receive posted, without RNR retries",
        &[],
        Request::new(SendImmediate, SIZE),
        InboxFrom(0),
    )
    .no_receives()
    .wants(Wants::NO_RNR_RETRIES)
    .need(IWARP)
    .rules(Rule::NO_RECEIVE, Rule::TERMINATED, SOURCE),
    Row::steps(
        "write_imm",
        "WRITE with immediate data",
        &[Open(Both), inbox(SIZE)],
        Request::new(WriteImmediate, SIZE),
        Memory::ALL_WRITTEN,
    )
    .need(IWARP)
    .rule(Rule::ARRIVES, SOURCE),
    Row::steps(
        "write_imm_long",
        "WRITE with immediate data of several packets",
        &[Open(Both), inbox(SIZE)],
        Request::new(WriteImmediate, 1 << 14),
        Written {
            to: 0,
            from: 0,
            len: 1 << 14,
        },
    )
    .wants(Wants::LONG)
    .need(IWARP)
    .rule(Rule::ARRIVES, SOURCE),
    Row::steps(
        "write_imm_nothing",
        "WRITE with immediate data of 0 bytes, with a key that was never given out",
        &[Open(Both), inbox(SIZE)],
        Request::new(WriteImmediate, 0).other_key(),
        Untouched,
    )
    .need(IWARP)
    .rule(Rule::ARRIVES, KEY),
    Row::steps(
        "write_imm_bad_key",
        "WRITE with immediate data, with a key that was never given out",
        &[Open(Both), inbox(SIZE)],
        Request::new(WriteImmediate, SIZE).other_key(),
        Untouched,
    )
    .need(IWARP)
    .rules(REFUSED, Rule::TERMINATED, KEY),
    Row::steps(
        "write_imm_no_right",
        "WRITE with immediate data to memory that is opened for READs only",
        &[Open(Read), inbox(SIZE)],
        Request::new(WriteImmediate, SIZE),
        Untouched,
    )
    .need(IWARP)
    .rules(REFUSED, Rule::TERMINATED, KEY),
    Row::steps(
        "write_imm_past_mr",
        "WRITE with immediate data of one byte more than the region has",
        &[Open(Both), inbox(SIZE)],
        Request::new(WriteImmediate, SIZE + 1),
        Untouched,
    )
    .need(IWARP)
    .rules(REFUSED, Rule::TERMINATED, KEY),
    Row::steps(
        "write_imm_no_receive",
        "WRITE with immediate data to a peer that has no receive posted, without RNR retries",
        &[Open(Both)],
        Request::new(WriteImmediate, SIZE),
        Any,
    )
    .no_receives()
    .wants(Wants::NO_RNR_RETRIES)
    .need(IWARP)
    .rules(Rule::NO_RECEIVE, Rule::TERMINATED, SOURCE),
];
