// SPDX-License-Identifier: GPL-2.0

//! Which requests a server lists as its own, and how it says that it can.

use super::{
    block::least,
    cases, //
};
use crate::logic::{
    block::{
        answer::Response,
        survey::Survey,
        Action,
        MessageError,
        Request, //
    },
    wire::extensions::Extensions, //
};
use proptest::{
    collection::btree_set,
    prelude::*, //
};

fn asked() -> Request {
    Request {
        tag: 0x0102,
        seq: 0x1112_1314,
        ..least(Action::Survey)
    }
}

/// A survey of `depth` that lists `tags`.
fn listing(tags: &[u16], depth: u16) -> Survey {
    let mut survey = Survey::to(&asked(), depth);
    for tag in tags {
        survey.add(*tag);
    }
    survey
}

#[test]
fn layout() {
    let survey = listing(&[0, 9, 127], 128);
    let mut expected = *b"\x82\0\x01\x02\x11\x12\x13\x14\x01\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\x80";
    let bytes = survey.encode();
    assert_eq!(Survey::len(128), 24);
    assert_eq!(bytes[..24], expected);
    assert!(bytes[24..].iter().all(|byte| *byte == 0));
    assert_eq!(Survey::decode(&bytes, 24, 128), Ok(survey));
    expected[8] = 0;
    assert_ne!(bytes[..24], expected);
}

#[test]
fn its_length_is_that_of_no_other_answer() {
    for depth in 1..=1024 {
        let len = Survey::len(depth);
        assert!(Survey::may_be(len) && len as usize <= Survey::MOST);
        assert!(Response::count(len).is_err());
        assert!(u32::from(depth) <= (len - 8) * 8);
    }
    for count in 1..=8 {
        assert!(!Survey::may_be(count * 16));
    }
    assert_eq!(Survey::len(1024) as usize, Survey::MOST);
}

#[test]
fn what_is_no_survey() {
    let bytes = listing(&[3], 100).encode();
    let with = |place: usize, byte: u8| {
        let mut bytes = bytes;
        bytes[place] = byte;
        Survey::decode(&bytes, 24, 100)
    };
    for len in (0..300).filter(|len| *len != 24) {
        let error = Err(MessageError::Length(len, 24));
        assert_eq!(Survey::decode(&bytes, len, 100), error);
    }
    for kind in (0..=255).filter(|kind| *kind != 0x82) {
        assert_eq!(with(0, kind), Err(MessageError::Action(kind)));
    }
    assert_eq!(with(1, 1), Err(MessageError::Reserved));
    // Tag 99 is the last.
    assert!(with(20, 0x08).is_ok_and(|survey| survey.has(99)));
    assert_eq!(with(20, 0x10), Err(MessageError::Reserved));
    assert_eq!(with(23, 0x80), Err(MessageError::Reserved));
    // Of what stands behind the message nothing is read.
    assert_eq!(with(24, 0xff), Ok(listing(&[3], 100)));
}

#[test]
fn tags_of_no_request_are_not_listed() {
    assert_eq!(listing(&[8, 9, u16::MAX], 8), listing(&[], 8));
    assert!(!listing(&[], 8).has(u16::MAX));
}

#[test]
fn extensions() {
    let private = [0x5a; 56];
    for surveys in [false, true] {
        let bytes = Extensions { surveys }.encode(private);
        assert_eq!(bytes[..56], private);
        assert_eq!(Extensions::decode(&bytes), Extensions { surveys });
        for len in 0..bytes.len() {
            assert_eq!(Extensions::decode(&bytes[..len]), Extensions::default());
        }
    }
    // An older server, and one on a transport that pads with anything.
    for rest in [&[0; 140], &[0xff; 140]] {
        let padded = [&private[..], rest].concat();
        assert_eq!(Extensions::decode(&padded), Extensions::default());
    }
    // A later one.
    let later = [&private[..], b"+f\xff\xff\xff"].concat();
    assert!(Extensions::decode(&later).surveys);
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn what_is_listed_is_read(depth in 1u16..=1024, tags in btree_set(0u16..1024, 0..200)) {
        let tags: Vec<u16> = tags.into_iter().filter(|tag| *tag < depth).collect();
        let survey = listing(&tags, depth);
        prop_assert_eq!(Survey::decode(&survey.encode(), Survey::len(depth), depth), Ok(survey));
        for tag in 0..1024 {
            prop_assert_eq!(survey.has(tag), tags.contains(&tag));
        }
    }

    #[test]
    fn any_bytes(bytes in any::<[u8; 128]>(), depth in 1u16..=1024) {
        let mut message = [0; Survey::MOST];
        message[0] = 0x82;
        message[8..].copy_from_slice(&bytes);
        let len = Survey::len(depth);
        if let Ok(survey) = Survey::decode(&message, len, depth) {
            prop_assert_eq!(&survey.encode()[..len as usize], &message[..len as usize]);
        }
    }
}
