// SPDX-License-Identifier: GPL-2.0

//! Buffers, mapped for a device.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_dma_map_single()`)

use super::account::Charge;
use crate::{
    bindings,
    kernel_ext::pages::Contiguous,
    rdma::cm::Id, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Contiguous memory, mapped for the device.
///
/// # Invariants
///
/// `dma` maps `size` bytes of `memory` for the device of `id`.
pub(super) struct Buffer {
    pub(super) memory: Arc<Contiguous>,
    _charge: Option<Charge>,
    pub(super) dma: u64,
    pub(super) size: usize,
    id: Arc<Id>,
}

impl Buffer {
    /// Maps `memory`, which `charge` is for, for the device of `id`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENODEV` for an unbound identifier; `ENOMEM`.
    pub(super) fn new(
        id: &Arc<Id>,
        memory: Arc<Contiguous>,
        charge: Option<Charge>,
    ) -> Result<Self> {
        let size = memory.len();
        let device = id.device()?;
        // SAFETY: The device is alive, the memory is ours and of that size.
        let dma = unsafe {
            bindings::rust_helper_dma_map_single(device.as_ptr(), memory.as_ptr().cast(), size)
        };
        // SAFETY: The device is alive.
        if unsafe { bindings::rust_helper_dma_mapping_error(device.as_ptr(), dma) } != 0 {
            return Err(ENOMEM);
        }
        // INVARIANT: Mapped just now.
        Ok(Self {
            memory,
            _charge: charge,
            dma,
            size,
            id: id.clone(),
        })
    }

    /// Lets the CPU see what the device has written to `len` bytes at `offset`.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the range is not within the buffer.
    pub(super) fn sync_for_cpu(&self, offset: usize, len: usize) -> Result {
        self.check(offset, len)?;
        let device = self.id.device()?;
        let dma = self.dma.wrapping_add(offset as u64);
        // SAFETY: The device is alive, and the range is within the mapping.
        unsafe { bindings::rust_helper_dma_sync_for_cpu(device.as_ptr(), dma, len) };
        Ok(())
    }

    /// Lets the device see what the CPU has written to `len` bytes at `offset`.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the range is not within the buffer.
    pub(super) fn sync_for_device(&self, offset: usize, len: usize) -> Result {
        self.check(offset, len)?;
        let device = self.id.device()?;
        let dma = self.dma.wrapping_add(offset as u64);
        // SAFETY: The device is alive, and the range is within the mapping.
        unsafe { bindings::rust_helper_dma_sync_for_device(device.as_ptr(), dma, len) };
        Ok(())
    }

    /// Checks that `len` bytes at `offset` are within the buffer; `EINVAL` where not.
    pub(super) fn check(&self, offset: usize, len: usize) -> Result {
        match offset.checked_add(len) {
            Some(end) if end <= self.size => Ok(()),
            _ => Err(EINVAL),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Ok(device) = self.id.device() {
            // SAFETY: By the type invariant; no device uses the mapping, as the
            // queue pair and the regions are gone before their buffers.
            unsafe { bindings::rust_helper_dma_unmap_single(device.as_ptr(), self.dma, self.size) }
        }
    }
}
