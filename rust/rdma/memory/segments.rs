// SPDX-License-Identifier: GPL-2.0

//! Memory of others, mapped for a device: the segments of one object after the other.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_dma_map_sg()`)

use crate::{
    bindings,
    rdma::{
        cm::Id,
        mr::{
            MemoryRegion,
            Remote, //
        }, //
    }, //
};
use core::result::Result as CoreResult;
use kernel::{
    ffi::c_int,
    prelude::*,
    sync::Arc, //
};

/// The direction in which data moves between memory and a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DmaDirection {
    /// The device reads the memory.
    ToDevice,
    /// The device writes to the memory.
    FromDevice,
}

/// Memory of others that a region can be mapped over.
///
/// # Safety
///
/// - [`fill`](Self::fill) initialises as many entries as it returns, from the first on, as a
///   scatterlist (`sg_init_table()`) of pages of the kernel's linear mapping.
/// - The memory that these list stays as long as the object lives. A device may read it at any time
///   where [`direction`](Self::direction) is [`DmaDirection::ToDevice`], and write to it otherwise;
///   so no reference to it exists that this would break.
pub(crate) unsafe trait ForeignMemory: Send + 'static {
    /// Returns the direction of DMA; `None` where there is no data. Any context.
    fn direction(&self) -> Option<DmaDirection>;

    /// Writes the segments of the memory to the start of `list`, and returns their number. Any
    /// context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is no data, or `list` has no room for all of it.
    fn fill(&self, list: &mut [bindings::scatterlist]) -> Result<usize>;
}

/// The parameter of a [`Memory`] all of whose regions are over its own buffers.
pub(crate) enum NoForeign {}

// SAFETY: There is no object of this type.
unsafe impl ForeignMemory for NoForeign {
    fn direction(&self) -> Option<DmaDirection> {
        match *self {}
    }

    fn fill(&self, _: &mut [bindings::scatterlist]) -> Result<usize> {
        match *self {}
    }
}

/// The segments of one object, as the device sees them.
///
/// # Invariants
///
/// Where `mapped` is there, so many of `list` are the segments of its object, and mapped for the
/// device of `id` in this direction.
pub(super) struct Segments<F> {
    list: KVec<bindings::scatterlist>,
    mapped: Option<Mapped<F>>,
    id: Arc<Id>,
}

/// An object whose segments are mapped.
struct Mapped<F> {
    object: F,
    count: c_int,
    direction: DmaDirection,
}

impl<F: ForeignMemory> Segments<F> {
    /// Allocates a list of `count` segments for the device of `id`. May sleep.
    pub(super) fn new(id: &Arc<Id>, count: usize) -> Result<Self> {
        let mut list = KVec::with_capacity(count, GFP_KERNEL)?;
        for _ in 0..count {
            list.push_within_capacity(bindings::scatterlist::default())
                .map_err(|_| ENOMEM)?;
        }
        Ok(Self {
            list,
            mapped: None,
            id: id.clone(),
        })
    }

    /// Maps all segments of `object`, where none is mapped, and returns their number as the
    /// device sees them.
    fn map(&mut self, object: F) -> CoreResult<c_int, (F, Error)> {
        if self.mapped.is_some() {
            return Err((object, EBUSY));
        }
        match self.try_map(&object) {
            Ok((seen, count, direction)) => {
                // INVARIANT: Mapped just now.
                self.mapped = Some(Mapped {
                    object,
                    count,
                    direction,
                });
                Ok(seen)
            }
            Err(error) => Err((object, error)),
        }
    }

    fn try_map(&mut self, object: &F) -> Result<(c_int, c_int, DmaDirection)> {
        let direction = object.direction().ok_or(EINVAL)?;
        let count = object.fill(&mut self.list)?;
        if count > self.list.len() {
            return Err(EINVAL);
        }
        let count = c_int::try_from(count).map_err(|_| EINVAL)?;
        let device = self.id.device()?;
        // SAFETY: The device is alive while the identifier is, and by the trait's requirements so
        // many entries, which there are, have just been filled.
        let seen = unsafe {
            bindings::rust_helper_dma_map_sg(
                device.as_ptr(),
                self.list.as_mut_ptr(),
                count,
                direction == DmaDirection::ToDevice,
            )
        };
        if seen <= 0 {
            return Err(ENOMEM);
        }
        Ok((seen, count, direction))
    }

    /// Maps all segments of `object` and lays `region`, which is not valid, over them.
    pub(super) fn open(
        &mut self,
        region: &MemoryRegion,
        object: F,
    ) -> CoreResult<Remote, (F, Error)> {
        let count = self.map(object)?;
        // SAFETY: The region is ours and not valid; the segments are mapped.
        let covered = unsafe {
            bindings::rust_helper_map_mr_sg(region.as_ptr(), self.list.as_mut_ptr(), count)
        };
        if covered != count {
            if let Some(object) = self.take() {
                return Err((object, EINVAL));
            }
        }
        Ok(region.remote())
    }

    /// Returns the object, where there is one.
    pub(super) fn object(&self) -> Option<&F> {
        self.mapped.as_ref().map(|mapped| &mapped.object)
    }

    /// Returns the direction that the object is mapped for, where there is one.
    pub(super) fn direction(&self) -> Option<DmaDirection> {
        self.mapped.as_ref().map(|mapped| mapped.direction)
    }

    /// Returns true where there is an object.
    pub(super) fn is_mapped(&self) -> bool {
        self.mapped.is_some()
    }

    /// Unmaps the segments, and hands the object back. The region over them is not valid,
    /// or gone.
    pub(super) fn take(&mut self) -> Option<F> {
        let mapped = self.mapped.take()?;
        self.unmap(mapped.count, mapped.direction);
        Some(mapped.object)
    }
}

impl<F> Segments<F> {
    pub(super) fn unmap(&mut self, count: c_int, direction: DmaDirection) {
        if let Ok(device) = self.id.device() {
            // SAFETY: By the type invariant of the caller's `mapped`; no device uses the mapping,
            // as the region over the segments is not valid, or gone.
            unsafe {
                bindings::rust_helper_dma_unmap_sg(
                    device.as_ptr(),
                    self.list.as_mut_ptr(),
                    count,
                    direction == DmaDirection::ToDevice,
                );
            }
        }
    }
}

impl<F> Drop for Segments<F> {
    fn drop(&mut self) {
        // The region is gone: it is the field before them.
        if let Some(mapped) = self.mapped.take() {
            self.unmap(mapped.count, mapped.direction);
        }
    }
}
