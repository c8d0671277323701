// SPDX-License-Identifier: GPL-2.0

//! Physically contiguous memory, for devices.
//!
//! C header: `include/linux/gfp.h`

use crate::bindings;
use core::ptr::NonNull;
use kernel::prelude::*;

/// The most that one allocation can give: the page allocator's largest block.
pub(crate) const MAX_CONTIGUOUS: usize = 4 << 20;

/// Whole pages of zeroed, physically contiguous kernel memory.
///
/// There is no reference into it to be had: a device or its peer may change
/// it at any time, so it is reached through the raw pointer only.
///
/// # Invariants
///
/// `start` points to `size` bytes from `alloc_pages_exact()`.
pub(crate) struct Contiguous {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: Owned memory without thread affinity.
unsafe impl Send for Contiguous {}
// SAFETY: No method reads or writes the memory.
unsafe impl Sync for Contiguous {}

impl Contiguous {
    /// Allocates at least `size` bytes. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM` where the memory is not there or too fragmented; `EINVAL` for a
    /// size of 0 or above [`MAX_CONTIGUOUS`].
    pub(crate) fn new(size: usize) -> Result<Self> {
        if size == 0 || size > MAX_CONTIGUOUS {
            return Err(EINVAL);
        }
        // SAFETY: The size has been checked; no other requirements.
        let start = NonNull::new(unsafe { bindings::krping_alloc_pages(size) }).ok_or(ENOMEM)?;
        // INVARIANT: Allocated just now with this size.
        Ok(Self {
            start: start.cast(),
            size,
        })
    }

    /// The first byte.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for Contiguous {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, and nothing else frees it.
        unsafe { bindings::free_pages_exact(self.start.as_ptr().cast(), self.size) }
    }
}
