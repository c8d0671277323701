// SPDX-License-Identifier: GPL-2.0

//! Block forwarding: requests to a disk that travel to another host.
//!
//! | side | workload of its queue pairs | behind it |
//! |---|---|---|
//! | disk | [`queue::DiskQueue`] | [`disk::DiskData`], what the block layer calls |
//! | tap | [`tap::Tap`] | [`tap::intake::Intake`], what tracepoints call |
//! | server | [`server::BlockServer`] | a [`store::Store`], the [`clients::Clients`] |
//!
//! Messages are those of [`crate::logic::block`]. `docs/protocol.md` has their layout,
//! and `docs/internals.md` the life of a request.

#![forbid(unsafe_code)]

pub(crate) mod disk;
pub(crate) mod figures;
mod receives;
pub(crate) mod server;
pub(crate) mod tap;

/// The most bytes of data of one request.
pub(crate) const MAX_BYTES: u32 = 1 << 20;
