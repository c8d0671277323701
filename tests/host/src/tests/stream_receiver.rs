// SPDX-License-Identifier: GPL-2.0

use super::stream_hello::PLAIN;
use crate::logic::stream::{
    hello::Hello,
    immediate::Message,
    receiver::{
        Grant,
        Piece,
        Receiver, //
    },
    violation::Violation,
    Segment, //
};

const RING: Segment = Segment {
    addr: 0x4_0000,
    rkey: 77,
    len: 200,
};

fn piece(offset: u32, len: u32) -> Piece {
    Piece { offset, len }
}

/// A grant that renews `offset` with the peer's entry `index`.
fn renewal(limit: u16, offset: u64, index: u64) -> Option<Grant> {
    let half = Segment {
        addr: RING.addr + offset,
        len: RING.len / 2,
        ..RING
    };
    Some(Grant {
        message: Message::Grant(limit),
        renewal: Some((half, PLAIN.list.addr + 16 * index)),
    })
}

#[test]
fn halves_are_renewed_in_turn() {
    let mut receiver = Receiver::new(RING, 64);
    assert_eq!(Receiver::first_part(RING), Segment { len: 100, ..RING });
    // The second half at once, by the second entry.
    assert_eq!(receiver.grant(&PLAIN), renewal(64, 100, 1));
    assert_eq!(receiver.grant(&PLAIN), None);
    assert_eq!(receiver.arrived(60), Ok(piece(0, 60)));
    assert_eq!(receiver.arrived(40), Ok(piece(60, 40)));
    assert_eq!(receiver.arrived(10), Ok(piece(100, 10)));
    assert_eq!(receiver.readable(), Some(piece(0, 110)));
    receiver.read(99);
    assert_eq!(receiver.grant(&PLAIN), None, "a byte of the half is unread");
    receiver.read(1);
    assert_eq!(receiver.grant(&PLAIN), renewal(67, 0, 0));
    assert_eq!(receiver.readable(), Some(piece(100, 10)));
    assert_eq!(receiver.arrived(90), Ok(piece(110, 90)));
    assert_eq!(receiver.arrived(100), Ok(piece(0, 100)));
    // What goes on at the beginning is read in two pieces.
    assert_eq!(receiver.unread(), 200);
    assert_eq!(receiver.readable(), Some(piece(100, 100)));
    receiver.read(100);
    assert_eq!(receiver.readable(), Some(piece(0, 100)));
    assert_eq!(receiver.grant(&PLAIN), renewal(69, 100, 1));
    receiver.read(1000);
    assert_eq!((receiver.unread(), receiver.readable()), (0, None));
    assert_eq!(receiver.grant(&PLAIN), renewal(69, 0, 0));
}

#[test]
fn a_longer_list_is_gone_through() {
    let peer = Hello {
        list: Segment {
            len: 3,
            ..PLAIN.list
        },
        ..PLAIN
    };
    let mut receiver = Receiver::new(RING, 64);
    let mut entries = Vec::new();
    for _ in 0..5 {
        let (_, entry) = receiver.grant(&peer).unwrap().renewal.unwrap();
        entries.push((entry - peer.list.addr) / 16);
        receiver.arrived(100).unwrap();
        receiver.read(100);
    }
    assert_eq!(entries, [1, 2, 0, 1, 2]);
}

#[test]
fn more_than_there_is_room_for_is_refused() {
    let mut receiver = Receiver::new(RING, 64);
    for len in [101, 200, 201, (1 << 29) - 1, u32::MAX] {
        assert_eq!(receiver.arrived(len), Err(Violation::Overrun(len, 100)));
    }
    assert!(receiver.arrived(100).is_ok());
    assert_eq!(
        receiver.arrived(1),
        Err(Violation::Overrun(1, 0)),
        "the second half is not the peer's yet"
    );
    assert!(receiver.grant(&PLAIN).is_some());
    assert!(receiver.arrived(1).is_ok());
    assert_eq!(
        receiver.arrived(100),
        Err(Violation::Overrun(100, 99)),
        "a message has one half"
    );
    assert!(receiver.arrived(99).is_ok());
    receiver.read(99);
    assert_eq!(receiver.arrived(1), Err(Violation::Overrun(1, 0)));
    // Read, and still not renewed.
    receiver.read(1);
    assert_eq!(receiver.arrived(1), Err(Violation::Overrun(1, 0)));
    assert!(receiver.grant(&PLAIN).is_some());
    assert_eq!(receiver.arrived(1), Ok(piece(0, 1)));
}

#[test]
fn more_messages_than_credits_are_refused() {
    let mut receiver = Receiver::new(RING, 4);
    assert!(receiver.grant(&PLAIN).is_some());
    for _ in 0..4 {
        assert!(receiver.arrived(1).is_ok());
    }
    assert_eq!(receiver.arrived(1), Err(Violation::NoCredit));
    assert_eq!(receiver.take_credit(), Err(Violation::NoCredit));
    assert_eq!(
        receiver.grant(&PLAIN),
        Some(Grant {
            message: Message::Grant(8),
            renewal: None
        })
    );
    assert_eq!(receiver.arrived(1), Ok(piece(4, 1)));
    assert_eq!(receiver.grant(&PLAIN), None, "one of four is used");
    assert_eq!(receiver.take_credit(), Ok(()));
    assert!(receiver.grant(&PLAIN).is_some(), "half of them are used");
}

#[test]
fn a_single_credit_comes_back() {
    let mut receiver = Receiver::new(RING, 1);
    assert!(receiver.grant(&PLAIN).is_some());
    for number in 0..50 {
        assert!(receiver.arrived(1).is_ok(), "{number}");
        assert_eq!(receiver.arrived(1), Err(Violation::NoCredit));
        assert!(receiver.grant(&PLAIN).is_some());
    }
}

#[test]
fn counts_wrap() {
    let mut receiver = Receiver::new(RING, 64);
    let mut limit = 64u16;
    for number in 0..200_000u32 {
        while let Some(grant) = receiver.grant(&PLAIN) {
            let Message::Grant(next) = grant.message else {
                panic!("{grant:?}")
            };
            let more = next.wrapping_sub(limit);
            assert!(more <= 64, "{number}: {next} after {limit}");
            limit = next;
        }
        assert!(receiver.arrived(1).is_ok(), "{number}");
        receiver.read(1);
    }
}

#[test]
fn a_ring_of_no_bytes_takes_none() {
    let mut receiver = Receiver::new(Segment { len: 0, ..RING }, 1);
    assert_eq!(receiver.arrived(2), Err(Violation::Overrun(2, 1)));
    assert_eq!(receiver.readable(), None);
}
