// SPDX-License-Identifier: GPL-2.0

//! Byte streams, as rsocket of rdma-core speaks them: programs under `librspreload.so`, `rstream`.
//!
//! The protocol is [`crate::logic::stream`]'s, which decides what is posted; this does it.
//!
//! - [`entry`] - the entry points
//! - [`server`] - the server, which takes what comes and may send it back
//! - [`memory`] - the buffers of a side

#![forbid(unsafe_code)]

pub(crate) mod entry;
mod memory;
mod server;
