// SPDX-License-Identifier: GPL-2.0

//! Large memory that is contiguous in the kernel's addresses only.
//!
//! C header: `include/linux/vmalloc.h`

use super::pages::Contiguous;
use crate::bindings;
use core::ptr::NonNull;
use kernel::prelude::*;

/// Bytes that several contexts fill and read at once, each those that are its own at
/// the time.
///
/// There is no reference into them to be had: who may touch which is for the users to
/// agree on, and one that breaks the agreement finds a mixture of bytes.
///
/// # Invariants
///
/// `start` points to `size` bytes from `__vmalloc()`.
pub(crate) struct Area {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: Owned memory without thread affinity.
unsafe impl Send for Area {}
// SAFETY: What methods do to the memory, C functions do, on bytes that any other may
// change at the same time.
unsafe impl Sync for Area {}

impl Area {
    /// Allocates `size` zeroed bytes. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM` where so much is not free, for which nobody else's memory is taken;
    /// `EINVAL` for a size of 0.
    pub(crate) fn new(size: usize) -> Result<Self> {
        if size == 0 {
            return Err(EINVAL);
        }
        // SAFETY: No requirements.
        let start = NonNull::new(unsafe { bindings::krping_vmalloc(size) }).ok_or(ENOMEM)?;
        // INVARIANT: Allocated just now with this size.
        Ok(Self {
            start: start.cast(),
            size,
        })
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.size
    }

    /// The address of `len` bytes at `offset`, valid while `self` lives.
    ///
    /// # Errors
    ///
    /// `EINVAL` where they are not all within.
    pub(super) fn at(&self, offset: usize, len: usize) -> Result<*mut u8> {
        match offset.checked_add(len) {
            Some(end) if end <= self.size => Ok(self.start.as_ptr().wrapping_add(offset)),
            _ => Err(EINVAL),
        }
    }

    /// Copies `len` bytes at `offset` to `to_offset` of `to`. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where either range is not within; nothing is copied.
    pub(crate) fn copy_to(
        &self,
        offset: usize,
        to: &Contiguous,
        to_offset: usize,
        len: usize,
    ) -> Result {
        let from = self.at(offset, len)?;
        let to = to.at(to_offset, len)?;
        // SAFETY: Both sides are valid for so many bytes, and are different memory.
        // Others may write meanwhile, and C's `memcpy()` copies whatever it finds.
        unsafe { bindings::krping_memcpy(to.cast(), from.cast(), len) };
        Ok(())
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, and nothing else frees it.
        unsafe { bindings::krping_vfree(self.start.as_ptr().cast()) }
    }
}
