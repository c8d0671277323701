// SPDX-License-Identifier: GPL-2.0

//! Counted references on this module.
//!
//! C header: `include/linux/module.h`

use crate::bindings;
use kernel::prelude::*;

/// Prevents this module from being unloaded while it lives.
///
/// # Invariants
///
/// Owns one reference on `module`.
pub(crate) struct ModuleRef {
    module: &'static ThisModule,
}

impl ModuleRef {
    /// Takes a reference.
    ///
    /// # Errors
    ///
    /// `ENODEV` if the module is already being unloaded.
    pub(crate) fn get(module: &'static ThisModule) -> Result<Self> {
        // SAFETY: `module` is this very module, whose code is running.
        if unsafe { bindings::try_module_get(module.as_ptr()) } {
            // INVARIANT: A reference was taken just now.
            Ok(Self { module })
        } else {
            Err(ENODEV)
        }
    }

    /// Takes another reference.
    pub(crate) fn another(&self) -> Result<Self> {
        Self::get(self.module)
    }
}

impl ModuleRef {
    /// Drops the reference and ends the calling kernel thread, in code outside this module.
    pub(super) fn put_and_exit(self) -> ! {
        let module = self.module.as_ptr();
        core::mem::forget(self);
        // SAFETY: The reference is ours to give back, and a kernel thread calls.
        unsafe { bindings::__module_put_and_kthread_exit(module, 0) }
    }
}

impl Drop for ModuleRef {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the reference is ours to give back.
        unsafe { bindings::module_put(self.module.as_ptr()) }
    }
}
