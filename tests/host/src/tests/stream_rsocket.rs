// SPDX-License-Identifier: GPL-2.0

//! A side of a stream against a model of rsocket, which differs from this project's in what it may:
//! it gives a credit back when a message has been read, sums grants without a cut to 16 bits, and
//! reads its list whenever it looks at it.

use super::{
    cases,
    stream_pair::{
        byte_at,
        Shape,
        Side, //
    }, //
};
use crate::logic::stream::{
    hello::Hello,
    immediate::Message,
    ByteOrder,
    Carrier,
    Segment, //
};
use proptest::{
    collection::vec,
    prelude::*, //
};
use std::collections::VecDeque;

/// A message on its way, with what it writes.
struct Sent {
    bytes: Vec<u8>,
    remote: Option<(u64, u32)>,
    immediate: u32,
}

/// A model of rsocket, with unlimited send queue and buffer.
struct Rsocket {
    order: ByteOrder,
    base: u64,
    receives: u16,
    ring: Vec<u8>,
    list: [[u8; 16]; 2],
    peer: Hello,
    outgoing: VecDeque<Sent>,
    // To the peer.
    entry_in_use: usize,
    sent_messages: u16,
    sent_limit: u16,
    sent: u64,
    // From the peer.
    messages: VecDeque<u32>,
    read_at: usize,
    read_messages: u16,
    read_limit: u16,
    free: usize,
    renew_at: usize,
    peer_entry: u32,
    got: u64,
}

impl Rsocket {
    fn hello(order: ByteOrder, receives: u16, half: u32, base: u64) -> Hello {
        let list = Segment {
            addr: base,
            rkey: 33,
            len: 2,
        };
        let ring = Segment {
            addr: base + 4096,
            rkey: 44,
            len: half,
        };
        Hello {
            order,
            credits: receives,
            mappings: 0,
            list,
            ring,
        }
    }

    fn new(hello: &Hello, base: u64, peer: Hello) -> Self {
        let half = hello.ring.len as usize;
        let first = peer.ring.encode(hello.order);
        Self {
            order: hello.order,
            base,
            receives: hello.credits,
            ring: vec![0; 2 * half],
            list: [first, [0; 16]],
            peer,
            outgoing: VecDeque::new(),
            entry_in_use: 0,
            sent_messages: 0,
            sent_limit: peer.credits,
            sent: 0,
            messages: VecDeque::new(),
            read_at: 0,
            read_messages: 0,
            read_limit: hello.credits / 2,
            free: half,
            renew_at: half,
            peer_entry: 1,
            got: 0,
        }
    }

    fn half(&self) -> usize {
        self.ring.len() / 2
    }

    fn write(&mut self, mut left: u32) {
        let mut most = 2048;
        while left > 0 {
            let mut target = Segment::decode(&self.list[self.entry_in_use], self.order);
            if self.sent_messages == self.sent_limit || target.len == 0 {
                return;
            }
            let len = left.min(most).min(target.len);
            most = (2 * most).min(65536);
            let bytes = (self.sent..self.sent + u64::from(len)).map(byte_at);
            self.outgoing.push_back(Sent {
                bytes: bytes.collect(),
                remote: Some((target.addr, target.rkey)),
                immediate: len,
            });
            self.sent += u64::from(len);
            self.sent_messages = self.sent_messages.wrapping_add(1);
            target.addr += u64::from(len);
            target.len -= len;
            self.list[self.entry_in_use] = target.encode(self.order);
            if target.len == 0 {
                self.entry_in_use ^= 1;
            }
            left -= len;
        }
    }

    fn read(&mut self, mut len: usize) {
        while let Some(message) = self.messages.front_mut().filter(|_| len > 0) {
            let part = len.min(*message as usize);
            *message -= part as u32;
            if *message == 0 {
                self.messages.pop_front();
                self.read_messages = self.read_messages.wrapping_add(1);
            }
            for _ in 0..part {
                assert_eq!(self.ring[self.read_at], byte_at(self.got), "{}", self.got);
                self.read_at = (self.read_at + 1) % self.ring.len();
                self.got += 1;
            }
            self.free += part;
            len -= part;
        }
    }

