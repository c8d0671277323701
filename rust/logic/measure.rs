// SPDX-License-Identifier: GPL-2.0

//! Counters, latencies and pace of a run, and the work requests in flight.
//!
//! - [`stats`] - counters
//! - [`histogram`] - latencies
//! - [`pace`] - the pace of several queue pairs
//! - [`window`] - work requests in flight

pub(crate) mod histogram;
pub(crate) mod pace;
pub(crate) mod stats;
pub(crate) mod window;
