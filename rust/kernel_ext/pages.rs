// SPDX-License-Identifier: GPL-2.0

//! Memory that several contexts or devices use at once.
//!
//! C headers: `include/linux/gfp.h`, `include/linux/vmalloc.h`

use crate::bindings;
use core::{
    cell::UnsafeCell,
    ptr::NonNull, //
};
use kernel::prelude::*;

/// Maximum size of one contiguous allocation, in bytes: the page allocator's largest block.
pub(crate) const MAX_CONTIGUOUS: usize = 4 << 20;

/// Physically contiguous memory, for devices.
pub(crate) type Contiguous = Pages<true>;

/// Large memory that is contiguous in kernel addresses only.
pub(crate) type Area = Pages<false>;

/// A NUMA node with memory.
///
/// # Invariants
///
/// There is such a node, and it has memory, or has had some: it may go offline at any time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node(u16);

impl Node {
    /// Returns the node of that number. A machine without NUMA has node 0.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the machine has no memory there now.
    pub(crate) fn new(number: u16) -> Result<Self> {
        // SAFETY: Reads a mask of the kernel's; no requirements.
        match unsafe { bindings::rust_helper_node_has_memory(number.into()) } {
            // INVARIANT: It has memory.
            true => Ok(Self(number)),
            false => Err(EINVAL),
        }
    }
}

/// Whole pages of zeroed kernel memory, physically contiguous or not.
///
/// No reference to the bytes is handed out, because a device, its peer, or another context may
/// change them at any time. Access goes through the raw pointer and [`Word`]s only. The users must
/// agree on who may touch which bytes; a user that breaks the agreement finds a mixture of bytes.
///
/// # Invariants
///
/// `start` points to `size` bytes from `alloc_pages_exact()`, or what is like it of one node, if
/// `PHYSICAL` is true, otherwise from `__vmalloc()`.
pub(crate) struct Pages<const PHYSICAL: bool> {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: Owned memory without thread affinity.
unsafe impl<const PHYSICAL: bool> Send for Pages<PHYSICAL> {}
// SAFETY: What methods do to the memory, C functions and volatile accesses do, on bytes
// that any other may change at the same time.
unsafe impl<const PHYSICAL: bool> Sync for Pages<PHYSICAL> {}

/// Eight bytes of [`Pages`], which others may change at any time.
#[repr(transparent)]
pub(crate) struct Word(UnsafeCell<u64>);

impl Word {
    /// Returns the current value. The first byte is the lowest.
    pub(crate) fn load(&self) -> u64 {
        // SAFETY: A word that there is a reference to is within living, aligned memory, of
        // which any bytes are good. Others may write meanwhile: a volatile access reads it
        // once, whatever is there.
        u64::from_le(unsafe { self.0.get().read_volatile() })
    }

    /// Replaces the value.
    pub(crate) fn store(&self, word: u64) {
        // SAFETY: As for `load`; nobody has a reference to the bytes.
        unsafe { self.0.get().write_volatile(word.to_le()) };
    }
}

impl<const PHYSICAL: bool> Pages<PHYSICAL> {
    /// Allocates at least `size` bytes. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM` if there is not enough memory, for which the OOM killer is not invoked where it
    /// need not be contiguous, or it is too fragmented; `EINVAL` for a size of 0, or above
    /// [`MAX_CONTIGUOUS`] of contiguous memory.
    pub(crate) fn new(size: usize) -> Result<Self> {
        if size == 0 || (PHYSICAL && size > MAX_CONTIGUOUS) {
            return Err(EINVAL);
        }
        let start = if PHYSICAL {
            // SAFETY: The size has been checked; no other requirements.
            unsafe { bindings::rust_helper_alloc_pages_exact(size) }
        } else {
            // SAFETY: No requirements.
            unsafe { bindings::rust_helper_vmalloc(size) }
        };
        let start = NonNull::new(start).ok_or(ENOMEM)?;
        // INVARIANT: Allocated just now with this size.
        Ok(Self {
            start: start.cast(),
            size,
        })
    }

    /// Returns the address of the first byte.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.size
    }

    /// Returns the address of `len` bytes at `offset`.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the range is not within the memory.
    pub(super) fn at(&self, offset: usize, len: usize) -> Result<*mut u8> {
        match offset.checked_add(len) {
            Some(end) if end <= self.size => Ok(self.start.as_ptr().wrapping_add(offset)),
            _ => Err(EINVAL),
        }
    }

