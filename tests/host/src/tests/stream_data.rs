// SPDX-License-Identifier: GPL-2.0

use crate::logic::stream::data::check;

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
