// SPDX-License-Identifier: GPL-2.0

//! The capabilities of an RDMA device: its claims, and the results of trying them.
//!
//! - [`claims`] - attributes that a device reports
//! - [`port_counters`] - counters of a port, as its agent has them
//! - [`preflight`] - objects that it was tried with
//! - [`caps`] - both, and what commands can ask for then

pub(crate) mod caps;
pub(crate) mod claims;
pub(crate) mod port_counters;
pub(crate) mod preflight;
