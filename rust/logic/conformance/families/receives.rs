// SPDX-License-Identifier: GPL-2.0

//! Memory that messages are received in.

use super::super::{
    observation::Ended::Status,
    row::{
        Row,
        Wants, //
    },
    rule::{
        Rule,
        LOC_LEN,
        REM_INV_REQ, //
    },
    steps::{
        Local,
        LocalKey::{
            self,
            Dma,
            Other,
            Region, //
        },
        Memory::{
            InboxFrom,
            Received,
            TheirsUntouched, //
        },
        Place::{
            Inbox,
            Own, //
        },
        Request,
        Rights::{
            Read,
            Write, //
        },
        Side::{
            Requester,
            Responder, //
        },
        Step::{
            self,
            CloseOwn,
            OpenOwn,
            Receive, //
        },
        FRONT,
        SIZE, //
    }, //
};

const SOURCE: &str = "IBA chapters 9 (remote operational error) and 11 (local protection \
                      error); RFC 5040";
const LENGTH: &str = "IBA chapters 9 (a message longer than its receive) and 11 (local length \
                      error); RFC 5041";
const ARRIVAL: &str = "IBA chapter 10: a message goes into the receive that was posted first";

/// Length of a region that begins behind the start of its buffer.
const LEN: u32 = SIZE - FRONT;

/// Size of a page in bytes, or a part of it.
const PAGE: u32 = 4096;

/// Length of a receive that is too short.
pub(super) const SHORT: u32 = 64;

/// Memory for a receive that is checked.
const fn own(offset: u32, len: u32, key: LocalKey) -> Local {
    Local {
        place: Own,
        offset,
        len,
        key,
    }
}

/// The first bytes of the inbox.
pub(super) const fn inbox(len: u32) -> Step {
    Receive(Local {
        place: Inbox,
        offset: 0,
        len,
        key: Dma,
    })
}

/// Makes a case of a message whose receive is not valid.
const fn refused(name: &'static str, does: &'static str, before: &'static [Step], len: u32) -> Row {
    Row::steps(name, does, before, Request::send(len), TheirsUntouched).rules(
        Rule::BAD_RECEIVE,
        Rule::BAD_RECEIVE_TERMINATED,
        SOURCE,
    )
}

/// A receive apart from those of other messages.
pub(super) const APART: &[Step] = &[Receive(own(0, SIZE, Dma))];

/// Makes a case of a message of `len` bytes that arrives.
const fn arrives(name: &'static str, does: &'static str, len: u32) -> Row {
    Row::steps(name, does, APART, Request::send(len), Received(0, len)).rule(Rule::ARRIVES, ARRIVAL)
}

/// The rule for a message that is too long for its receive (InfiniBand).
pub(super) const TOO_LONG: Rule = Rule {
    text: "remote invalid request error, local length error of the receive, both queue pairs in \
           error, later requests flushed, nothing written behind the receive",
    first: &[Status(REM_INV_REQ)],
    receive: &[Status(LOC_LEN)],
    ..Rule::REMOTE_ACCESS
};

/// The same on iWARP.
const TOO_LONG_TERMINATED: Rule = Rule {
    text: "the connection ends, both queue pairs in error; the receive fails, and nothing is \
           written behind it",
    ..Rule::BAD_RECEIVE_TERMINATED
};

/// The cases.
pub(super) const ROWS: &[Row] = &[
    Row::steps(
        "send_too_long",
        "SEND of a message larger than the receive",
        &[inbox(SHORT)],
        Request::send(SIZE),
        InboxFrom(SHORT),
    )
    .rules(TOO_LONG, TOO_LONG_TERMINATED, LENGTH),
    Row::steps(
        "send_one_too_long",
        "SEND of a message one byte larger than the receive",
        &[inbox(SHORT)],
        Request::send(SHORT + 1),
        InboxFrom(SHORT),
    )
    .rules(TOO_LONG, TOO_LONG_TERMINATED, LENGTH),
    arrives(
        "send_exact",
        "SEND of a message as large as the receive",
        SIZE,
    ),
    arrives(
        "send_odd_bytes",
        "SEND of 13 bytes into a larger receive",
        13,
    ),
    arrives("send_nothing", "SEND of 0 bytes", 0),
    Row::steps(
        "send_over_page",
        "SEND of 64 bytes over the end of a page, from a region",
        &[OpenOwn(Requester, Write), Receive(own(0, SHORT, Dma))],
        Request::send(SHORT).from(PAGE - SHORT / 2).by(Region),
        Received(PAGE - SHORT / 2, SHORT),
    )
    .wants(Wants::LONG)
    .rule(Rule::ARRIVES, ARRIVAL),
    refused(
        "recv_of_stale_lkey",
        "SEND to a receive whose local key is not valid any more",
        &[
            OpenOwn(Responder, Write),
            CloseOwn(Responder),
            Receive(own(0, SIZE, Region)),
        ],
        SIZE,
    ),
    refused(
        "recv_invalidated",
        "SEND to a receive whose local key was invalidated after it was posted",
        &[
            OpenOwn(Responder, Write),
            Receive(own(0, SIZE, Region)),
            CloseOwn(Responder),
        ],
        SIZE,
    ),
    refused(
        "recv_by_other_lkey",
        "SEND to a receive with a key that differs from that of its memory",
        &[OpenOwn(Responder, Write), Receive(own(0, SIZE, Other))],
        SIZE,
    ),
    refused(
        "recv_past_lkey",
        "SEND to a receive that ends one byte behind its region",
        &[
            OpenOwn(Responder, Write),
            Receive(own(FRONT + 1, LEN, Region)),
        ],
        LEN,
    )
    .wants(Wants::OWN_FRONT),
    refused(
        "recv_before_lkey",
        "SEND to a receive that begins one byte in front of its region",
        &[
            OpenOwn(Responder, Write),
            Receive(own(FRONT - 1, LEN, Region)),
        ],
        LEN,
    )
    .wants(Wants::OWN_FRONT),
    refused(
        "recv_into_read_only",
        "SEND to a receive in memory that the responder may only read",
        &[OpenOwn(Responder, Read), Receive(own(0, SIZE, Region))],
        SIZE,
    ),
];
