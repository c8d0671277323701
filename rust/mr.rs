// SPDX-License-Identifier: GPL-2.0

//! krping's use of memory that a device works on: advertisements, limits, block requests, and
//! data that is made and compared in place.
//!
//! Buffers and regions are those of [`rdma::memory`](crate::rdma::memory); here is what krping
//! adds to them.
//!
//! - [`all_memory`] - the right to open all memory to peers
//! - [`budget`] - a limit for the buffers of several connections
//! - [`request`] - block requests as memory under a region
//! - [`words`] - buffers as words, in which data is made and compared

mod all_memory;
mod budget;
mod request;
mod words;

pub(crate) use crate::rdma::{
    memory::{
        BufferId,
        RegionId, //
    },
    mr::Access, //
};
pub(crate) use budget::Budget;
pub(crate) use words::{
    fill,
    fill_pages,
    inspect,
    inspect_pages, //
};

use crate::{
    kernel_ext::blk::request::Request,
    logic::wire::Advertisement,
    rdma::{
        cm::Id,
        memory,
        mr::Remote,
        pd::{
            GlobalKeys,
            ProtectionDomain, //
        }, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The memory of one queue pair, whose regions can be over block requests.
pub(crate) type Memory = memory::Memory<Request>;

/// Makes an empty memory in a [protection domain](new_domain) of its own on the device of `id`. May
/// sleep.
///
/// # Errors
///
/// As for that.
pub(crate) fn new_memory(id: &Arc<Id>, unsafe_global_rkey: bool) -> Result<Memory> {
    Memory::new(id, new_domain(id, unsafe_global_rkey)?)
}

/// Makes a protection domain on the device of `id`. May sleep.
///
/// With `unsafe_global_rkey` the domain has a key that opens all of this machine's memory to the
/// peer.
///
/// # Errors
///
/// `ENODEV` for an unbound identifier; `EPERM` where the calling thread may not open all memory;
/// the driver's.
pub(crate) fn new_domain(id: &Arc<Id>, unsafe_global_rkey: bool) -> Result<Arc<ProtectionDomain>> {
    let keys = if unsafe_global_rkey {
        GlobalKeys::UnsafeRemote(all_memory::open()?)
    } else {
        GlobalKeys::Local
    };
    ProtectionDomain::new(id, keys)
}

impl From<Advertisement> for Remote {
    fn from(advertisement: Advertisement) -> Self {
        Self {
            addr: advertisement.addr,
            rkey: advertisement.rkey,
            len: advertisement.size,
        }
    }
}

impl From<Remote> for Advertisement {
    fn from(remote: Remote) -> Self {
        Self {
            addr: remote.addr,
            rkey: remote.rkey,
            size: remote.len,
        }
    }
}
