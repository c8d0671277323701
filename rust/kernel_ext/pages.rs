// SPDX-License-Identifier: GPL-2.0

//! Physically contiguous memory, for devices.
//!
//! C header: `include/linux/gfp.h`

use crate::bindings;
use core::{
    cell::UnsafeCell,
    ptr::NonNull, //
};
use kernel::prelude::*;

/// The most that one allocation can give: the page allocator's largest block.
pub(crate) const MAX_CONTIGUOUS: usize = 4 << 20;

/// Whole pages of zeroed, physically contiguous kernel memory.
///
/// There is no reference to its bytes to be had: a device or its peer may change
/// them at any time, so they are reached through the raw pointer and [`Word`]s only.
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
// SAFETY: What methods do to the memory, C functions and volatile accesses do, on bytes
// that any other may change at the same time.
unsafe impl Sync for Contiguous {}

/// Eight bytes of a [`Contiguous`], which any other may change at any time.
#[repr(transparent)]
pub(crate) struct Word(UnsafeCell<u64>);

impl Word {
    /// Returns what is there now, with the first byte as the lowest.
    pub(crate) fn load(&self) -> u64 {
        // SAFETY: A word that there is a reference to is within living, aligned memory, of
        // which any bytes are good. Others may write meanwhile: a volatile access reads it
        // once, whatever is there.
        u64::from_le(unsafe { self.0.get().read_volatile() })
    }

    /// Replaces all of it.
    pub(crate) fn store(&self, word: u64) {
        // SAFETY: As for `load`; nobody has a reference to the bytes.
        unsafe { self.0.get().write_volatile(word.to_le()) };
    }
}

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

    /// How many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.size
    }

    /// The address of `len` bytes at `offset`.
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

    /// The words that hold its first `len` bytes, of which the last may reach beyond them:
    /// the memory is whole pages.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the bytes are not all within.
    pub(crate) fn words(&self, len: usize) -> Result<&[Word]> {
        let start = self.at(0, len)?;
        // SAFETY: By the type invariant; it lives for as long as the borrow, is zeroed at
        // first and aligned to a page, of which there are whole ones. What a cell holds may
        // change while it is borrowed.
        Ok(unsafe { core::slice::from_raw_parts(start.cast(), len.div_ceil(size_of::<Word>())) })
    }

    /// The CRC-32 of the first `len` bytes, whatever is there at the time. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where they are not all within.
    pub(crate) fn crc32(&self, len: usize) -> Result<u32> {
        let start = self.at(0, len)?;
        // SAFETY: So many bytes can be read. Others may write meanwhile, and the C function
        // reads whatever it finds.
        Ok(!unsafe { bindings::crc32_le(!0, start.cast(), len) })
    }

    /// Copies from it whatever is there at the time. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the range is not within; nothing is copied.
    pub(crate) fn read(&self, offset: usize, to: &mut [u8]) -> Result {
        let from = self.at(offset, to.len())?;
        // SAFETY: Both sides are valid for so many bytes and apart. Others may write
        // meanwhile, and C's `memcpy()` copies whatever it finds.
        unsafe { bindings::krping_memcpy(to.as_mut_ptr().cast(), from.cast(), to.len()) };
        Ok(())
    }

    /// Copies into it. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the range is not within; nothing is copied.
    pub(crate) fn write(&self, offset: usize, from: &[u8]) -> Result {
        let to = self.at(offset, from.len())?;
        // SAFETY: As for `read`; nobody has a reference into the memory.
        unsafe { bindings::krping_memcpy(to.cast(), from.as_ptr().cast(), from.len()) };
        Ok(())
    }

    /// Copies `len` bytes at `offset` to `to_offset` of `to`. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where either range is not within; nothing is copied.
    pub(crate) fn copy_to(&self, offset: usize, to: &Self, to_offset: usize, len: usize) -> Result {
        let from = self.at(offset, len)?;
        let to = to.at(to_offset, len)?;
        // SAFETY: As for `read`; `memmove()` takes ranges that overlap.
        unsafe { bindings::krping_memmove(to.cast(), from.cast(), len) };
        Ok(())
    }

    /// Zeroes `len` bytes. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the range is not within; nothing is done.
    pub(crate) fn zero(&self, offset: usize, len: usize) -> Result {
        let start = self.at(offset, len)?;
        // SAFETY: As for `write`.
        unsafe { bindings::krping_zero(start.cast(), len) };
        Ok(())
    }
}

impl Drop for Contiguous {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, and nothing else frees it.
        unsafe { bindings::free_pages_exact(self.start.as_ptr().cast(), self.size) }
    }
}

/// How much memory can be had without others having to give up theirs, in bytes.
pub(crate) fn available() -> u64 {
    // SAFETY: Reads counters of the kernel's; no requirements.
    let pages = u64::try_from(unsafe { bindings::si_mem_available() }).unwrap_or(0);
    pages.saturating_mul(kernel::page::PAGE_SIZE as u64)
}
