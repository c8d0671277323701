// SPDX-License-Identifier: GPL-2.0

//! Connection management.

use super::super::{
    answer::Answer,
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
        OK,
        RETRY_EXC, //
    },
    special::Special, //
};
use crate::logic::failure::{
    errno,
    OVER_TCP, //
};

/// The cases.
pub(super) const ROWS: &[Row] = &[
    Row::special(
        "unanswered",
        "a connection request that is neither accepted nor rejected",
        Special::Unanswered,
    )
    .rules(
        Rule {
            text: "no answer within a second; the request can be withdrawn, and the peer is told; \
                   another connection goes on",
            first: &[Ended::Answer(Answer::Withdrawn { told: true })],
            ..Rule::HARMLESS
        },
        Rule {
            text: "unreachable with ETIMEDOUT within 90 s; another connection goes on",
            first: &[Ended::Answer(Answer::Unreachable(errno::ETIMEDOUT))],
            ..Rule::HARMLESS
        },
        "IBA chapter 12 (REQ, REJ); kernel: iw_cm",
    ),
    Row::special(
        "stale_connection",
        "a connection request in the name of a queue pair that the peer is connected with",
        Special::StaleConnection,
    )
    .need(Need::NotIwarp(OVER_TCP))
    .rule(
        Rule {
            text:
                "rejected as a stale connection, and both sides of the connection with that queue \
                   pair are told of its end; both queue pairs in error",
            first: &[Ended::Answer(Answer::STALE)],
            rest: RestRule::Complete,
            ..Rule::REMOTE_ACCESS
        },
        "IBA chapter 12 (stale connections)",
    ),
    Row::special(
        "private_data",
        "a connection request with 56 bytes of private data",
        Special::PrivateData,
    )
    .rule(
        Rule {
            text:
                "the request comes with the same private data, and with the depths of READs that \
                   it was made with; the connection goes on",
            first: &[Ended::Answer(Answer::Came { whole: true })],
            ..Rule::HARMLESS
        },
        "IBA chapter 12 (REQ); RFC 6581; kernel: struct rdma_conn_param",
    ),
    // A device may loop its own traffic back without using its port.
    Row::special(
        "port_down",
        "a WRITE, and then a message of the CM, while a person has taken the port down",
        Special::PortDown,
    )
    .by_name()
    .need(Need::NotIwarp(OVER_TCP))
    .wants(Wants::IMPATIENT)
    .rule(
        Rule {
            text: "success, and the connection goes on; or transport retry counter exceeded, \
                   requester's queue pair in error, later requests flushed",
            first: &[Status(OK), Status(RETRY_EXC)],
            ..Rule::LOCAL_ERROR
        },
        "IBA chapters 9 and 12; kernel: ib_mad_send_error()",
    ),
];
