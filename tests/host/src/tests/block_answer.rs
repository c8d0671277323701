// SPDX-License-Identifier: GPL-2.0

//! What a server answers to requests of disks and taps.

use super::{
    block::{
        least,
        STATUSES, //
    },
    cases, //
};
use crate::logic::block::{
    answer::Response,
    Action,
    MessageError,
    Request,
    Status, //
};
use proptest::{
    prelude::*,
    sample::select, //
};

const RESPONSE: [u8; 16] = *b"\x81\x03\x01\x02\x11\x12\x13\x14\0\0\0\0\0\0\0\0";

#[test]
fn layout() {
    let response = Response {
        tag: 0x0102,
        seq: 0x1112_1314,
        status: Status::ReadOnly,
    };
    assert_eq!(response.encode(), RESPONSE);
    assert_eq!(Response::decode(&RESPONSE), Ok(response));
    let request = Request {
        tag: 0x0102,
        seq: 0x1112_1314,
        ..least(Action::Flush)
    };
    assert_eq!(Response::to(&request, Status::ReadOnly), response);
}

#[test]
fn a_message_has_one_to_eight() {
    for count in 1..=8 {
        assert_eq!(Response::count(16 * count as u32), Ok(count));
    }
    for (len, should) in [
        (0, 16),
        (1, 16),
        (15, 16),
        (17, 16),
        (31, 16),
        (33, 32),
        (127, 112),
        (129, 128),
        (144, 128),
        (4096, 128),
        (4128, 128),
        (u32::MAX, 128),
    ] {
        let error = Err(MessageError::Length(len, should));
        assert_eq!(Response::count(len), error);
    }
}

#[test]
fn what_is_no_response() {
    let with = |place: usize, byte: u8| {
        let mut bytes = RESPONSE;
        bytes[place] = byte;
        Response::decode(&bytes)
    };
    for kind in (0..=255).filter(|kind| *kind != 0x81) {
        assert_eq!(with(0, kind), Err(MessageError::Action(kind)));
    }
    for (i, status) in STATUSES.into_iter().enumerate() {
        let response = with(1, i as u8).unwrap();
        assert_eq!(response.status, status);
        assert_eq!(usize::from(response.encode()[1]), i);
    }
    for status in 7..=255 {
        assert_eq!(with(1, status), Err(MessageError::Status(status)));
    }
    for place in 8..16 {
        assert_eq!(with(place, 1), Err(MessageError::Reserved));
    }
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn responses_come_back(tag: u16, seq: u32, status in select(&STATUSES)) {
        let response = Response { tag, seq, status };
        prop_assert_eq!(Response::decode(&response.encode()), Ok(response));
    }

    #[test]
    fn any_length_is_digested(len: u32) {
        match Response::count(len) {
            Ok(count) => prop_assert_eq!(count as u32 * 16, len),
            Err(error) => prop_assert!(error.to_string().starts_with("sent ")),
        }
    }

    #[test]
    fn any_response_is_digested(random: [u8; 16], place in 0usize..16, byte: u8) {
        let mut near = RESPONSE;
        near[place] = byte;
        for bytes in [random, near] {
            match Response::decode(&bytes) {
                Ok(response) => prop_assert_eq!(response.encode(), bytes),
                Err(error) => prop_assert!(error.to_string().starts_with("sent ")),
            }
        }
    }
}
