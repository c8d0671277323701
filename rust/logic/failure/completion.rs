// SPDX-License-Identifier: GPL-2.0

//! The status of a completion, in words.

use super::operation::Operation;

/// The names of `enum ib_wc_status`.
const STATUSES: [&str; 22] = [
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "WR flushed",
    "memory bind operation error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation error",
    "remote invalid RD request",
    "operation aborted",
    "invalid EE context number",
    "invalid EE context state",
    "fatal error",
    "response timeout error",
    "general error",
];

/// The status of a request that was flushed from a queue pair in error, which is a consequence of
/// another failure.
pub(crate) const STATUS_FLUSHED: u32 = 5;

/// The status of a request whose retransmits the peer never acknowledged.
pub(super) const STATUS_RETRIES: u32 = 12;

pub(crate) fn status_name(status: u32) -> &'static str {
    STATUSES
        .get(status as usize)
        .copied()
        .unwrap_or("unknown status")
}

/// Returns the usual cause of a completion error, in words.
pub(super) fn usual_cause(status: u32, op: Operation) -> &'static str {
    match (status, op) {
        (STATUS_FLUSHED, _) => "the queue pair went into error: disconnected, or the link is down",
        (_, Operation::Receive) => {
            "the peer sent more than the receive buffer holds, or invalidated a key that is not \
             valid here"
        }
        (1, _) => "the message is larger than the device allows",
        (2, _) => "the device refused the request as malformed or unsupported",
        (4, _) => "a local key was invalid or did not cover the buffer",
        (6, _) => "the memory region was not in the state that the request needs",
        (9, _) => "the peer's device refused the request: unsupported or out of resources",
        (10, _) => "the peer's key was invalid, or did not allow this access or range",
        (11, _) => "the peer's device could not complete the request",
        (12, _) => {
            "the peer stopped answering: link down, host gone, queue pair gone, or packets too \
             large for the way there (mtu=1024 tells)"
        }
        (13, _) => "the peer had no receive posted",
        _ => "see the device's documentation for the vendor code",
    }
}
