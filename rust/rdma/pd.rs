// SPDX-License-Identifier: GPL-2.0

//! Protection domains.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_alloc_pd()`)

use crate::{
    bindings,
    rdma::cm::Id, //
};
use core::ptr::NonNull;
use kernel::{
    error::from_err_ptr,
    prelude::*,
    sync::Arc, //
};

/// The keys that a protection domain has from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GlobalKeys {
    /// The local DMA lkey, which peers cannot use.
    Local,
    /// Besides, an rkey that opens all of this machine's memory to peers
    /// (`IB_PD_UNSAFE_GLOBAL_RKEY`).
    UnsafeRemote(AllMemory),
}

/// The word of somebody who may give it that all of this machine's memory is to be open to peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AllMemory(());

impl AllMemory {
    /// Gives that word.
    ///
    /// # Safety
    ///
    /// Whoever learns the rkey of a domain that is made with it, which are the peers of its queue
    /// pairs and those in between, can read and write all memory of this machine, the kernel's
    /// included. So the caller acts for somebody who may do that by himself, and has been asked by
    /// him for just this.
    pub(crate) unsafe fn new() -> Self {
        Self(())
    }
}

/// A protection domain: memory regions and queue pairs of one domain go together.
///
/// Each [`Memory`](super::memory::Memory) keeps the domain that it is in, so the domain goes
/// after all that was made in it.
///
/// # Invariants
///
/// `raw` was allocated on the device of `id` and is freed by this object alone.
pub(crate) struct ProtectionDomain {
    raw: NonNull<bindings::ib_pd>,
    id: Arc<Id>,
}

// SAFETY: The verbs on a domain may be called from any task.
unsafe impl Send for ProtectionDomain {}
// SAFETY: The verbs on a domain may be called from several tasks at once; nothing of the
// domain itself changes while it lives.
unsafe impl Sync for ProtectionDomain {}

impl ProtectionDomain {
    /// Allocates a domain on the device of `id`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENODEV` for an identifier that is not bound to a device.
    pub(crate) fn new(id: &Arc<Id>, keys: GlobalKeys) -> Result<Arc<Self>> {
        let flags = match keys {
            GlobalKeys::Local => 0,
            GlobalKeys::UnsafeRemote(_) => bindings::ib_pd_flags_IB_PD_UNSAFE_GLOBAL_RKEY,
        };
        let device = id.device()?.as_ptr();
        // SAFETY: The device is alive while `id` is.
        let raw = from_err_ptr(unsafe { bindings::rust_helper_alloc_pd(device, flags) })?;
        // INVARIANT: Allocated just now.
        let this = Self {
            raw: NonNull::new(raw).ok_or(ENOMEM)?,
            id: id.clone(),
        };
        Ok(Arc::new(this, GFP_KERNEL)?)
    }

    /// Returns the raw domain, valid while `self` lives.
    pub(super) fn as_ptr(&self) -> *mut bindings::ib_pd {
        self.raw.as_ptr()
    }

    /// Returns the identifier on whose device the domain is.
    pub(crate) fn id(&self) -> &Arc<Id> {
        &self.id
    }

    /// Returns the key by which this side names any mapped memory.
    pub(super) fn local_dma_lkey(&self) -> u32 {
        // SAFETY: By the type invariant the domain is alive; its keys do not change.
        unsafe { (*self.as_ptr()).local_dma_lkey }
    }

    /// Returns the key that opens all memory to peers; 0 without [`GlobalKeys::UnsafeRemote`].
    pub(super) fn unsafe_global_rkey(&self) -> u32 {
        // SAFETY: By the type invariant the domain is alive; its keys do not change.
        unsafe { (*self.as_ptr()).unsafe_global_rkey }
    }
}

impl Drop for ProtectionDomain {
    fn drop(&mut self) {
        // SAFETY: By the type invariant. All that was made in it is gone, as each `Memory` drops
        // its buffers and regions before it gives the domain up.
        unsafe { bindings::rust_helper_dealloc_pd(self.raw.as_ptr()) }
    }
}
