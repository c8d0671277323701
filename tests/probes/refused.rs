// SPDX-License-Identifier: GPL-2.0

//! Misuse of `rust/rdma` and `rust/kernel_ext` by safe code that does not compile. `scripts/lint`
//! checks that each line with `//~`, or the one before `//~^`, has the error that is named there,
//! and that no other line has one.

#![allow(dead_code, unused_imports)]

use kernel::{
    prelude::*,
    sync::Arc, //
};

#[path = "../../rust/bindings/mod.rs"]
mod bindings;
#[path = "../../rust/kernel_ext/mod.rs"]
mod kernel_ext;
#[path = "../../rust/rdma/mod.rs"]
mod rdma;

use kernel_ext::cred::Credentials;
use rdma::{
    cm::{
        Id,
        SocketAddress, //
    },
    cq::WorkCompletion,
    memory::{
        BufferId,
        ForeignMemory, //
    },
    pd::{
        AllMemory,
        GlobalKeys, //
    }, //
};

/// Nobody says by safe code that all memory is open to peers.
fn opens_all_memory() -> GlobalKeys {
    GlobalKeys::UnsafeRemote(AllMemory::new()) //~ E0133
}

/// Credentials end before what they are borrowed from, and cannot be kept.
fn keeps_credentials(credentials: Credentials) {
    core::mem::forget(credentials.assume()); //~ E0061
    drop(credentials);
}

/// An identifier that others have is not bound, so that they keep the device that they see.
fn binds_shared(id: Arc<Id>, src: &SocketAddress) -> Result {
    id.bind(src) //~ E0596
}

/// An identifier is not bound by the way.
fn binds_by_the_way(id: &Id, src: &SocketAddress) -> Result {
    id.resolve_addr(Some(src), src, 1) //~ E0061
}

/// A completion is not kept beyond its handling.
fn keeps_completion(wc: WorkCompletion<'_>) -> WorkCompletion<'static> {
    wc //~ lifetime may not live long enough
}

struct Mine;

/// Who lends memory says that it stays.
impl ForeignMemory for Mine {
    //~^ E0200
    fn direction(&self) -> Option<rdma::memory::DmaDirection> {
        None
    }

    fn fill(&self, _: &mut [bindings::scatterlist]) -> Result<usize> {
        Err(EINVAL)
    }
}