    /// Returns the words that hold the first `len` bytes. The last word may extend beyond them,
    /// because the memory is whole pages.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the bytes are not within the memory.
    pub(crate) fn words(&self, len: usize) -> Result<&[Word]> {
        let start = self.at(0, len)?;
        // SAFETY: By the type invariant; it lives for as long as the borrow, is zeroed at
        // first and aligned to a page, of which there are whole ones. What a cell holds may
        // change while it is borrowed.
        Ok(unsafe { core::slice::from_raw_parts(start.cast(), len.div_ceil(size_of::<Word>())) })
    }

    /// Returns the CRC-32 of `len` bytes at `offset` as they are at the time. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the bytes are not within the memory.
    pub(crate) fn crc32(&self, offset: usize, len: usize) -> Result<u32> {
        let start = self.at(offset, len)?;
        // SAFETY: So many bytes can be read. Others may write meanwhile, and the C function
        // reads whatever it finds.
        Ok(!unsafe { bindings::crc32_le(!0, start.cast(), len) })
    }

    /// Copies bytes at `offset` to `to`, as they are at the time. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the range is not within the memory; nothing is copied.
    pub(crate) fn read(&self, offset: usize, to: &mut [u8]) -> Result {
        let from = self.at(offset, to.len())?;
        // SAFETY: Both sides are valid for so many bytes and apart. Others may write
        // meanwhile, and C's `memcpy()` copies whatever it finds.
        unsafe { bindings::rust_helper_memcpy(to.as_mut_ptr().cast(), from.cast(), to.len()) };
        Ok(())
    }

    /// Copies `from` to `offset`. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the range is not within the memory; nothing is copied.
    pub(crate) fn write(&self, offset: usize, from: &[u8]) -> Result {
        let to = self.at(offset, from.len())?;
        // SAFETY: As for `read`; nobody has a reference into the memory.
        unsafe { bindings::rust_helper_memcpy(to.cast(), from.as_ptr().cast(), from.len()) };
        Ok(())
    }

    /// Copies `len` bytes at `offset` to `to_offset` of `to`. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` if either range is not within its memory; nothing is copied.
    pub(crate) fn copy_to<const TO: bool>(
        &self,
        offset: usize,
        to: &Pages<TO>,
        to_offset: usize,
        len: usize,
    ) -> Result {
        let from = self.at(offset, len)?;
        let to = to.at(to_offset, len)?;
        // SAFETY: As for `read`; `memmove()` takes ranges that overlap.
        unsafe { bindings::rust_helper_memmove(to.cast(), from.cast(), len) };
        Ok(())
    }

    /// Zeroes `len` bytes at `offset`. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the range is not within the memory; nothing is zeroed.
    pub(crate) fn zero(&self, offset: usize, len: usize) -> Result {
        let start = self.at(offset, len)?;
        // SAFETY: As for `write`.
        unsafe { bindings::rust_helper_zero(start.cast(), len) };
        Ok(())
    }
}

impl Contiguous {
    /// Allocates as [`new`](Self::new) does, but where there is a `node`, there and nowhere else,
    /// without invoking the OOM killer. May sleep.
    ///
    /// # Errors
    ///
    /// As there; `ENOMEM` if the node does not have the memory.
    pub(crate) fn new_on(size: usize, node: Option<Node>) -> Result<Self> {
        let Some(Node(node)) = node else {
            return Self::new(size);
        };
        if size == 0 || size > MAX_CONTIGUOUS {
            return Err(EINVAL);
        }
        // SAFETY: The size has been checked, and there is such a node by its type's invariant.
        let start = unsafe { bindings::rust_helper_alloc_pages_exact_on(node.into(), size) };
        let start = NonNull::new(start).ok_or(ENOMEM)?;
        // INVARIANT: Allocated just now with this size.
        Ok(Self {
            start: start.cast(),
            size,
        })
    }
}

impl<const PHYSICAL: bool> Drop for Pages<PHYSICAL> {
    fn drop(&mut self) {
        let start = self.start.as_ptr().cast();
        if PHYSICAL {
            // SAFETY: By the type invariant, and nothing else frees it.
            unsafe { bindings::free_pages_exact(start, self.size) }
        } else {
            // SAFETY: As above.
            unsafe { bindings::rust_helper_vfree(start) }
        }
    }
}

/// Returns the memory that can be allocated without swapping, in bytes.
pub(crate) fn available() -> u64 {
    // SAFETY: Reads counters of the kernel's; no requirements.
    let pages = u64::try_from(unsafe { bindings::si_mem_available() }).unwrap_or(0);
    pages.saturating_mul(kernel::page::PAGE_SIZE as u64)
}
