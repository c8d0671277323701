// SPDX-License-Identifier: GPL-2.0

use super::{cases, crc::bit_by_bit};
use crate::logic::pattern::{Check, Fill, Mismatch, Pattern, PatternKind};
use proptest::{collection::vec, prelude::*};
use std::collections::HashSet;

const TEXT: Pattern = Pattern {
    kind: PatternKind::Text,
    seed: 0,
};

fn binary(seed: u32) -> Pattern {
    Pattern {
        kind: PatternKind::Binary,
        seed,
    }
}

fn pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![Just(TEXT), any::<u32>().prop_map(binary)]
}

/// Iterations as they come, and those about the ends of the alphabet and of the
/// digits.
fn iteration() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..200, any::<u64>(), Just(u64::MAX)]
}

/// Sizes about everything that matters: the NUL, the prefix, the CRC, and the
/// pieces in which data is made and checked.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![1usize..80, 450usize..600, 1000usize..1200]
}

fn whole(pattern: Pattern, iteration: u64, size: usize) -> Vec<u8> {
    let mut data = vec![0xa5; size];
    Fill::new(pattern, iteration, size).next(&mut data);
    data
}

fn check(pattern: Pattern, iteration: u64, size: usize, found: &[u8]) -> Result<(), Mismatch> {
    let mut check = Check::new(pattern, iteration, size);
    check.feed(found);
    check.finish()
}

/// What a ping of the C programs sends, from its description: a counter in
/// words, a letter that goes round, one further with each ping.
fn like_c(iteration: u64, size: usize) -> Vec<u8> {
    let mut data = format!("rdma-ping-{iteration}: ").into_bytes();
    let first = usize::from(b'A');
    let last = usize::from(b'z');
    let mut letter = first;
    for _ in 0..iteration % (last - first + 1) as u64 {
        letter += 1;
    }
    while data.len() < size {
        data.push(letter as u8);
        letter = if letter == last { first } else { letter + 1 };
    }
    data.truncate(size);
    data[size - 1] = 0;
    data
}

#[test]
fn text_as_rping_shows_it() {
    assert_eq!(
        whole(TEXT, 0, 64),
        b"rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqr\0"
    );
    assert_eq!(whole(TEXT, 57, 20), b"rdma-ping-57: zABCD\0");
    assert_eq!(whole(TEXT, 58, 20), b"rdma-ping-58: ABCDE\0");
    assert_eq!(whole(TEXT, 1, 1), b"\0");
    assert_eq!(whole(TEXT, 123, 5), b"rdma\0");
    assert_eq!(whole(TEXT, 123, 15), b"rdma-ping-123:\0");
}

#[test]
fn binary_stays_what_it_is() {
    // Two hosts may run different builds: these bytes belong to the protocol.
    let data = whole(binary(0x1234_5678), 9, 20);
    let hex: String = data.iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(hex, "fc8056be7c18232d9c40e4696a275ae3d3059fc5");
}