    fn grant(&mut self) {
        let half = self.half();
        let renews = self.free >= half;
        if !renews && (self.read_messages.wrapping_sub(self.read_limit) as i16) < 0 {
            return;
        }
        self.read_limit = self.read_messages.wrapping_add(self.receives / 2);
        let sum = u32::from(self.read_messages) + u32::from(self.receives);
        let mut sent = Sent {
            bytes: Vec::new(),
            remote: None,
            immediate: 4 << 29 | sum,
        };
        if renews {
            let segment = Segment {
                addr: self.base + 4096 + self.renew_at as u64,
                rkey: 44,
                len: half as u32,
            };
            sent.bytes = segment.encode(self.peer.order).to_vec();
            let entry = self.peer.list.addr + 16 * u64::from(self.peer_entry);
            sent.remote = Some((entry, self.peer.list.rkey));
            self.free -= half;
            self.renew_at = (self.renew_at + half) % self.ring.len();
            self.peer_entry = (self.peer_entry + 1) % self.peer.list.len;
        }
        self.outgoing.push_back(sent);
    }

    fn take(&mut self, bytes: &[u8], remote: Option<(u64, u32)>, immediate: u32) {
        match remote {
            None => assert!(bytes.is_empty()),
            Some((addr, 33)) => {
                self.list[(addr - self.base) as usize / 16].copy_from_slice(bytes);
            }
            Some((addr, 44)) => {
                let at = (addr - self.base - 4096) as usize;
                self.ring[at..][..bytes.len()].copy_from_slice(bytes);
            }
            other => panic!("{other:x?} is no memory"),
        }
        match immediate >> 29 {
            0 => {
                self.messages.push_back(immediate);
                // There is no place for more of them.
                assert!(self.messages.len() <= usize::from(self.receives));
            }
            4 => self.sent_limit = immediate as u16,
            other => panic!("{other} is no message"),
        }
    }
}

/// A side, and a model of rsocket at the other end.
struct Pair {
    side: Side,
    rsocket: Rsocket,
}

impl Pair {
    fn new(shape: &Shape, order: ByteOrder, receives: u16, half: u32) -> Self {
        const BASE: u64 = 1 << 45;
        let hello = Rsocket::hello(order, receives, half, BASE);
        let hello = Hello::decode(&hello.encode()).unwrap();
        let mut side = Side::new(shape, 0x1000, &hello, Carrier::Immediate);
        // The model's messages are not counted as they are posted.
        side.expected = u32::MAX;
        let rsocket = Rsocket::new(&hello, BASE, side.hello);
        Self { side, rsocket }
    }

    fn to_rsocket(&mut self) {
        if let Some((bytes, remote, message)) = self.side.leave() {
            self.rsocket.take(&bytes, remote, message.encode());
        }
    }

    fn from_rsocket(&mut self) {
        if let Some(sent) = self.rsocket.outgoing.pop_front() {
            self.side.expected = u32::MAX;
            let message = Message::decode(sent.immediate).unwrap();
            self.side.take(&sent.bytes, sent.remote, message);
        }
    }

    fn settle(&mut self) {
        loop {
            self.to_rsocket();
            self.from_rsocket();
            self.side.complete();
            self.side.read(u32::MAX);
            self.side.grant();
            self.rsocket.read(usize::MAX);
            self.rsocket.grant();
            if self.side.is_idle() && self.rsocket.outgoing.is_empty() {
                break;
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn streams_with_a_model_of_rsocket(
        sizes in (1u32..600, 2u16..40, 2u32..12, 1u32..3000, 1u32..2000),
        big: [bool; 2],
        receives in 2u16..40,
        half in 1u32..600,
        advance in prop_oneof![4 => Just(0u32), 1 => 65_400u32..65_540],
        steps in vec((0u8..9, 1u32..1500), 1..400),
    ) {
        let order = |big| if big { ByteOrder::Big } else { ByteOrder::Little };
        let (ring, credits, requests, buffer, message) = sizes;
        let shape = Shape {
            ring: 2 * ring, credits, order: order(big[0]), requests, buffer, message,
        };
        let mut pair = Pair::new(&shape, order(big[1]), receives, half);
        for _ in 0..advance {
            pair.side.write(1);
            pair.rsocket.write(1);
            pair.settle();
        }
        for (step, len) in steps {
            match step {
                0 => drop(pair.side.write(len)),
                1 => pair.rsocket.write(len),
                2 => pair.to_rsocket(),
                3 => pair.from_rsocket(),
                4 => pair.side.complete(),
                5 => pair.side.read(len),
                6 => pair.side.grant(),
                7 => pair.rsocket.read(len as usize),
                _ => pair.rsocket.grant(),
            }
        }
        pair.settle();
        prop_assert_eq!(pair.side.sent, pair.rsocket.got);
        prop_assert_eq!(pair.rsocket.sent, pair.side.got);
        let before = (pair.side.sent, pair.rsocket.sent);
        pair.side.write(1);
        pair.rsocket.write(1);
        prop_assert_eq!((pair.side.sent, pair.rsocket.sent), (before.0 + 1, before.1 + 1));
    }
}
