// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::data::bytes::{
    check,
    fill, //
};
use proptest::prelude::*;

#[test]
fn each_byte_has_its_position() {
    let bytes: Vec<u8> = (0..=255).chain(0..=255).collect();
    assert!(check(&bytes, 0, 0).is_ok());
    assert!(check(&bytes[77..], 77, 0).is_ok());
    assert!(check(&bytes[..10], 1 << 40, 0).is_ok());
    // The last position is followed by the first.
    assert!(check(&bytes[255..], u64::MAX, 0).is_ok());
    assert!(check(&[], 5, 0).is_ok());
}

#[test]
fn wrong_bytes_are_counted_and_the_first_is_named() {
    let mut bytes: Vec<u8> = (3..103).collect();
    bytes[4] = 9;
    bytes[50] = 0;
    let mismatch = check(&bytes, 3, 7).unwrap_err();
    assert_eq!(
        (mismatch.offset, mismatch.expected, mismatch.found),
        (7, 7, 9)
    );
    assert_eq!((mismatch.iteration, mismatch.wrong), (7, 2));
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn one_wrong_byte_is_found_wherever_it_is(
        position: u64,
        len in 1usize..1000,
        at: prop::sample::Index,
        flip in 1u8..,
    ) {
        let mut bytes = vec![0; len];
        fill(&mut bytes, position);
        prop_assert_eq!(bytes[0], position as u8);
        prop_assert!(check(&bytes, position, 0).is_ok());
        let at = at.index(len);
        bytes[at] ^= flip;
        let mismatch = check(&bytes, position, 0).unwrap_err();
        prop_assert_eq!(mismatch.offset, position.wrapping_add(at as u64));
        prop_assert_eq!((mismatch.found, mismatch.wrong), (bytes[at], 1));
    }
}
