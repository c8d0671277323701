// SPDX-License-Identifier: GPL-2.0

use crate::logic::text::ratelimit::RateLimit;

const BURST: usize = RateLimit::BURST as usize;

/// How many of `count` lines at once pass, and what they tell of suppressed ones.
fn burst(limit: &mut RateLimit, now_ms: u64, count: usize) -> Vec<u64> {
    (0..count).filter_map(|_| limit.pass(now_ms)).collect()
}

#[test]
fn a_burst_passes_and_no_more() {
    let mut limit = RateLimit::default();
    assert_eq!(burst(&mut limit, 0, 300), vec![0; BURST]);
    assert_eq!(limit.take_suppressed(), 300 - BURST as u64);
    assert_eq!(limit.take_suppressed(), 0);
}

#[test]
fn the_next_line_tells_what_was_suppressed() {
    let mut limit = RateLimit::default();
    burst(&mut limit, 7, BURST + 5);
    assert_eq!(limit.pass(7 + RateLimit::INTERVAL_MS - 1), None);
    assert_eq!(limit.pass(7 + RateLimit::INTERVAL_MS), Some(6));
    assert_eq!(limit.pass(7 + RateLimit::INTERVAL_MS), Some(0));
}

#[test]
fn lines_that_are_apart_all_pass() {
    let mut limit = RateLimit::default();
    let apart = RateLimit::INTERVAL_MS / RateLimit::BURST as u64;
    assert!((0..1000).all(|number| limit.pass(number * apart) == Some(0)));
}
