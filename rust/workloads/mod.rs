// SPDX-License-Identifier: GPL-2.0

//! Workloads: the uses of a connection.
//!
//! Each exports the `Entry` through which the engine starts and serves it. None knows another, but
//! for the messages and data that ping/pong, fast registration and microbenchmarks have in common.
//!
//! - [`pingpong`] - the ping/pong of C krping and rping; [`exchange`] has its 16-byte messages
//! - [`fastreg`] - a stress of fast registration
//! - [`microbench`] - latency, bandwidth and message rate of one operation
//! - [`rw`] - transfers that a server makes through the kernel's rdma_rw contexts
//! - [`messenger`] - messages of many connections, from and into one pool of chunks
//! - [`stream`] - byte streams, as rsocket speaks them; [`bytes`] compares those of both
//! - [`conformance`] - wrong uses of a device, and what must come of them
//! - [`caps`] - what a device can do
//! - [`open_loop`] - operations that are posted when they are due, of any of these

#![forbid(unsafe_code)]

pub(crate) mod bytes;
pub(crate) mod caps;
pub(crate) mod conformance;
pub(crate) mod exchange;
pub(crate) mod fastreg;
pub(crate) mod messenger;
pub(crate) mod microbench;
pub(crate) mod open_loop;
pub(crate) mod pingpong;
pub(crate) mod rw;
pub(crate) mod stream;
