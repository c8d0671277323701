// SPDX-License-Identifier: GPL-2.0

//! One side of a stream under whatever its peer says, with what this side does meanwhile.

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
        Sizes,
        Write, //
    },
    ByteOrder,
    Carrier,
    Segment, //
};
use std::collections::VecDeque;

const RING: Segment = Segment {
    addr: 1 << 20,
    rkey: 1,
    len: 512,
};

const SIZES: Sizes = Sizes {
    requests: 8,
    buffer: 700,
    message: 300,
};

const CREDITS: u16 = 6;

/// Takes the next `N` bytes.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

/// A request of this side's is within its buffer, and within memory that the peer has named.
fn check(write: &Write, named: &[Segment]) {
    let place = write.place;
    let from_buffer = match write.message {
        Some(_) => write.remote.len,
        // A direct write is sent from where it lies.
        None => 0,
    };
    assert_eq!(place.len + place.rest, from_buffer);
    assert!(write.remote.len >= 1);
    assert!(place.offset + place.len <= SIZES.buffer && place.rest <= SIZES.buffer);
    let end = |segment: &Segment| segment.addr + u64::from(segment.len);
    assert!(named.iter().any(|part| part.rkey == write.remote.rkey
        && part.addr <= write.remote.addr
        && end(&write.remote) <= end(part)));
}

fn run(bytes: &mut &[u8]) -> Option<()> {
    let theirs = take::<{ Hello::LEN }>(bytes)?;
    let theirs = match Hello::decode(&theirs) {
        Ok(theirs) => theirs,
        Err(error) => {
            assert!(error.to_string().len() > 30, "{error}");
            return None;
        }
    };
    assert_eq!(Hello::decode(&theirs.encode()), Ok(theirs));
    let [options] = take(bytes)?;
    let mine = Hello {
        order: match options & 1 {
            0 => ByteOrder::Little,
            _ => ByteOrder::Big,
        },
        credits: CREDITS,
        mappings: 2,
        list: RING,
        ring: Receiver::first_part(RING),
    };
    let carrier = match options & 2 {
        0 => Carrier::Immediate,
        _ => Carrier::Send,
    };
    let mut side = Endpoint::new(&mine, RING, &theirs, carrier, SIZES);
    let mut named = vec![theirs.ring];
    let mut marks = VecDeque::new();
    let mut control = 0;
    let mut receives = u32::from(CREDITS);
    loop {
        let [step] = take(bytes)?;
        match step % 8 {
            0 | 1 => {
                let [kind] = take(bytes)?;
                let message = match kind % 4 {
                    0 => Message::decode_send(take(bytes)?, 4, theirs.order),
                    1 => Message::decode(u32::from_be_bytes(take(bytes)?)),
                    // One that may come, with some luck.
                    2 => Ok(Message::Data(
                        u16::from_be_bytes(take(bytes)?).max(1).into(),
                    )),
                    _ => Ok(Message::Grant(u16::from_be_bytes(take(bytes)?))),
                };
                match message.and_then(|message| side.received(message)) {
                    Ok(Event::Data(piece)) => {
                        assert!(piece.len >= 1 && piece.offset + piece.len <= RING.len);
                        // It found a receive.
                        receives = receives.checked_sub(1).unwrap();
                    }
                    Ok(Event::Mapped(index)) => {
                        receives = receives.checked_sub(1).unwrap();
                        if side.mapped(index, &take(bytes)?).is_ok() {
                            named.extend(side.mappings.find(0, u32::MAX));
                        }
                    }
                    Ok(_) => {}
                    Err(violation) => assert!(violation.to_string().len() > 20),
                }
            }
            2 => {
                let entry = take(bytes)?;
                if side.renewed(&entry) == Ok(true) {
                    named.push(Segment::decode(&entry, mine.order));
                }
            }
            3 => {
                if let Ok(Some(write)) = side.write(u16::from_be_bytes(take(bytes)?).into()) {
                    check(&write, &named);
                    marks.push_back(write.mark);
                }
            }
            4 => {
                let offset = u64::from_be_bytes(take(bytes)?);
                match side.map(0) {
                    Ok(Ok(Some(write))) => {
                        let behind = u64::from(theirs.list.len) * Segment::LEN as u64;
                        assert_eq!(write.remote.addr, theirs.list.addr + behind);
                        marks.push_back(write.mark);
                    }
                    Ok(_) => {}
                    Err(_) => assert_eq!(theirs.mappings, 0),
                }
                if let Some(part) = side.mappings.find(offset, 1000) {
                    // All of the mapping, wherever the part begins.
                    named.push(part);
                    if let Ok(write) = side.sender.write_direct(part) {
                        check(&write, &named);
                        marks.push_back(write.mark);
                    }
                }
            }
            5 => {
                side.receiver.read(u16::from_be_bytes(take(bytes)?).into());
                if let Some(piece) = side.receiver.readable() {
                    assert!(piece.len >= 1 && piece.offset + piece.len <= RING.len);
                }
            }
            6 => {
                if let Some(grant) = side.grant() {
                    side.control.posted(carrier.requests());
                    control += carrier.requests();
                    receives = CREDITS.into();
                    if let Some((half, _)) = grant.renewal {
                        assert!(half.addr >= RING.addr && half.len == RING.len / 2);
                        assert!(half.addr + 256 <= RING.addr + u64::from(RING.len));
                    }
                }
                assert!(control <= Control::requests(carrier));
            }
            _ => {
                if let Some(mark) = marks.pop_front() {
                    side.sender.completed(mark);
                }
                if control > 0 {
                    control -= 1;
                    side.control.completed();
                }
                if step == 255 {
                    side.control.shut_down();
                }
            }
        }
        assert!(side.sender.credits() <= theirs.credits);
        assert!(side.sender.in_flight() <= SIZES.requests);
        assert!(side.receiver.unread() <= RING.len);
    }
}

/// Plays the peer, and what this side does meanwhile, with `bytes`.
pub(crate) fn fuzz(bytes: &[u8]) {
    run(&mut &bytes[..]);
}
