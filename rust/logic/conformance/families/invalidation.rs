// SPDX-License-Identifier: GPL-2.0

//! Registration and invalidation of keys.

use super::{
    super::{
        observation::Ended::{
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
            LOC_ACCESS,
            LOC_PROT,
            LOC_QP_OP,
            MM_OP,
            OK,
            REM_ACCESS,
            REM_INV_REQ,
            REM_OP,
            RETRY_EXC, //
        },
        special::Special,
        steps::{
            Memory::{
                self,
                Any,
                OwnUntouched,
                Untouched, //
            },
            Op::{
                Invalidate,
                Register,
                SendInvalidate, //
            },
            Region::{
                OtherDomain,
                Own, //
            },
            Request,
            Rights::{
                Atomic,
                Both,
                Write, //
            },
            Side::Requester,
            Step::{
                self,
                CloseOwn,
                Do,
                Open,
                OpenOwn,
                Receives,
                RenewAtOnce, //
            },
            SIZE, //
        }, //
    },
    receives::inbox, //
};
use crate::logic::failure::{
    errno,
    STATUS_FLUSHED, //
};

const LOCAL: &str = "IBA chapter 10 (memory management extensions), 10.6.5.1";
const REMOTE: &str = "IBA chapters 9 and 10 (SEND with invalidate); RFC 5040";

/// The rule for invalidation of a key that is not valid (InfiniBand). The message arrives before
/// its key is checked, so it may be acknowledged.
const INVALID: Rule = Rule {
    text: "the receive fails, responder's queue pair in error; the requester has success, or an \
           error and its queue pair in error",
    first: &[
        Status(OK),
        Status(REM_INV_REQ),
        Status(REM_ACCESS),
        Status(REM_OP),
        Status(RETRY_EXC),
    ],
    rest: RestRule::Complete,
    receive: &[
        Status(LOC_QP_OP),
        Status(LOC_PROT),
        Status(MM_OP),
        Status(LOC_ACCESS),
        Status(REM_INV_REQ),
    ],
    requester: StateRule::Any,
    ..Rule::REMOTE_ACCESS
};

/// The same on iWARP.
const INVALID_TERMINATED: Rule = Rule {
    text: "the connection ends, both queue pairs in error; the receive fails",
    receive: &[
        Status(LOC_QP_OP),
        Status(LOC_PROT),
        Status(STATUS_FLUSHED),
        Status(MM_OP),
        Status(LOC_ACCESS),
        Status(REM_INV_REQ),
    ],
    ..Rule::TERMINATED
};

/// A SEND with invalidation of the key of the advertisement.
const INVALIDATE: Request = Request::new(SendInvalidate, SIZE);

/// Memory that is open, and that the requester has closed.
const CLOSED_BY_PEER: &[Step] = &[Open(Both), Receives(1), Do(INVALIDATE)];

