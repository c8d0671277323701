// SPDX-License-Identifier: GPL-2.0

//! Memory regions: what each covers, and whether a device may use it.
//!
//! A region over the memory of a request owns the request, from before it is
//! registered until a device has said that it is not any more, or is gone. So no safe
//! code can end a request whose memory a device may still write to.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_alloc_mr()`)

use super::{
    request::Segments,
    Memory,
    RegionId, //
};
use crate::{
    bindings,
    kernel_ext::blk::request::Request,
    logic::wire::Advertisement,
    rdma::cq::WorkCompletion, //
};
use core::ptr::NonNull;
use kernel::{
    error::from_err_ptr,
    prelude::*, //
};

/// A fast-registration memory region of the driver's. Dropping it frees it: no device
/// uses it afterwards.
///
/// # Invariants
///
/// `raw` was allocated in the domain of the `Memory` that holds this, and is freed by this
/// object alone.
pub(super) struct Registration {
    raw: NonNull<bindings::ib_mr>,
}

impl Registration {
    /// The driver's region, valid while `self` lives.
    pub(super) fn as_ptr(&self) -> *mut bindings::ib_mr {
        self.raw.as_ptr()
    }

    /// What to tell the peer of it.
    pub(super) fn advertisement(&self) -> Advertisement {
        let raw = self.as_ptr();
        // SAFETY: The region is alive; these change only under `&mut` of its `Memory`.
        unsafe {
            Advertisement {
                addr: (*raw).iova,
                rkey: (*raw).rkey,
                size: (*raw).length as u32,
            }
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; the queue pair is gone before it.
        unsafe { bindings::krping_dereg_mr(self.raw.as_ptr()) };
    }
}

/// What a region is mapped over.
pub(super) enum Cover {
    /// Memory of a buffer, all along.
    Buffer,
    /// The places of READs, one after the other: whether it was mapped over one yet, and
    /// the number of the request that reads there now.
    Sink {
        /// It was.
        mapped: bool,
        /// It is posted.
        reader: Option<usize>,
    },
    /// The memory of requests, one after the other.
    Request(Segments),
}

/// A region of a [`Memory`]. Fields are in drop order.
///
/// # Invariants
///
/// It is mapped over parts of buffers of that `Memory`, or over the request of its
/// [`Segments`]. What it is mapped over only changes while it is not valid, and where that
/// is not a buffer, the device has said that it is not.
pub(crate) struct Region {
    pub(super) registration: Registration,
    pub(super) cover: Cover,
    /// The variable byte of the key, changed by each registration.
    pub(super) key: u8,
    /// Whether the device takes the key as valid once it has worked off what
    /// has been posted.
    pub(super) valid: bool,
}

impl Region {
    /// Whether it is mapped over anything.
    fn is_mapped(&self) -> bool {
        match &self.cover {
            Cover::Buffer => true,
            Cover::Sink { mapped, .. } => *mapped,
            Cover::Request(segments) => segments.request().is_some(),
        }
    }

    /// Frees it, and hands back the request that it had. May sleep.
    pub(crate) fn into_request(self) -> Option<Request> {
        // Before its memory is unmapped and the request is given back.
        drop(self.registration);
        match self.cover {
            Cover::Request(mut segments) => segments.take(),
            Cover::Buffer | Cover::Sink { .. } => None,
        }
    }
}

impl Memory {
    /// Allocates a region for `pages` pages, mapped over nothing yet.
    pub(super) fn allocate_region(&self, pages: u32, cover: Cover) -> Result<Region> {
        // SAFETY: The domain is alive.
        let raw = from_err_ptr(unsafe {
            bindings::ib_alloc_mr(self.pd(), bindings::ib_mr_type_IB_MR_TYPE_MEM_REG, pages)
        })?;
        // INVARIANT: Allocated just now.
        let registration = Registration {
            raw: NonNull::new(raw).ok_or(ENOMEM)?,
        };
        // INVARIANT: Whoever adds it to `regions` with a buffer has mapped it over that.
        Ok(Region {
            registration,
            cover,
            key: 0,
            valid: false,
        })
    }

    pub(super) fn push_region(&mut self, region: Region) -> Result<RegionId> {
        let place = self.owner.place(self.regions.len()).ok_or(ERANGE)?;
        self.regions.push(region, GFP_KERNEL)?;
        Ok(RegionId(place))
    }

    /// Takes out a region, if there is one left, once the queue pair is gone.
    pub(crate) fn pop_region(&mut self) -> Option<Region> {
        self.regions.pop()
    }

    pub(super) fn region(&self, id: RegionId) -> Result<&Region> {
        self.owner.get(&self.regions, id.0).ok_or(EINVAL)
    }

    pub(super) fn region_mut(&mut self, id: RegionId) -> Result<&mut Region> {
        self.owner.get_mut(&mut self.regions, id.0).ok_or(EINVAL)
    }

    /// Whether `region` is valid once what has been posted is done.
    pub(crate) fn is_valid(&self, region: RegionId) -> bool {
        self.region(region).is_ok_and(|region| region.valid)
    }

    /// Gives `region` a new key, for its next registration.
    ///
    /// # Errors
    ///
    /// `EINVAL` where it is still valid, or of another memory.
    pub(crate) fn renew_key(&mut self, region: RegionId) -> Result {
        let region = self.region_mut(region)?;
        if region.valid {
            return Err(EINVAL);
        }
        region.key = region.key.wrapping_add(1);
        // SAFETY: The region is alive and invalid, so no device uses its key.
        unsafe { bindings::krping_update_fast_reg_key(region.registration.as_ptr(), region.key) };
        Ok(())
    }

    /// Notes that the registration of `region` is about to be posted, and
    /// returns the key that it sets.
    ///
    /// # Errors
    ///
    /// `EINVAL` where it is still valid, mapped over nothing, or of another memory.
    pub(crate) fn registered(&mut self, region: RegionId) -> Result<u32> {
        let key = self.key(region)?;
        let region = self.region_mut(region)?;
        if region.valid || !region.is_mapped() {
            return Err(EINVAL);
        }
        region.valid = true;
        Ok(key)
    }

    /// Notes that a registration of `region`, which is over a buffer, is about to be
    /// posted, whatever state it is in, and returns the key that it sets.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a region that is not over a buffer of this memory.
    pub(crate) fn forced(&mut self, region: RegionId) -> Result<u32> {
        let key = self.key(region)?;
        self.over_buffer(region)?.valid = true;
        Ok(key)
    }

    /// Notes that the invalidation of `region`, which is over a buffer, is about to be
    /// posted. Other regions are another's or one READ's: nothing says when such a request
    /// is done, and their memory does not stay.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a region that is not over a buffer of this memory.
    pub(crate) fn invalidating(&mut self, region: RegionId) -> Result {
        self.over_buffer(region)?.valid = false;
        Ok(())
    }

    fn over_buffer(&mut self, region: RegionId) -> Result<&mut Region> {
        let region = self.region_mut(region)?;
        match region.cover {
            Cover::Buffer => Ok(region),
            Cover::Sink { .. } | Cover::Request(_) => Err(EINVAL),
        }
    }

    /// Takes note that the peer has invalidated `region`, as `wc` says.
    ///
    /// # Errors
    ///
    /// `EINVAL` where it does not say that of this region.
    pub(crate) fn invalidated(&mut self, region: RegionId, wc: &WorkCompletion) -> Result {
        if wc.invalidated != Some(self.key(region)?) {
            return Err(EINVAL);
        }
        self.region_mut(region)?.valid = false;
        Ok(())
    }
}
