// SPDX-License-Identifier: GPL-2.0

//! The two sides of a ping/pong under whatever comes in whatever order: what is
//! due is done with sizes that fit, and what is not due is never done.

use crate::logic::{
    pingpong::{
        check_answer,
        Client,
        ClientStep,
        Message,
        Server,
        ServerStep, //
    },
    wire::{
        Advertisement,
        PrivateData, //
    }, //
};

/// Takes the next `N` bytes.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

/// A message as a completion may describe it: rightly so half of the time.
fn message(bytes: &mut &[u8], key: u32) -> Option<Message> {
    let [kind, extra] = take(bytes)?;
    Some(Message {
        len: match kind & 3 {
            0 => u32::from(extra),
            1 => u32::MAX,
            _ => 16,
        },
        bytes: take(bytes)?,
        invalidated: match kind >> 2 & 3 {
            0 => Some(key),
            1 => Some(key ^ u32::from(extra)),
            _ => None,
        },
        has_immediate: kind >> 4 & 7 == 7,
    })
}

fn serve(bytes: &mut &[u8]) -> Option<()> {
    let buffer = u32::from_be_bytes(take(bytes)?);
    let count = u64::from(take::<1>(bytes)?[0] & 7);
    let mut server = Server::new(buffer, count);
    let mut read: Option<u32> = None;
    let mut is_reading = false;
    let mut written = 0;
    loop {
        if take::<1>(bytes)?[0] & 1 == 0 && is_reading {
            assert_eq!(Some(server.read_done()), read);
            is_reading = false;
        }
        let message = message(bytes, 7)?;
        let Ok(step) = server.advertisement(&message) else {
            // The session ends here.
            return None;
        };
        assert!(message.len == 16 && message.invalidated.is_none() && !is_reading);
        assert!(!message.has_immediate);
        let adv = Advertisement::decode(&message.bytes);
        assert!(adv.size > 0 && adv.size <= buffer);
        match step {
            ServerStep::Read(found) => {
                assert_eq!((found, read), (adv, None));
                assert!(count == 0 || written < count);
                (read, is_reading) = (Some(adv.size), true);
                assert!(!server.may_end() && !server.served_all());
            }
            ServerStep::Write(found) => {
                assert_eq!((found, read.take()), (adv, Some(adv.size)));
                written += 1;
                assert_eq!(server.served_all(), written == count);
                assert_eq!(server.may_end(), count == 0 || written == count);
            }
        }
    }
}

fn lead(bytes: &mut &[u8]) -> Option<()> {
    let invalidates = take::<1>(bytes)?[0] & 1 == 1;
    let key = u32::from_be_bytes(take(bytes)?);
    let mut client = Client::new(invalidates);
    let mut due = None;
    loop {
        if due.is_none() && take::<1>(bytes)?[0] & 1 == 0 {
            client.start();
            due = Some(ClientStep::AdvertiseSink);
        }
        let message = message(bytes, key)?;
        let Ok(step) = client.go_ahead(&message, key) else {
            return None;
        };
        assert_eq!((Some(step), message.len), (due, 16));
        assert!(!message.has_immediate);
        assert_eq!(message.invalidated, invalidates.then_some(key));
        due = match step {
            ClientStep::AdvertiseSink => Some(ClientStep::Iterated),
            ClientStep::Iterated => None,
        };
    }
}

/// What was asked, and what is said to be the answer.
fn agree(bytes: &[u8]) -> Option<()> {
    let (asked, answer) = bytes.split_at_checked(PrivateData::LEN)?;
    let asked = PrivateData::decode(asked).ok()??;
    let answer = PrivateData::decode(answer).ok()??;
    if check_answer(&asked, &answer).is_ok() {
        assert_eq!((asked.test, asked.size), (answer.test, answer.size));
        assert!(!asked.test.is_microbench() || asked.load == answer.load);
    }
    Some(())
}

/// Plays the peers of both sides with `bytes`.
pub(crate) fn fuzz(bytes: &[u8]) {
    serve(&mut &bytes[..]);
    lead(&mut &bytes[..]);
    agree(bytes);
}
