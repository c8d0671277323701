// SPDX-License-Identifier: GPL-2.0

//! Counted references on network namespaces.
//!
//! C header: `include/net/net_namespace.h`

use super::socket::address::RawAddress;
use crate::bindings;
use core::{
    net::SocketAddr,
    ptr::NonNull, //
};
use kernel::prelude::*;

/// A network namespace that is kept alive.
///
/// # Invariants
///
/// Owns one reference on the namespace.
pub(crate) struct Netns(NonNull<bindings::net>);

// SAFETY: The reference count is atomic, and the pointer is only handed to C
// functions that may be called from any task.
unsafe impl Send for Netns {}
// SAFETY: As above.
unsafe impl Sync for Netns {}

impl Netns {
    /// Returns the namespace of the calling task. Process context only.
    ///
    /// Returns `None` for a task that is exiting and has left its namespaces.
    pub(crate) fn current() -> Option<Self> {
        // SAFETY: Called by a task for itself; the helper takes a reference.
        // INVARIANT: That reference is this object's.
        NonNull::new(unsafe { bindings::rust_helper_get_current_net() }).map(Self)
    }

    /// Returns true while a process is in the namespace, or a file or mount names it. It may be so
    /// again after it was not.
    pub(crate) fn is_in_use(&self) -> bool {
        // SAFETY: The namespace is alive.
        unsafe { bindings::rust_helper_net_is_in_use(self.as_ptr()) }
    }

    /// Returns the index of the interface `name`.
    ///
    /// # Errors
    ///
    /// `ENODEV` if there is none; `EINVAL` for an impossible name.
    pub(crate) fn interface_index(&self, name: &str) -> Result<u32> {
        let mut text = [0; bindings::IFNAMSIZ as usize];
        text.get_mut(..name.len())
            .filter(|room| room.len() < bindings::IFNAMSIZ as usize)
            .ok_or(EINVAL)?
            .copy_from_slice(name.as_bytes());
        // SAFETY: The namespace is alive, and `text` ends with a NUL.
        match unsafe { bindings::rust_helper_ifindex(self.as_ptr(), text.as_ptr().cast()) } {
            0 => Err(ENODEV),
            index => Ok(index),
        }
    }

    /// Returns the addresses of the interfaces, `most` at most, without those that only mean
    /// something on their own link. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn addresses(&self, most: usize) -> Result<KVec<SocketAddr>> {
        let mut raw = KVec::from_elem(RawAddress::EMPTY, most, GFP_KERNEL)?;
        let room = u32::try_from(raw.len())?;
        // SAFETY: The namespace is alive, and a `RawAddress` is laid out as a `sockaddr_storage`,
        // of which there are so many.
        let count = unsafe {
            let to = raw.as_mut_ptr().cast();
            bindings::rust_helper_addresses(self.as_ptr(), to, room)
        };
        let mut found = KVec::with_capacity(count as usize, GFP_KERNEL)?;
        for addr in raw.iter().take(count as usize) {
            found.push(addr.decode()?, GFP_KERNEL)?;
        }
        Ok(found)
    }

    /// Returns the raw namespace, valid while `self` lives.
    pub(crate) fn as_ptr(&self) -> *mut bindings::net {
        self.0.as_ptr()
    }
}

impl PartialEq for Netns {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Drop for Netns {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the reference is ours to give back.
        unsafe { bindings::rust_helper_put_net(self.0.as_ptr()) }
    }
}
