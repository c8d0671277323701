// SPDX-License-Identifier: GPL-2.0

//! The segments of a disk's requests, on devices that limit the size of one DMA segment.
//!
//! Within a registration, only the first segment may begin and only the last one may end inside a
//! page. A limit on the segment size would split a request that begins inside a page at places that
//! are not page boundaries. A boundary that no segment may cross splits it at page boundaries.

/// Returns the segment boundary mask with which no segment has more than `limit` bytes. Segments of
/// one page, `page` bytes (a power of two), are always allowed.
pub(crate) fn boundary_mask(limit: u64, page: u64) -> u64 {
    let most = limit.max(page);
    // A power of two, and at most the 4 GiB that a 32-bit mask spans.
    let size = 1u64.checked_shl(most.max(1).ilog2()).unwrap_or(page);
    size.min(1 << 32).wrapping_sub(1)
}
