// SPDX-License-Identifier: GPL-2.0

//! Requests under way while their connection ends. Each is done once at most, and completes once.

use super::super::{
    observation::Ended::{
        self,
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
        OK,
        REM_ACCESS,
        REM_INV_REQ,
        RETRY_EXC, //
    },
    special::{
        Fate,
        Special, //
    }, //
};

const SOURCE: &str = "IBA chapters 9 (a request is executed once) and 10 (flushing)";

/// Makes a case that is tried several times, each time at another instant.
const fn raced(name: &'static str, does: &'static str, special: Special, infiniband: Rule) -> Row {
    Row::special(name, does, special)
        .wants(Wants {
            times: 4,
            impatient: true,
            long: true,
            ..Wants::NOTHING
        })
        .rules(infiniband, TERMINATED, SOURCE)
}

/// Makes the rule for requests of both ends of which at most one of each end fails, with one of
/// these statuses.
const fn ends(text: &'static str, first: &'static [Ended]) -> Rule {
    Rule {
        text,
        first,
        rest: RestRule::Ended,
        receives_end: true,
        requester: StateRule::Error,
        responder: StateRule::Any,
        quiet: false,
        ..Rule::HARMLESS
    }
}

/// The peer does not answer any more (InfiniBand).
const LOST: Rule = ends(
    "each request and receive completes once and in order before its queue pair is drained: done, \
     then at most one of each end that fails with transport retry counter exceeded, then flushed; \
     no message arrives twice",
    &[Status(OK), Status(RETRY_EXC)],
);

/// The peer refuses one request (InfiniBand).
const REFUSED: Rule = ends(
    "each request and receive completes once and in order before its queue pair is drained: done, \
     then at most one of each end that fails with remote access error, remote invalid request \
     error or transport retry counter exceeded, then flushed; no message arrives twice",
    &[
        Status(OK),
        Status(RETRY_EXC),
        Status(REM_ACCESS),
        Status(REM_INV_REQ),
    ],
);

/// The connection ends (iWARP).
const TERMINATED: Rule = ends(
    "each request and receive completes once and in order before its queue pair is drained: done, \
     then at most one of each end that fails, then flushed; no message arrives twice",
    Rule::TERMINATED.first,
);

/// The cases.
pub(super) const ROWS: &[Row] = &[
    Row::special(
        "sends_in_error",
        "messages that arrive while the responder's queue pair is put into error, 12 times",
        Special::SendsInError,
    )
    .wants(Wants {
        times: 12,
        ..Wants::IMPATIENT
    })
    .rule(
        Rule {
            text:
                "each message arrives once at most; all requests and receives complete, once and \
                 in order; responder's queue pair in error",
            first: &[Status(OK)],
            rest: RestRule::Complete,
            receives_end: true,
            requester: StateRule::Any,
            responder: StateRule::Error,
            quiet: false,
            ..Rule::HARMLESS
        },
        SOURCE,
    ),
    raced(
        "race_requester_error",
        "requests of all kinds under way while the requester's queue pair is put into error",
        Special::Race(Fate::RequesterError),
        LOST,
    ),
    raced(
        "race_responder_error",
        "requests of all kinds under way while the responder's queue pair is put into error",
        Special::Race(Fate::ResponderError),
        LOST,
    ),
    raced(
        "race_disconnect",
        "requests of all kinds under way while the requester disconnects",
        Special::Race(Fate::Disconnect),
        LOST,
    ),
    raced(
        "race_bad_key",
        "requests of all kinds, of which one has a key that was never given out",
        Special::Race(Fate::BadKey),
        REFUSED,
    ),
    raced(
        "race_forbid",
        "requests of all kinds under way while the responder's queue pair is modified to permit \
         neither READs nor WRITEs",
        Special::Race(Fate::Forbid),
        REFUSED,
    ),
    raced(
        "race_invalidate",
        "requests of all kinds under way while the responder invalidates the key of its memory",
        Special::Race(Fate::Invalidate),
        REFUSED,
    ),
    raced(
        "race_destroy",
        "requests of all kinds under way while the responder's queue pair is drained and destroyed",
        Special::Race(Fate::Destroy),
        LOST,
    ),
    raced(
        "race_atomics",
        "fetch-and-adds under way while the responder's queue pair is put into error",
        Special::RaceAtomics,
        Rule {
            text: "each operation that completed with success was done, and none was done twice; \
                   all complete once and in order: done, then at most one that fails, then flushed",
            ..LOST
        },
    )
    .need(Need::Atomics),
];
