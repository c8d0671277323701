// SPDX-License-Identifier: GPL-2.0

//! What a device must do in each conformance test, and whether it did.
//!
//! [`Rule::of`] is the table: for each case and fabric what is allowed. [`Rule::judge`] compares it
//! with what was [`Seen`]. Where a specification leaves a choice, all of it is allowed; what
//! some driver is known to do otherwise is not.

use super::{
    deviation::{
        Deviation,
        Deviations, //
    },
    observation::{
        Ended,
        Seen,
        State,
        Tally, //
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

/// What is below the verbs, as far as it decides how errors are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fabric {
    /// InfiniBand and RoCE: the responder answers each request, also to refuse it.
    InfiniBand,
    /// iWARP: the responder can only end the connection, and a request that sends data is done
    /// when TCP has it.
    Iwarp,
}

/// What is demanded of the state of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateRule {
    /// It goes on.
    Rts,
    /// It is in error.
    Error,
    /// It goes on after a request that was refused or done, and else is in error.
    Follows,
    /// Nothing.
    Any,
}

impl StateRule {
    /// Whether it wants the queue pair in error, after a request that ended so.
    pub(crate) fn wants_error(self, first: Ended) -> bool {
        match self {
            Self::Error => true,
            Self::Follows => !first.is_harmless(),
            Self::Rts | Self::Any => false,
        }
    }

    fn allows(self, state: State, first: Ended) -> bool {
        match self {
            Self::Any => true,
            _ if self.wants_error(first) => state == State::ERROR,
            _ => state == State::RTS,
        }
    }
}

/// What is demanded of other requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestRule {
    /// All complete well.
    Done,
    /// All are flushed.
    Flushed,
    /// All complete well after a request that was refused or done, and else are flushed.
    Follows,
    /// All complete.
    Complete,
    /// Completions are missing only where an asynchronous error was told.
    LossIsTold,
}

/// What a device must do in one case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// In words.
    pub(crate) text: &'static str,
    /// How the request may end.
    pub(crate) first: &'static [Ended],
    /// The others of the requester.
    pub(crate) rest: RestRule,
    /// How the receive may end that it was for; empty where that does not matter.
    pub(crate) receive: &'static [Ended],
    /// Whether all receives complete.
    pub(crate) receives_end: bool,
    /// The requester's queue pair.
    pub(crate) requester: StateRule,
    /// The responder's.
    pub(crate) responder: StateRule,
    /// Whether there must be no asynchronous error at the requester.
    pub(crate) quiet: bool,
}

use Ended::{
    Missing,
    Refused,
    Status, //
};

/// A remote key that does not allow what is asked for, where the responder says so.
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

/// The same where it can only end the connection.
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

/// A request that is wrong at the side that posts it.
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

/// What does no harm.
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
    /// What is demanded in `case` on `fabric`.
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
            | Case::InvalidatedMr => {
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
            // The message is there before its key is looked at, so it may be acknowledged.
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
            Case::Rnr if iwarp => Self {
                text: "the connection ends, both queue pairs in error",
                ..TERMINATED
            },
            Case::Rnr => Self {
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
            // A device may serve itself without its port.
            Case::PortDown => Self {
                text: "success, and the connection goes on; or transport retry counter exceeded, \
                       requester's queue pair in error, later requests flushed",
                first: &[Status(OK), Status(RETRY_EXC)],
                ..LOCAL_ERROR
            },
        }
    }

    /// Whether the connection must go on after a request that ended so.
    pub(crate) fn goes_on(&self, first: Ended) -> bool {
        match self.requester {
            StateRule::Rts => true,
            StateRule::Follows => first.is_harmless(),
            StateRule::Error | StateRule::Any => false,
        }
    }

    /// Compares what was seen with what is demanded, a new connection that works among it.
    pub(crate) fn judge(&self, seen: &Seen, recovered: bool) -> Deviations {
        let first = seen.first;
        let rest = &seen.rest;
        let told = seen.requester_event.is_some() || seen.requester == State::ERROR;
        let rest_is_right = match self.rest {
            RestRule::Done => rest.done == rest.posted,
            RestRule::Flushed => rest.flushed == rest.posted,
            RestRule::Follows if first.is_harmless() => rest.done == rest.posted,
            RestRule::Follows => rest.flushed == rest.posted,
            RestRule::Complete => rest.missing() == 0,
            RestRule::LossIsTold => (rest.missing() == 0 && first != Missing) || told,
        };
        let receive_is_right = match seen.receive {
            Some(receive) if !self.receive.is_empty() => self.receive.contains(&receive),
            _ => true,
        };
        let sum = |f: fn(&Tally) -> u32| f(rest).saturating_add(f(&seen.receives));
        let mut found = Deviations::default();
        for (deviation, holds) in [
            (Deviation::First, self.first.contains(&first)),
            (Deviation::Rest, rest_is_right),
            (Deviation::Receive, receive_is_right),
            (
                Deviation::Receives,
                !self.receives_end || seen.receives.missing() == 0,
            ),
            (Deviation::Order, sum(|tally| tally.disordered) == 0),
            (Deviation::Repeated, sum(|tally| tally.repeated) == 0),
            (
                Deviation::Requester,
                self.requester.allows(seen.requester, first),
            ),
            (
                Deviation::Responder,
                self.responder.allows(seen.responder, first),
            ),
            (
                Deviation::Event,
                !self.quiet || seen.requester_event.is_none(),
            ),
            (Deviation::Memory, seen.intact),
            (Deviation::Works, seen.works != Some(false)),
            (Deviation::Recovery, recovered),
        ] {
            if !holds {
                found.add(deviation);
            }
        }
        found
    }
}
