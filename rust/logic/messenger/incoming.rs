// SPDX-License-Identifier: GPL-2.0

//! Messages of a peer, as its chunks come.

use super::{
    header::{
        Header,
        Kind, //
    },
    violation::Violation, //
};

/// Bytes of a message that have come in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The kind of the message.
    pub(crate) kind: Kind,
    /// The number of the message.
    pub(crate) number: u64,
    /// The first of the bytes in the message.
    pub(crate) position: u32,
    /// The first of the bytes in the chunk.
    pub(crate) offset: u32,
    /// The number of bytes.
    pub(crate) len: u32,
    /// The message is whole now.
    pub(crate) is_last: bool,
}

/// The meaning of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It is a part of a message.
    Piece(Piece),
    /// The peer has ended its direction.
    End,
}

/// The direction from the peer.
///
/// # Invariants
///
/// `left` is at most `size`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming {
    /// Replies come; otherwise messages that begin something.
    replies: bool,
    /// Bytes of each message.
    size: u32,
    /// Messages that have begun.
    begun: u64,
    /// The kind of the message that is under way, and the bytes of it that have not come.
    under_way: Option<(Kind, u32)>,
    has_ended: bool,
}

impl Incoming {
    /// Creates the direction from a client, or of `replies` from a server, whose messages have
    /// `size` bytes.
    pub(crate) const fn new(replies: bool, size: u32) -> Self {
        Self {
            replies,
            size,
            begun: 0,
            under_way: None,
            has_ended: false,
        }
    }

    /// Returns the number of messages that have come whole.
    pub(crate) fn whole(&self) -> u64 {
        self.begun
            .saturating_sub(u64::from(self.under_way.is_some()))
    }

    /// Returns true where the peer has ended its direction.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Takes a chunk of `bytes` bytes, whose first are `head`; of fewer than that, any may follow.
    ///
    /// # Errors
    ///
    /// The [`Violation`]. Nothing that comes after it counts.
    pub(crate) fn take(
        &mut self,
        bytes: u32,
        head: &[u8; Header::LEN],
    ) -> Result<Event, Violation> {
        if self.has_ended {
            return Err(Violation::AfterEnd);
        }
        match (bytes, self.under_way) {
            (0, None) => {
                self.has_ended = true;
                Ok(Event::End)
            }
            (0, Some((_, left))) => Err(Violation::EndInside(left)),
            (_, None) => self.begin(bytes, head),
            (_, Some((kind, left))) => self.go_on(kind, left, 0, bytes),
        }
    }

    fn begin(&mut self, bytes: u32, head: &[u8; Header::LEN]) -> Result<Event, Violation> {
        let len = bytes
            .checked_sub(Header::LEN as u32)
            .ok_or(Violation::Short(bytes))?;
        let header = Header::decode(head)?;
        if (header.kind == Kind::Reply) != self.replies {
            let [a, b, c, d, ..] = *head;
            return Err(Violation::Kind(u32::from_be_bytes([a, b, c, d])));
        }
        if header.len != self.size {
            return Err(Violation::Length(header.len, self.size));
        }
        if header.number != self.begun {
            return Err(Violation::Number(header.number, self.begun));
        }
        self.begun = self.begun.wrapping_add(1);
        self.go_on(header.kind, self.size, Header::LEN as u32, len)
    }

    /// Takes `len` bytes from `offset` of a chunk, of a message that has `left` left.
    fn go_on(&mut self, kind: Kind, left: u32, offset: u32, len: u32) -> Result<Event, Violation> {
        let rest = left.checked_sub(len).ok_or(Violation::Beyond(len, left))?;
        // INVARIANT: It was no more before.
        self.under_way = (rest > 0).then_some((kind, rest));
        Ok(Event::Piece(Piece {
            kind,
            number: self.begun.wrapping_sub(1),
            position: self.size.saturating_sub(left),
            offset,
            len,
            is_last: rest == 0,
        }))
    }
}
