// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::measure::{
    histogram::Histogram,
    schedule::{
        OpenLoopFigures,
        Share, //
    }, //
};
use proptest::prelude::*;

/// Returns the moments of the first operations.
fn moments(share: Share, start_ns: u64, turn: u16, count: usize) -> Vec<u64> {
    let mut schedule = share.schedule(start_ns, turn);
    (0..count)
        .map(|_| {
            let next = schedule.next();
            schedule.advance();
            next
        })
        .collect()
}

const ALONE: Share = Share {
    rate: 3,
    threads: 1,
    queue_pairs: 1,
};

#[test]
fn the_first_is_due_after_one_period_and_thirds_add_up() {
    let first = moments(ALONE, 7, 0, 6);
    assert_eq!(
        first,
        [
            333_333_340,
            666_666_673,
            1_000_000_007,
            1_333_333_340,
            1_666_666_673,
            2_000_000_007
        ]
    );
}

#[test]
fn queue_pairs_take_turns_and_threads_share() {
    let share = Share {
        rate: 12,
        threads: 2,
        queue_pairs: 3,
    };
    let mut all: Vec<u64> = (0..3).flat_map(|turn| moments(share, 0, turn, 4)).collect();
    all.sort_unstable();
    let half = Share { rate: 6, ..ALONE };
    assert_eq!(all, moments(half, 0, 0, 12));
    assert_eq!(
        moments(share, 0, 4, 4),
        moments(share, 0, 1, 4),
        "a turn beyond the last one is another one's"
    );
}

#[test]
fn after_a_moment_that_has_passed_comes_another_one() {
    let schedule = ALONE.schedule(0, 0);
    assert_eq!(schedule.after(0), 333_333_333);
    assert_eq!(schedule.after(333_333_332), 333_333_333);
    assert_eq!(schedule.after(333_333_333), 666_666_666);
    assert_eq!(schedule.after(900_000_000), 1_000_000_000);
}

#[test]
fn fractions_of_many_moments_add_up() {
    let share = Share {
        rate: 778_309_031,
        threads: 819,
        queue_pairs: 8,
    };
    let schedule = share.schedule(0, 0);
    // Without the fractions the 900th would be 275 ns before that, and the 901st is behind it.
    assert_eq!(schedule.after(7_577_252), by_definition(share, 0, 0, 900));
}

#[test]
fn numbers_out_of_range_harm_nobody() {
    let share = Share {
        rate: 0,
        threads: u32::MAX,
        queue_pairs: 0,
    };
    for start in [0, u64::MAX] {
        let mut schedule = share.schedule(start, u16::MAX);
        for _ in 0..100 {
            schedule.advance();
            assert!(schedule.after(u64::MAX) >= schedule.next());
            let _ = schedule.due_by(u64::MAX);
        }
    }
    let schedule = ALONE.schedule(10, 0);
    assert_eq!(schedule.due_by(0), 0, "before the start");
    assert_eq!(ALONE.schedule(u64::MAX, 0).next(), u64::MAX);
}

#[test]
fn figures_add_up() {
    let figures = |late, unposted, lateness| {
        let mut figures = OpenLoopFigures {
            late,
            unposted,
            lateness: Histogram::new(),
        };
        figures.lateness.record(lateness);
        figures
    };
    let mut sum = figures(1, 2, 5);
    sum.merge(&figures(30, u64::MAX, 7));
    assert_eq!((sum.late, sum.unposted), (31, u64::MAX));
    let found = &sum.lateness;
    assert_eq!((found.count(), found.min(), found.max()), (2, 5, 7));
}

/// Any share that a command can ask for.
fn share() -> impl Strategy<Value = Share> {
    (1u32..=1_000_000_000, 1u32..=1024, 1u16..=256).prop_map(|(rate, threads, queue_pairs)| Share {
        rate,
        threads,
        queue_pairs,
    })
}

/// Returns the moment of operation `n` by its definition.
fn by_definition(share: Share, start_ns: u64, turn: u16, n: u64) -> u64 {
    let place = u128::from(n) * u128::from(share.queue_pairs) + u128::from(turn) + 1;
    let after = place * u128::from(share.threads) * 1_000_000_000 / u128::from(share.rate);
    start_ns + u64::try_from(after).unwrap()
}

proptest! {
    #![proptest_config(cases(1000))]

    /// After however many steps there is no drift.
    #[test]
    fn steps_lead_to_the_moments_of_the_definition(
        share in share(),
        start in 0u64..1 << 60,
        turn: u16,
        count in 1usize..2000,
    ) {
        let turn = turn % share.queue_pairs;
        for (n, moment) in moments(share, start, turn, count).into_iter().enumerate() {
            prop_assert_eq!(moment, by_definition(share, start, turn, n as u64));
        }
    }

    /// A timer that asks for the moment after now finds each operation as soon as it is due, and
    /// does not ask again and again.
    #[test]
    fn a_moment_after_another_is_later_and_misses_none(
        share in share(),
        start in 0u64..1 << 60,
        skipped in 0usize..50,
        waited in 0u64..10_000_000_000,
    ) {
        let mut schedule = share.schedule(start, 0);
        (0..skipped).for_each(|_| schedule.advance());
        let now = start + waited;
        let after = schedule.after(now);
        prop_assert!(after > now);
        let mut following = schedule;
        let mut passed = 0;
        while following.next() <= now && passed < 1000 {
            following.advance();
            passed += 1;
        }
        if passed < 1000 {
            prop_assert_eq!(after, following.next());
        }
    }

    /// As many are due by a moment as there are steps until it.
    #[test]
    fn those_that_are_due_are_counted(
        share in share(),
        start in 0u64..1 << 60,
        turn: u16,
        skipped in 0u64..1000,
        n in 0u64..1 << 20,
    ) {
        let turn = turn % share.queue_pairs;
        let mut schedule = share.schedule(start, turn);
        (0..skipped).for_each(|_| schedule.advance());
        let moment = by_definition(share, start, turn, skipped + n);
        let due = schedule.due_by(moment);
        prop_assert!(due > n, "{due}");
        prop_assert!(by_definition(share, start, turn, skipped + due - 1) <= moment);
        prop_assert!(by_definition(share, start, turn, skipped + due) > moment);
        // A nanosecond before, those of that moment are not.
        let before = schedule.due_by(moment - 1);
        prop_assert!(before <= n && by_definition(share, start, turn, skipped + before) >= moment);
    }

    /// Whatever a queue pair does, it has not done more than the rate allows.
    #[test]
    fn the_rate_is_never_exceeded(
        share in share(),
        start in 0u64..1 << 60,
        turn: u16,
        n in 0u64..1 << 30,
    ) {
        let turn = turn % share.queue_pairs;
        let elapsed = u128::from(by_definition(share, start, turn, n) - start);
        let scale = u128::from(share.threads) * u128::from(share.queue_pairs) * 1_000_000_000;
        // All operations of this queue pair until then, if each took its share of the rate.
        prop_assert!((elapsed + 1) * u128::from(share.rate) > u128::from(n) * scale);
    }
}
