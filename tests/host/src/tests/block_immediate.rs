// SPDX-License-Identifier: GPL-2.0

//! Messages that are nothing but data: what their immediates say of them.

use super::{
    block::least,
    cases, //
};
use crate::logic::{
    block::{
        answer::DataAnswer,
        Action,
        BareWrite,
        MessageError,
        Request, //
    },
    wire::Advertisement, //
};
use proptest::prelude::*;

/// What a bare write is of.
const SIZE: u32 = 4096;

/// Sizes of other writes.
const OTHERS: [u32; 9] = [
    0,
    1,
    512,
    SIZE - 512,
    SIZE - 1,
    SIZE + 1,
    SIZE + 512,
    2 * SIZE,
    u32::MAX,
];

/// How many bits tags below `depth` have.
fn bits(depth: u16) -> u32 {
    (0..=16)
        .find(|bits| 1u32 << bits >= u32::from(depth))
        .expect("16 bits are enough for any")
}

/// The write that a bare one at this place is.
fn write(tag: u16, place: u32) -> Request {
    Request {
        inline: true,
        tag,
        offset: u64::from(place) * u64::from(SIZE),
        remote: Advertisement {
            addr: 0,
            rkey: 0,
            size: SIZE,
        },
        ..least(Action::Write)
    }
}

/// Checks that a write of this tag and place is bare, and that it is the same to its receiver.
fn comes_back(depth: u16, tag: u16, place: u32) {
    let bare = BareWrite::new(depth);
    let request = write(tag, place);
    let immediate = bare.encode(tag, request.offset, SIZE);
    assert_eq!(
        immediate,
        Some((place << bits(depth)) | u32::from(tag)),
        "{depth} {tag} {place}"
    );
    assert_eq!(bare.decode(immediate.unwrap(), SIZE), Ok(request));
}

#[test]
fn layouts() {
    let request = Request {
        tag: 0x0102,
        seq: 0x1112_1314,
        ..least(Action::Read)
    };
    let answer = DataAnswer {
        tag: 0x0102,
        seq: 0x1314,
    };
    assert_eq!(DataAnswer::to(&request), answer);
    assert_eq!(answer.encode(), 0x0102_1314);
    assert_eq!(DataAnswer::decode(0x0102_1314), answer);
    for (depth, tag, place, immediate) in [
        (1, 0, 0x1234_5678, 0x1234_5678),
        (2, 1, 5, 0b1011),
        (3, 2, 5, 0b1_0110),
        (128, 5, 3, 0x185),
        (1024, 0x3ff, 0x3f_ffff, u32::MAX),
    ] {
        let bare = BareWrite::new(depth);
        let offset = u64::from(place) * 4096;
        assert_eq!(bare.encode(tag, offset, 4096), Some(immediate));
        assert_eq!(bare.decode(immediate, 4096), Ok(write(tag, place)));
    }
}

#[test]
fn an_answer_has_the_lower_half_of_the_number() {
    let answer = DataAnswer {
        tag: 7,
        seq: 0xfffe,
    };
    for (seq, is_its) in [
        (0xfffe, true),
        (0x1_fffe, true),
        (0xffff_fffe, true),
        (0xffff, false),
        (0xfffd, false),
        (0xfffe_0000, false),
        (0, false),
        (7, false),
    ] {
        assert_eq!(answer.answers(seq), is_its, "{seq:#x}");
    }
}

#[test]
fn each_tag_of_each_depth_comes_back() {
    for depth in 1..=1024u16 {
        for tag in 0..depth {
            comes_back(depth, tag, 0);
            comes_back(depth, tag, u32::MAX >> bits(depth));
        }
    }
}

#[test]
fn the_rest_of_the_bits_is_the_place() {
    for depth in (0..=1024u16).chain([u16::MAX - 1, u16::MAX]) {
        let (bare, bits) = (BareWrite::new(depth), bits(depth));
        let last = u32::MAX >> bits;
        let most = ((1u32 << bits) - 1) as u16;
        for tag in [0, most / 2, most] {
            for place in [0, 1, 2, last / 2, last / 2 + 1, last - 1, last] {
                comes_back(depth, tag, place);
            }
            let beyond = (u64::from(last) + 1) * u64::from(SIZE);
            for offset in [beyond, beyond * 2, 1 << 44, 1 << 63, u64::MAX - 4095] {
                assert_eq!(bare.encode(tag, offset, SIZE), None, "{depth} {offset}");
            }
        }
        // Another tag would be taken for a part of the place.
        for tag in (bits..16).map(|bit| 1u16 << bit) {
            for tag in [tag, tag | most, u16::MAX] {
                assert_eq!(bare.encode(tag, 0, SIZE), None, "{depth} {tag}");
            }
        }
    }
}

