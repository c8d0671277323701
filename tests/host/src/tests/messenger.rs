// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::messenger::{
    header::{
        Header,
        Kind, //
    },
    incoming::{
        Event,
        Incoming,
        Piece, //
    },
    outgoing::Outgoing,
    turns::Turns,
    violation::Violation, //
};
use proptest::prelude::*;

const NO_HEAD: [u8; Header::LEN] = [0; Header::LEN];

fn head(kind: Kind, len: u32, number: u64) -> [u8; Header::LEN] {
    Header { kind, len, number }.encode()
}

#[test]
fn a_header_is_these_bytes() {
    let header = Header {
        kind: Kind::Request,
        len: 0x01020304,
        number: 0x1122334455667788,
    };
    let bytes = header.encode();
    assert_eq!(
        bytes,
        [2, 0, 0, 0, 1, 2, 3, 4, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]
    );
    assert_eq!(Header::decode(&bytes), Ok(header));
    for (at, byte, wrong) in [(0, 0, 0), (0, 4, 4 << 24), (3, 1, 2 << 24 | 1)] {
        let mut bytes = bytes;
        bytes[at] = byte;
        assert_eq!(Header::decode(&bytes), Err(Violation::Kind(wrong)));
    }
}

#[test]
fn what_breaks_the_protocol_is_named() {
    let new = || Incoming::new(false, 100);
    let ok = head(Kind::OneWay, 100, 0);
    assert_eq!(new().take(15, &ok), Err(Violation::Short(15)));
    assert_eq!(
        new().take(16, &head(Kind::Reply, 100, 0)),
        Err(Violation::Kind(3 << 24))
    );
    let mut client = Incoming::new(true, 100);
    assert_eq!(client.take(16, &ok), Err(Violation::Kind(1 << 24)));
    assert_eq!(
        new().take(16, &head(Kind::OneWay, 99, 0)),
        Err(Violation::Length(99, 100))
    );
    assert_eq!(
        new().take(16, &head(Kind::OneWay, 100, 1)),
        Err(Violation::Number(1, 0))
    );
    assert_eq!(new().take(117, &ok), Err(Violation::Beyond(101, 100)));
    let mut inside = new();
    assert!(inside.take(16 + 60, &ok).is_ok());
    assert_eq!(
        inside.clone().take(41, &NO_HEAD),
        Err(Violation::Beyond(41, 40))
    );
    assert_eq!(inside.take(0, &NO_HEAD), Err(Violation::EndInside(40)));
    let mut ended = new();
    assert_eq!(ended.take(0, &NO_HEAD), Ok(Event::End));
    assert!(ended.has_ended());
    for bytes in [0, 16] {
        assert_eq!(ended.take(bytes, &ok), Err(Violation::AfterEnd));
    }
}

#[test]
fn turns_end_with_the_count_or_the_time() {
    let mut turns = Turns::new(3, 2);
    let mut begun = Vec::new();
    while !turns.is_done() {
        match turns.may_begin() {
            true => begun.push(turns.begin()),
            false => turns.finish(),
        }
    }
    assert_eq!((begun, turns.done()), (vec![0, 1, 2], 3));
    let mut turns = Turns::new(0, 1);
    turns.begin();
    assert!(!turns.may_begin() && !turns.is_done());
    turns.is_time();
    turns.finish();
    assert!(turns.is_done() && !turns.may_begin());
    // Nothing is under way that could be done.
    turns.finish();
    assert_eq!(turns.done(), 1);
}

#[test]
fn a_direction_ends_once_and_not_inside_a_message() {
    let mut outgoing = Outgoing::new(100, 64);
    assert!(outgoing.begin(Kind::OneWay));
    assert!(!outgoing.begin(Kind::OneWay) && !outgoing.end());
    while outgoing.cut().is_some() {}
    assert!(outgoing.end() && outgoing.has_ended());
    assert!(!outgoing.end() && !outgoing.begin(Kind::OneWay));
    assert_eq!(outgoing.cut(), None);
}

/// Returns the bytes of a chunk, its head, and whether it is to have a right one instead.
fn any_chunk() -> impl Strategy<Value = (u32, [u8; Header::LEN], bool)> {
    (0u32..400, any::<[u8; Header::LEN]>(), any::<bool>())
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn what_is_cut_comes_whole(
        size in 1u32..5000,
        chunk in 17u32..600,
        count in 1u64..6,
        replies: bool,
    ) {
        let kind = if replies { Kind::Reply } else { Kind::Request };
        let mut outgoing = Outgoing::new(size, chunk);
        let mut incoming = Incoming::new(replies, size);
        for number in 0..count {
            prop_assert!(outgoing.begin(kind));
            let mut came = 0;
            while let Some(cut) = outgoing.cut() {
                prop_assert!(cut.bytes() <= chunk && cut.bytes() > 0);
                let head = cut.header.map_or(NO_HEAD, |header| header.encode());
                let piece = Piece {
                    kind,
                    number,
                    position: came,
                    offset: cut.offset(),
                    len: cut.len,
                    is_last: cut.is_last,
                };
                prop_assert_eq!((cut.number, cut.position), (number, came));
                prop_assert_eq!(incoming.take(cut.bytes(), &head), Ok(Event::Piece(piece)));
                came += cut.len;
            }
            prop_assert_eq!((came, incoming.whole()), (size, number + 1));
        }
        prop_assert!(outgoing.end());
        prop_assert_eq!(incoming.take(0, &NO_HEAD), Ok(Event::End));
    }

    #[test]
    fn any_chunks_are_taken_or_refused(
        size in 1u32..300,
        chunks in prop::collection::vec(any_chunk(), 0..40),
    ) {
        let mut incoming = Incoming::new(false, size);
        let (mut position, mut whole) = (0, 0);
        for (bytes, any, honest) in chunks {
            let head = if honest { head(Kind::OneWay, size, whole) } else { any };
            match incoming.take(bytes, &head) {
                Err(_) => break,
                Ok(Event::End) => prop_assert_eq!(position, 0),
                Ok(Event::Piece(piece)) => {
                    prop_assert_eq!((piece.number, piece.position), (whole, position));
                    prop_assert!(piece.offset + piece.len == bytes);
                    position += piece.len;
                    prop_assert_eq!(piece.is_last, position == size);
                    if piece.is_last {
                        position = 0;
                        whole += 1;
                    }
                }
            }
            prop_assert_eq!(incoming.whole(), whole);
        }
    }
}
