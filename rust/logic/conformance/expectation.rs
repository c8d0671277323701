// SPDX-License-Identifier: GPL-2.0

//! The rules for devices in each conformance test.
//!
//! [`Rule::of`] is the table of the behaviour that is allowed in each case on each fabric. Where a
//! specification leaves a choice, every choice is allowed. Known deviations of drivers are not.

use super::{
    answer::Answer,
    observation::{
        Ended,
        State, //
    },
    Case, //
};
use crate::logic::failure::{
    errno,
    STATUS_FLUSHED, //
};

/// Success, of `enum ib_wc_status`.
const OK: u32 = 0;
/// Local length error.
const LOC_LEN: u32 = 1;
/// Local QP operation error.
const LOC_QP_OP: u32 = 2;
/// Local protection error.
const LOC_PROT: u32 = 4;
/// Memory management operation error, which the kernel calls bind error.
const MM_OP: u32 = 6;
/// Local access error.
const LOC_ACCESS: u32 = 8;
/// Remote invalid request error.
const REM_INV_REQ: u32 = 9;
/// Remote access error.
const REM_ACCESS: u32 = 10;
/// Remote operation error.
const REM_OP: u32 = 11;
/// Transport retry counter exceeded.
const RETRY_EXC: u32 = 12;
/// RNR retry counter exceeded.
const RNR_RETRY_EXC: u32 = 13;
/// Fatal error.
const FATAL: u32 = 19;

/// The transport below the verbs, as far as it decides how errors are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fabric {
    /// InfiniBand and RoCE: the responder acknowledges or refuses each request.
    InfiniBand,
    /// iWARP: the responder can refuse a request only by ending the connection, and a request that
    /// sends data is done when TCP has the data.
    Iwarp,
}

/// The state that a rule demands of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateRule {
    /// Ready to send.
    Rts,
    /// In error.
    Error,
    /// Ready to send after a request that was refused or succeeded, otherwise in error.
    Follows,
    /// Any state.
    Any,
}

impl StateRule {
    /// Returns true where the queue pair must be in error after a request that ended as `first`.
    pub(crate) fn wants_error(self, first: Ended) -> bool {
        match self {
            Self::Error => true,
            Self::Follows => !first.is_harmless(),
            Self::Rts | Self::Any => false,
        }
    }

    /// Returns true where the queue pair may be in `state` after a request that ended as `first`.
    pub(super) fn allows(self, state: State, first: Ended) -> bool {
        match self {
            Self::Any => true,
            _ if self.wants_error(first) => state == State::ERROR,
            _ => state == State::RTS,
        }
    }
}

/// The rule for the requester's other requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestRule {
    /// All succeed.
    Done,
    /// All are flushed.
    Flushed,
    /// All succeed after a request that was refused or succeeded, otherwise all are flushed.
    Follows,
    /// All complete, with any status.
    Complete,
    /// Completions may be missing only after an asynchronous error, or with the queue pair in
    /// error.
    LossIsTold,
}

/// The rule for a device in one case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// The rule as text.
    pub(crate) text: &'static str,
    /// The allowed results of the request.
    pub(crate) first: &'static [Ended],
    /// The rule for the requester's other requests.
    pub(crate) rest: RestRule,
    /// The allowed results of the receive that the request is for; empty where any is allowed.
    pub(crate) receive: &'static [Ended],
    /// All receives must complete.
    pub(crate) receives_end: bool,
    /// The rule for the state of the requester's queue pair.
    pub(crate) requester: StateRule,
    /// The rule for the state of the responder's queue pair.
    pub(crate) responder: StateRule,
    /// The requester must have no asynchronous error.
    pub(crate) quiet: bool,
}

use Ended::{
    Missing,
    Refused,
    Status, //
};

/// A remote key that does not allow the request, where the responder reports that (InfiniBand).
const REMOTE_ACCESS: Rule = Rule {
    text:
        "remote access error, both queue pairs in error, later requests flushed, memory unchanged",
    first: &[Status(REM_ACCESS)],
    rest: RestRule::Flushed,
    receive: &[],
    receives_end: false,
    requester: StateRule::Error,
    responder: StateRule::Error,
    quiet: false,
};

/// A remote key that does not allow the request, where the responder can only end the connection
/// (iWARP).
const TERMINATED: Rule = Rule {
    text: "the connection ends, both queue pairs in error, memory unchanged; the request may have \
           been done before, or fails",
    first: &[
        Status(OK),
        Status(LOC_QP_OP),
        Status(STATUS_FLUSHED),
        Status(REM_INV_REQ),
        Status(REM_ACCESS),
        Status(REM_OP),
        Status(FATAL),
    ],
    rest: RestRule::Complete,
    ..REMOTE_ACCESS
};

/// A request that is invalid on the side that posts it.
const LOCAL_ERROR: Rule = Rule {
    text: "local error or refusal; after an error the queue pair is in error and later requests \
           are flushed",
    first: &[
        Status(LOC_QP_OP),
        Status(LOC_PROT),
        Status(MM_OP),
        Refused(errno::EINVAL),
    ],
    rest: RestRule::Follows,
    receive: &[],
    receives_end: false,
    requester: StateRule::Follows,
    responder: StateRule::Any,
    quiet: false,
};

