// SPDX-License-Identifier: GPL-2.0

//! Two sides of a stream over a simulated wire: every byte arrives once and in order, whatever the
//! sizes are and whoever is slow, and nothing is written where it may not be.

use super::cases;
use crate::logic::stream::{
    control::Control,
    endpoint::{
        Endpoint,
        Event, //
    },
    hello::Hello,
    immediate::Message,
    receiver::Receiver,
    sender::{
        Mark,
        Sizes,
        Stall, //
    },
    ByteOrder,
    Carrier,
    Segment, //
};
use proptest::{
    collection::vec,
    prelude::*, //
};
use std::collections::VecDeque;

/// The entries of a list before any was written.
const NO_ENTRIES: [[u8; 16]; 2] = [[0; 16]; 2];

/// A request on its way: what it writes, and the message that comes with it.
struct Request {
    /// Where the bytes are taken from when they leave: pieces of the send buffer, or the bytes.
    data: Data,
    remote: Option<(u64, u32)>,
    message: Option<Message>,
    done: Done,
}

enum Data {
    Buffer(Vec<std::ops::Range<usize>>),
    Bytes(Vec<u8>),
}

/// What a completion says.
#[derive(Clone, Copy)]
enum Done {
    Sent(Mark),
    Control,
}

/// The sizes of a side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) ring: u32,
    pub(super) credits: u16,
    pub(super) order: ByteOrder,
    pub(super) requests: u32,
    pub(super) buffer: u32,
    pub(super) message: u32,
}

/// One side with its memory.
pub(super) struct Side {
    pub(super) endpoint: Endpoint,
    pub(super) hello: Hello,
    ring: Vec<u8>,
    list: [[u8; 16]; 2],
    buffer: Vec<u8>,
    outgoing: VecDeque<Request>,
    completions: VecDeque<Done>,
    /// Bytes that were posted, and that were read.
    pub(super) sent: u64,
    pub(super) got: u64,
    /// Messages of the peer's that took a credit, posted and not taken by this side.
    pub(super) expected: u32,
}

