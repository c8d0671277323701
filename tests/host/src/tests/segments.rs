// SPDX-License-Identifier: GPL-2.0

use crate::logic::block::segments::boundary_mask;

const PAGE: u64 = 4096;

#[test]
fn no_segment_is_larger_than_the_limit() {
    for limit in [
        PAGE,
        65535,
        65536,
        65537,
        256 << 10,
        u64::from(u32::MAX),
        u64::MAX,
    ] {
        let size = boundary_mask(limit, PAGE) + 1;
        assert!(size.is_power_of_two() && size >= PAGE);
        assert!(size <= limit, "{size} bytes with a limit of {limit}");
        assert!(size > limit / 2 || size == 1 << 32);
    }
}

#[test]
fn a_segment_has_a_page_at_least() {
    for limit in [0, 1, 512, PAGE - 1] {
        assert_eq!(boundary_mask(limit, PAGE), PAGE - 1);
    }
}

#[test]
fn the_bounce_buffers_of_a_guest_without_access_to_its_memory() {
    assert_eq!(boundary_mask(256 << 10, PAGE), (256 << 10) - 1);
}
