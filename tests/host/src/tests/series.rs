// SPDX-License-Identifier: GPL-2.0

use crate::logic::{
    measure::series::{
        Series,
        KEPT,
        WORST, //
    },
    text::json::Object, //
};
use proptest::{
    collection::vec,
    prelude::*, //
};
use serde_json::Value;

const BEGAN: u64 = 1_000_000;

/// Returns a series that has not begun, on the heap.
fn empty() -> Box<Series> {
    Box::new(Series {
        interval_ns: 0,
        began_ns: 0,
        unix_ns: 0,
        ended_ns: 0,
        open: 0,
        operations: 0,
        bytes: 0,
        timed: 0,
        latencies: crate::logic::measure::histogram::Histogram::new(),
        kept: [[0; 5]; KEPT],
        worst: [[0; 2]; WORST],
        fewest: [0; 2],
        highest: [0; 2],
    })
}

/// Returns the series of intervals of 100 ns of these operations of 8 bytes, each a time after the
/// beginning and a latency.
fn series(operations: &[(u64, Option<u64>)]) -> Box<Series> {
    let mut series = empty();
    series.begin(BEGAN, 7, 100);
    for (at, latency) in operations {
        series.record(BEGAN + at, 1, 8, *latency);
    }
    series
}

/// Returns what is written of it.
fn written(series: &Series) -> Value {
    let mut text = String::new();
    let mut object = Object::new(&mut text).unwrap();
    series.write(&mut object).unwrap();
    object.finish().unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["series"].take()
}

fn rows(series: &Series) -> Vec<Vec<u64>> {
    serde_json::from_value(written(series)["intervals"].clone()).unwrap()
}

#[test]
fn nothing_counts_before_it_begins() {
    let mut series = empty();
    series.record(5, 1, 8, Some(3));
    assert!(!series.has_begun());
    assert_eq!((series.operations, series.timed), (0, 0));
}

#[test]
fn each_operation_is_in_the_interval_in_which_it_ended() {
    let series = series(&[(0, Some(5)), (99, Some(9)), (100, Some(7)), (230, Some(1))]);
    let written = written(&series);
    assert_eq!(written["interval_ns"], 100);
    assert_eq!(written["began_unix_ns"], 7);
    assert_eq!(written["ended_ns"], 230);
    assert_eq!(written["dropped"], 0);
    let columns = [
        "start_ns",
        "operations",
        "bytes",
        "p50_ns",
        "p99_ns",
        "max_ns",
    ];
    assert_eq!(written["columns"], Value::from(columns.to_vec()));
    assert_eq!(
        rows(&series),
        [
            [0, 2, 16, 5, 9, 9],
            [100, 1, 8, 7, 7, 7],
            [200, 1, 8, 1, 1, 1]
        ]
    );
}

#[test]
fn an_interval_without_operations_is_there() {
    let series = series(&[(10, Some(5)), (310, Some(6))]);
    let operations: Vec<_> = rows(&series).iter().map(|row| row[1]).collect();
    assert_eq!(operations, [1, 0, 0, 1]);
    let lowest = series.lowest_bandwidth().unwrap();
    assert_eq!((lowest.value, lowest.start_ns), (0, 100));
}

#[test]
fn operations_without_latencies_have_no_percentiles() {
    let series = series(&[(10, None), (20, None), (110, None)]);
    let columns = ["start_ns", "operations", "bytes"];
    assert_eq!(written(&series)["columns"], Value::from(columns.to_vec()));
    assert_eq!(rows(&series), [[0, 2, 16], [100, 1, 8]]);
    assert!(written(&series).get("worst").is_none());
    assert!(series.highest_p99().is_none());
}

#[test]
fn operations_may_differ_in_size() {
    let mut series = empty();
    series.begin(BEGAN, 7, 100);
    for (at, bytes) in [(10, 4096), (20, 512), (130, 0), (210, 65536), (330, 1)] {
        series.record(BEGAN + at, 1, bytes, Some(9));
    }
    let bytes: Vec<_> = rows(&series).iter().map(|row| row[2]).collect();
    assert_eq!(bytes, [4608, 0, 65536, 1]);
    let lowest = series.lowest_bandwidth().unwrap();
    assert_eq!((lowest.value, lowest.start_ns), (0, 100));
}

