// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::measure::histogram::Histogram;
use proptest::{
    collection::vec,
    prelude::*, //
};

const LIMIT: u64 = 1 << 40;

fn histogram(values: &[u64]) -> Box<Histogram> {
    let mut histogram = Box::new(Histogram::new());
    for value in values {
        histogram.record(*value);
    }
    histogram
}

/// Values of every magnitude, not only large ones.
fn latency() -> impl Strategy<Value = u64> {
    (0u32..40, any::<u64>()).prop_map(|(bits, n)| n & ((2 << bits) - 1))
}

/// The smallest value that `per_100k` of 100,000 do not exceed.
fn exact_percentile(sorted: &[u64], per_100k: u32) -> u64 {
    let rank = (sorted.len() as u128 * u128::from(per_100k)).div_ceil(100_000);
    sorted[(rank.max(1) - 1) as usize]
}

/// The exact standard deviation, rounded down.
fn exact_stddev(values: &[u64]) -> u64 {
    let n = values.len() as u128;
    let sum: u128 = values.iter().map(|v| u128::from(*v)).sum();
    let squares: u128 = values.iter().map(|v| u128::from(*v).pow(2)).sum();
    (((n * squares - sum * sum) / (n * n)).isqrt()) as u64
}

#[test]
fn empty_is_all_zero() {
    let h = histogram(&[]);
    assert_eq!((h.count(), h.min(), h.max()), (0, 0, 0));
    assert_eq!((h.mean(), h.stddev()), (0, 0));
    assert_eq!((h.percentile(0), h.percentile(100_000)), (0, 0));
    assert_eq!(h.buckets().count(), 0);
}

#[test]
fn small_values_are_exact() {
    let h = histogram(&[0, 1, 2, 3, 100, 100, 127]);
    assert_eq!((h.count(), h.min(), h.max(), h.mean()), (7, 0, 127, 47));
    assert_eq!(h.percentile(0), 0);
    assert_eq!(h.percentile(50_000), 3);
    assert_eq!(h.percentile(80_000), 100);
    assert_eq!(h.percentile(100_000), 127);
    assert_eq!(h.percentile(u32::MAX), 127);
    let buckets: Vec<_> = h.buckets().map(|b| (b.low, b.high, b.count)).collect();
    assert_eq!(buckets[4..], [(100, 100, 2), (127, 127, 1)]);
}

#[test]
fn a_small_spread_about_a_large_mean_is_seen() {
    let h = histogram(&[1_000_000_000, 1_000_000_004, 1_000_000_000, 1_000_000_004]);
    assert_eq!((h.mean(), h.stddev()), (1_000_000_002, 2));
    // 0.94, which must not become 1 by the way that it is computed.
    assert_eq!(histogram(&[0, 0, 2]).stddev(), 0);
}

#[test]
fn buckets_cover_everything_without_gaps() {
    // Every bucket's ends, and one step beyond each, for all 2,241.
    let mut low = 0;
    let mut buckets = 0;
    loop {
        let h = histogram(&[low]);
        let bucket = h.buckets().next().unwrap();
        assert_eq!((bucket.low, bucket.count), (low, 1));
        assert_eq!(histogram(&[bucket.high]).buckets().next(), Some(bucket));
        buckets += 1;
        if bucket.high == u64::MAX {
            break;
        }
        let width = bucket.high - bucket.low + 1;
        assert!(width * 64 <= low.max(64), "{bucket:?}");
        low = bucket.high + 1;
    }
    assert_eq!((buckets, low), (2241, LIMIT));
}

#[test]
fn values_beyond_the_end_saturate() {
    let mut h = histogram(&[5, LIMIT, u64::MAX, u64::MAX]);
    assert_eq!((h.min(), h.max(), h.count()), (5, u64::MAX, 4));
    assert_eq!(h.percentile(50_000), u64::MAX);
    assert_eq!(h.percentile(25_000), 5);
    let last = h.buckets().last().unwrap();
    assert_eq!((last.low, last.high, last.count), (LIMIT, u64::MAX, 3));
    let (mean, stddev) = (h.mean(), h.stddev());
    assert!(mean <= u64::MAX / 4 + 1 && stddev > 0);
    // Again and again what it holds: every sum must stop at its end.
    for _ in 0..200 {
        let twin = clone(&h);
        h.merge(&twin);
    }
    assert_eq!((h.count(), h.min(), h.max()), (u64::MAX, 5, u64::MAX));
    assert!(h.buckets().all(|b| b.count == u64::MAX));
    assert!(h.mean() <= h.max() && h.percentile(1) >= h.min());
    h.stddev();
}

fn clone(h: &Histogram) -> Box<Histogram> {
    let mut twin = histogram(&[]);
    twin.merge(h);
    twin
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn percentiles_are_within_a_64th(
        values in vec(latency(), 1..500),
        share in 0u32..=100_000,
    ) {
        let h = histogram(&values);
        let mut sorted = values.clone();
        sorted.sort_unstable();
        for share in [0, share, 50_000, 90_000, 99_000, 99_900, 99_990, 100_000] {
            let exact = exact_percentile(&sorted, share);
            let found = h.percentile(share);
            prop_assert!(found >= exact, "{found} for {exact}");
            prop_assert!((found - exact) * 64 <= exact, "{found} for {exact}");
            prop_assert!(found <= h.max());
        }
        prop_assert_eq!(h.percentile(100_000), sorted[sorted.len() - 1]);
    }

    #[test]
    fn count_min_max_mean_stddev_are_exact(values in vec(latency(), 1..500)) {
        let h = histogram(&values);
        prop_assert_eq!(h.count(), values.len() as u64);
        prop_assert_eq!(Some(h.min()), values.iter().copied().min());
        prop_assert_eq!(Some(h.max()), values.iter().copied().max());
        let sum: u64 = values.iter().sum();
        prop_assert_eq!(h.mean(), sum / values.len() as u64);
        prop_assert_eq!(h.stddev(), exact_stddev(&values));
    }

    #[test]
    fn buckets_hold_what_was_recorded(values in vec(any::<u64>(), 0..200)) {
        let h = histogram(&values);
        let mut end = None;
        for bucket in h.buckets() {
            let within = |v: &&u64| (bucket.low..=bucket.high).contains(*v);
            prop_assert_eq!(bucket.count, values.iter().filter(within).count() as u64);
            prop_assert!(end < Some(bucket.low), "in order");
            end = Some(bucket.high);
        }
        prop_assert_eq!(h.buckets().map(|b| b.count).sum::<u64>(), h.count());
    }

    #[test]
    fn merging_is_recording_all(
        a in vec(any::<u64>(), 0..50),
        b in vec(latency(), 0..50),
        c in vec(any::<u64>(), 0..50),
    ) {
        let merged = |parts: &[&Histogram]| {
            let mut sum = histogram(&[]);
            for part in parts {
                sum.merge(part);
            }
            sum
        };
        let all = histogram(&[a.clone(), b.clone(), c.clone()].concat());
        let (a, b, c) = (histogram(&a), histogram(&b), histogram(&c));
        prop_assert!(merged(&[&a, &b, &c]) == all);
        prop_assert!(merged(&[&c, &a, &b]) == all, "commutes");
        prop_assert!(merged(&[&a, &merged(&[&b, &c])]) == all, "associates");
    }
}
