// SPDX-License-Identifier: GPL-2.0

use super::{
    cases,
    pattern::Place, //
};
use crate::logic::{
    data::pattern::Data,
    measure::slots::{
        Slots,
        LARGEST, //
    }, //
};
use proptest::prelude::*;

fn message(seed: u32, number: u64, size: usize) -> Vec<u8> {
    let place = Place::of(&vec![0xa5; size]);
    Data::numbered(seed, number, size).fill(&place);
    place.bytes().into_iter().take(size).collect()
}

#[test]
fn messages_stay_what_they_are() {
    // A peer of another version must make the same.
    assert_eq!(
        message(7, 2, 20),
        [11, 43, 218, 29, 49, 142, 241, 104, 14, 24, 109, 239, 99, 216, 166, 58, 17, 5, 0, 193]
    );
}

#[test]
fn there_are_places_for_messages_of_any_size_up_to_the_largest() {
    for size in (1..=LARGEST).step_by(61).chain([LARGEST]) {
        let slots = Slots::of(size);
        assert!(slots.count >= 8 && slots.bytes(size) <= 1 << 20, "{size}");
        assert!(
            slots.under_way() >= 4 && slots.receives() < slots.count,
            "{size}"
        );
        assert!(
            u32::from(slots.signal_every()) <= slots.under_way(),
            "{size}"
        );
        for number in 0..u64::from(slots.count) {
            let offset = slots.offset(number);
            assert_eq!(offset % 64, 0);
            assert!(offset + size as usize <= slots.bytes(size));
            assert_eq!(offset, slots.offset(number + u64::from(slots.count)));
            let next = slots.offset(number + 1);
            assert!(next == 0 || next >= offset + size as usize);
        }
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn one_wrong_byte_is_found(
        seed: u32,
        number: u64,
        (size, at) in (1usize..1100).prop_flat_map(|size| (Just(size), 0..size)),
        bits in 1u8..,
    ) {
        let mut found = message(seed, number, size);
        let good = found[at];
        found[at] ^= bits;
        let mismatch = Data::numbered(seed, number, size).check(&Place::of(&found)).unwrap_err();
        prop_assert_eq!((mismatch.offset, mismatch.iteration), (at as u64, number));
        prop_assert_eq!((mismatch.expected, mismatch.found), (good, good ^ bits));
        prop_assert_eq!(mismatch.wrong, 1);
    }

    #[test]
    fn a_message_in_the_place_of_another_differs_from_its_first_byte_on(
        seed: u32,
        number: u64,
        ahead in 1u64..256,
        size in 1usize..300,
    ) {
        let other = number.wrapping_add(ahead);
        let found = Place::of(&message(seed, other, size));
        let mismatch = Data::numbered(seed, number, size).check(&found).unwrap_err();
        prop_assert_eq!(mismatch.offset, 0);
        prop_assert!(mismatch.wrong as usize >= size.div_ceil(8));
    }

    #[test]
    fn a_message_torn_at_a_word_is_found_there(
        seed: u32,
        number: u64,
        ahead in 1u64..256,
        (words, at) in (2usize..100).prop_flat_map(|words| (Just(words), 1..words)),
    ) {
        let mut found = message(seed, number, words * 8);
        let other = message(seed, number.wrapping_add(ahead), words * 8);
        found[at * 8..].copy_from_slice(&other[at * 8..]);
        let found = Place::of(&found);
        let mismatch = Data::numbered(seed, number, words * 8).check(&found).unwrap_err();
        prop_assert_eq!(mismatch.offset, at as u64 * 8);
    }
}
