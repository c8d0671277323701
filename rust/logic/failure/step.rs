// SPDX-License-Identifier: GPL-2.0

//! Steps of a command that can fail, and what to do then.

use super::errno;

/// The step of [`Failure::Kernel`] that resolves a peer's address.
pub(crate) const RESOLVING_ADDRESS: &str = "resolving the address";

/// The step of [`Failure::Kernel`] that resolves the route to a peer.
pub(crate) const RESOLVING_ROUTE: &str = "resolving the route";

/// The step of [`Failure::Kernel`] that binds a listener to an address.
pub(crate) const BINDING: &str = "binding to the address";

/// The step of [`Failure::Kernel`] that finds the interface of a link-local address.
pub(crate) const FINDING_INTERFACE: &str = "finding the interface";

/// The step of [`Failure::Kernel`] that has a listener listen.
pub(crate) const LISTENING: &str = "listening";

/// The step of [`Failure::TimedOut`] for a connection attempt.
pub(crate) const CONNECTING: &str = "connecting";

/// Returns what to do where the kernel's `errno` of a step has a usual cause, as the end of a
/// sentence.
pub(super) fn what_to_do(step: &str, errno: i32) -> &'static str {
    match (step, errno) {
        (RESOLVING_ADDRESS, errno::ENETUNREACH | errno::EHOSTUNREACH | errno::EACCES) => {
            ": see 'ip route get' of that address"
        }
        (FINDING_INTERFACE, errno::ENODEV) => ": see 'ip link' for those that there are",
        (BINDING | LISTENING, errno::EADDRINUSE) => {
            ": another server has the port; give another port=, or see 'rdma resource show cm_id'"
        }
        _ => "",
    }
}