/// A request that succeeds and leaves the connection working.
const HARMLESS: Rule = Rule {
    text: "success, and the connection goes on",
    first: &[Status(OK)],
    rest: RestRule::Done,
    receive: &[],
    receives_end: false,
    requester: StateRule::Rts,
    responder: StateRule::Rts,
    quiet: true,
};

impl Rule {
    /// Returns the rule for `case` on `fabric`.
    pub(crate) const fn of(case: Case, fabric: Fabric) -> Self {
        let iwarp = matches!(fabric, Fabric::Iwarp);
        match case {
            Case::ReadOfWriteOnly if iwarp => Self {
                text: "the connection ends, both queue pairs in error; the READ fails and brings \
                       nothing",
                first: &[
                    Status(LOC_QP_OP),
                    Status(STATUS_FLUSHED),
                    Status(REM_INV_REQ),
                    Status(REM_ACCESS),
                    Status(REM_OP),
                    Status(FATAL),
                ],
                ..TERMINATED
            },
            Case::StaleRkey
            | Case::ReadOfWriteOnly
            | Case::WriteOfReadOnly
            | Case::LengthPastMr
            | Case::WrongPd
            | Case::InvalidatedMr
            | Case::AtomicNoRight => {
                if iwarp {
                    TERMINATED
                } else {
                    REMOTE_ACCESS
                }
            }
            Case::DoubleInvalidate => Self {
                text: "success or a local error; after an error the queue pair is in error and \
                       later requests are flushed",
                first: &[
                    Status(OK),
                    Status(LOC_QP_OP),
                    Status(LOC_PROT),
                    Status(MM_OP),
                ],
                ..LOCAL_ERROR
            },
            Case::RegMrOnValid => LOCAL_ERROR,
            Case::StaleLkey => Self {
                text: "local protection error, queue pair in error, later requests flushed, \
                       nothing arrives",
                first: &[Status(LOC_PROT)],
                ..LOCAL_ERROR
            },
            Case::SendTooLong if iwarp => Self {
                text: "the connection ends, both queue pairs in error; the receive fails, and \
                       nothing is written behind it",
                receive: &[
                    Status(LOC_LEN),
                    Status(LOC_QP_OP),
                    Status(LOC_PROT),
                    Status(STATUS_FLUSHED),
                    Status(LOC_ACCESS),
                ],
                ..TERMINATED
            },
            Case::SendTooLong => Self {
                text: "remote invalid request error, local length error of the receive, both \
                       queue pairs in error, later requests flushed, nothing written behind the \
                       receive",
                first: &[Status(REM_INV_REQ)],
                receive: &[Status(LOC_LEN)],
                ..REMOTE_ACCESS
            },
            Case::SendInvStale if iwarp => Self {
                text: "the connection ends, both queue pairs in error; the receive fails",
                receive: &[
                    Status(LOC_QP_OP),
                    Status(LOC_PROT),
                    Status(STATUS_FLUSHED),
                    Status(MM_OP),
                    Status(LOC_ACCESS),
                    Status(REM_INV_REQ),
                ],
                ..TERMINATED
            },
            // The message arrives before its key is checked, so it may be acknowledged.
            Case::SendInvStale => Self {
                text: "the receive fails, responder's queue pair in error; the requester has \
                       success, or an error and its queue pair in error",
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
                ..REMOTE_ACCESS
            },
            Case::Rnr | Case::SrqEmpty if iwarp => Self {
                text: "the connection ends, both queue pairs in error",
                ..TERMINATED
            },
            Case::Rnr | Case::SrqEmpty => Self {
                text: "RNR retry counter exceeded, requester's queue pair in error and \
                       responder's not, later requests flushed",
                first: &[Status(RNR_RETRY_EXC)],
                responder: StateRule::Rts,
                ..REMOTE_ACCESS
            },
            Case::UnsupportedOpcode => Self {
                text: "refused with EINVAL or EOPNOTSUPP, and the connection goes on; or an \
                       error and the queue pair in error, later requests flushed",
                first: &[
                    Refused(errno::EINVAL),
                    Refused(errno::EOPNOTSUPP),
                    Status(LOC_QP_OP),
                    Status(REM_INV_REQ),
                ],
                ..LOCAL_ERROR
            },
            Case::ZeroLength => Self {
                text: "success without a look at the key, and the connection goes on",
                ..HARMLESS
            },
            Case::SqFull => Self {
                text: "refused with ENOMEM; all that was posted before is done, and the \
                       connection goes on",
                first: &[Refused(errno::ENOMEM)],
                ..HARMLESS
            },
            Case::CqExact => Self {
                text: "all completions come, no asynchronous error, and the connection goes on",
                ..HARMLESS
            },
            Case::CqOverrun => Self {
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
                ..HARMLESS
            },
            Case::RetryExhausted if iwarp => Self {
                text: "the connection ends, requester's queue pair in error",
                first: &[
                    Status(OK),
                    Status(LOC_QP_OP),
                    Status(STATUS_FLUSHED),
                    Status(RETRY_EXC),
                ],
                responder: StateRule::Any,
                ..TERMINATED
            },
            Case::RetryExhausted => Self {
                text: "transport retry counter exceeded, requester's queue pair in error, later \
                       requests flushed",
                first: &[Status(RETRY_EXC)],
                responder: StateRule::Any,
                ..REMOTE_ACCESS
            },
            Case::FlushOrder if iwarp => Self {
                text: "the connection ends, both queue pairs in error; all requests and receives \
                       complete, once and in order",
                receives_end: true,
                ..TERMINATED
            },
            Case::FlushOrder => Self {
                text: "remote access error, both queue pairs in error; all later requests and \
                       all receives flushed, once and in order",
                receives_end: true,
                ..REMOTE_ACCESS
            },
            Case::Drain => Self {
                text: "the drain ends, and all that was posted before it has completed, in order",
                first: &[Status(OK)],
                rest: RestRule::Complete,
                requester: StateRule::Error,
                responder: StateRule::Any,
                quiet: false,
                receives_end: true,
                ..HARMLESS
            },
            Case::AtomicMisaligned if iwarp => TERMINATED,
            // The side that posts it may look at the address as well.
            Case::AtomicMisaligned => Self {
                text: "refused with EINVAL, and the connection goes on; or remote invalid request \
                       error, both queue pairs in error, later requests flushed; memory unchanged",
                first: &[Refused(errno::EINVAL), Status(REM_INV_REQ)],
                rest: RestRule::Follows,
                requester: StateRule::Follows,
                responder: StateRule::Follows,
                ..REMOTE_ACCESS
            },
            Case::ReadsBeyondDepth => Self {
                text: "success of all READs, and the connection goes on",
                ..HARMLESS
            },
            Case::ReadAfterWrite => Self {
                text: "success, and the READ brings the WRITE's data; the connection goes on",
                ..HARMLESS
            },
            Case::ReadFence => Self {
                text: "success, and the message is what the READ has brought; the connection goes \
                       on",
                ..HARMLESS
            },
            Case::WriteThenFlag => Self {
                text: "success, and whoever sees the flag sees the data; the connection goes on",
                ..HARMLESS
            },
            Case::InlineReuse => Self {
                text: "success, and what arrives is what the buffer held when the request was \
                       posted; the connection goes on",
                ..HARMLESS
            },
            Case::HandlerPolls => Self {
                text: "success: the completion queue can be polled while its event handler runs; \
                       the connection goes on",
                ..HARMLESS
            },
            Case::Rearm => Self {
                text: "success: after each request for an event, a completion that was not there \
                       before has one; the connection goes on",
                ..HARMLESS
            },
            Case::Solicited => Self {
                text: "success: of a completion queue armed for solicited messages, the message \
                       that is not solicited raises no event, and the one that is raises one; \
                       the connection goes on",
                ..HARMLESS
            },
            Case::SolicitedError => Self {
                text: "success of the message; each receive is flushed when its queue pair is put \
                       into error, which raises an event of a completion queue armed for \
                       solicited messages; responder's queue pair in error",
                first: &[Status(OK)],
                rest: RestRule::Complete,
                requester: StateRule::Any,
                responder: StateRule::Error,
                quiet: false,
                ..HARMLESS
            },
            Case::SrqLimit => Self {
                text: "success, and one event when fewer receives than the limit are posted, none \
                       before; the connection goes on",
                ..HARMLESS
            },
            Case::UdBadQkey | Case::UdBadAh | Case::UdAboveMtu => Self {
                text: "success, and the datagram arrives nowhere; the connection goes on",
                ..HARMLESS
            },
            Case::SrqDrain => Self {
                text:
                    "the drain ends after the event of the last receive, and no receive completes \
                       after it; responder's queue pair in error",
                first: &[Status(OK)],
                rest: RestRule::Complete,
                requester: StateRule::Any,
                responder: StateRule::Error,
                quiet: false,
                ..HARMLESS
            },
            Case::Unanswered if iwarp => Self {
                text: "unreachable with ETIMEDOUT within 90 s; another connection goes on",
                first: &[Ended::Answer(Answer::Unreachable(errno::ETIMEDOUT))],
                ..HARMLESS
            },
            Case::Unanswered => Self {
                text: "no answer within a second; the request can be withdrawn, and the peer is \
                       told; another connection goes on",
                first: &[Ended::Answer(Answer::Withdrawn { told: true })],
                ..HARMLESS
            },
            Case::StaleConnection => Self {
                text: "rejected as a stale connection, and both sides of the connection with that \
                       queue pair are told of its end; both queue pairs in error",
                first: &[Ended::Answer(Answer::STALE)],
                rest: RestRule::Complete,
                ..REMOTE_ACCESS
            },
            // A device may loop its own traffic back without using its port.
            Case::PortDown => Self {
                text: "success, and the connection goes on; or transport retry counter exceeded, \
                       requester's queue pair in error, later requests flushed",
                first: &[Status(OK), Status(RETRY_EXC)],
                ..LOCAL_ERROR
            },
        }
    }
}
