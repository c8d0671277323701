// SPDX-License-Identifier: GPL-2.0

//! Allocations that do not wait for disk I/O.
//!
//! C header: `include/linux/sched/mm.h`

use crate::bindings;
use core::marker::PhantomData;
use kernel::ffi::c_uint;

/// While it lives, no allocation of the calling thread starts I/O, whatever its flags. For a thread
/// that I/O depends on.
pub(crate) struct NoIo {
    flags: c_uint,
    /// The flags belong to one thread, so the guard must stay there.
    _thread: PhantomData<*mut ()>,
}

impl NoIo {
    /// Forbids I/O in allocations from now on. Process context.
    pub(crate) fn enter() -> Self {
        Self {
            // SAFETY: Changes a flag of the calling thread's; no requirements.
            flags: unsafe { bindings::rust_helper_noio_save() },
            _thread: PhantomData,
        }
    }
}

impl Drop for NoIo {
    fn drop(&mut self) {
        // SAFETY: These are the flags before, of the same thread.
        unsafe { bindings::rust_helper_noio_restore(self.flags) }
    }
}
