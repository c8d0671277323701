// SPDX-License-Identifier: GPL-2.0

use super::{
    cases,
    stream_hello::PLAIN, //
};
use crate::logic::stream::{
    hello::Hello,
    immediate::Message,
    send_buffer::{
        Place,
        SendBuffer, //
    },
    sender::{
        Sender,
        Sizes,
        Stall,
        Write, //
    },
    violation::Violation,
    Carrier,
    Segment, //
};
use proptest::prelude::*;
use std::collections::VecDeque;

const SIZES: Sizes = Sizes {
    requests: 8,
    buffer: 8192,
    message: 65536,
};

fn hello(credits: u16, len: u32) -> Hello {
    Hello {
        credits,
        ring: Segment { len, ..PLAIN.ring },
        ..PLAIN
    }
}

fn sender(credits: u16, len: u32, carrier: Carrier) -> Sender {
    Sender::new(&hello(credits, len), carrier, SIZES)
}

fn segment(addr: u64, len: u32) -> Segment {
    Segment { addr, rkey: 9, len }
}

#[test]
fn a_write_beyond_the_end_of_a_part_takes_two_messages() {
    let mut sender = sender(8, 1000, Carrier::Immediate);
    assert_eq!((sender.due(), sender.ring_space()), (Some(1), 1000));
    assert_eq!(sender.renewed(segment(0x9000, 1000)), Ok(true));
    assert_eq!((sender.due(), sender.ring_space()), (None, 2000));
    let first = sender.write(600).unwrap();
    assert_eq!(
        (first.remote, first.message),
        (
            Segment {
                len: 600,
                ..PLAIN.ring
            },
            Some(Message::Data(600))
        )
    );
    let second = sender.write(600).unwrap();
    assert_eq!(
        second.remote,
        Segment {
            addr: PLAIN.ring.addr + 600,
            len: 400,
            ..PLAIN.ring
        }
    );
    // The first part is full, so the peer may write its entry.
    assert_eq!(sender.due(), Some(0));
    let third = sender.write(200).unwrap();
    assert_eq!(third.remote, segment(0x9000, 200));
    assert_eq!(
        [first, second, third].map(|write| write.place.offset),
        [0, 600, 1000]
    );
    assert_eq!((sender.credits(), sender.in_flight()), (5, 3));
}

#[test]
fn each_want_stalls_and_ends() {
    // Send queue entries.
    let mut queue = sender(100, 1 << 20, Carrier::Immediate);
    let writes: Vec<_> = (0..8).map(|_| queue.write(1).unwrap()).collect();
    assert_eq!(queue.write(1), Err(Stall::QueueEntry));
    queue.completed(writes[0].mark);
    assert!(queue.write(1).is_ok());
    assert_eq!(queue.write(1), Err(Stall::QueueEntry));
    // One completion says that all before it are done.
    queue.completed(writes[7].mark);
    assert_eq!(queue.in_flight(), 1);
    // A completion that was counted already changes nothing.
    queue.completed(writes[2].mark);
    assert_eq!(queue.in_flight(), 1);
    // Buffer.
    let mut buffer = sender(100, 1 << 20, Carrier::Immediate);
    let whole = buffer.write(1 << 20).unwrap();
    assert_eq!(whole.remote.len, SIZES.buffer);
    assert_eq!(buffer.write(1), Err(Stall::Buffer));
    buffer.completed(whole.mark);
    assert!(buffer.is_idle() && buffer.write(1).is_ok());
    // Credits.
    let mut credit = sender(2, 1 << 20, Carrier::Immediate);
    let _ = [credit.write(1).unwrap(), credit.write(1).unwrap()];
    assert_eq!(credit.write(1), Err(Stall::Credit));
    assert_eq!(credit.granted(3), Ok(()));
    assert!(credit.write(1).is_ok());
    assert_eq!(credit.write(1), Err(Stall::Credit));
    // Ring space.
    let mut ring = sender(100, 100, Carrier::Immediate);
    assert_eq!(ring.write(101).unwrap().remote.len, 100);
    assert_eq!(ring.write(1), Err(Stall::RingSpace));
    assert_eq!((ring.due(), ring.ring_space()), (Some(1), 0));
    assert_eq!(ring.renewed(segment(1, 1)), Ok(true));
    assert!(ring.write(1).is_ok());
    assert_eq!(ring.write(1), Err(Stall::RingSpace));
    assert_eq!(ring.due(), Some(0));
}

