// SPDX-License-Identifier: GPL-2.0

//! A side of a stream whose peer says anything: no rule of its own is ever broken, and what is
//! refused changes nothing.

use super::{
    cases,
    stream_hello::PLAIN, //
};
use crate::logic::stream::{
    endpoint::{
        Endpoint,
        Event, //
    },
    hello::Hello,
    immediate::Message,
    iomap::Mapping,
    receiver::Receiver,
    sender::Sizes,
    violation::Violation,
    ByteOrder,
    Carrier,
    Segment, //
};
use proptest::{
    collection::vec,
    prelude::*, //
};

const RING: Segment = Segment {
    addr: 0x10_0000,
    rkey: 22,
    len: 4096,
};

const SIZES: Sizes = Sizes {
    requests: 16,
    buffer: 8192,
    message: 2048,
};

fn mine() -> Hello {
    Hello {
        credits: 16,
        mappings: 2,
        ring: Receiver::first_part(RING),
        ..PLAIN
    }
}

fn endpoint(theirs: &Hello) -> Endpoint {
    Endpoint::new(&mine(), RING, theirs, Carrier::Immediate, SIZES)
}

/// A thing that a hostile peer does, or that this side does meanwhile.
#[derive(Clone, Copy, Debug)]
enum Step {
    Message(u32),
    Entry(Segment, bool),
    Mapping(u16, u64, Segment),
    Write(u32),
    Direct(u64, u32),
    Read(u32),
    Grant,
    Complete,
    ShutDown,
}

fn immediates() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        // Data, of which much fits.
        1u32..3000,
        (0u32..0x20000).prop_map(|limit| 4 << 29 | limit),
        (0u32..64).prop_map(|limit| 4 << 29 | limit),
        (0u32..4).prop_map(|index| 6 << 29 | index),
    ]
}

fn segments() -> impl Strategy<Value = Segment> {
    (
        any::<u64>(),
        any::<u32>(),
        prop_oneof![any::<u32>(), 0u32..5000],
    )
        .prop_map(|(addr, rkey, len)| Segment { addr, rkey, len })
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => immediates().prop_map(Step::Message),
        2 => (segments(), any::<bool>()).prop_map(|(segment, big)| Step::Entry(segment, big)),
        1 => (0u16..4, any::<u64>(), segments())
            .prop_map(|(index, offset, segment)| Step::Mapping(index, offset, segment)),
        3 => (1u32..9000).prop_map(Step::Write),
        1 => (any::<u64>(), 1u32..9000).prop_map(|(offset, len)| Step::Direct(offset, len)),
        2 => (1u32..5000).prop_map(Step::Read),
        2 => Just(Step::Grant),
        2 => Just(Step::Complete),
        1 => Just(Step::ShutDown),
    ]
}

