// SPDX-License-Identifier: GPL-2.0

//! Block forwarding: disks, taps and servers that carry block requests to another host over RDMA.
//!
//! | side | workload of its queue pairs | behind it |
//! |---|---|---|
//! | [`disk`] | [`disk::queue::DiskQueue`] | [`disk::DiskData`], which the block layer calls |
//! | [`tap`] | [`tap::Tap`] | [`tap::intake::Intake`], which tracepoints call |
//! | [`server`] | [`server::BlockServer`] | [`server::store::Store`], [`server::clients::Clients`]
//! |
//!
//! [`receives`] has the receive buffers of all three, [`figures`] what disks and taps count.
//!
//! [`crate::logic::block`] defines the messages. `docs/protocol.md` describes their layout, and
//! `docs/block-design.md` the life of a request.

#![forbid(unsafe_code)]

pub(crate) mod disk;
pub(crate) mod figures;
mod receives;
pub(crate) mod server;
pub(crate) mod tap;

/// Largest size of one request's data, in bytes.
pub(crate) const MAX_BYTES: u32 = 1 << 20;