#[test]
fn a_large_write_waits_for_buffer_and_is_not_cut_small() {
    let mut sender = sender(100, 1 << 20, Carrier::Immediate);
    let large = sender.write(7000).unwrap();
    // 1192 are free: enough for a small write only.
    assert_eq!(sender.write(4000), Err(Stall::Buffer));
    assert_eq!(sender.write(1000).unwrap().remote.len, 1000);
    sender.completed(large.mark);
    assert_eq!(sender.write(4000).unwrap().remote.len, 4000);
}

#[test]
fn a_message_takes_two_requests_where_there_is_no_immediate_data() {
    let mut sender = sender(100, 1 << 20, Carrier::Send);
    let writes: Vec<_> = (0..4).map(|_| sender.write(1).unwrap()).collect();
    assert_eq!(
        (sender.in_flight(), sender.write(1)),
        (8, Err(Stall::QueueEntry))
    );
    sender.completed(writes[0].mark);
    assert_eq!(sender.in_flight(), 6);
    // A direct write takes one, and no credit.
    let direct = sender.write_direct(segment(7, 100)).unwrap();
    assert_eq!((direct.message, direct.remote), (None, segment(7, 100)));
    assert_eq!((sender.in_flight(), sender.credits()), (7, 96));
    assert_eq!(sender.write(1), Err(Stall::QueueEntry));
    let list = segment(8, 24);
    assert_eq!(sender.map(list, 3), Err(Stall::QueueEntry));
    sender.completed(direct.mark);
    let mapped = sender.map(list, 3).unwrap();
    assert_eq!(
        (mapped.message, mapped.remote, sender.credits()),
        (Some(Message::Mapped(3)), list, 95)
    );
}

#[test]
fn an_rdma_write_of_its_own_has_one_piece() {
    let sizes = Sizes {
        requests: 64,
        buffer: 1000,
        message: 1 << 20,
    };
    for (carrier, cut) in [(Carrier::Immediate, 500), (Carrier::Send, 100)] {
        let mut sender = Sender::new(&hello(100, 1 << 20), carrier, sizes);
        let first = sender.write(900).unwrap();
        sender.completed(first.mark);
        // 100 bytes are left at the end of the send buffer.
        let second = sender.write(500).unwrap();
        assert_eq!(second.remote.len, cut, "{carrier:?}");
        assert_eq!(second.place.len + second.place.rest, cut);
    }
}

#[test]
fn direct_writes_and_mappings_take_nothing_of_the_send_buffer() {
    let sizes = Sizes {
        requests: 4,
        buffer: 2,
        message: 1000,
    };
    let mut sender = Sender::new(&hello(8, 4096), Carrier::Immediate, sizes);
    let full = sender.write(2).unwrap();
    assert_eq!(sender.write(1), Err(Stall::Buffer));
    let mapped = sender.map(segment(8, 24), 0).unwrap();
    assert_eq!((mapped.place.len, sender.credits()), (0, 6));
    // No more than a message has.
    let direct = sender.write_direct(segment(7, 1 << 20)).unwrap();
    assert_eq!((direct.place.len, direct.remote), (0, segment(7, 1000)));
    assert!(sender.write_direct(segment(7, 1)).is_ok());
    assert_eq!(sender.write_direct(segment(7, 1)), Err(Stall::QueueEntry));
    sender.completed(mapped.mark);
    assert_eq!((sender.in_flight(), sender.write(2).is_ok()), (2, true));
    assert_ne!(full.mark, mapped.mark);
}

#[test]
fn grants_that_lie_are_refused() {
    let mut sender = sender(4, 1000, Carrier::Immediate);
    for limit in [5, 0x8000, 0xffff] {
        assert_eq!(
            sender.granted(limit),
            Err(Violation::Credits(limit, 4, 4)),
            "more than there are receives"
        );
    }
    for limit in [0, 3] {
        assert_eq!(
            sender.granted(limit),
            Err(Violation::Credits(limit, 4, 4)),
            "fewer than before"
        );
    }
    assert_eq!(
        sender.granted(4),
        Ok(()),
        "with a renewal there need be none"
    );
    let _ = [sender.write(1).unwrap(), sender.write(1).unwrap()];
    assert_eq!(sender.granted(7), Err(Violation::Credits(5, 2, 4)));
    assert_eq!(sender.credits(), 2, "as before");
    assert_eq!((sender.granted(6), sender.credits()), (Ok(()), 4));
}

