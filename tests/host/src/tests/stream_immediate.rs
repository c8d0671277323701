// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::stream::{
    immediate::Message,
    violation::Violation,
    ByteOrder, //
};
use proptest::prelude::*;

#[test]
fn the_numbers_are_those_of_rsocket() {
    for (message, immediate) in [
        (Message::Data(1), 0x0000_0001),
        (Message::Data(0x1fff_ffff), 0x1fff_ffff),
        (Message::Grant(0), 0x8000_0000),
        (Message::Grant(0xffff), 0x8000_ffff),
        (Message::Mapped(0), 0xc000_0000),
        (Message::Mapped(0xffff), 0xc000_ffff),
        (Message::Disconnect, 0xe000_0000),
        (Message::Keepalive, 0xe000_0001),
        (Message::Shutdown, 0xe000_0002),
    ] {
        assert_eq!(message.encode(), immediate);
        assert_eq!(Message::decode(immediate), Ok(message));
    }
}

#[test]
fn what_no_peer_sends_is_refused() {
    for (immediate, violation) in [
        (0x0000_0000, Violation::Empty),
        (0x2000_0001, Violation::Operation(1)),
        // A direct write is told to nobody.
        (0x4000_0001, Violation::Operation(2)),
        (0x6000_0000, Violation::Operation(3)),
        (0xa000_0000, Violation::Operation(5)),
        (0x8002_0000, Violation::Grant(0x20000)),
        (0xc001_0000, Violation::Mapping(0x10000, 0)),
        (0xe000_0003, Violation::Control(3)),
        (0xffff_ffff, Violation::Control(0x1fff_ffff)),
    ] {
        assert_eq!(Message::decode(immediate), Err(violation), "{immediate:#x}");
    }
}

#[test]
fn the_carry_of_a_grant_is_ignored() {
    // rsocket adds two numbers of 16 bits: 65500 messages read, and 384 receives.
    assert_eq!(
        Message::decode(4 << 29 | (65500 + 384)),
        Ok(Message::Grant(348))
    );
}

#[test]
fn sends_are_in_the_order_of_their_sender() {
    let message = Message::Grant(0x0102);
    let little = message.encode_send(ByteOrder::Little);
    let big = message.encode_send(ByteOrder::Big);
    assert_eq!((little, big), ([2, 1, 0, 0x80], [0x80, 0, 1, 2]));
    assert_eq!(
        Message::decode_send(little, 4, ByteOrder::Little),
        Ok(message)
    );
    assert_eq!(Message::decode_send(big, 4, ByteOrder::Big), Ok(message));
    for len in [0, 3, 5, u32::MAX] {
        assert_eq!(
            Message::decode_send(little, len, ByteOrder::Little),
            Err(Violation::Length(len))
        );
    }
}

#[test]
fn too_much_data_does_not_become_another_message() {
    assert_eq!(Message::Data(u32::MAX).encode(), 0x1fff_ffff);
}

proptest! {
    #![proptest_config(cases(5000))]

    #[test]
    fn whatever_is_decoded_was_encoded(immediate: u32) {
        if let Ok(message) = Message::decode(immediate) {
            let carry = if matches!(message, Message::Grant(_)) { 1 << 16 } else { 0 };
            prop_assert_eq!(message.encode(), immediate & !carry);
        }
    }
}
