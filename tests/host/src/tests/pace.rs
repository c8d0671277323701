// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::measure::pace::Pace;
use proptest::{
    collection::vec,
    prelude::*, //
};

#[test]
fn the_time_until_the_first_one_ends_counts() {
    let mut pace = Pace::default();
    assert_eq!(pace.time_of(5), None, "nothing has run");
    // 100 operations in 1000 ns, while the other one did 39 and a half.
    pace.add(0, 1000, 200);
    assert_eq!(pace.time_of(100), Some(1000), "alone");
    pace.add(0, 2500, 79);
    assert_eq!(pace.time_of(200), Some(200 * 2000 / 279));
}

#[test]
fn queue_pairs_that_take_turns_are_no_faster_than_one() {
    // One does all of its 50 before the other one does anything.
    let mut pace = Pace::default();
    pace.add(0, 50_000, 100);
    pace.add(0, 100_000, 1);
    let time = pace.time_of(100).unwrap();
    assert!((99_000..=100_000).contains(&time), "{time}");
}

#[test]
fn numbers_out_of_range_harm_nobody() {
    let mut pace = Pace::default();
    pace.add(10, 5, 0);
    assert_eq!(pace.time_of(1), None);
    let mut pace = Pace::default();
    pace.add(0, 10, 0);
    assert_eq!(pace.time_of(1), None, "nothing was done");
    pace.add(0, u64::MAX, 1);
    assert_eq!(
        pace.time_of(u64::MAX),
        Some(u64::MAX),
        "as long as can be told"
    );
    let mut pace = Pace::default();
    pace.add(0, u64::MAX, 1);
    pace.add(0, u64::MAX, u64::MAX);
    assert!(pace.time_of(u64::MAX).is_some());
    let mut pace = Pace::default();
    pace.add(0, u64::MAX, 1);
    assert_eq!(pace.time_of(u64::MAX), Some(u64::MAX));
}

proptest! {
    #![proptest_config(cases(2000))]

    /// However many they are and whenever each ends: of queue pairs that each take a fixed time for
    /// an operation, the time is that of all together.
    #[test]
    fn the_pace_is_the_sum_of_all(
        costs in vec(100u64..1000, 1..65),
        count in 20u64..500,
        began in 0u64..2_000_000_000,
    ) {
        let first = costs.iter().map(|cost| cost * count).min().unwrap();
        let mut pace = Pace::default();
        for cost in &costs {
            let done = (first / cost).min(count);
            let halves = if cost * count == first { 2 * done } else { 2 * done + 1 };
            pace.add(began, began + cost * count, halves);
        }
        let rate: f64 = costs.iter().map(|cost| 1.0 / *cost as f64).sum();
        let operations = count * costs.len() as u64;
        let ratio = pace.time_of(operations).unwrap() as f64 * rate / operations as f64;
        // Half an operation of each is not known.
        let doubt = 0.5 * costs.len() as f64 / (first as f64 * rate) + 0.001;
        prop_assert!((ratio - 1.0).abs() <= doubt / (1.0 - doubt), "{ratio} {doubt}");
    }
}
