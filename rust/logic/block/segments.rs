// SPDX-License-Identifier: GPL-2.0

//! The segments of a disk's requests, on devices that map only so much in one piece.
//!
//! A registration covers segments that begin and end with a page, but for the first and the
//! last. A limit on their size would cut a request that begins within a page between two
//! bounds of pages. Bounds that no segment crosses cut it where pages end.

/// The mask of bounds that segments are not to cross, so that none has more than `limit` bytes;
/// at least of pages, which have `page` bytes, a power of two.
pub(crate) fn boundary_mask(limit: u64, page: u64) -> u64 {
    let most = limit.max(page);
    // A power of two, and at most what is counted in 32 bits.
    let size = 1u64.checked_shl(most.max(1).ilog2()).unwrap_or(page);
    size.min(1 << 32).wrapping_sub(1)
}
