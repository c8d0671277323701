// SPDX-License-Identifier: GPL-2.0

//! Fast-registration memory regions of a driver.
//!
//! A region names memory by a key. It is mapped over memory on this side, and a REG_MR request
//! makes its key valid; LOCAL_INV, or a peer's SEND_WITH_INV, ends that. What keeps account of
//! that is [`memory`](super::memory).
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_alloc_mr()`)

use super::{
    memory::DmaDirection,
    pd::ProtectionDomain, //
};
use crate::bindings;
use core::ptr::NonNull;
use kernel::{
    error::from_err_ptr,
    prelude::*, //
};

/// A range of memory as a peer names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Remote {
    /// The address, or what stands for it on the wire.
    pub(crate) addr: u64,
    /// The key.
    pub(crate) rkey: u32,
    /// The number of bytes. No request carries it.
    pub(crate) len: u32,
}

/// The operations that the key of a region permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) enum Access {
    /// This side reads and writes; a peer may do nothing.
    Local,
    /// A peer's RDMA READ.
    RemoteRead,
    /// A peer's RDMA WRITE.
    RemoteWrite,
    /// A peer's RDMA READ and RDMA WRITE.
    Remote,
    /// A peer's atomic operations.
    RemoteAtomic,
}

impl Access {
    /// Returns the direction in which data moves that a key like this gives access to, for memory
    /// that is mapped for one direction; `None` where it moves in both.
    pub(super) fn direction(self) -> Option<DmaDirection> {
        match self {
            Self::RemoteRead => Some(DmaDirection::ToDevice),
            Self::Local | Self::RemoteWrite => Some(DmaDirection::FromDevice),
            Self::Remote | Self::RemoteAtomic => None,
        }
    }

    /// Returns the flags of `enum ib_access_flags`.
    pub(super) fn flags(self) -> bindings::ib_access_flags {
        match self {
            Self::Local => bindings::ib_access_flags_IB_ACCESS_LOCAL_WRITE,
            Self::RemoteRead => bindings::ib_access_flags_IB_ACCESS_REMOTE_READ,
            Self::RemoteWrite => {
                bindings::ib_access_flags_IB_ACCESS_REMOTE_WRITE
                    | bindings::ib_access_flags_IB_ACCESS_LOCAL_WRITE
            }
            Self::Remote => Self::RemoteRead.flags() | Self::RemoteWrite.flags(),
            Self::RemoteAtomic => {
                bindings::ib_access_flags_IB_ACCESS_REMOTE_ATOMIC
                    | bindings::ib_access_flags_IB_ACCESS_LOCAL_WRITE
            }
        }
    }
}

/// A memory region of the driver. Its drop frees it: no device uses it afterwards.
///
/// # Invariants
///
/// `raw` was allocated in a domain that outlives it, and is freed by this object alone.
pub(super) struct MemoryRegion {
    raw: NonNull<bindings::ib_mr>,
}

impl MemoryRegion {
    /// Allocates a region for `pages` pages in `pd`, mapped over nothing. May sleep.
    ///
    /// # Safety
    ///
    /// `pd` lives longer than the region.
    pub(super) unsafe fn new(pd: &ProtectionDomain, pages: u32) -> Result<Self> {
        // SAFETY: The domain is alive.
        let raw = from_err_ptr(unsafe {
            bindings::ib_alloc_mr(pd.as_ptr(), bindings::ib_mr_type_IB_MR_TYPE_MEM_REG, pages)
        })?;
        // INVARIANT: Allocated just now, and the domain stays by the function's requirements.
        Ok(Self {
            raw: NonNull::new(raw).ok_or(ENOMEM)?,
        })
    }

    /// Returns the driver's region, valid while `self` lives.
    pub(super) fn as_ptr(&self) -> *mut bindings::ib_mr {
        self.raw.as_ptr()
    }

    /// Returns the key by which this side names the region.
    pub(super) fn lkey(&self) -> u32 {
        // SAFETY: By the type invariant the region is alive; its keys change under `&mut` of
        // what owns it only.
        unsafe { (*self.as_ptr()).lkey }
    }

    /// Returns the key by which a peer names the region.
    pub(super) fn rkey(&self) -> u32 {
        // SAFETY: By the type invariant the region is alive; its keys change under `&mut` of
        // what owns it only.
        unsafe { (*self.as_ptr()).rkey }
    }

    /// Returns the memory that the region is mapped over, as a peer names it.
    pub(super) fn remote(&self) -> Remote {
        let raw = self.as_ptr();
        // SAFETY: By the type invariant the region is alive; these change under `&mut` of what
        // owns it only.
        unsafe {
            Remote {
                addr: (*raw).iova,
                rkey: (*raw).rkey,
                len: (*raw).length as u32,
            }
        }
    }

    /// Gives the region the key that follows its present one.
    ///
    /// The device chose the first key, so the next must be counted from that one: a count of our
    /// own could begin with the same byte.
    ///
    /// # Safety
    ///
    /// No device takes the key as valid.
    pub(super) unsafe fn renew_key(&mut self) {
        let [.., variable] = self.rkey().to_be_bytes();
        // SAFETY: By the type invariant the region is alive, and nobody else changes it.
        unsafe {
            bindings::rust_helper_update_fast_reg_key(self.as_ptr(), variable.wrapping_add(1))
        };
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        // SAFETY: By the type invariant. The queue pair that used it is gone.
        unsafe { bindings::rust_helper_dereg_mr(self.raw.as_ptr()) };
    }
}
