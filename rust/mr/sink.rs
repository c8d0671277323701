// SPDX-License-Identifier: GPL-2.0

//! Regions that RDMA READs write through, where the device wants a key for that: each
//! is mapped over the place of one READ's data, for as long as that takes.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_map_mr_sg()`)

use super::{Memory, RegionId};
use crate::{bindings, wr::Local};
use kernel::{error::to_result, page::PAGE_SIZE, prelude::*};

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
        let region = self.allocate_region(pages, None)?;
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
        if self.region(id)?.segments.is_some() {
            return Err(EINVAL);
        }
        self.renew_key(id)?;
        let region = self.region(id)?;
        // SAFETY: The region is ours and not valid: whoever had it registered last has
        // seen the end of what used it. So many parts have been filled, of buffers that
        // are mapped, and stay so for longer than the region.
        let covered =
            unsafe { bindings::krping_map_mr(region.raw.as_ptr(), list.as_ptr(), count as u32) };
        to_result(covered.min(0))?;
        if covered as usize == count {
            Ok(())
        } else {
            Err(EINVAL)
        }
    }
}
