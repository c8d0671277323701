// SPDX-License-Identifier: GPL-2.0

//! Regions that RDMA READs write through, where the device wants a key for that: each
//! is mapped over the place of one READ's data, for as long as that takes.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_map_mr_sg()`)

use super::{
    region::Cover,
    Memory,
    RegionId, //
};
use crate::{
    bindings,
    logic::failure::Operation,
    rdma::{
        cq::WorkCompletion,
        wr::Local, //
    }, //
};
use kernel::{
    error::to_result,
    page::PAGE_SIZE,
    prelude::*, //
};

/// The most parts that a region is mapped over.
const PARTS: usize = bindings::krping_mr_KRPING_MR_PARTS as usize;

impl Memory {
    /// Adds a region for up to `bytes` bytes wherever in a page they begin, mapped over
    /// nothing and not valid yet. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; what the device says.
    pub(crate) fn add_sink(&mut self, bytes: u32) -> Result<RegionId> {
        let pages = (bytes as usize).div_ceil(PAGE_SIZE).saturating_add(1);
        let pages = u32::try_from(pages).map_err(|_| ERANGE)?;
        let region = self.allocate_region(
            pages,
            Cover::Sink {
                mapped: false,
                reader: None,
            },
        )?;
        self.push_region(region)
    }

    /// Maps `region` over `parts` of buffers, one behind the other, and gives it a new
    /// key. Between two of them there must be the end of a page on either side. Any
    /// context.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a region that is still valid or is one for requests, and for parts
    /// that it cannot cover.
    pub(crate) fn cover(
        &mut self,
        id: RegionId,
        parts: impl Iterator<Item = Result<Local>>,
    ) -> Result {
        let mut list: [_; PARTS] = core::array::from_fn(|_| bindings::ib_sge::default());
        let mut count = 0usize;
        for part in parts {
            *list.get_mut(count).ok_or(EINVAL)? = part?.raw(self)?;
            count = count.saturating_add(1);
        }
        self.renew_key(id)?;
        let region = self.region_mut(id)?;
        let Cover::Sink { mapped, .. } = &mut region.cover else {
            return Err(EINVAL);
        };
        *mapped = true;
        // SAFETY: The region is ours and not valid: `read_into` has seen the end of the
        // READ that used it. So many parts have been filled, of buffers that
        // are mapped, and stay so for longer than the region.
        let covered = unsafe {
            bindings::krping_map_mr(region.registration.as_ptr(), list.as_ptr(), count as u32)
        };
        to_result(covered.min(0))?;
        if covered as usize == count {
            Ok(())
        } else {
            Err(EINVAL)
        }
    }

    /// Notes that the READ into all of `region`, which invalidates it, is about to be posted
    /// as number `slot`.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a region that is not valid, is no sink, or has a READ already.
    pub(crate) fn reading(&mut self, region: RegionId, slot: usize) -> Result {
        let region = self.region_mut(region)?;
        match &mut region.cover {
            Cover::Sink { reader, .. } if region.valid && reader.is_none() => {
                *reader = Some(slot);
                Ok(())
            }
            _ => Err(EINVAL),
        }
    }

    /// Takes note that the READ into `region` has completed, as `wc` says.
    ///
    /// # Errors
    ///
    /// `EINVAL` where that is of another READ.
    pub(crate) fn read_into(&mut self, region: RegionId, wc: &WorkCompletion) -> Result {
        let region = self.region_mut(region)?;
        match &mut region.cover {
            Cover::Sink { reader, .. } if wc.op == Operation::Read && *reader == Some(wc.slot) => {
                *reader = None;
                region.valid = false;
                Ok(())
            }
            _ => Err(EINVAL),
        }
    }
}
