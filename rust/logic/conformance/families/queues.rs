// SPDX-License-Identifier: GPL-2.0

//! The capacity of queues, flushing and draining them.

use super::super::{
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
        LOC_QP_OP,
        OK, //
    },
    special::Special, //
};
use crate::logic::failure::{
    errno,
    STATUS_FLUSHED, //
};

/// Makes a case of a shared receive queue that is resized while receives are posted.
const fn resized(name: &'static str, does: &'static str, special: Special) -> Row {
    Row::special(name, does, special)
        .wants(Wants::SHARED)
        .need(Need::SharedReceives)
        .rule(
            Rule {
                text:
                    "success, or refused with EINVAL, EOPNOTSUPP or ENOSYS; all messages arrive, \
                       and the connection goes on",
                first: &[
                    Status(OK),
                    Refused(errno::EINVAL),
                    Refused(errno::EOPNOTSUPP),
                    Refused(errno::ENOSYS),
                ],
                receives_end: true,
                ..Rule::HARMLESS
            },
            "IBA 11.2.4.3 (modify shared receive queue): what is posted stays",
        )
}

/// The cases.
pub(super) const ROWS: &[Row] = &[
    Row::special(
        "sq_full",
        "a post to a send queue that is full",
        Special::SqFull,
    )
    .rule(
        Rule {
            text:
                "refused with ENOMEM; all that was posted before is done, and the connection goes \
                   on",
            first: &[Refused(errno::ENOMEM)],
            ..Rule::HARMLESS
        },
        "IBA 11.4.1.1: an immediate error does not affect the queue pair; kernel: ENOMEM",
    ),
    Row::special(
        "list_beyond_queue",
        "a list of 512 WRITEs, more than the send queue holds, and nothing after it",
        Special::ListBeyondQueue,
    )
    .rule(
        Rule {
            text: "those in front of the first one that is refused with ENOMEM are done, and the \
                   connection goes on",
            first: &[Status(OK), Refused(errno::ENOMEM)],
            ..Rule::HARMLESS
        },
        "kernel: ib_post_send(), what stands before *bad_wr is posted",
    ),
    Row::special(
        "cq_exact",
        "exactly as many completions as the completion queue holds",
        Special::CqExact,
    )
    .rule(
        Rule {
            text: "all completions come, no asynchronous error, and the connection goes on",
            ..Rule::HARMLESS
        },
        "IBA chapter 11 (create completion queue)",
    ),
    Row::special(
        "cq_overrun",
        "more completions than the completion queue holds",
        Special::CqOverrun,
    )
    .rule(
        Rule {
            text: "no completion is lost, or an asynchronous error tells of it",
            first: &[
                Status(OK),
                Status(STATUS_FLUSHED),
                Status(LOC_QP_OP),
                Missing,
            ],
            rest: RestRule::LossIsTold,
            requester: StateRule::Any,
            responder: StateRule::Any,
            quiet: false,
            ..Rule::HARMLESS
        },
        "IBA chapter 11 (CQ error); kernel: IB_EVENT_CQ_ERR",
    ),
    Row::special(
        "flush_order",
        "requests posted behind one that fails, and receives on both sides",
        Special::FlushOrder,
    )
    .rules(
        Rule {
            text: "remote access error, both queue pairs in error; all later requests and all \
                   receives flushed, once and in order",
            receives_end: true,
            ..Rule::REMOTE_ACCESS
        },
        Rule {
            text: "the connection ends, both queue pairs in error; all requests and receives \
                   complete, once and in order",
            receives_end: true,
            ..Rule::TERMINATED
        },
        "IBA chapter 10 (flushing; completions come in order)",
    ),
    Row::special("drain", "the drain of a queue pair in use", Special::Drain).rule(
        Rule {
            text: "the drain ends, and all that was posted before it has completed, in order",
            first: &[Status(OK)],
            rest: RestRule::Complete,
            requester: StateRule::Error,
            responder: StateRule::Any,
            quiet: false,
            receives_end: true,
            ..Rule::HARMLESS
        },
        "kernel: ib_drain_qp()",
    ),
    Row::special(
        "srq_limit",
        "messages until fewer receives than the limit of a shared receive queue are posted",
        Special::SrqLimit,
    )
    .wants(Wants::SHARED)
    .need(Need::SharedReceives)
    .rule(
        Rule {
            text: "success, and one event when fewer receives than the limit are posted, none \
                   before; the connection goes on",
            ..Rule::HARMLESS
        },
        "IBA chapters 10 and 11 (SRQ limit reached)",
    ),
    resized(
        "srq_grown",
        "16 messages to a shared receive queue that was resized to 256 receives when 16 were posted",
        Special::SrqGrown,
    ),
    resized(
        "srq_shrunk",
        "16 messages to a shared receive queue that was resized to 2 receives when 16 were posted",
        Special::SrqShrunk,
    ),
    Row::special(
        "srq_drain",
        "the drain of a queue pair that takes the receives of a shared queue",
        Special::SrqDrain,
    )
    // The requester is to find out soon that the responder is gone.
    .wants(Wants {
        shared: true,
        ..Wants::IMPATIENT
    })
    .need(Need::SharedReceives)
    .rule(
        Rule {
            text: "the drain ends after the event of the last receive, and no receive completes \
                   after it; responder's queue pair in error",
            first: &[Status(OK)],
            rest: RestRule::Complete,
            requester: StateRule::Any,
            responder: StateRule::Error,
            quiet: false,
            ..Rule::HARMLESS
        },
        "IBA chapter 11 (last WQE reached); kernel: ib_drain_qp()",
    ),
    Row::special(
        "inline_reuse",
        "requests with inline data, whose buffer is overwritten once they are posted",
        Special::InlineReuse,
    )
    .wants(Wants::LONG)
    .need(Need::Inline)
    .rule(
        Rule {
            text: "success, and what arrives is what the buffer held when the request was posted; \
                   the connection goes on",
            ..Rule::HARMLESS
        },
        "ibv_post_send(3), IBV_SEND_INLINE; kernel: IB_SEND_INLINE",
    ),
];
