// SPDX-License-Identifier: GPL-2.0

//! Reason that a rejected client is given.

#![forbid(unsafe_code)]

use crate::logic::{
    failure::Failure,
    wire::{
        PrivateData,
        PrivateDataError,
        Reject,
        RejectReason, //
    }, //
};

/// Returns the rejection for a client that is not served because of `failure`.
pub(crate) fn rejection(failure: &Failure) -> Reject {
    let (reason, value) = match *failure {
        Failure::PrivateData(PrivateDataError::Version(_)) => {
            (RejectReason::Version, u32::from(PrivateData::VERSION))
        }
        Failure::TooLarge(most) | Failure::AboveReceives(most) | Failure::AbovePathMtu(most) => {
            (RejectReason::TooLarge, most)
        }
        Failure::PrivateData(_)
        | Failure::StreamHello(_)
        | Failure::Unsupported(_)
        | Failure::Protocol(..) => (RejectReason::Test, 0),
        Failure::Silent(_, most) => (RejectReason::Silent, most),
        Failure::Busy(_) => (RejectReason::Busy, 0),
        Failure::OldWork => (RejectReason::OldWork, 0),
        Failure::Interrupted | Failure::Replaced => (RejectReason::Stopping, 0),
        _ => (RejectReason::Resources, 0),
    };
    Reject { reason, value }
}
