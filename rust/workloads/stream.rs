// SPDX-License-Identifier: GPL-2.0

//! Byte streams, as rsocket of rdma-core speaks them: programs under `librspreload.so`, `rstream`.
//!
//! The protocol is [`crate::logic::stream`]'s, which decides what is posted; this does it.
//!
//! - [`entry`] - the entry points
//! - [`client`] - the client, which sends and may wait for what it has sent
//! - [`server`] - the server, which takes what comes and may send it back
//! - [`flow`] - both directions of a side
//! - [`memory`] - the buffers of a side

#![forbid(unsafe_code)]

mod client;
pub(crate) mod entry;
mod flow;
mod memory;
mod server;