#[test]
fn an_interval_that_is_not_over_has_no_bandwidth() {
    let fast = [(10, None), (20, None), (110, None)];
    assert!(series(&fast[..2]).lowest_bandwidth().is_none());
    // 16 bytes in 100 ns.
    let lowest = series(&fast).lowest_bandwidth().unwrap();
    assert_eq!((lowest.value, lowest.start_ns), (160_000_000, 0));
}

#[test]
fn the_last_interval_may_have_the_highest_latency() {
    let highest = |operations: &[_]| {
        let highest = series(operations).highest_p99().unwrap();
        (highest.value, highest.start_ns)
    };
    assert_eq!(highest(&[(10, Some(5)), (250, Some(9))]), (9, 200));
    assert_eq!(highest(&[(10, Some(9)), (250, Some(5))]), (9, 0));
}

#[test]
fn the_worst_are_sorted_and_have_their_times() {
    let operations: Vec<_> = (0..30).map(|n| (n, Some((n * 7) % 30 + 1))).collect();
    let worst: Vec<Vec<u64>> =
        serde_json::from_value(written(&series(&operations))["worst"].clone()).unwrap();
    let mut expected: Vec<_> = operations
        .iter()
        .map(|(at, ns)| vec![*at, ns.unwrap()])
        .collect();
    expected.sort_by_key(|pair| std::cmp::Reverse(pair[1]));
    assert_eq!(worst, expected[..WORST]);
}

#[test]
fn the_latest_intervals_are_kept() {
    let last = KEPT as u64 + 5;
    let operations: Vec<_> = (0..=last).map(|n| (n * 100, Some(n + 1))).collect();
    let series = series(&operations);
    assert_eq!(written(&series)["dropped"], 5);
    let rows = rows(&series);
    assert_eq!(rows.len(), KEPT + 1);
    assert_eq!(rows[0][..2], [500, 1]);
    assert_eq!(rows[KEPT][..2], [last * 100, 1]);
}

#[test]
fn a_stall_longer_than_what_is_kept_is_skipped_at_once() {
    let far = u64::MAX / 200;
    let series = series(&[(10, Some(5)), (far * 100, Some(6))]);
    let rows = rows(&series);
    assert_eq!(rows.len(), KEPT + 1);
    assert!(rows[..KEPT].iter().all(|row| row[1] == 0));
    assert_eq!(rows[KEPT][0], far * 100);
    assert_eq!(series.lowest_bandwidth().unwrap().start_ns, 100);
}

proptest! {
    #![proptest_config(super::cases(200))]

    /// Each operation is in one interval, and of an interval the operations are known exactly.
    #[test]
    fn nothing_is_lost(steps in vec((0u64..250, 1u64..1000), 1..300)) {
        let mut at = 0;
        let operations: Vec<_> = steps
            .iter()
            .map(|(step, ns)| {
                at += step;
                (at, Some(*ns))
            })
            .collect();
        let series = series(&operations);
        let rows = rows(&series);
        prop_assert_eq!(rows.len() as u64, at / 100 + 1);
        for (number, row) in (0u64..).zip(&rows) {
            let mut inside: Vec<_> = operations
                .iter()
                .filter(|(at, _)| at / 100 == number)
                .map(|(_, ns)| ns.unwrap())
                .collect();
            inside.sort_unstable();
            prop_assert_eq!(row[0], number * 100);
            prop_assert_eq!(row[1], inside.len() as u64);
            prop_assert_eq!(row[5], inside.last().copied().unwrap_or(0));
            let fewest = series.lowest_bandwidth();
            if let Some(fewest) = fewest.filter(|_| number < at / 100) {
                prop_assert!(fewest.value <= inside.len() as u64 * 80_000_000);
            }
        }
    }
}
