// SPDX-License-Identifier: GPL-2.0

//! Transfers that a server makes through the kernel's contexts for READ and WRITE (rdma_rw), as
//! NVMe and NFS servers do.
//!
//! The client advertises a buffer for each request. The server READs it or WRITEs to it, from or to
//! memory in pieces, and answers with the same advertisement. The reader of the data compares it,
//! always. `docs/workloads.md` describes what waits for what.
//!
//! - [`entry`] - how the engine starts and serves it
//! - [`client`], [`server`] - the sides
//! - [`transfers`] - the server's transfers, and the order in which they go on
//! - [`messages`] - requests and answers

#![forbid(unsafe_code)]

mod client;
pub(crate) mod entry;
mod messages;
mod server;
mod transfers;

/// Most requests that a client has under way, and that a server has receives for. So the client
/// does not decide how much memory its server uses, and no request finds no receive.
const MOST_REQUESTS: u32 = 512;
