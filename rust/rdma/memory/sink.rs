// SPDX-License-Identifier: GPL-2.0

//! Regions that RDMA READs write through, where the device wants a key for that: each is mapped
//! over the place of one READ's data, for as long as that takes.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_map_mr_sg()`)

use super::{
    region::{
        Cover,
        Key, //
    },
    Memory,
    RegionId, //
};
use crate::{
    bindings,
    rdma::{
        cq::WorkCompletion,
        memory::segments::ForeignMemory,
        wr::Local, //
    }, //
};
use kernel::{
    error::to_result,
    page::PAGE_SIZE,
    prelude::*, //
};

/// The most parts that a region is mapped over.
const PARTS: usize = bindings::rust_helper_mr_RUST_HELPER_MR_PARTS as usize;

impl<F: ForeignMemory> Memory<F> {
    /// Adds a region for up to `bytes` bytes wherever in a page they begin, mapped over
    /// nothing and not valid yet. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; the driver's error for a number of pages beyond its limit.
    pub(crate) fn add_sink(&mut self, bytes: u32) -> Result<RegionId> {
        let pages = (bytes as usize).div_ceil(PAGE_SIZE) + 1;
        let pages = u32::try_from(pages).map_err(|_| ERANGE)?;
        let region = self.allocate_region(
            self.pd.clone(),
            pages,
            Cover::Sink {
                mapped: false,
                reader: None,
            },
        )?;
        self.push_region(region)
    }

    /// Maps a sink over `parts` of buffers, one behind the other, and gives it a new key.
    /// Between two of them there must be the end of a page on either side. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a region that is still valid or is no sink, and for parts that it cannot
    /// cover.
    pub(crate) fn map_sink(
        &mut self,
        id: RegionId,
        parts: impl Iterator<Item = Result<Local>>,
    ) -> Result {
        let mut list: [_; PARTS] = core::array::from_fn(|_| bindings::ib_sge::default());
        let mut count = 0usize;
        for part in parts {
            *list.get_mut(count).ok_or(EINVAL)? = part?.sge(self)?;
            count += 1;
        }
        self.renew_key(id)?;
        let region = self.region_mut(id)?;
        let Cover::Sink { mapped, .. } = &mut region.cover else {
            return Err(EINVAL);
        };
        *mapped = true;
        // SAFETY: The region is ours and not valid: `read_completed` has seen the end of the
        // READ that used it. So many parts have been filled, of buffers that are mapped, and
        // stay so for longer than the region.
        let covered = unsafe {
            bindings::rust_helper_map_mr(
                region.mr.as_ptr(),
                list.as_ptr(),
                count as u32,
                PAGE_SIZE as u32,
            )
        };
        to_result(covered.min(0))?;
        if covered as usize == count {
            Ok(())
        } else {
            Err(EINVAL)
        }
    }

    /// Notes that the READ into all of `region`, which invalidates it, is about to be posted
    /// with completion entry `entry`.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a region that is not valid, is no sink, or has a READ already.
    pub(in crate::rdma) fn reading(&mut self, region: RegionId, entry: u32) -> Result {
        let region = self.region_mut(region)?;
        match &mut region.cover {
            Cover::Sink { reader, .. } if region.key == Key::Valid && reader.is_none() => {
                *reader = Some(entry);
                Ok(())
            }
            _ => Err(EINVAL),
        }
    }

    /// Notes that the READ into `region` has not been posted, after all.
    pub(in crate::rdma) fn not_reading(&mut self, region: RegionId) {
        if let Ok(region) = self.region_mut(region) {
            if let Cover::Sink { reader, .. } = &mut region.cover {
                *reader = None;
            }
        }
    }

    /// Notes that the READ into `region` has completed, as `wc` says. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where that is of another READ, or one that failed.
    pub(crate) fn read_completed(&mut self, region: RegionId, wc: &WorkCompletion<'_>) -> Result {
        let owner = self.owner;
        let region = self.region_mut(region)?;
        match &mut region.cover {
            Cover::Sink { reader, .. }
                if wc.is_success() && wc.owner() == owner && *reader == Some(wc.entry()) =>
            {
                *reader = None;
                region.key = Key::Used;
                Ok(())
            }
            _ => Err(EINVAL),
        }
    }
}
