// SPDX-License-Identifier: GPL-2.0

//! The end of a connection request in a conformance test, and its text.

use crate::logic::failure::{
    errno,
    Failure, //
};
use core::fmt;

/// The end of a connection request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// None has come.
    Silent,
    /// None had come when the consumer withdrew it. The peer was told, or was not.
    Withdrawn {
        /// The peer was told.
        told: bool,
    },
    /// It was accepted.
    Accepted,
    /// The peer has it, and was not asked to answer.
    Came {
        /// All that it tells is as it was sent.
        whole: bool,
    },
    /// It was rejected: `enum ib_cm_rej_reason`, or with iWARP an errno, negative.
    Rejected(i32),
    /// None has come, and the connection manager has given up with this errno, positive.
    Unreachable(i32),
    /// It has failed otherwise, with this errno, positive.
    Failed(i32),
}

impl Answer {
    /// It was rejected, since the peer has a connection with the queue pair: the reason
    /// `IB_CM_REJ_STALE_CONN`.
    pub(crate) const STALE: Self = Self::Rejected(10);
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Rejected(reason, ..) => Self::Rejected(reason),
            Failure::Unreachable(status) => Self::Unreachable(status.saturating_neg()),
            other => Self::Failed(other.errno()),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |f: &mut fmt::Formatter<'_>, number| match errno::name(number) {
            Some(name) => f.write_str(name),
            None => write!(f, "errno {number}"),
        };
        match *self {
            Self::Silent => f.write_str("no answer"),
            Self::Withdrawn { told: true } => {
                f.write_str("no answer, withdrawn, and the peer was told")
            }
            Self::Withdrawn { told: false } => {
                f.write_str("no answer, withdrawn, and the peer was not told")
            }
            Self::Accepted => f.write_str("accepted"),
            Self::Came { whole: true } => f.write_str("the request came as it was sent"),
            Self::Came { whole: false } => f.write_str("the request came, but not as it was sent"),
            Self::Rejected(reason) if reason < 0 => {
                f.write_str("rejected with ")?;
                named(f, reason.saturating_neg())
            }
            Self::STALE => write!(f, "rejected as a stale connection"),
            Self::Rejected(reason) => write!(f, "rejected for reason {reason}"),
            Self::Unreachable(number) => {
                f.write_str("unreachable: ")?;
                named(f, number)
            }
            Self::Failed(number) => {
                f.write_str("failed with ")?;
                named(f, number)
            }
        }
    }
}