/// The cases.
pub(super) const ROWS: &[Row] = &[
    Row::steps(
        "double_invalidate",
        "LOCAL_INV of a region that is not valid",
        &[OpenOwn(Requester, Write), CloseOwn(Requester)],
        Request::new(Invalidate(Own), 0),
        Untouched,
    )
    .rule(
        Rule {
            text: "success or a local error; after an error the queue pair is in error and later \
                   requests are flushed",
            first: &[
                Status(OK),
                Status(LOC_QP_OP),
                Status(LOC_PROT),
                Status(MM_OP),
            ],
            ..Rule::LOCAL_ERROR
        },
        LOCAL,
    ),
    Row::steps(
        "reg_mr_on_valid",
        "REG_MR of a region that is valid",
        &[OpenOwn(Requester, Write)],
        Request::new(Register(Own, Write), 0),
        Untouched,
    )
    .rule(Rule::LOCAL_ERROR, LOCAL),
    Row::steps(
        "reg_mr_of_other_pd",
        "REG_MR of a region of another protection domain",
        &[],
        Request::new(Register(OtherDomain, Write), 0),
        Untouched,
    )
    .wants(Wants::OTHER_DOMAIN)
    .rule(Rule::LOCAL_ERROR, LOCAL),
    Row::steps(
        "invalidate_of_other_pd",
        "LOCAL_INV of a region of another protection domain, which is not valid",
        &[],
        Request::new(Invalidate(OtherDomain), 0),
        Untouched,
    )
    .wants(Wants::OTHER_DOMAIN)
    .rule(
        Rule {
            text: "success or a local error or refusal; after an error the queue pair is in error \
                   and later requests are flushed",
            first: &[
                Status(OK),
                Status(LOC_QP_OP),
                Status(LOC_PROT),
                Status(MM_OP),
                Refused(errno::EINVAL),
            ],
            ..Rule::LOCAL_ERROR
        },
        LOCAL,
    ),
    Row::steps(
        "send_inv",
        "SEND with invalidation of a key that is valid at the peer",
        &[Open(Both), inbox(SIZE)],
        INVALIDATE,
        Untouched,
    )
    .rule(Rule::ARRIVES, REMOTE),
    Row::steps(
        "send_inv_stale",
        "SEND with invalidation of a key that was never given out",
        &[Open(Both), inbox(SIZE)],
        INVALIDATE.other_key(),
        Untouched,
    )
    .wants(Wants::IMPATIENT)
    .rules(INVALID, INVALID_TERMINATED, REMOTE),
    Row::steps(
        "send_inv_closed",
        "SEND with invalidation of a key that its owner has invalidated",
        &[Open(Both), Step::Close, inbox(SIZE)],
        INVALIDATE,
        Any,
    )
    .wants(Wants::IMPATIENT)
    .rules(
        Rule {
            text: "success, or the receive fails and the responder's queue pair is in error",
            receive: &[
                Status(OK),
                Status(LOC_QP_OP),
                Status(LOC_PROT),
                Status(MM_OP),
                Status(LOC_ACCESS),
                Status(REM_INV_REQ),
            ],
            responder: StateRule::Any,
            receives_end: false,
            ..INVALID
        },
        Rule {
            text: "success, or the receive fails and the connection ends",
            receive: &[],
            requester: StateRule::Any,
            responder: StateRule::Any,
            receives_end: false,
            ..INVALID_TERMINATED
        },
        REMOTE,
    ),
    Row::steps(
        "write_after_send_inv",
        "WRITE to a region that the requester has invalidated",
        CLOSED_BY_PEER,
        Request::write(SIZE),
        Untouched,
    )
    .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, REMOTE),
    Row::steps(
        "read_after_send_inv",
        "READ of a region that the requester has invalidated",
        CLOSED_BY_PEER,
        Request::read(SIZE),
        OwnUntouched,
    )
    .rules(Rule::REMOTE_ACCESS, Rule::READ_TERMINATED, REMOTE),
    Row::steps(
        "atomic_after_send_inv",
        "fetch-and-add in a region that the requester has invalidated",
        &[Open(Atomic), Receives(1), Do(INVALIDATE)],
        Request::add(),
        Untouched,
    )
    .need(Need::Atomics)
    .rules(Rule::REMOTE_ACCESS, Rule::TERMINATED, REMOTE),
    Row::steps(
        "renewed_at_once",
        "WRITE to a region whose key was invalidated and another one registered, posted at once",
        &[Open(Both), RenewAtOnce],
        Request::write(SIZE),
        Memory::ALL_WRITTEN,
    )
    .rule(
        Rule::HARMLESS,
        "IBA chapter 10 (LOCAL_INV and fast registration are done in their order)",
    ),
    Row::special(
        "read_invalidated",
        "READ of 512 KiB whose memory is invalidated when its first byte has arrived",
        Special::ReadInvalidated,
    )
    .wants(Wants {
        times: 4,
        ..Wants::NOTHING
    })
    .need(Need::NotIwarp(
        "iWARP ends a stream for that, which other cases are about",
    ))
    .rule(
        Rule {
            text: "success, and the connection goes on; or remote access error, both queue pairs \
                   in error, and later requests flushed",
            first: &[Status(OK), Status(REM_ACCESS)],
            rest: RestRule::Follows,
            requester: StateRule::Follows,
            responder: StateRule::Follows,
            quiet: false,
            ..Rule::HARMLESS
        },
        "IBA chapters 9 and 10 (a responder may find an invalid R_Key at any packet of a READ)",
    ),
    Row::special(
        "map_over_gap",
        "a map of a region over memory with a gap in the midst of a page",
        Special::MapOverGap,
    )
    .rule(
        Rule {
            text: "the map ends at the gap, and the connection goes on",
            first: &[Refused(errno::EINVAL)],
            ..Rule::HARMLESS
        },
        "kernel: ib_map_mr_sg(), IB_MR_TYPE_MEM_REG",
    ),
];
