// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::stream::{
    endpoint::{
        Endpoint,
        Event, //
    },
    hello::Hello,
    immediate::Message,
    iomap::{
        Mapping,
        Mappings, //
    },
    sender::Sizes,
    violation::Violation,
    ByteOrder,
    Carrier,
    Segment, //
};
use proptest::prelude::*;

fn mapping(offset: u64, addr: u64, len: u32) -> Mapping {
    Mapping {
        offset,
        memory: Segment { addr, rkey: 5, len },
    }
}

#[test]
fn the_layout_is_that_of_rsocket() {
    let mapping = mapping(0x0102_0304_0506_0708, 0x1112_1314_1516_1718, 0x2122_2324);
    let big = mapping.encode(ByteOrder::Big);
    assert_eq!(
        big,
        [
            1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0, 0, 0, 5,
            0x21, 0x22, 0x23, 0x24
        ]
    );
    let little = mapping.encode(ByteOrder::Little);
    assert_eq!(little[..8], [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(little[16..], [5, 0, 0, 0, 0x24, 0x23, 0x22, 0x21]);
    for (bytes, order) in [(big, ByteOrder::Big), (little, ByteOrder::Little)] {
        assert_eq!(Mapping::decode(&bytes, order), Ok(mapping));
    }
}

/// A peer whose list has room for `mappings`.
fn hello(mappings: u16) -> Hello {
    let memory = Segment {
        addr: 0x1000,
        rkey: 7,
        len: 2,
    };
    Hello {
        order: ByteOrder::Big,
        credits: 4,
        mappings,
        list: memory,
        ring: Segment { len: 512, ..memory },
    }
}

fn endpoint(theirs: &Hello) -> Endpoint {
    let sizes = Sizes {
        requests: 4,
        buffer: 64,
        message: 1 << 20,
    };
    let ring = Segment {
        addr: 0x8000,
        rkey: 9,
        len: 1024,
    };
    Endpoint::new(&hello(1), ring, theirs, Carrier::Immediate, sizes)
}

#[test]
fn a_mapping_goes_behind_the_segments_of_a_peer_that_has_room_for_it() {
    let mut side = endpoint(&hello(1));
    let write = side.map(0).unwrap().unwrap().unwrap();
    let entry = Segment {
        addr: 0x1000 + 2 * 16,
        rkey: 7,
        len: 24,
    };
    assert_eq!(
        (write.remote, write.message),
        (entry, Some(Message::Mapped(0)))
    );
    let memory = mapping(0, 0x4000, 100);
    assert_eq!(side.mapping(&memory), memory.encode(ByteOrder::Big));
    assert_eq!(endpoint(&hello(0)).map(0), Err(Violation::NoMapping));
    // Nothing is said after the end.
    side.control.disconnect();
    assert_eq!(side.map(0), Ok(Ok(None)));
}

#[test]
fn direct_writes_go_where_the_peer_has_mapped_memory() {
    let mut side = endpoint(&hello(1));
    assert_eq!(side.write_direct(0, 10), Ok(None));
    assert_eq!(side.received(Message::Mapped(0)), Ok(Event::Mapped(0)));
    let bytes = mapping(0, 0x4000, 100).encode(ByteOrder::Big);
    side.mapped(0, &bytes).unwrap();
    let write = side.write_direct(90, 20).unwrap().unwrap();
    let last = Segment {
        addr: 0x4000 + 90,
        rkey: 5,
        len: 10,
    };
    assert_eq!((write.remote, write.message), (last, None));
    assert_eq!(side.write_direct(100, 1), Ok(None));
    side.control.disconnect();
    assert_eq!(side.write_direct(0, 1), Ok(None));
}

#[test]
fn mappings_that_lie_are_refused() {
    let decode =
        |mapping: Mapping| Mapping::decode(&mapping.encode(ByteOrder::Little), ByteOrder::Little);
    assert_eq!(
        decode(mapping(0, u64::MAX - 3, 4)),
        Err(Violation::Segment(u64::MAX - 3, 4))
    );
    assert_eq!(
        decode(mapping(u64::MAX - 3, 0, 4)),
        Err(Violation::MappingRange(u64::MAX - 3, 4))
    );
    assert!(decode(mapping(u64::MAX - 4, u64::MAX - 4, 4)).is_ok());
    let mut mappings = Mappings::new(2);
    for index in [2, 3, u16::MAX] {
        assert_eq!(
            mappings.check(index),
            Err(Violation::Mapping(index.into(), 2))
        );
        mappings.set(index, mapping(0, 1, 1));
    }
    assert_eq!(mappings.find(0, 1), None);
    assert_eq!(Mappings::new(u16::MAX).check(Mappings::MOST - 1), Ok(()));
    assert!(Mappings::new(u16::MAX).check(Mappings::MOST).is_err());
}

#[test]
fn a_write_across_mappings_comes_to_an_end() {
    let mut mappings = Mappings::new(3);
    mappings.set(0, mapping(100, 0x1000, 50));
    mappings.set(2, mapping(150, 0x2000, 50));
    let segment = |addr, len| Some(Segment { addr, rkey: 5, len });
    assert_eq!(mappings.find(99, 10), None);
    assert_eq!(mappings.find(120, 100), segment(0x1014, 30));
    // At the very end of the first it goes on in the next.
    assert_eq!(mappings.find(150, 100), segment(0x2000, 50));
    assert_eq!(mappings.find(199, 100), segment(0x2031, 1));
    assert_eq!(mappings.find(200, 100), None);
    assert_eq!(mappings.find(150, 0), None);
    // A mapping of no bytes has no offset.
    mappings.set(1, mapping(500, 0x3000, 0));
    assert_eq!(mappings.find(500, 1), None);
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn a_part_is_within_its_mapping_and_not_empty(
        offset: u64, addr: u64, len: u32, ahead in -10i64..(1 << 33), left: u32,
    ) {
        let bytes = mapping(offset, addr, len).encode(ByteOrder::HOST);
        if let Ok(mapping) = Mapping::decode(&bytes, ByteOrder::HOST) {
            let at = offset.wrapping_add_signed(ahead);
            if let Some(part) = mapping.part(at, left) {
                prop_assert!(part.len >= 1 && part.len <= left);
                prop_assert!(part.addr >= addr);
                prop_assert!(part.addr + u64::from(part.len) <= addr + u64::from(len));
                prop_assert_eq!(part.addr - addr, at - offset);
            }
        }
    }
}
