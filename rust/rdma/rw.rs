// SPDX-License-Identifier: GPL-2.0

//! Transfers through the core's contexts for RDMA READ and WRITE, `struct rdma_rw_ctx`.
//!
//! A context takes a list of memory, maps it for the device, and makes the requests that move all
//! of it, with a registration from a pool of the queue pair's where the device needs one. Here a
//! context, its list and the [`Pieces`] of memory that the list is of are one object, owned by the
//! queue pair's [`Memory`](super::memory::Memory) and named by a [`TransferId`]. It is made
//! ([`QueuePair::make_transfer`]), posted ([`Queue::post_transfer`]), seen to complete
//! ([`Queue::transfer_completed`]), and ended ([`QueuePair::end_transfer`]), over and over. Those
//! that have not been ended end with the queue pair, after it was drained and before it is
//! destroyed, as the core demands.
//!
//! Making and ending may sleep, so they are done without the queue pair's lock, by one thread.
//!
//! - [`pieces`] - the memory
//! - [`transfer`] - the context
//!
//! Not supported: signatures, and more than [`Pieces::MOST`] bytes in a transfer.
//!
//! C header: `include/rdma/rw.h`
//!
//! [`QueuePair::make_transfer`]: super::qp::QueuePair::make_transfer
//! [`QueuePair::end_transfer`]: super::qp::QueuePair::end_transfer
//! [`Queue::post_transfer`]: super::qp::Queue::post_transfer
//! [`Queue::transfer_completed`]: super::qp::Queue::transfer_completed

mod pieces;
mod transfer;

pub(crate) use pieces::{
    Pieces,
    Shape, //
};
pub(super) use transfer::{
    Entries,
    Target,
    Transfer, //
};
pub(crate) use transfer::{
    ListKind,
    Part, //
};

use super::{
    device::Device,
    memory::place::Place, //
};
use crate::bindings;

/// Tells that the kernel's contexts take an array of `struct bio_vec`. Where they do not, a
/// transfer of [`ListKind::BioVec`] is `EOPNOTSUPP`.
#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) const TAKES_BIO_VECS: bool = bindings::rust_helper_rw_RUST_HELPER_RW_BIO_VECS != 0;

/// A transfer of a [`Memory`](super::memory::Memory).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransferId(pub(super) Place);

/// Returns the number of registrations, or else of requests, that the core takes for each
/// transfer of `pieces` pieces on `device`: a queue pair has to be asked for as many contexts.
#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) fn contexts_of_one(device: &Device<'_>, pieces: u32) -> u32 {
    // SAFETY: The device is alive while there is a `Device`, and the port is its own.
    unsafe { bindings::rdma_rw_mr_factor(device.as_ptr(), device.port(), pieces) }
}

/// Returns the requests that `contexts` contexts add to the send queue of a queue pair on
/// `device`.
pub(super) fn requests_of(device: &Device<'_>, contexts: u32) -> u32 {
    // SAFETY: The device is alive while there is a `Device`, and the port is its own.
    unsafe { bindings::rdma_rw_max_send_wr(device.as_ptr(), device.port(), contexts, 0) }
}
