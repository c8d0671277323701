// SPDX-License-Identifier: GPL-2.0

//! Regions over the memory of block requests: each is mapped over all segments of
//! one request after the other, which it owns for so long.
//!
//! The list of segments is allocated with the region, as a request that writes
//! dirty memory back must not need any.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_dma_map_sg()`, `ib_map_mr_sg()`)

use super::{
    region::{
        Cover,
        Registration, //
    },
    Memory,
    RegionId, //
};
use crate::{
    bindings,
    cm::CmId,
    kernel_ext::blk::request::{
        Direction,
        Request, //
    },
    logic::wire::Advertisement,
    rdma::cq::WorkCompletion, //
};
use kernel::{
    ffi::c_int,
    prelude::*,
    sync::Arc, //
};

/// The segments of one request, as the device sees them.
///
/// # Invariants
///
/// Where `mapped` is there, so many of `list` are the segments of its request, and mapped
/// for the device of `id` in this direction.
pub(super) struct Segments {
    list: KVec<bindings::scatterlist>,
    mapped: Option<Mapped>,
    id: Arc<CmId>,
}

/// A request whose segments are mapped.
struct Mapped {
    request: Request,
    count: c_int,
    direction: Direction,
}

impl Segments {
    /// The request, where there is one.
    pub(super) fn request(&self) -> Option<&Request> {
        self.mapped.as_ref().map(|mapped| &mapped.request)
    }

    /// Maps all segments of `request`, where none is mapped, and returns how many the
    /// device sees.
    fn map(&mut self, request: Request) -> core::result::Result<c_int, (Request, Error)> {
        if self.mapped.is_some() {
            return Err((request, EBUSY));
        }
        match self.try_map(&request) {
            Ok((seen, count, direction)) => {
                // INVARIANT: Mapped just now.
                self.mapped = Some(Mapped {
                    request,
                    count,
                    direction,
                });
                Ok(seen)
            }
            Err(error) => Err((request, error)),
        }
    }

    fn try_map(&mut self, request: &Request) -> Result<(c_int, c_int, Direction)> {
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
        Ok((seen, count, direction))
    }

    /// Maps all segments of `request` and lays `region`, which is not valid, over them.
    fn open(
        &mut self,
        region: &Registration,
        request: Request,
    ) -> core::result::Result<Advertisement, (Request, Error)> {
        let count = self.map(request)?;
        // SAFETY: The region is ours and not valid; the segments are mapped.
        let covered =
            unsafe { bindings::krping_map_mr_sg(region.as_ptr(), self.list.as_mut_ptr(), count) };
        if covered != count {
            if let Some(request) = self.take() {
                return Err((request, EINVAL));
            }
        }
        Ok(region.advertisement())
    }

    /// Unmaps the segments, and hands the request back. The region over them is not valid,
    /// or gone.
    pub(super) fn take(&mut self) -> Option<Request> {
        let mapped = self.mapped.take()?;
        if let Ok(device) = self.id.device() {
            // SAFETY: By the type invariant; no device uses the mapping, as the region over
            // them is not valid, or gone.
            unsafe {
                bindings::krping_dma_unmap_sg(
                    device.as_ptr(),
                    self.list.as_mut_ptr(),
                    mapped.count,
                    mapped.direction == Direction::Out,
                );
            }
        }
        Some(mapped.request)
    }
}

impl Drop for Segments {
    fn drop(&mut self) {
        // The region is gone: it is the field before them. A request that nobody has taken
        // fails.
        drop(self.take());
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
        let region = self.allocate_region(pages, Cover::Request(segments))?;
        self.push_region(region)
    }

    /// Maps `region` over all segments of `request`, which it owns from then on, gives it a
    /// new key, and returns what to tell the peer. Any context.
    ///
    /// # Errors
    ///
    /// The request, with `EINVAL` for a region that is still valid, or is none for requests,
    /// and for a request that it cannot cover; `EBUSY` for a region that has a request;
    /// `ENOMEM`.
    pub(crate) fn open_request(
        &mut self,
        region: RegionId,
        request: Request,
    ) -> core::result::Result<Advertisement, (Request, Error)> {
        let renewed = self.renew_key(region);
        match (renewed, self.region_mut(region)) {
            (Err(error), _) | (_, Err(error)) => Err((request, error)),
            (Ok(()), Ok(region)) => match &mut region.cover {
                Cover::Request(segments) => segments.open(&region.registration, request),
                Cover::Buffer | Cover::Sink { .. } => Err((request, EINVAL)),
            },
        }
    }

    /// The request that `region` has.
    pub(crate) fn request(&self, region: RegionId) -> Option<&Request> {
        match &self.region(region).ok()?.cover {
            Cover::Request(segments) => segments.request(),
            Cover::Buffer | Cover::Sink { .. } => None,
        }
    }

    /// Takes back the request of a region that the peer has invalidated, as `wc` says, and
    /// gives its memory back to the CPU. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where `wc` does not say that, or there is no request: then all stays as it
    /// is.
    pub(crate) fn close_request(
        &mut self,
        region: RegionId,
        wc: &WorkCompletion,
    ) -> Result<Request> {
        self.request(region).ok_or(EINVAL)?;
        self.invalidated(region, wc)?;
        match &mut self.region_mut(region)?.cover {
            Cover::Request(segments) => segments.take().ok_or(EINVAL),
            Cover::Buffer | Cover::Sink { .. } => Err(EINVAL),
        }
    }
}