/// Returns true where all of `part` is in a segment that the peer has named.
fn is_named(named: &[Segment], part: &Segment) -> bool {
    let last = |segment: &Segment| segment.addr + u64::from(segment.len);
    named
        .iter()
        .any(|all| part.rkey == all.rkey && all.addr <= part.addr && last(part) <= last(all))
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn no_rule_of_its_own_is_broken(
        credits in 1u16..40,
        first in segments(),
        steps in vec(steps(), 1..200),
    ) {
        let theirs = Hello { credits, ring: first, ..PLAIN };
        let Ok(theirs) = Hello::decode(&theirs.encode()) else { return Ok(()) };
        let mut side = endpoint(&theirs);
        let mut named = vec![theirs.ring];
        let mut marks = Vec::new();
        // Messages that came and took a credit, since the last grant.
        let mut arrived = 0u32;
        for step in steps {
            let before = side;
            match step {
                Step::Message(immediate) => {
                    let Ok(message) = Message::decode(immediate) else { continue };
                    match side.received(message) {
                        Ok(Event::Data(piece)) => {
                            arrived += 1;
                            prop_assert!(piece.len > 0);
                            prop_assert!(piece.offset + piece.len <= RING.len);
                        }
                        Ok(Event::Mapped(index)) => {
                            arrived += 1;
                            prop_assert!(index < 2);
                        }
                        Ok(_) => {}
                        Err(_) => prop_assert_eq!(format!("{side:?}"), format!("{before:?}")),
                    }
                    // Each found a receive.
                    prop_assert!(arrived <= 16);
                }
                Step::Entry(segment, big) => {
                    let order = if big { ByteOrder::Big } else { ByteOrder::Little };
                    let bytes = segment.encode(order);
                    match side.renewed(&bytes) {
                        Ok(true) => named.push(Segment::decode(&bytes, ByteOrder::Little)),
                        Ok(false) | Err(Violation::Segment(..)) => {}
                        Err(other) => panic!("{other:?}"),
                    }
                }
                Step::Mapping(index, offset, memory) => {
                    let bytes = Mapping { offset, memory }.encode(ByteOrder::Little);
                    if side.mapped(index, &bytes).is_ok() {
                        named.push(memory);
                    }
                }
                Step::Write(len) => match side.write(len) {
                    Ok(Some(write)) => {
                        let place = write.place;
                        prop_assert!(is_named(&named, &write.remote), "{:?}", write);
                        prop_assert!(write.remote.len >= 1 && write.remote.len <= len);
                        prop_assert_eq!(place.len + place.rest, write.remote.len);
                        prop_assert!(place.offset + place.len <= SIZES.buffer);
                        marks.push(write.mark);
                    }
                    Ok(None) => prop_assert!(!side.control.sends()),
                    Err(_) => prop_assert_eq!(format!("{side:?}"), format!("{before:?}")),
                },
                Step::Direct(offset, len) => {
                    if let Some(part) = side.mappings.find(offset, len) {
                        prop_assert!(is_named(&named, &part));
                        if let Ok(write) = side.sender.write_direct(part) {
                            prop_assert!(write.remote.len >= 1);
                            marks.push(write.mark);
                        }
                    }
                }
                Step::Read(len) => side.receiver.read(len),
                Step::Grant => if let Some(grant) = side.grant() {
                    side.control.posted(1);
                    arrived = 0;
                    if let Some((half, entry)) = grant.renewal {
                        prop_assert_eq!((half.len, half.rkey), (RING.len / 2, RING.rkey));
                        prop_assert!((half.addr - RING.addr) % 2048 == 0);
                        prop_assert!(half.addr < RING.addr + u64::from(RING.len));
                        prop_assert!((entry - theirs.list.addr) / 16 < 2);
                    }
                },
                Step::Complete => {
                    if !marks.is_empty() {
                        side.sender.completed(marks.remove(0));
                    }
                    side.control.completed();
                }
                Step::ShutDown => drop(side.control.shut_down()),
            }
            prop_assert!(side.sender.credits() <= credits);
            prop_assert!(side.sender.in_flight() <= SIZES.requests);
            prop_assert!(side.receiver.unread() <= RING.len);
            if let Some(piece) = side.receiver.readable() {
                prop_assert!(piece.len >= 1 && piece.offset + piece.len <= RING.len);
            }
            prop_assert!(side.sender.due().is_none_or(|entry| entry < 2));
        }
    }
}

#[test]
fn a_flood_of_messages_ends_at_the_credits() {
    let mut side = endpoint(&PLAIN);
    let mut taken = 0;
    while side.received(Message::Data(1)).is_ok() {
        taken += 1;
    }
    assert_eq!(taken, 16);
    assert_eq!(side.received(Message::Data(1)), Err(Violation::NoCredit));
    // What takes no credit is taken still.
    for _ in 0..100_000 {
        assert_eq!(side.received(Message::Keepalive), Ok(Event::Alive));
        assert_eq!(side.received(Message::Grant(384)), Ok(Event::Granted));
    }
}

#[test]
fn an_index_beyond_the_list_is_refused() {
    // A peer's index that nobody checks is an access out of bounds: rdma-core 7f6727872726 is one.
    let mut side = endpoint(&PLAIN);
    for index in [2, 3, 0x7fff, 0x8000, 0xffff] {
        assert_eq!(
            side.received(Message::Mapped(index)),
            Err(Violation::Mapping(index.into(), 2))
        );
    }
    assert_eq!(side.received(Message::Mapped(1)), Ok(Event::Mapped(1)));
    let count = 16 - 1;
    for _ in 0..count {
        assert!(side.received(Message::Mapped(0)).is_ok());
    }
    assert_eq!(side.received(Message::Mapped(0)), Err(Violation::NoCredit));
}

#[test]
fn a_count_beyond_the_ring_is_refused() {
    // rsocket copies as many bytes from its ring as the peer says.
    let mut side = endpoint(&PLAIN);
    for len in [2049, 4096, 4097, (1 << 29) - 1] {
        assert_eq!(
            side.received(Message::Data(len)),
            Err(Violation::Overrun(len, 2048))
        );
    }
}

#[test]
fn data_behind_a_shutdown_is_refused() {
    let mut side = endpoint(&PLAIN);
    assert_eq!(side.received(Message::Shutdown), Ok(Event::Shutdown));
    assert_eq!(side.received(Message::Data(1)), Err(Violation::AfterEnd));
    // Grants for the other direction still come, and a DISCONNECT.
    assert_eq!(side.received(Message::Grant(384)), Ok(Event::Granted));
    assert_eq!(side.received(Message::Disconnect), Ok(Event::Disconnected));
    assert_eq!(side.received(Message::Grant(384)), Ok(Event::Granted));
    assert_eq!(side.received(Message::Data(1)), Err(Violation::AfterEnd));
}
