// SPDX-License-Identifier: GPL-2.0

//! Allocations that wait for no disk.
//!
//! C header: `include/linux/sched/mm.h`

use crate::bindings;
use core::marker::PhantomData;
use kernel::ffi::c_uint;

/// While it lives, no allocation of the calling thread starts any I/O, whatever its
/// flags say: for a thread that I/O waits for.
pub(crate) struct NoIo {
    flags: c_uint,
    /// The flags are those of one thread, so it stays there.
    _thread: PhantomData<*mut ()>,
}

impl NoIo {
    /// From here on. Process context.
    pub(crate) fn enter() -> Self {
        Self {
            // SAFETY: Changes a flag of the calling thread's; no requirements.
            flags: unsafe { bindings::krping_noio_save() },
            _thread: PhantomData,
        }
    }
}

impl Drop for NoIo {
    fn drop(&mut self) {
        // SAFETY: These are the flags before, of the same thread.
        unsafe { bindings::krping_noio_restore(self.flags) }
    }
}
