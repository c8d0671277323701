// SPDX-License-Identifier: GPL-2.0

use super::{
    cases,
    crc::bit_by_bit, //
};
use crate::logic::data::pattern::{
    Cell,
    Cells,
    Data,
    Mismatch,
    Pattern,
    PatternKind, //
};
use proptest::{
    collection::vec,
    prelude::*, //
};
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
/// blocks in which data is made and compared.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![1usize..80, 900usize..1100, 1800usize..1960]
}

/// Memory as a device has it: bytes, which are looked at as words.
#[derive(Clone)]
pub(super) struct Place(Vec<std::cell::Cell<u64>>);

impl Cell for std::cell::Cell<u64> {
    fn get(&self) -> u64 {
        std::cell::Cell::get(self)
    }

    fn set(&self, word: u64) {
        std::cell::Cell::set(self, word);
    }
}

impl Cells for Place {
    type Cell = std::cell::Cell<u64>;

    fn cells(&self) -> &[Self::Cell] {
        &self.0
    }

    fn crc(&self, words: usize) -> u32 {
        bit_by_bit(&self.bytes()[..words * 8])
    }
}

impl Place {
    /// As many words as hold `bytes`, with something else behind them.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let word = |bytes: &[u8]| {
            let mut word = [0x5a; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            std::cell::Cell::new(u64::from_le_bytes(word))
        };
        Self(bytes.chunks(8).map(word).collect())
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.0
            .iter()
            .flat_map(|word| word.get().to_le_bytes())
            .collect()
    }
}

fn whole(pattern: Pattern, iteration: u64, size: usize) -> Vec<u8> {
    let place = Place::of(&vec![0xa5; size]);
    Data::new(pattern, iteration, size).fill(&place);
    let mut data = place.bytes();
    data.truncate(size);
    data
}

fn check(pattern: Pattern, iteration: u64, size: usize, found: &[u8]) -> Result<(), Mismatch> {
    Data::new(pattern, iteration, size).check(&Place::of(found))
}

/// The data, made byte by byte from its description.
fn like_described(pattern: Pattern, iteration: u64, size: usize) -> Vec<u8> {
    if pattern.kind == PatternKind::Text {
        return like_c(iteration, size);
    }
    let mix = |x: u64| {
        let mut x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    let key = mix(mix(u64::from(pattern.seed)) ^ iteration);
    let byte = |at: usize| (mix(key.wrapping_add(at as u64 / 8)) >> (at % 8 * 8)) as u8;
    let mut data: Vec<_> = (0..size).map(byte).collect();
    if size >= 8 {
        let crc = bit_by_bit(&data[..size - 4]).to_be_bytes();
        data[size - 4..].copy_from_slice(&crc);
    }
    data
}

/// What differs, byte by byte.
fn like_compared(iteration: u64, good: &[u8], found: &[u8]) -> Result<(), Mismatch> {
    let wrong: Vec<_> = (0..good.len()).filter(|i| good[*i] != found[*i]).collect();
    let Some(offset) = wrong.first().copied() else {
        return Ok(());
    };
    Err(Mismatch {
        offset: offset as u64,
        expected: good[offset],
        found: found[offset],
        iteration,
        wrong: wrong.len() as u64,
    })
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
fn data_without_room_is_a_mismatch() {
    let data = whole(TEXT, 0, 30);
    let short = check(TEXT, 0, 30, &data[..16]).unwrap_err();
    assert_eq!((short.offset, short.wrong), (16, 14));
    let none = check(binary(1), 0, 30, &[]).unwrap_err();
    assert_eq!((none.offset, none.wrong), (0, 30));
    // There is no room for the CRC.
    let data = whole(binary(1), 0, 30);
    let short = check(binary(1), 0, 30, &data[..24]).unwrap_err();
    assert_eq!((short.offset, short.wrong), (24, 6));
}

#[test]
fn what_came_back_is_compared_with_what_was_sent() {
    // Where both are wrong alike, the peer has found it.
    let mut data = whole(binary(1), 3, 64);
    data[5] ^= 1;
    let echo = Place::of(&data);
    assert!(Data::new(binary(1), 3, 64).check_echo(&echo, &echo).is_ok());
    // Text is made as fast as it is read.
    let mut data = whole(TEXT, 3, 64);
    data[5] ^= 1;
    let echo = Place::of(&data);
    assert!(Data::new(TEXT, 3, 64).check_echo(&echo, &echo).is_err());
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn text_equals_that_of_the_c_programs(iteration in iteration(), size in size()) {
        prop_assert_eq!(whole(TEXT, iteration, size), like_c(iteration, size));
    }

    #[test]
    fn data_is_as_described(pattern in pattern(), iteration in iteration(), size in size()) {
        prop_assert_eq!(
            whole(pattern, iteration, size),
            like_described(pattern, iteration, size)
        );
    }

    #[test]
    fn what_is_behind_the_data_is_nobodys(
        pattern in pattern(),
        iteration in iteration(),
        size in size(),
        more in 8usize..600,
    ) {
        let place = Place::of(&vec![0xa5; size + more]);
        let data = Data::new(pattern, iteration, size);
        data.fill(&place);
        let made = place.bytes();
        let words = size.next_multiple_of(8);
        prop_assert!(made[size..words].iter().all(|b| *b == 0));
        prop_assert!(made[words..size + more].iter().all(|b| *b == 0xa5));
        prop_assert_eq!(data.check(&place), Ok(()));
        prop_assert_eq!(data.check(&Place::of(&made[..size])), Ok(()));
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
        let good = like_described(pattern, iteration, size);
        let mut found = found;
        found.resize(size, 7);
        prop_assert_eq!(
            check(pattern, iteration, size, &found),
            like_compared(iteration, &good, &found)
        );
    }

    #[test]
    fn an_echo_is_compared_to_its_last_byte(
        pattern in pattern(),
        iteration in iteration(),
        size in size(),
        places in vec(any::<prop::sample::Index>(), 0..3),
        more in 0usize..20,
    ) {
        let good = like_described(pattern, iteration, size);
        let mut found = good.clone();
        for place in places {
            found[place.index(size)] ^= 0x10;
        }
        let data = Data::new(pattern, iteration, size);
        let sent = Place::of(&[&good[..], &vec![0xa5; more]].concat());
        prop_assert_eq!(
            data.check_echo(&Place::of(&found), &sent),
            like_compared(iteration, &good, &found)
        );
        // What was sent says nothing where it is not what came back.
        let other = Place::of(&vec![0xa5; size]);
        prop_assert_eq!(
            data.check_echo(&Place::of(&found), &other),
            like_compared(iteration, &good, &found)
        );
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
