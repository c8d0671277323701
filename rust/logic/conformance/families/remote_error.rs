// SPDX-License-Identifier: GPL-2.0

//! Peers that do not answer.

use super::{
    super::{
        observation::Ended::Status,
        row::{
            Need,
            Row,
            Wants, //
        },
        rule::Rule,
        steps::{
            Memory::{
                self,
                InboxFrom,
                OwnUntouched,
                Untouched, //
            },
            Request,
            Rights::{
                Atomic,
                Both, //
            },
            Side::Responder,
            Step::{
                self,
                Error,
                Open, //
            },
            SIZE, //
        }, //
    },
    receives::inbox, //
};
use crate::logic::failure::STATUS_FLUSHED;

const SOURCE: &str = "IBA chapters 10 (a queue pair in error answers nothing) and 11 (transport \
                      retry counter exceeded)";
const RECEIVE: &str =
    "IBA chapter 10: receives of a queue pair in error are flushed, later ones too";

/// The rule where the responder has a receive (InfiniBand).
const RECEIVE_FLUSHED: Rule = Rule {
    text: "transport retry counter exceeded, requester's queue pair in error, later requests and \
           the receive flushed",
    receive: &[Status(STATUS_FLUSHED)],
    ..Rule::NO_ANSWER
};

/// The same on iWARP.
const RECEIVE_FLUSHED_TERMINATED: Rule = Rule {
    text: "the connection ends, requester's queue pair in error; the receive is flushed",
    receive: &[Status(STATUS_FLUSHED)],
    ..Rule::NO_ANSWER_TERMINATED
};

/// Makes a case of a request to a queue pair that is in error.
const fn unanswered(
    name: &'static str,
    does: &'static str,
    before: &'static [Step],
    request: Request,
    memory: Memory,
) -> Row {
    Row::steps(name, does, before, request, memory)
        .no_receives()
        .wants(Wants::IMPATIENT)
        .rules(Rule::NO_ANSWER, Rule::NO_ANSWER_TERMINATED, SOURCE)
}

/// The cases.
pub(super) const ROWS: &[Row] = &[
    unanswered(
        "retry_exhausted",
        "WRITE to a peer that no longer answers",
        &[Open(Both), Error(Responder)],
        Request::write(SIZE),
        Untouched,
    ),
    unanswered(
        "send_to_error",
        "SEND to a queue pair in error",
        &[Error(Responder)],
        Request::send(SIZE),
        InboxFrom(0),
    ),
    unanswered(
        "send_to_nobody",
        "SEND to a number that no queue pair has",
        &[],
        Request::send(SIZE),
        InboxFrom(0),
    )
    .wants(Wants::NOBODY)
    .need(Need::NotIwarp("iWARP connects streams, not numbers")),
    unanswered(
        "read_from_error",
        "READ from a queue pair in error",
        &[Open(Both), Error(Responder)],
        Request::read(SIZE),
        OwnUntouched,
    ),
    unanswered(
        "atomic_on_error",
        "fetch-and-add of a queue pair in error",
        &[Open(Atomic), Error(Responder)],
        Request::add(),
        Untouched,
    )
    .need(Need::Atomics),
    unanswered(
        "recv_flushed",
        "SEND to a queue pair that was put into error with a receive posted",
        &[inbox(SIZE), Error(Responder)],
        Request::send(SIZE),
        InboxFrom(0),
    )
    .rules(RECEIVE_FLUSHED, RECEIVE_FLUSHED_TERMINATED, RECEIVE),
    unanswered(
        "recv_in_error",
        "SEND to a queue pair in error, which a receive is posted to",
        &[Error(Responder), inbox(SIZE)],
        Request::send(SIZE),
        InboxFrom(0),
    )
    .rules(RECEIVE_FLUSHED, RECEIVE_FLUSHED_TERMINATED, RECEIVE),
];