#[test]
fn only_whole_places_are_bare() {
    for depth in 1..=1024 {
        let bare = BareWrite::new(depth);
        for offset in [1, 512, 2048, 4095, 4097, 4608, 8191, u64::MAX] {
            assert_eq!(bare.encode(0, offset, SIZE), None, "{depth} {offset}");
        }
        for bytes in OTHERS {
            for offset in [0, 4096] {
                assert_eq!(bare.encode(0, offset, bytes), None, "{depth} {bytes}");
            }
            for immediate in [0, 1, 1 << 31, u32::MAX] {
                let error = Err(MessageError::Length(bytes, SIZE));
                assert_eq!(bare.decode(immediate, bytes), error);
            }
        }
    }
}

/// Immediates, the edges of their bits more often than they would come up.
fn immediate() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        (0u32..32).prop_map(|bit| 1 << bit),
        (0u32..32).prop_map(|bit| u32::MAX >> bit),
        (0u32..32).prop_map(|bit| u32::MAX << bit),
    ]
}

/// Offsets, most of them whole places and not far away.
fn offset() -> impl Strategy<Value = u64> {
    let place = immediate().prop_map(|place| u64::from(place) << 12);
    prop_oneof![4 => place, 1 => any::<u64>(), 1 => (0u32..64).prop_map(|bit| 1 << bit)]
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn any_answer_comes_back(immediate in immediate(), tag: u16, seq: u32, other: u32) {
        let answer = DataAnswer::decode(immediate);
        prop_assert_eq!(answer.encode(), immediate);
        let request = Request { tag, seq, ..least(Action::Read) };
        let answer = DataAnswer::decode(DataAnswer::to(&request).encode());
        prop_assert_eq!(answer.tag, tag);
        prop_assert!(answer.answers(seq));
        prop_assert_eq!(answer.answers(other), (seq ^ other) % (1 << 16) == 0);
        prop_assert!(answer.answers(seq ^ (other << 16)));
    }

    #[test]
    fn any_immediate_is_a_write(
        depth in prop_oneof![1u16..=1024, any::<u16>()],
        immediate in immediate(),
        bytes: u32,
    ) {
        let bare = BareWrite::new(depth);
        let request = bare.decode(immediate, SIZE).unwrap();
        prop_assert!(u32::from(request.tag) < 1 << bits(depth));
        prop_assert_eq!(request, write(request.tag, immediate >> bits(depth)));
        let again = bare.encode(request.tag, request.offset, request.bytes());
        prop_assert_eq!(again, Some(immediate));
        // It says what an ordinary request could have said.
        prop_assert_eq!(Request::decode(&request.encode(), 32 + SIZE), Ok(request));
        if bytes != SIZE {
            let error = Err(MessageError::Length(bytes, SIZE));
            prop_assert_eq!(bare.decode(immediate, bytes), error);
        }
    }

    #[test]
    fn a_write_is_bare_where_it_fits(
        depth in prop_oneof![1u16..=1024, any::<u16>()],
        tag in prop_oneof![0u16..=1024, any::<u16>()],
        offset in offset(),
        bytes in prop_oneof![4 => Just(SIZE), 1 => any::<u32>()],
    ) {
        let bare = BareWrite::new(depth);
        let fits = bytes == SIZE
            && offset % 4096 == 0
            && offset >> 12 < 1 << (32 - bits(depth))
            && u32::from(tag) < 1 << bits(depth);
        let immediate = bare.encode(tag, offset, bytes);
        prop_assert_eq!(immediate.is_some(), fits);
        if let Some(immediate) = immediate {
            let place = (offset >> 12) as u32;
            prop_assert_eq!(bare.decode(immediate, bytes), Ok(write(tag, place)));
        }
    }
}