#[test]
fn binary_depends_on_seed_iteration_and_place() {
    let words: HashSet<_> = (0..4u32)
        .flat_map(|seed| (0..4u64).map(move |i| whole(binary(seed), i, 4096)))
        .flat_map(|data| {
            let words = data.chunks(8).map(|w| w.to_vec());
            words.collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(words.len(), 4 * 4 * 512, "every word is another");
}

#[test]
fn a_mismatch_says_all() {
    let mut data = whole(TEXT, 7, 64);
    data[20] ^= 1;
    data[63] = 1;
    let mismatch = check(TEXT, 7, 64, &data).unwrap_err();
    assert_eq!(
        mismatch.to_string(),
        "data mismatch in iteration 7: byte 20 is 0x4e instead of 0x4f, 2 wrong in all"
    );
}

#[test]
fn too_little_and_too_much_are_mismatches() {
    let data = whole(TEXT, 0, 10);
    // The last byte would be 0, as what never came counts: it is wrong anyway.
    let short = check(TEXT, 0, 10, &data[..9]).unwrap_err();
    assert_eq!((short.offset, short.wrong), (9, 1));
    let none = check(TEXT, 0, 10, &[]).unwrap_err();
    assert_eq!((none.offset, none.expected, none.wrong), (0, b'r', 10));
    let long = [&data[..], &[1, 1]].concat();
    let long = check(TEXT, 0, 10, &long).unwrap_err();
    assert_eq!((long.offset, long.expected, long.wrong), (10, 0, 2));
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn text_equals_that_of_the_c_programs(iteration in iteration(), size in size()) {
        prop_assert_eq!(whole(TEXT, iteration, size), like_c(iteration, size));
    }

    #[test]
    fn binary_ends_in_its_crc(seed: u32, iteration in iteration(), size in 8usize..600) {
        let data = whole(binary(seed), iteration, size);
        let (body, crc) = data.split_at(size - 4);
        prop_assert_eq!(crc, bit_by_bit(body).to_be_bytes());
    }

    #[test]
    fn any_pieces_make_the_whole(
        pattern in pattern(),
        iteration in iteration(),
        size in size(),
        cuts in vec(prop_oneof![0usize..20, 500usize..530], 1..20),
    ) {
        let mut data = vec![0xa5; size];
        let mut fill = Fill::new(pattern, iteration, size);
        let mut check = Check::new(pattern, iteration, size);
        let (mut rest, mut cuts) = (&mut data[..], cuts.into_iter());
        while !rest.is_empty() {
            let len = cuts.next().unwrap_or(usize::MAX).min(rest.len());
            let (piece, after) = rest.split_at_mut(len);
            fill.next(piece);
            check.feed(piece);
            rest = after;
        }
        prop_assert_eq!(check.finish(), Ok(()));
        prop_assert_eq!(data, whole(pattern, iteration, size));
    }

    #[test]
    fn after_the_size_come_zeros(
        pattern in pattern(),
        iteration in iteration(),
        size in size(),
        more in 1usize..600,
    ) {
        let mut data = vec![0xa5; size + more];
        Fill::new(pattern, iteration, size).next(&mut data);
        prop_assert!(data[size..].iter().all(|b| *b == 0));
        prop_assert_eq!(&data[..size], whole(pattern, iteration, size));
    }

    #[test]
    fn one_wrong_byte_is_found(
        pattern in pattern(),
        iteration in iteration(),
        size in size(),
        place: prop::sample::Index,
        by in 1u8..=255,
    ) {
        let mut data = whole(pattern, iteration, size);
        prop_assert_eq!(check(pattern, iteration, size, &data), Ok(()));
        let offset = place.index(size);
        let expected = data[offset];
        data[offset] ^= by;
        prop_assert_eq!(check(pattern, iteration, size, &data), Err(Mismatch {
            offset: offset as u64,
            expected,
            found: expected ^ by,
            iteration,
            wrong: 1,
        }));
    }

    #[test]
    fn wrong_bytes_are_counted(
        pattern in pattern(),
        iteration in iteration(),
        size in size(),
        found in vec(any::<u8>(), 1..1200),
    ) {
        let good = whole(pattern, iteration, size);
        let mut found = found;
        found.resize(size, 7);
        let wrong: Vec<_> = (0..size).filter(|i| good[*i] != found[*i]).collect();
        match check(pattern, iteration, size, &found) {
            Ok(()) => prop_assert!(wrong.is_empty()),
            Err(m) => {
                prop_assert_eq!(m.wrong, wrong.len() as u64);
                prop_assert_eq!(m.offset, wrong[0] as u64);
            }
        }
    }

    #[test]
    fn data_of_another_iteration_is_wrong(
        pattern in pattern(),
        iteration in 0u64..1000,
        size in 16usize..600,
    ) {
        let stale = whole(pattern, iteration, size);
        prop_assert!(check(pattern, iteration + 1, size, &stale).is_err());
    }
}
