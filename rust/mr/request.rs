// SPDX-License-Identifier: GPL-2.0

//! Regions over the memory of block requests: each is mapped over all segments of
//! one request after the other.
//!
//! The list of segments is allocated with the region, as a request that writes
//! dirty memory back must not need any.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_dma_map_sg()`, `ib_map_mr_sg()`)

use super::{Memory, RegionId};
use crate::{
    bindings,
    cm::CmId,
    kernel_ext::blk::request::{Direction, Request},
};
use kernel::{ffi::c_int, prelude::*, sync::Arc};

/// The segments of one request, as the device sees them.
///
/// # Invariants
///
/// Where `mapped` is there, so many of `list` are mapped for the device of `id`, in
/// this direction.
pub(super) struct Segments {
    list: KVec<bindings::scatterlist>,
    mapped: Option<(c_int, Direction)>,
    id: Arc<CmId>,
}

impl Segments {
    /// Maps all segments of `request`, and returns how many the device sees.
    fn map(&mut self, request: &Request) -> Result<c_int> {
        self.unmap();
        let direction = request.direction().ok_or(EINVAL)?;
        let count = c_int::try_from(request.fill(&mut self.list)?).map_err(|_| EINVAL)?;
        let device = self.id.device()?;
        // SAFETY: The device is alive while the identifier is, and so many entries
        // have just been filled.
        let seen = unsafe {
            bindings::krping_dma_map_sg(
                device.as_ptr(),
                self.list.as_mut_ptr(),
                count,
                direction == Direction::Out,
            )
        };
        if seen <= 0 {
            return Err(ENOMEM);
        }
        // INVARIANT: Mapped just now.
        self.mapped = Some((count, direction));
        Ok(seen)
    }

    fn unmap(&mut self) {
        let Some((count, direction)) = self.mapped.take() else {
            return;
        };
        if let Ok(device) = self.id.device() {
            // SAFETY: By the type invariant; the region over them is not valid, or
            // gone, so no device uses the mapping.
            unsafe {
                bindings::krping_dma_unmap_sg(
                    device.as_ptr(),
                    self.list.as_mut_ptr(),
                    count,
                    direction == Direction::Out,
                );
            }
        }
    }
}

impl Drop for Segments {
    fn drop(&mut self) {
        self.unmap();
    }
}

impl Memory {
    /// Adds a region for requests of up to `segments` pages or parts of such, not
    /// valid yet. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; what the device says.
    pub(crate) fn add_request_region(&mut self, segments: usize) -> Result<RegionId> {
        let pages = u32::try_from(segments).map_err(|_| ERANGE)?;
        let mut list = KVec::with_capacity(segments, GFP_KERNEL)?;
        for _ in 0..segments {
            list.push_within_capacity(bindings::scatterlist::default())
                .map_err(|_| ENOMEM)?;
        }
        let segments = Segments {
            list,
            mapped: None,
            id: self.id().clone(),
        };
        let region = self.allocate_region(pages, Some(segments))?;
        self.push_region(region)
    }

    /// Maps `region` over all segments of `request`, and gives it a new key. Any
    /// context.
    ///
    /// The request's memory must stay until [`close_request`](Self::close_request),
    /// or until this is dropped: whoever passes a request here owns it till then.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a region that is still valid, or is none for requests, and for a
    /// request that it cannot cover; `ENOMEM`.
    pub(crate) fn open_request(&mut self, id: RegionId, request: &Request) -> Result {
        self.renew_key(id)?;
        let region = self.regions.get_mut(id.0).ok_or(EINVAL)?;
        let segments = region.segments.as_mut().ok_or(EINVAL)?;
        let count = segments.map(request)?;
        // SAFETY: The region is ours and not valid; the segments are mapped.
        let covered = unsafe {
            bindings::krping_map_mr_sg(region.raw.as_ptr(), segments.list.as_mut_ptr(), count)
        };
        if covered != count {
            segments.unmap();
            return Err(EINVAL);
        }
        Ok(())
    }

    /// Gives the memory of `region`'s request back to the CPU. Any context; the
    /// region must have been invalidated, else nothing is done.
    pub(crate) fn close_request(&mut self, region: RegionId) {
        if let Some(region) = self.regions.get_mut(region.0) {
            if let (false, Some(segments)) = (region.valid, &mut region.segments) {
                segments.unmap();
            }
        }
    }
}
