// SPDX-License-Identifier: GPL-2.0

//! Resolves a peer's address and the route to it.
//!
//! The core asks for a neighbour's link-layer address, and only then queues the request that the
//! answer is to wake. An answer that comes in between wakes nobody, and the core looks again at
//! the request's own deadline only. So an address is resolved in short attempts, which are
//! repeated until the caller's deadline: at the end of each the core looks again.

#![forbid(unsafe_code)]

use super::CmId;
use crate::{
    engine::outcome::Progress,
    logic::failure::{
        Failure,
        RESOLVING_ADDRESS,
        RESOLVING_ROUTE, //
    },
    rdma::cm::SocketAddress, //
};

/// The length of the first attempt to resolve an address, in ms. Each next one is twice as long.
const FIRST_ATTEMPT_MS: u32 = 20;

/// The length of the longest attempt, in ms.
const LONGEST_ATTEMPT_MS: u32 = 500;

impl CmId {
    /// Resolves `peer` to a device, from this side's address where the identifier is bound to one.
    /// Sleeps, `timeout` ms at most.
    ///
    /// # Errors
    ///
    /// As the kernel reports it: `ENETUNREACH`, `EHOSTUNREACH`, `ENODEV` where
    /// no RDMA device leads there, `ETIMEDOUT`.
    pub(crate) fn resolve_address(
        &self,
        peer: &SocketAddress,
        timeout: u32,
    ) -> Result<(), Failure> {
        let outcome = self.outcome();
        let mut attempt = FIRST_ATTEMPT_MS.min(timeout / 2);
        self.begin_resolve_address(peer, attempt)?;
        outcome.wait_until(RESOLVING_ADDRESS, Some(timeout), || {
            if self.events.take_unanswered() {
                attempt = (attempt * 2).min(LONGEST_ATTEMPT_MS);
                if let Err(failure) = self.begin_resolve_address(peer, attempt) {
                    outcome.fail(failure);
                }
            }
            outcome.reached(Progress::AddressResolved)
        })
    }

    /// Begins an attempt of `duration` ms, whose end is reported. Sleeps.
    fn begin_resolve_address(&self, peer: &SocketAddress, duration: u32) -> Result<(), Failure> {
        // It is not being resolved: it is new, or the CM has reported the end of the last
        // attempt.
        self.rdma()
            .resolve_addr(peer, duration)
            .map_err(|e| Failure::Kernel(RESOLVING_ADDRESS, e.to_errno()))
    }

    /// Resolves the route to the peer, whose address has been resolved. Sleeps,
    /// `timeout` ms at most.
    pub(crate) fn resolve_route(&self, timeout: u32) -> Result<(), Failure> {
        self.rdma()
            .resolve_route(timeout)
            .map_err(|e| Failure::Kernel(RESOLVING_ROUTE, e.to_errno()))?;
        self.outcome()
            .wait_for(Progress::RouteResolved, RESOLVING_ROUTE, Some(timeout))
    }
}