/// The byte at a position of the stream.
pub(super) fn byte_at(position: u64) -> u8 {
    (position.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

impl Side {
    pub(super) fn hello(shape: &Shape, base: u64) -> (Hello, Segment) {
        let ring = Segment {
            addr: base + (1 << 32),
            rkey: 22,
            len: shape.ring,
        };
        let hello = Hello {
            order: shape.order,
            credits: shape.credits,
            mappings: 0,
            list: Segment {
                addr: base,
                rkey: 11,
                len: Hello::ENTRIES,
            },
            ring: Receiver::first_part(ring),
        };
        // As it comes over the wire.
        (Hello::decode(&hello.encode()).unwrap(), ring)
    }

    pub(super) fn new(shape: &Shape, base: u64, peer: &Hello, carrier: Carrier) -> Self {
        let (hello, ring) = Self::hello(shape, base);
        let sizes = Sizes {
            requests: shape.requests,
            buffer: shape.buffer,
            message: shape.message,
        };
        Self {
            endpoint: Endpoint::new(&hello, ring, peer, carrier, sizes),
            hello,
            ring: vec![0; shape.ring as usize],
            list: NO_ENTRIES,
            buffer: vec![0; shape.buffer as usize],
            outgoing: VecDeque::new(),
            completions: VecDeque::new(),
            sent: 0,
            got: 0,
            expected: 0,
        }
    }

    /// Posts messages of a write of `left` bytes until all are, or none can be.
    pub(super) fn write(&mut self, mut left: u32) -> Option<Stall> {
        while left > 0 {
            let write = match self.endpoint.write(left) {
                Ok(write) => write.expect("nobody has ended the direction"),
                Err(stall) => return Some(stall),
            };
            let (place, len) = (write.place, write.remote.len);
            let first = place.offset as usize..(place.offset + place.len) as usize;
            let parts = vec![first, 0..place.rest as usize];
            for at in parts.iter().flat_map(Clone::clone) {
                self.buffer[at] = byte_at(self.sent);
                self.sent += 1;
            }
            assert_eq!(write.message, Some(Message::Data(len)));
            self.outgoing.push_back(Request {
                data: Data::Buffer(parts),
                remote: Some((write.remote.addr, write.remote.rkey)),
                message: write.message,
                done: Done::Sent(write.mark),
            });
            left -= len;
        }
        None
    }

    /// Posts the grants that are due.
    pub(super) fn grant(&mut self) {
        while let Some(grant) = self.endpoint.grant() {
            let (data, remote) = match grant.renewal {
                None => (Vec::new(), None),
                Some((half, entry)) => {
                    let rkey = self.endpoint.theirs().list.rkey;
                    (self.endpoint.entry(&half).to_vec(), Some((entry, rkey)))
                }
            };
            self.endpoint.control.posted(1);
            self.outgoing.push_back(Request {
                data: Data::Bytes(data),
                remote,
                message: Some(grant.message),
                done: Done::Control,
            });
        }
    }

    /// Posts a message without data.
    fn say(&mut self, message: Message) {
        assert!(self.endpoint.control.has_room());
        self.endpoint.control.posted(1);
        self.outgoing.push_back(Request {
            data: Data::Bytes(Vec::new()),
            remote: None,
            message: Some(message),
            done: Done::Control,
        });
    }

    pub(super) fn complete(&mut self) {
        match self.completions.pop_front() {
            Some(Done::Sent(mark)) => self.endpoint.sender.completed(mark),
            Some(Done::Control) => self.endpoint.control.completed(),
            None => {}
        }
    }

    /// Reads up to `len` bytes that have arrived.
    pub(super) fn read(&mut self, mut len: u32) {
        while let Some(piece) = self.endpoint.receiver.readable().filter(|_| len > 0) {
            let part = piece.len.min(len);
            for byte in &self.ring[piece.offset as usize..][..part as usize] {
                assert_eq!(*byte, byte_at(self.got), "byte {} of the stream", self.got);
                self.got += 1;
            }
            self.endpoint.receiver.read(part);
            len -= part;
        }
    }

    /// Takes what comes over the wire.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        remote: Option<(u64, u32)>,
        message: Message,
    ) -> Event {
        match remote {
            None => assert!(bytes.is_empty()),
            Some((addr, 11)) => {
                let entry = (addr - self.hello.list.addr) as usize / 16;
                self.list[entry].copy_from_slice(bytes);
            }
            Some((addr, 22)) => {
                let offset = (addr - self.hello.ring.addr) as usize;
                // Nothing that has not been read is written over.
                let taken = self.unread();
                for at in offset..offset + bytes.len() {
                    assert!(!taken.contains(&at), "{at} has not been read");
                }
                self.ring[offset..][..bytes.len()].copy_from_slice(bytes);
            }
            other => panic!("{other:x?} is no memory"),
        }
        // As it comes over the wire.
        let message = Message::decode(message.encode()).unwrap();
        let event = self.endpoint.received(message).unwrap();
        match event {
            Event::Data(piece) => {
                assert_eq!(piece.len as usize, bytes.len());
                let place = u64::from(piece.offset) + self.hello.ring.addr;
                assert_eq!(Some((place, 22)), remote);
                self.expected -= 1;
            }
            Event::Granted => {
                if let Some(index) = self.endpoint.sender.due() {
                    let entry = self.list[index as usize];
                    if self.endpoint.renewed(&entry).unwrap() {
                        self.list[index as usize] = [0; 16];
                    }
                }
            }
            _ => {}
        }
        event
    }

    /// Lets the oldest request leave: the bytes that it writes, where to, and its message.
    pub(super) fn leave(&mut self) -> Option<(Vec<u8>, Option<(u64, u32)>, Message)> {
        let request = self.outgoing.pop_front()?;
        let bytes = match request.data {
            Data::Bytes(bytes) => bytes,
            Data::Buffer(parts) => {
                let parts = parts.into_iter().flat_map(|part| &self.buffer[part]);
                parts.copied().collect()
            }
        };
        self.completions.push_back(request.done);
        let message = request.message.expect("nothing is written directly");
        Some((bytes, request.remote, message))
    }

    fn unread(&self) -> Vec<usize> {
        let mut receiver = self.endpoint.receiver;
        let mut all = Vec::new();
        while let Some(piece) = receiver.readable() {
            all.extend(piece.offset as usize..(piece.offset + piece.len) as usize);
            receiver.read(piece.len);
        }
        all
    }

    pub(super) fn is_idle(&self) -> bool {
        self.outgoing.is_empty()
            && self.completions.is_empty()
            && self.endpoint.receiver.unread() == 0
    }
}

/// Two sides, and the wire between them.
struct Pair([Side; 2]);

impl Pair {
    fn new(shapes: [Shape; 2], carrier: Carrier) -> Self {
        let bases = [0x1000, 1 << 40];
        let [a, b] = [0, 1].map(|side| Side::hello(&shapes[side], bases[side]).0);
        Self([
            Side::new(&shapes[0], bases[0], &b, carrier),
            Side::new(&shapes[1], bases[1], &a, carrier),
        ])
    }

    fn sides(&mut self, from: usize) -> (&mut Side, &mut Side) {
        let [a, b] = &mut self.0;
        if from == 0 {
            (a, b)
        } else {
            (b, a)
        }
    }

    fn write(&mut self, from: usize, len: u32) {
        let (side, peer) = self.sides(from);
        let before = side.outgoing.len();
        side.write(len);
        peer.expected += (side.outgoing.len() - before) as u32;
        // A message that takes a credit finds a receive.
        assert!(peer.expected <= u32::from(peer.hello.credits));
        assert!(side.endpoint.sender.credits() <= peer.hello.credits);
    }

    /// Delivers the oldest request of `from`; returns the event at the peer.
    fn deliver(&mut self, from: usize) -> Option<Event> {
        let (side, peer) = self.sides(from);
        let (bytes, remote, message) = side.leave()?;
        Some(peer.take(&bytes, remote, message))
    }

    /// Lets both sides go on until nothing is under way.
    fn settle(&mut self) {
        loop {
            for side in 0..2 {
                self.deliver(side);
                self.0[side].complete();
                self.0[side].read(u32::MAX);
                // One may be due though nothing is under way.
                self.0[side].grant();
            }
            if self.0.iter().all(Side::is_idle) {
                break;
            }
        }
    }

    /// Sends messages of a byte both ways until the counts are `messages` further.
    fn advance(&mut self, messages: u32) {
        for _ in 0..messages {
            self.write(0, 1);
            self.write(1, 1);
            self.settle();
        }
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    (
        1u32..=600,
        prop_oneof![1u16..4, 4u16..40, Just(u16::MAX)],
        any::<bool>(),
        2u32..12,
        1u32..3000,
        1u32..2000,
    )
        .prop_map(|(half, credits, big, requests, buffer, message)| Shape {
            ring: 2 * half,
            credits,
            order: if big {
                ByteOrder::Big
            } else {
                ByteOrder::Little
            },
            requests,
            buffer,
            message,
        })
}

fn carriers() -> impl Strategy<Value = Carrier> {
    prop_oneof![Just(Carrier::Immediate), Just(Carrier::Send)]
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn every_byte_arrives_in_order(
        shapes in [shapes(), shapes()],
        carrier in carriers(),
        // Counts of messages are near their end at times.
        advance in prop_oneof![4 => Just(0u32), 1 => 65_400u32..65_540],
        steps in vec((0usize..2, 0u8..5, 1u32..1500), 1..400),
    ) {
        let mut pair = Pair::new(shapes, carrier);
        pair.advance(advance);
        for (side, step, len) in steps {
            match step {
                0 => pair.write(side, len),
                1 => drop(pair.deliver(side)),
                2 => pair.0[side].complete(),
                3 => pair.0[side].read(len),
                _ => pair.0[side].grant(),
            }
        }
        pair.settle();
        let [a, b] = &pair.0;
        prop_assert_eq!((a.sent, b.sent), (b.got, a.got));
        // Nobody is left without what he needs.
        for side in 0..2 {
            let before = pair.0[side].sent;
            pair.write(side, 1);
            prop_assert_eq!(pair.0[side].sent, before + 1);
            pair.settle();
        }
    }
}

const PLAIN: Shape = Shape {
    ring: 200,
    credits: 4,
    order: ByteOrder::Little,
    requests: 8,
    buffer: 4096,
    message: 4096,
};

#[test]
fn both_directions_stall_at_once_and_go_on() {
    let mut pair = Pair::new([PLAIN; 2], Carrier::Immediate);
    for _ in 0..1000 {
        // More than both rings hold, and nobody reads.
        for side in 0..2 {
            pair.write(side, 1000);
            assert_eq!(pair.0[side].endpoint.sender.ring_space(), 0);
        }
        for side in [0, 1, 0, 1, 0, 1, 0, 1, 0, 1] {
            pair.deliver(side);
        }
        pair.settle();
    }
    assert!(pair.0[0].got > 100_000);
}

#[test]
fn an_end_comes_behind_the_data() {
    let mut pair = Pair::new([PLAIN; 2], Carrier::Immediate);
    pair.write(0, 50);
    let message = pair.0[0].endpoint.control.shut_down().unwrap();
    pair.0[0].say(message);
    assert!(matches!(pair.deliver(0), Some(Event::Data(_))));
    assert_eq!(pair.deliver(0), Some(Event::Shutdown));
    pair.0[1].read(50);
    assert_eq!(pair.0[1].got, 50);
    // The other direction goes on, and is renewed.
    for _ in 0..100 {
        pair.write(1, 100);
        pair.settle();
    }
    assert!(pair.0[0].got >= 5000);
    let message = pair.0[1].endpoint.control.shut_down().unwrap();
    assert_eq!(message, Message::Disconnect);
    pair.0[1].say(message);
    assert_eq!(pair.deliver(1), Some(Event::Disconnected));
    for side in &mut pair.0 {
        assert!(side.endpoint.control.is_over());
        assert_eq!(side.endpoint.write(1), Ok(None));
        assert_eq!(side.endpoint.grant(), None);
    }
}

#[test]
fn grants_never_exceed_their_requests() {
    for carrier in [Carrier::Immediate, Carrier::Send] {
        let mut pair = Pair::new([PLAIN; 2], carrier);
        let mut grants = 0;
        for _ in 0..20 {
            pair.write(0, 100);
            while pair.deliver(0).is_some() {}
            pair.0[0].complete();
            pair.0[1].read(100);
            pair.0[1].grant();
            while pair.deliver(1).is_some() {
                grants += 1;
            }
        }
        // Nobody has completed any of the receiver's.
        let room = Control::requests(carrier);
        assert!(grants <= room && !pair.0[1].endpoint.control.is_idle());
        pair.settle();
        assert_eq!(pair.0[0].sent, pair.0[1].got);
    }
}
