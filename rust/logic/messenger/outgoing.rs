// SPDX-License-Identifier: GPL-2.0

//! Messages to a peer, cut into chunks.

use super::header::{
    Header,
    Kind, //
};

/// A chunk to send: a header, if it is the first of its message, and bytes of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The header.
    pub(crate) header: Option<Header>,
    /// The kind of the message.
    pub(crate) kind: Kind,
    /// The number of the message.
    pub(crate) number: u64,
    /// The first of the bytes in the message.
    pub(crate) position: u32,
    /// The number of bytes.
    pub(crate) len: u32,
    /// The message is sent with it.
    pub(crate) is_last: bool,
}

impl Cut {
    /// Returns the bytes in front of the message's.
    pub(crate) fn offset(&self) -> u32 {
        match self.header {
            Some(_) => Header::LEN as u32,
            None => 0,
        }
    }

    /// Returns the bytes of the chunk.
    pub(crate) fn bytes(&self) -> u32 {
        self.offset().saturating_add(self.len)
    }
}

/// The direction to the peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    /// Bytes of each message.
    size: u32,
    /// The most bytes of a chunk.
    chunk: u32,
    /// Messages that have begun.
    begun: u64,
    /// The kind of the message that is under way, and the bytes of it that have been cut; `None` of
    /// these where not even the header has.
    under_way: Option<(Kind, Option<u32>)>,
    has_ended: bool,
}

impl Outgoing {
    /// Creates the direction, for messages of `size` bytes in chunks of up to `chunk`, which is
    /// more than a header.
    pub(crate) const fn new(size: u32, chunk: u32) -> Self {
        Self {
            size,
            chunk,
            begun: 0,
            under_way: None,
            has_ended: false,
        }
    }

    /// Returns the number of messages that have begun.
    pub(crate) fn begun(&self) -> u64 {
        self.begun
    }

    /// Returns true where no message is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.under_way.is_none()
    }

    /// Begins a message, where none is under way and the direction has not ended. Returns true
    /// where it has.
    pub(crate) fn begin(&mut self, kind: Kind) -> bool {
        let begins = self.is_idle() && !self.has_ended;
        if begins {
            self.under_way = Some((kind, None));
            self.begun = self.begun.wrapping_add(1);
        }
        begins
    }

    /// Cuts the next chunk of the message under way; `None` where there is none.
    pub(crate) fn cut(&mut self) -> Option<Cut> {
        let (kind, cut) = self.under_way?;
        let number = self.begun.wrapping_sub(1);
        let position = cut.unwrap_or(0);
        let header = cut.is_none().then_some(Header {
            kind,
            len: self.size,
            number,
        });
        let room = match header {
            Some(_) => self.chunk.saturating_sub(Header::LEN as u32),
            None => self.chunk,
        };
        let left = self.size.saturating_sub(position);
        let len = left.min(room);
        let is_last = len == left;
        self.under_way = (!is_last).then_some((kind, Some(position.saturating_add(len))));
        Some(Cut {
            header,
            kind,
            number,
            position,
            len,
            is_last,
        })
    }

    /// Ends the direction, where no message is under way. Returns true where an empty SEND is to
    /// say so, once.
    pub(crate) fn end(&mut self) -> bool {
        let ends = self.is_idle() && !self.has_ended;
        self.has_ended |= ends;
        ends
    }

    /// Returns true where it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }
}
