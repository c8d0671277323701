// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::measure::sequence::{
    Arrival,
    Sequence, //
};
use proptest::{
    collection::vec,
    prelude::*, //
};
use std::collections::BTreeSet;

/// Returns what a sequence makes of `numbers`, and its figures.
fn taken(numbers: &[u32]) -> (Vec<Arrival>, [u64; 3]) {
    let mut sequence = Sequence::default();
    let arrivals = numbers.iter().map(|n| sequence.take(*n)).collect();
    let figures = [sequence.arrived(), sequence.late(), sequence.repeated()];
    (arrivals, figures)
}

#[test]
fn the_kinds_of_messages() {
    use Arrival::{New, Repeated};
    let (arrivals, figures) = taken(&[0, 1, 3, 2, 2, 3, 10, 9, 4, 10]);
    assert_eq!(
        arrivals,
        [
            New(0),
            New(1),
            New(3),
            New(2),
            Repeated,
            Repeated,
            New(10),
            New(9),
            New(4),
            Repeated
        ]
    );
    assert_eq!(figures, [7, 3, 3]);
}

#[test]
fn what_is_older_than_the_memory_is_repeated() {
    for (behind, expected) in [(4096, Arrival::New(1)), (4097, Arrival::Repeated)] {
        // The next number is 1 + `behind`.
        let (arrivals, _) = taken(&[0, behind, 1]);
        assert_eq!(arrivals[2], expected, "{behind}");
    }
    // Nor is one whose place in the memory is that of a later one that has not arrived.
    assert_eq!(taken(&[0, 5000, 900]).0[2], Arrival::Repeated);
    // Nothing is before the first.
    assert_eq!(taken(&[u32::MAX]), (vec![Arrival::Repeated], [0, 0, 1]));
}

#[test]
fn numbers_wrap() {
    let step = (1 << 31) - 1;
    let (arrivals, _) = taken(&[step, 2 * step, 2, 0]);
    let wrapped = (1u64 << 32) + 2;
    assert_eq!(arrivals[2], Arrival::New(wrapped));
    assert_eq!(arrivals[3], Arrival::New(wrapped - 2));
    let mut sequence = Sequence::default();
    for number in 0..10u64 {
        assert_eq!(
            sequence.take((number << 30) as u32),
            Arrival::New(number << 30)
        );
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    /// With all within the memory, it tells what a set tells.
    #[test]
    fn is_a_set(numbers in vec(0u32..4096, 0..500)) {
        let mut seen = BTreeSet::new();
        let (arrivals, [arrived, late, repeated]) = taken(&numbers);
        let mut expected_late = 0;
        for (number, arrival) in numbers.iter().zip(arrivals) {
            let is_late = seen.last().is_some_and(|last| last > number);
            let expected = if seen.insert(*number) {
                expected_late += u64::from(is_late);
                Arrival::New((*number).into())
            } else {
                Arrival::Repeated
            };
            prop_assert_eq!(arrival, expected);
        }
        prop_assert_eq!(arrived, seen.len() as u64);
        prop_assert_eq!(late, expected_late);
        prop_assert_eq!(arrived + repeated, numbers.len() as u64);
    }

    /// Whatever a peer sends, no number comes twice, and each message is counted once.
    #[test]
    fn no_number_is_new_twice(numbers in vec(any::<u32>(), 0..300)) {
        let (arrivals, [arrived, _, repeated]) = taken(&numbers);
        let new: Vec<_> = arrivals.iter().filter(|a| **a != Arrival::Repeated).collect();
        let different: BTreeSet<_> = new.iter().map(|a| format!("{a:?}")).collect();
        prop_assert_eq!(different.len(), new.len());
        prop_assert_eq!(arrived, new.len() as u64);
        prop_assert_eq!(arrived + repeated, numbers.len() as u64);
    }
}
