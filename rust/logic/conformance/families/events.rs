// SPDX-License-Identifier: GPL-2.0

//! Events of completions, and asynchronous errors.

use super::super::{
    observation::Ended::Status,
    row::{
        Need,
        Row, //
    },
    rule::{
        RestRule,
        Rule,
        StateRule,
        OK, //
    },
    special::Special,
    steps::{
        Memory::{
            OwnUntouched,
            Untouched, //
        },
        Request,
        Rights::Both,
        Step::Open,
        SIZE, //
    }, //
};

const EVENTS: &str = "IBA chapter 11 (request completion notification); kernel: ib_req_notify_cq()";
const ERRORS: &str = "IBA C9-222.1, chapter 11 (local access violation work queue error)";
const IWARP: Need = Need::NotIwarp("iWARP tells of a refused request by the end of its connection");

/// The cases.
pub(super) const ROWS: &[Row] = &[
    Row::special(
        "handler_polls",
        "a poll of the completion queue while its event handler runs",
        Special::HandlerPolls,
    )
    .rule(
        Rule {
            text: "success: the completion queue can be polled while its event handler runs; the \
                   connection goes on",
            ..Rule::HARMLESS
        },
        "kernel: Documentation/infiniband/core_locking.rst; IBA chapter 11",
    ),
    Row::special(
        "rearm",
        "requests for events of a completion queue, while completions come",
        Special::Rearm,
    )
    .rule(
        Rule {
            text:
                "success: after each request for an event, a completion that was not there before \
                   has one; the connection goes on",
            ..Rule::HARMLESS
        },
        EVENTS,
    ),
    Row::special(
        "solicited",
        "a SEND that is not solicited, and one that is, to a peer that asked for events of \
         solicited ones only",
        Special::Solicited,
    )
    .rule(
        Rule {
            text:
                "success: of a completion queue armed for solicited messages, the message that is \
                   not solicited raises no event, and the one that is raises one; the connection \
                   goes on",
            ..Rule::HARMLESS
        },
        EVENTS,
    ),
    Row::special(
        "solicited_error",
        "an error at a peer that asked for events of solicited messages only",
        Special::SolicitedError,
    )
    .rule(
        Rule {
            text:
                "success of the message; each receive is flushed when its queue pair is put into \
                   error, which raises an event of a completion queue armed for solicited \
                   messages; responder's queue pair in error",
            first: &[Status(OK)],
            rest: RestRule::Complete,
            requester: StateRule::Any,
            responder: StateRule::Error,
            quiet: false,
            ..Rule::HARMLESS
        },
        EVENTS,
    ),
    Row::steps(
        "event_of_write",
        "WRITE with a wrong key, of which the responder is told",
        &[Open(Both)],
        Request::write(SIZE).other_key(),
        Untouched,
    )
    .need(IWARP)
    .rules(Rule::ACCESS_EVENT, Rule::TERMINATED, ERRORS),
    Row::steps(
        "event_of_read",
        "READ with a wrong key, of which the responder is told",
        &[Open(Both)],
        Request::read(SIZE).other_key(),
        OwnUntouched,
    )
    .need(IWARP)
    .rules(Rule::ACCESS_EVENT, Rule::READ_TERMINATED, ERRORS),
    Row::steps(
        "event_of_atomic",
        "fetch-and-add without the right, of which the responder is told",
        &[Open(Both)],
        Request::add(),
        Untouched,
    )
    .need(Need::Atomics)
    .rules(Rule::ACCESS_EVENT, Rule::TERMINATED, ERRORS),
];
