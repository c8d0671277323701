// SPDX-License-Identifier: GPL-2.0

//! Requests that are done once, whatever happens.

use super::super::{
    observation::Ended::Status,
    row::{
        Row,
        Wants, //
    },
    rule::{
        RestRule,
        Rule,
        StateRule,
        OK, //
    },
    special::Special, //
};

const SOURCE: &str = "IBA chapters 9 (a request is executed once) and 10 (flushing)";

/// The cases.
pub(super) const ROWS: &[Row] = &[Row::special(
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
        text: "each message arrives once at most; all requests and receives complete, once and in \
               order; responder's queue pair in error",
        first: &[Status(OK)],
        rest: RestRule::Complete,
        receives_end: true,
        requester: StateRule::Any,
        responder: StateRule::Error,
        quiet: false,
        ..Rule::HARMLESS
    },
    SOURCE,
)];
