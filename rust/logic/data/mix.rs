// SPDX-License-Identifier: GPL-2.0

//! SplitMix64, a generator of pseudo-random words.

/// The increment of the state of SplitMix64.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the output of SplitMix64 for its state number `x`, in which each bit of `x` affects all
/// bits.
pub(crate) const fn mix(x: u64) -> u64 {
    scramble(x.wrapping_mul(GOLDEN))
}

/// The output function of SplitMix64.
pub(crate) const fn scramble(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
