// SPDX-License-Identifier: GPL-2.0

//! The regions of a memory: what each is mapped over, and whether a device takes its key as
//! valid.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_alloc_mr()`)

use super::{
    Memory,
    RegionId, //
};
use crate::rdma::{
    cq::WorkCompletion,
    memory::segments::{
        ForeignMemory,
        Segments, //
    },
    mr::MemoryRegion, //
};
use kernel::prelude::*;

/// The memory that a region is mapped over.
pub(super) enum Cover<F> {
    /// A part of a buffer, for as long as the region lives.
    Buffer,
    /// The places of READs, one after the other.
    Sink {
        /// It was mapped over one.
        mapped: bool,
        /// The completion entry of the READ that is posted.
        reader: Option<u32>,
    },
    /// Memory of others, one object after the other.
    Foreign(Segments<F>),
}

/// A region of a [`Memory`]. Fields are in drop order: no device uses memory that is given back.
///
/// # Invariants
///
/// It is mapped over parts of buffers of that `Memory`, or over the object of its
/// [`Segments`]. What it is
/// mapped over only changes while it is not valid, and where that is not a buffer, the device
/// has said that it is not.
pub(in crate::rdma) struct Region<F> {
    pub(super) mr: MemoryRegion,
    pub(super) cover: Cover<F>,
    /// The device takes the key as valid once it has worked off what has been posted.
    pub(super) valid: bool,
}

impl<F: ForeignMemory> Region<F> {
    fn is_mapped(&self) -> bool {
        match &self.cover {
            Cover::Buffer => true,
            Cover::Sink { mapped, .. } => *mapped,
            Cover::Foreign(segments) => segments.is_mapped(),
        }
    }

    /// Frees the region, and returns the object that it was mapped over. May sleep.
    pub(in crate::rdma) fn into_object(self) -> Option<F> {
        // Before its memory is unmapped and given back.
        drop(self.mr);
        match self.cover {
            Cover::Foreign(mut segments) => segments.take(),
            Cover::Buffer | Cover::Sink { .. } => None,
        }
    }
}

impl<F: ForeignMemory> Memory<F> {
    /// Allocates a region for `pages` pages, mapped over nothing yet. May sleep.
    pub(super) fn allocate_region(&self, pages: u32, cover: Cover<F>) -> Result<Region<F>> {
        // SAFETY: The memory drops its regions before it gives the domain up.
        let mr = unsafe { MemoryRegion::new(&self.pd, pages)? };
        // INVARIANT: Whoever adds it to `regions` with a buffer has mapped it over that.
        Ok(Region {
            mr,
            cover,
            valid: false,
        })
    }

    pub(super) fn push_region(&mut self, region: Region<F>) -> Result<RegionId> {
        let place = self.owner.place(self.regions.len()).ok_or(ERANGE)?;
        self.regions.push(region, GFP_KERNEL)?;
        Ok(RegionId(place))
    }

    pub(super) fn region(&self, id: RegionId) -> Result<&Region<F>> {
        self.owner.get(&self.regions, id.0).ok_or(EINVAL)
    }

    pub(super) fn region_mut(&mut self, id: RegionId) -> Result<&mut Region<F>> {
        self.owner.get_mut(&mut self.regions, id.0).ok_or(EINVAL)
    }

    /// Returns true where `region` is valid once what has been posted is done. Any context.
    pub(crate) fn is_valid(&self, region: RegionId) -> bool {
        self.region(region).is_ok_and(|region| region.valid)
    }

    /// Gives `region` a new key, for its next registration. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where it is still valid, or of another memory.
    pub(crate) fn renew_key(&mut self, region: RegionId) -> Result {
        let region = self.region_mut(region)?;
        if region.valid {
            return Err(EINVAL);
        }
        // SAFETY: The region is not valid, so no device uses its key.
        unsafe { region.mr.renew_key() };
        Ok(())
    }

    /// Notes that the registration of `region` is about to be posted, and returns the key that
    /// it sets.
    ///
    /// # Errors
    ///
    /// `EINVAL` where it is still valid, mapped over nothing, or of another memory.
    pub(in crate::rdma) fn registering(&mut self, region: RegionId) -> Result<u32> {
        let region = self.region_mut(region)?;
        if region.valid || !region.is_mapped() {
            return Err(EINVAL);
        }
        region.valid = true;
        Ok(region.mr.rkey())
    }

    /// Notes that a registration of `region`, which is over a buffer, is about to be posted in
    /// whatever state it is, and returns the key that it sets.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a region that is not over a buffer of this memory.
    pub(in crate::rdma) fn registering_unchecked(&mut self, region: RegionId) -> Result<u32> {
        let region = self.over_buffer(region)?;
        region.valid = true;
        Ok(region.mr.rkey())
    }

    /// Notes that the invalidation of `region`, which is over a buffer, is about to be posted.
    /// For other regions there is no such request: nothing would say when it is done, and their
    /// memory does not stay.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a region that is not over a buffer of this memory.
    pub(in crate::rdma) fn invalidating(&mut self, region: RegionId) -> Result {
        self.over_buffer(region)?.valid = false;
        Ok(())
    }

    fn over_buffer(&mut self, region: RegionId) -> Result<&mut Region<F>> {
        let region = self.region_mut(region)?;
        match region.cover {
            Cover::Buffer => Ok(region),
            Cover::Sink { .. } | Cover::Foreign(_) => Err(EINVAL),
        }
    }

    /// Notes that the peer has invalidated `region`, as the receive that `wc` is of says. Any
    /// context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where it does not say that of this region.
    pub(crate) fn invalidated(&mut self, region: RegionId, wc: &WorkCompletion<'_>) -> Result {
        let owner = self.owner;
        let region = self.region_mut(region)?;
        if wc.owner() != owner || wc.invalidated() != Some(region.mr.rkey()) {
            return Err(EINVAL);
        }
        region.valid = false;
        Ok(())
    }
}
