// SPDX-License-Identifier: GPL-2.0

//! Memory of others: one page. The only unsafe code of the probes, which each user of
//! [`ForeignMemory`] has to write.

use crate::{
    bindings,
    kernel_ext::pages::Contiguous,
    rdma::memory::{
        DmaDirection,
        ForeignMemory, //
    }, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*, //
};

/// A page that is lent in one direction.
pub(crate) struct Lent {
    pub(crate) page: Contiguous,
    pub(crate) direction: DmaDirection,
}

impl Lent {
    /// Allocates a zeroed page.
    pub(crate) fn new(direction: DmaDirection) -> Result<Self> {
        Ok(Self {
            page: Contiguous::new(PAGE_SIZE)?,
            direction,
        })
    }
}

// SAFETY: One entry is filled, over a page that lives as long as the object, and to whose bytes
// there are no references.
unsafe impl ForeignMemory for Lent {
    fn direction(&self) -> Option<DmaDirection> {
        Some(self.direction)
    }

    fn fill(&self, list: &mut [bindings::scatterlist]) -> Result<usize> {
        let first = list.first_mut().ok_or(EINVAL)?;
        let page = self.page.as_ptr().cast();
        // SAFETY: There is one entry, and the page is one of the linear mapping.
        unsafe {
            bindings::sg_init_table(first, 1);
            bindings::rust_helper_sg_set_buf(first, page, PAGE_SIZE as u32);
        }
        Ok(1)
    }
}
