// SPDX-License-Identifier: GPL-2.0

//! Counters, latencies and pace of a run, and the work requests in flight.
//!
//! - [`stats`] - counters
//! - [`histogram`], [`latencies`] - latencies, and these in results
//! - [`series`] - operations and latencies of each interval
//! - [`pace`] - the pace of several queue pairs
//! - [`schedule`], [`moments`] - the moments at which operations of an open loop are due, and what
//!   becomes of these
//! - [`window`] - work requests in flight
//! - [`rate`] - rates per second
//! - [`usage`] - CPU time and context switches
//! - [`served`] - all connections of a server
//! - [`sharing`] - a shared receive queue
//! - [`sequence`], [`loss`] - the messages of an unreliable queue pair
//! - [`slots`] - the places of messages that are all compared
//! - [`places`] - the places of operations that take several buffers in turn
//! - [`sizes`] - the sizes of operations that are a mix of several

pub(crate) mod histogram;
pub(crate) mod latencies;
pub(crate) mod loss;
pub(crate) mod moments;
pub(crate) mod pace;
pub(crate) mod places;
pub(crate) mod rate;
pub(crate) mod schedule;
pub(crate) mod sequence;
pub(crate) mod series;
pub(crate) mod served;
pub(crate) mod sharing;
pub(crate) mod sizes;
pub(crate) mod slots;
pub(crate) mod stats;
pub(crate) mod usage;
pub(crate) mod window;
