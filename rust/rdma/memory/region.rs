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
    mr::{
        Access,
        MemoryRegion, //
    },
    pd::ProtectionDomain, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

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

/// The state of a region's key, as it will be once the device has worked off what has been posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rdma) enum Key {
    /// No device has ever taken it as valid.
    New,
    /// The device takes it as valid.
    Valid,
    /// The device has taken it as valid, and does not any more.
    Used,
}

/// A region of a [`Memory`]. Fields are in drop order: no device uses memory that is given back.
///
/// # Invariants
///
/// It is mapped over parts of buffers of that `Memory`, or over the object of its
/// [`Segments`]. What it is
/// mapped over only changes while it is not valid, and where that is not a buffer, the device
/// has said that it is not: a completion names the key, and no key is registered twice, so that
/// each completion is the end of one registration.
pub(in crate::rdma) struct Region<F> {
    pub(super) mr: MemoryRegion,
    /// The domain that it was allocated in.
    _pd: Arc<ProtectionDomain>,
    pub(super) cover: Cover<F>,
    pub(super) key: Key,
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
    #[inline(never)]
    pub(super) fn allocate_region(
        &self,
        pd: Arc<ProtectionDomain>,
        pages: u32,
        cover: Cover<F>,
    ) -> Result<Region<F>> {
        // SAFETY: The region drops this before it gives the domain up.
        let mr = unsafe { MemoryRegion::new(&pd, pages)? };
        // INVARIANT: Whoever adds it to `regions` with a buffer has mapped it over that.
        Ok(Region {
            mr,
            _pd: pd,
            cover,
            key: Key::New,
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
        self.key(region) == Ok(Key::Valid)
    }

    /// Returns the state of the key of `region`.
    pub(in crate::rdma) fn key(&self, region: RegionId) -> Result<Key> {
        Ok(self.region(region)?.key)
    }

    /// Notes that what would have changed the key of `region` has not been posted, after all.
    pub(in crate::rdma) fn restore_key(&mut self, region: RegionId, key: Key) {
        if let Ok(region) = self.region_mut(region) {
            region.key = key;
        }
    }

    /// Gives `region` a new key for its next registration, unless its present one was never
    /// registered. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where it is still valid, or of another memory.
    pub(crate) fn renew_key(&mut self, region: RegionId) -> Result {
        let region = self.region_mut(region)?;
        match region.key {
            Key::Valid => return Err(EINVAL),
            Key::New => {}
            Key::Used => {
                // SAFETY: The region is not valid, so no device uses its key.
                unsafe { region.mr.renew_key() };
                region.key = Key::New;
            }
        }
        Ok(())
    }

    /// Notes that the registration of `region` for `access` is about to be posted, and returns the
    /// key that it sets.
    ///
    /// # Errors
    ///
    /// `EINVAL` where its key has been registered before, or it is mapped over nothing, or of
    /// another memory; `EACCES` where its object's [direction] is not that of the access.
    ///
    /// [direction]: ForeignMemory::direction
    pub(in crate::rdma) fn registering(&mut self, region: RegionId, access: Access) -> Result<u32> {
        let region = self.region_mut(region)?;
        if region.key != Key::New || !region.is_mapped() {
            return Err(EINVAL);
        }
        if let Cover::Foreign(segments) = &region.cover {
            if segments.direction() != access.direction() {
                return Err(EACCES);
            }
        }
        region.key = Key::Valid;
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
        region.key = Key::Valid;
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
        self.over_buffer(region)?.key = Key::Used;
        Ok(())
    }

    fn over_buffer(&mut self, region: RegionId) -> Result<&mut Region<F>> {
        let region = self.region_mut(region)?;
        match region.cover {
            Cover::Buffer => Ok(region),
            Cover::Sink { .. } | Cover::Foreign(_) => Err(EINVAL),
        }
    }

    /// Notes that the peer has invalidated `region`, as the receive that `wc` is of says. That is
    /// so once: from then on the completion says nothing of the region's next keys. Any context.
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
        region.key = Key::Used;
        Ok(())
    }
}
