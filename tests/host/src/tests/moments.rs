// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::measure::{
    histogram::Histogram,
    moments::Moments,
    schedule::{
        OpenLoopFigures,
        Share, //
    }, //
};
use proptest::prelude::*;

/// One operation a microsecond.
const SHARE: Share = Share {
    rate: 1_000_000,
    threads: 1,
    queue_pairs: 1,
};

fn figures() -> OpenLoopFigures {
    OpenLoopFigures {
        late: 0,
        unposted: 0,
        lateness: Histogram::new(),
    }
}

/// Moments that have begun at 5000 ns, and last 1 ms.
fn begun() -> Moments {
    let mut moments = Moments::new(SHARE, Some(1));
    assert!(!moments.has_begun() && moments.is_due(0) && !moments.is_over(u64::MAX));
    assert_eq!(moments.ended(7, 0), None);
    moments.begin(5000, 0);
    assert!(moments.has_begun());
    moments
}

#[test]
fn an_operation_counts_from_the_moment_at_which_it_was_due() {
    let (mut moments, mut figures) = (begun(), figures());
    assert!(!moments.is_due(5999) && moments.is_due(6000));
    assert_eq!(moments.after(5500), Some(6000));
    moments.posted(6100, &mut figures);
    assert!(!moments.is_due(6999) && moments.is_due(7000));
    assert_eq!(moments.ended(6300, 0), Some(300));
    // The half of the time since the post, and all of that before.
    moments.posted(7200, &mut figures);
    assert_eq!(moments.ended(7300, 1), Some(250));
    assert_eq!((figures.late, figures.unposted), (0, 0));
    assert_eq!(figures.lateness.count(), 2);
    assert_eq!((figures.lateness.min(), figures.lateness.max()), (100, 200));
}

#[test]
fn late_is_what_was_due_before_there_was_room() {
    let (mut moments, mut figures) = (begun(), figures());
    moments.posted(6000, &mut figures);
    // Room for the next two, which were due at 7000 and 8000.
    moments.made_room(7500);
    moments.posted(7600, &mut figures);
    assert_eq!(figures.late, 1);
    moments.posted(8600, &mut figures);
    assert_eq!(figures.late, 1);
    // All three end in their order.
    let ended = [9000, 9000, 9000].map(|now| moments.ended(now, 0));
    assert_eq!(ended, [Some(3000), Some(2000), Some(1000)]);
}

#[test]
fn nothing_is_due_behind_the_end_and_what_found_no_room_is_counted() {
    let (mut moments, mut figures) = (begun(), figures());
    let last = 5000 + 1_000_000;
    assert!(!moments.ends(last, &mut figures));
    for _ in 0..600 {
        moments.posted(last, &mut figures);
    }
    // There was room for the next one in time, unless what was there last came later.
    assert!(!moments.is_over(last + 1) && moments.is_due(last + 1));
    moments.made_room(last + 1);
    assert!(!moments.is_over(last) && moments.is_over(last + 1));
    assert!(moments.ends(last + 1, &mut figures));
    assert_eq!(figures.unposted, 400);
    // It is counted once.
    assert!(moments.ends(last + 1, &mut figures));
    assert_eq!(figures.unposted, 400);
}

#[test]
fn what_had_room_in_time_is_posted_though_the_timer_is_late() {
    let (mut moments, mut figures) = (begun(), figures());
    let last = 5000 + 1_000_000;
    for _ in 1..1000 {
        moments.posted(6000, &mut figures);
    }
    moments.made_room(last);
    assert_eq!(moments.after(last - 1), Some(last));
    // No more becomes due, but this one is.
    assert_eq!(moments.after(last + 50), None);
    assert!(!moments.ends(last + 50, &mut figures) && moments.is_due(last + 50));
    moments.posted(last + 50, &mut figures);
    assert!(moments.ends(last + 50, &mut figures) && !moments.is_due(u64::MAX));
    assert_eq!(figures.unposted, 0);
}

#[test]
fn it_is_over_as_soon_as_the_last_one_is_posted() {
    let (mut moments, mut figures) = (begun(), figures());
    for number in 1..=1000 {
        let now = 5000 + number * 1000;
        assert!(!moments.ends(now - 1, &mut figures), "{number}");
        assert!(moments.is_due(now));
        moments.posted(now, &mut figures);
    }
    assert!(moments.ends(5000 + 1_000_000, &mut figures));
    assert_eq!((figures.late, figures.unposted), (0, 0));
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn a_latency_has_the_lateness_in_it(
        rate in 1u32..=1_000_000_000,
        steps in prop::collection::vec((0u64..3_000_000, 0u64..3_000_000), 1..50),
    ) {
        let mut moments = Moments::new(Share { rate, ..SHARE }, None);
        let mut figures = figures();
        moments.begin(0, 0);
        let mut now = 0u64;
        for (before, within) in steps {
            now = moments.after(now).unwrap_or(now) + before;
            if !moments.is_due(now) {
                continue;
            }
            let lateness = figures.lateness.max();
            moments.posted(now, &mut figures);
            let this = figures.lateness.max();
            now += within;
            let latency = moments.ended(now, 0);
            moments.made_room(now);
            prop_assert!(latency >= Some(within));
            // Where this one was the latest by now, its lateness is known.
            if this > lateness {
                prop_assert_eq!(latency, Some(this + within));
            }
        }
    }
}
