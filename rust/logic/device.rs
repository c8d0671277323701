// SPDX-License-Identifier: GPL-2.0

//! The capabilities of an RDMA device: its claims, and the results of trying them.

pub(crate) mod caps;
pub(crate) mod claims;
pub(crate) mod preflight;