#[test]
fn entries_that_lie_are_refused() {
    let mut sender = sender(4, 1000, Carrier::Immediate);
    let beyond = segment(u64::MAX - 3, 4);
    assert_eq!(
        sender.renewed(beyond),
        Err(Violation::Segment(beyond.addr, 4))
    );
    assert_eq!(sender.ring_space(), 1000, "as before");
    // One that was not written, and one of which a word is still on its way.
    for part in [segment(0, 0), segment(5, 0), segment(0, 5)] {
        assert_eq!(sender.renewed(part), Ok(false));
    }
    assert_eq!(sender.renewed(segment(5, 5)), Ok(true));
    // No entry is due, so nobody reads one.
    assert_eq!(
        (sender.due(), sender.renewed(segment(6, 6))),
        (None, Ok(false))
    );
    assert_eq!(sender.ring_space(), 1005);
}

#[test]
fn counts_wrap() {
    let mut few = sender(3, 1000, Carrier::Immediate);
    for number in 0..200_000u32 {
        if few.due().is_some() {
            assert_eq!(few.renewed(segment(1 << 40, 1000)), Ok(true));
        }
        let write = few.write(1).unwrap();
        few.completed(write.mark);
        assert_eq!(few.credits(), 2, "{number}");
        // After 65532 messages the limit is a smaller number than the one before.
        assert_eq!(few.granted((number as u16).wrapping_add(4)), Ok(()));
        assert_eq!(few.credits(), 3, "{number}");
    }
    // The most credits that a peer can have.
    let mut most = sender(u16::MAX, 1 << 20, Carrier::Immediate);
    for _ in 0..u16::MAX {
        let write = most.write(1).unwrap();
        most.completed(write.mark);
    }
    assert_eq!(most.write(1), Err(Stall::Credit));
    assert_eq!(
        (most.granted(u16::MAX - 1), most.credits()),
        (Ok(()), u16::MAX)
    );
}

#[test]
fn names_of_stalls_differ() {
    let mut names = Stall::ALL.map(Stall::name).to_vec();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Stall::ALL.len());
}

#[test]
fn a_buffer_goes_round() {
    let mut buffer = SendBuffer::new(100);
    let place = |offset, len, rest| Place { offset, len, rest };
    assert_eq!(buffer.take(60), place(0, 60, 0));
    let mark = buffer.mark();
    assert_eq!(buffer.take(30), place(60, 30, 0));
    buffer.free_to(mark);
    assert_eq!(buffer.free(), 70);
    assert_eq!(buffer.take(20), place(90, 10, 10));
    assert_eq!(buffer.take(90), place(10, 50, 0), "no more than there is");
    assert_eq!(buffer.free(), 0);
    // To the very end.
    let mut buffer = SendBuffer::new(10);
    assert_eq!(buffer.take(10), place(0, 10, 0));
    buffer.free_to(buffer.mark());
    assert_eq!(buffer.take(1), place(0, 1, 0));
    buffer.free_to(99);
    assert_eq!(buffer.in_use(), 1, "a mark that was never reached");
    assert_eq!(SendBuffer::new(0).take(1), place(0, 0, 0));
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn whatever_is_in_flight_overlaps_nothing(
        size in 1u32..5000,
        steps in proptest::collection::vec((any::<bool>(), 1u32..3000), 1..200),
    ) {
        let mut sender = Sender::new(
            &hello(u16::MAX, 1 << 30),
            Carrier::Immediate,
            Sizes { requests: 8, buffer: size, message: 2000 },
        );
        let mut in_flight: VecDeque<Write> = VecDeque::new();
        for (is_write, len) in steps {
            if !is_write {
                if let Some(write) = in_flight.pop_front() {
                    sender.completed(write.mark);
                }
                continue;
            }
            let Ok(write) = sender.write(len) else { continue };
            in_flight.push_back(write);
            let mut used = vec![false; size as usize];
            for Write { place, remote, .. } in &in_flight {
                prop_assert_eq!(place.len + place.rest, remote.len);
                prop_assert!(remote.len >= 1 && remote.len <= 2000);
                let bytes = (place.offset..place.offset + place.len).chain(0..place.rest);
                for byte in bytes {
                    prop_assert!(!std::mem::replace(&mut used[byte as usize], true));
                }
            }
            prop_assert!(in_flight.len() <= 8);
        }
    }
}
