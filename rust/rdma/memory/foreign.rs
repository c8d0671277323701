// SPDX-License-Identifier: GPL-2.0

//! Regions over memory of others, such as that of block requests: each is mapped over one object
//! after the other, which it owns for so long.
//!
//! A region owns the object from before it is registered until a device has said that it is not
//! any more, or is gone. So no safe code can end the life of memory that a device may still write
//! to. The scatterlist is allocated with the region, as a request that writes dirty memory back
//! must not need any.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_dma_map_sg()`, `ib_map_mr_sg()`)

use super::{
    region::Cover,
    Memory,
    RegionId, //
};
use crate::rdma::{
    cq::WorkCompletion,
    memory::segments::{
        ForeignMemory,
        Segments, //
    },
    mr::Remote, //
};
use core::result::Result as CoreResult;
use kernel::prelude::*;

impl<F: ForeignMemory> Memory<F> {
    /// Adds a region for objects of up to `segments` pages or parts of such, not valid yet. May
    /// sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; the driver's error for a number of pages beyond its limit.
    pub(crate) fn add_foreign_region(&mut self, segments: usize) -> Result<RegionId> {
        let pages = u32::try_from(segments).map_err(|_| ERANGE)?;
        let segments = Segments::new(self.id(), segments)?;
        let region = self.allocate_region(self.pd.clone(), pages, Cover::Foreign(segments))?;
        self.push_region(region)
    }

    /// Maps `region` over all of `object`, which it owns from then on, gives it a new key, and
    /// returns the memory as a peer names it. Any context.
    ///
    /// # Errors
    ///
    /// The object, with `EINVAL` for a region that is still valid, or is none for objects, and
    /// for an object that it cannot cover; `EBUSY` for a region that has one; `ENOMEM`.
    pub(crate) fn open(&mut self, region: RegionId, object: F) -> CoreResult<Remote, (F, Error)> {
        let renewed = self.renew_key(region);
        match (renewed, self.region_mut(region)) {
            (Err(error), _) | (_, Err(error)) => Err((object, error)),
            (Ok(()), Ok(region)) => match &mut region.cover {
                Cover::Foreign(segments) => segments.open(&region.mr, object),
                Cover::Buffer | Cover::Sink { .. } => Err((object, EINVAL)),
            },
        }
    }

    /// Returns the object that `region` is mapped over. Any context.
    pub(crate) fn object(&self, region: RegionId) -> Option<&F> {
        match &self.region(region).ok()?.cover {
            Cover::Foreign(segments) => segments.object(),
            Cover::Buffer | Cover::Sink { .. } => None,
        }
    }

    /// Takes back the object of a region that the peer has invalidated, as `wc` says, and gives
    /// its memory back to the CPU. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where `wc` does not say that, or there is no object: then all stays as it is.
    pub(crate) fn close(&mut self, region: RegionId, wc: &WorkCompletion<'_>) -> Result<F> {
        match &self.region(region)?.cover {
            Cover::Foreign(segments) if segments.is_mapped() => {}
            _ => return Err(EINVAL),
        }
        self.invalidated(region, wc)?;
        match &mut self.region_mut(region)?.cover {
            Cover::Foreign(segments) => segments.take().ok_or(EINVAL),
            Cover::Buffer | Cover::Sink { .. } => Err(EINVAL),
        }
    }
}
