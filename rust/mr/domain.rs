// SPDX-License-Identifier: GPL-2.0

//! Protection domains, and what keeps them while anything is left in them.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_alloc_pd()`)

use crate::{
    bindings,
    cm::CmId, //
};
use core::ptr::NonNull;
use kernel::{
    error::from_err_ptr,
    prelude::*,
    sync::Arc, //
};

/// A protection domain.
///
/// # Invariants
///
/// `raw` was allocated on the device of `id` and is freed by this object alone.
pub(super) struct ProtectionDomain {
    pub(super) raw: NonNull<bindings::ib_pd>,
    pub(super) id: Arc<CmId>,
}

// SAFETY: The verbs on a domain may be called from any task.
unsafe impl Send for ProtectionDomain {}
// SAFETY: As above; nothing of it changes while it lives.
unsafe impl Sync for ProtectionDomain {}

impl ProtectionDomain {
    /// Allocates one on the device of `id`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENODEV` for an unbound identifier; what the device says.
    pub(super) fn new(id: &Arc<CmId>, flags: u32) -> Result<Arc<Self>> {
        // SAFETY: The device is alive while `id` is.
        let raw = from_err_ptr(unsafe { bindings::krping_alloc_pd(id.device()?.as_ptr(), flags) })?;
        // INVARIANT: Allocated just now.
        let this = Self {
            raw: NonNull::new(raw).ok_or(ENOMEM)?,
            id: id.clone(),
        };
        Ok(Arc::new(this, GFP_KERNEL)?)
    }
}

/// A protection domain that several memories have in common, one after the other or
/// at once.
pub(crate) struct Domain(pub(super) Arc<ProtectionDomain>);

impl Domain {
    /// Allocates one on the device of `id`, which it keeps. May sleep.
    ///
    /// # Errors
    ///
    /// `ENODEV` for an unbound identifier; what the device says.
    pub(crate) fn new(id: &Arc<CmId>) -> Result<Self> {
        ProtectionDomain::new(id, 0).map(Self)
    }
}

impl Drop for ProtectionDomain {
    fn drop(&mut self) {
        // SAFETY: By the type invariant. What was made in it is gone: each `Memory`
        // drops its buffers and regions before it gives the domain up.
        unsafe { bindings::krping_dealloc_pd(self.raw.as_ptr()) }
    }
}
