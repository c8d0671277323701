// SPDX-License-Identifier: GPL-2.0

//! The rules for devices in conformance tests: the behaviour that is allowed.
//!
//! Here are those that several cases share; each row has its own for each fabric. Where a
//! specification leaves a choice, every choice is allowed. Known deviations of drivers are not.

use super::observation::{
    Ended,
    State, //
};
use crate::logic::failure::{
    errno,
    STATUS_FLUSHED, //
};

/// Success, of `enum ib_wc_status`.
pub(super) const OK: u32 = 0;
/// Local length error.
pub(super) const LOC_LEN: u32 = 1;
/// Local QP operation error.
pub(super) const LOC_QP_OP: u32 = 2;
/// Local protection error.
pub(super) const LOC_PROT: u32 = 4;
/// Memory management operation error, which the kernel calls bind error.
pub(super) const MM_OP: u32 = 6;
/// Local access error.
pub(super) const LOC_ACCESS: u32 = 8;
/// Remote invalid request error.
pub(super) const REM_INV_REQ: u32 = 9;
/// Remote access error.
pub(super) const REM_ACCESS: u32 = 10;
/// Remote operation error.
pub(super) const REM_OP: u32 = 11;
/// Transport retry counter exceeded.
pub(super) const RETRY_EXC: u32 = 12;
/// RNR retry counter exceeded.
pub(super) const RNR_RETRY_EXC: u32 = 13;
/// General error.
pub(super) const GENERAL: u32 = 21;
/// Fatal error.
pub(super) const FATAL: u32 = 19;

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
    /// All complete, and so do the receives: done in the beginning, and flushed then.
    Ended,
    /// Completions may be missing only after an asynchronous error, or with the queue pair in
    /// error.
    LossIsTold,
    /// Whatever becomes of them.
    Any,
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
    /// Neither side must have an asynchronous error.
    pub(crate) quiet: bool,
    /// The asynchronous error that the responder must have, by its name.
    pub(crate) event: Option<&'static str>,
}

use Ended::{
    Refused,
    Status, //
};

impl Rule {
    /// A remote key that does not allow the request, where the responder reports that (InfiniBand).
    pub(super) const REMOTE_ACCESS: Self = Self {
        text: "remote access error, both queue pairs in error, later requests and receives \
               flushed, memory unchanged",
        first: &[Status(REM_ACCESS)],
        rest: RestRule::Flushed,
        receive: &[],
        receives_end: true,
        requester: StateRule::Error,
        responder: StateRule::Error,
        quiet: false,
        event: None,
    };

    /// The same, and the responder is told by an asynchronous error.
    pub(super) const ACCESS_EVENT: Self = Self {
        text: "remote access error, both queue pairs in error, later requests flushed; the \
               responder has the asynchronous error \"QP access error\"",
        event: Some("QP access error"),
        ..Self::REMOTE_ACCESS
    };

    /// A remote key that does not allow the request, where the responder can only end the
    /// connection (iWARP).
    pub(super) const TERMINATED: Self = Self {
        text: "the connection ends, both queue pairs in error, memory unchanged; the request may \
               have been done before, or fails",
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
        ..Self::REMOTE_ACCESS
    };

    /// The same of a request that brings data, which cannot have been done (iWARP).
    pub(super) const READ_TERMINATED: Self = Self {
        text: "the connection ends, both queue pairs in error; the READ fails and brings nothing",
        first: &[
            Status(LOC_QP_OP),
            Status(STATUS_FLUSHED),
            Status(REM_INV_REQ),
            Status(REM_ACCESS),
            Status(REM_OP),
            Status(FATAL),
        ],
        receives_end: false,
        ..Self::TERMINATED
    };

    /// A request to a queue pair that does not permit the operation (InfiniBand).
    pub(super) const NOT_PERMITTED: Self = Self {
        text: "remote invalid request error or remote access error, both queue pairs in error, \
               later requests flushed, memory unchanged",
        first: &[Status(REM_INV_REQ), Status(REM_ACCESS)],
        ..Self::REMOTE_ACCESS
    };

    /// A message whose receive is not valid (InfiniBand).
    pub(super) const BAD_RECEIVE: Self = Self {
        text: "remote operation error, local protection error of the receive, both queue pairs in \
               error, later requests flushed, memory unchanged",
        first: &[Status(REM_OP)],
        receive: &[Status(LOC_PROT)],
        ..Self::REMOTE_ACCESS
    };

    /// The same on iWARP.
    pub(super) const BAD_RECEIVE_TERMINATED: Self = Self {
        text: "the connection ends, both queue pairs in error, memory unchanged; the receive fails",
        receive: &[
            Status(LOC_LEN),
            Status(LOC_QP_OP),
            Status(LOC_PROT),
            Status(STATUS_FLUSHED),
            Status(LOC_ACCESS),
            Status(GENERAL),
        ],
        ..Self::TERMINATED
    };

    /// A request whose responder does not answer (InfiniBand).
    pub(super) const NO_ANSWER: Self = Self {
        text: "transport retry counter exceeded, requester's queue pair in error, later requests \
               flushed",
        first: &[Status(RETRY_EXC)],
        responder: StateRule::Any,
        receives_end: false,
        ..Self::REMOTE_ACCESS
    };

    /// The same on iWARP.
    pub(super) const NO_ANSWER_TERMINATED: Self = Self {
        text: "the connection ends, requester's queue pair in error",
        first: &[
            Status(OK),
            Status(LOC_QP_OP),
            Status(STATUS_FLUSHED),
            Status(RETRY_EXC),
        ],
        responder: StateRule::Any,
        receives_end: false,
        ..Self::TERMINATED
    };

    /// A message without a receive, which is not tried again (InfiniBand).
    pub(super) const NO_RECEIVE: Self = Self {
        text: "RNR retry counter exceeded, requester's queue pair in error and responder's not, \
               later requests flushed",
        first: &[Status(RNR_RETRY_EXC)],
        responder: StateRule::Rts,
        ..Self::REMOTE_ACCESS
    };

    /// The same on iWARP.
    pub(super) const NO_RECEIVE_TERMINATED: Self = Self {
        text: "the connection ends, both queue pairs in error",
        ..Self::TERMINATED
    };

    /// A request that is invalid on the side that posts it.
    pub(super) const LOCAL_ERROR: Self = Self {
        text: "local error or refusal; after an error the queue pair is in error and later \
               requests are flushed",
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
        event: None,
    };

    /// Local memory that a request may not use.
    pub(super) const LOCAL_PROTECTION: Self = Self {
        text: "local protection error, queue pair in error, later requests flushed; nothing \
               arrives",
        first: &[Status(LOC_PROT)],
        ..Self::LOCAL_ERROR
    };

    /// A request that succeeds and leaves the connection working.
    pub(super) const HARMLESS: Self = Self {
        text: "success, and the connection goes on",
        first: &[Status(OK)],
        rest: RestRule::Done,
        receive: &[],
        receives_end: false,
        requester: StateRule::Rts,
        responder: StateRule::Rts,
        quiet: true,
        event: None,
    };

    /// A message that arrives, and leaves the connection working.
    pub(super) const ARRIVES: Self = Self {
        text: "success of the request and of the receive, and the connection goes on",
        receive: &[Status(OK)],
        ..Self::HARMLESS
    };

    /// A request of a queue pair that is in error.
    pub(super) const FLUSHED: Self = Self {
        text: "the request is flushed, as are those behind it",
        first: &[Status(STATUS_FLUSHED)],
        responder: StateRule::Any,
        receives_end: false,
        ..Self::REMOTE_ACCESS
    };
}
