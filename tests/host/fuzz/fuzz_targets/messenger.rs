// SPDX-License-Identifier: GPL-2.0

//! A side of messages under whatever its peer says: the description, and then chunks, among them
//! those that a side of ours would send.

use crate::logic::{
    messenger::{
        header::{
            Header,
            Kind, //
        },
        hello::Hello,
        incoming::{
            Event,
            Incoming, //
        },
        outgoing::Outgoing, //
    },
    wire::PeerRole, //
};

/// Bytes of a chunk of ours.
const CHUNK: u32 = 4096;

/// Takes the next `N` bytes.
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

fn run(bytes: &mut &[u8]) -> Option<()> {
    let [options] = take(bytes)?;
    let from = match options & 1 {
        0 => PeerRole::Client,
        _ => PeerRole::Server,
    };
    let theirs = match Hello::decode(&take::<{ Hello::LEN }>(bytes)?, from) {
        Ok(theirs) => theirs,
        Err(error) => {
            assert!(error.to_string().len() > 30, "{error}");
            return None;
        }
    };
    assert_eq!(Hello::decode(&theirs.encode(), from), Ok(theirs));
    assert_eq!(theirs.repeats(&theirs), Ok(()));
    let kinds = match from {
        PeerRole::Client => [Kind::OneWay, Kind::Request],
        PeerRole::Server => [Kind::Reply; 2],
    };
    let mut incoming = Incoming::new(from == PeerRole::Server, theirs.size);
    let mut honest = Outgoing::new(theirs.size, theirs.chunk.min(CHUNK));
    let (mut whole, mut position) = (0, 0);
    loop {
        let [step] = take(bytes)?;
        let mut head = [0; Header::LEN];
        let len = match step % 4 {
            // The next one that it would send, if it told no lies.
            0 | 1 => {
                if honest.is_idle() && !honest.begin(kinds[usize::from(step >> 7)]) {
                    return None;
                }
                let cut = honest.cut()?;
                if let Some(header) = cut.header {
                    head = header.encode();
                }
                cut.bytes()
            }
            2 => {
                head = take(bytes)?;
                u16::from_be_bytes(take(bytes)?).into()
            }
            _ => 0,
        };
        match incoming.take(len, &head) {
            Ok(Event::Piece(piece)) => {
                assert_eq!((piece.number, piece.position), (whole, position));
                assert_eq!(piece.offset + piece.len, len);
                if position == 0 && piece.offset > 0 {
                    let said = Header::decode(&head).unwrap();
                    assert_eq!((said.len, said.number), (theirs.size, whole));
                }
                assert!(position + piece.len <= theirs.size);
                position += piece.len;
                assert_eq!(piece.is_last, position == theirs.size);
                if piece.is_last {
                    whole += 1;
                    position = 0;
                }
                assert_eq!(incoming.whole(), whole);
            }
            Ok(Event::End) => assert!(len == 0 && position == 0 && incoming.has_ended()),
            Err(violation) => {
                assert!(violation.to_string().len() > 20);
                return None;
            }
        }
    }
}

/// Plays the peer with `bytes`.
pub(crate) fn fuzz(bytes: &[u8]) {
    run(&mut &bytes[..]);
}
