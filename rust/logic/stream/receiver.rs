// SPDX-License-Identifier: GPL-2.0

//! The direction of a stream from its peer: the ring of bytes that arrive, and the grants that let
//! the peer go on.
//!
//! The ring has two halves. The peer is told of one of them in the private data, and of each half
//! that has been read by an entry in its list. A grant tells of a half, of credits, or of both:
//!
//! ```text
//! ring:  | read | arrived |            |    | read ... read |
//!        ^ half 0         ^ next byte  ^    ^ half 1: may be renewed
//! ```
//!
//! A message's credit is given back as soon as the message has been taken, as nothing but its bytes
//! is kept.

use super::{
    hello::Hello,
    immediate::Message,
    violation::Violation,
    Segment, //
};

/// A piece of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The first byte.
    pub(crate) offset: u32,
    /// The number of bytes.
    pub(crate) len: u32,
}

/// A grant to post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// The message.
    pub(crate) message: Message,
    /// The half of the ring that it tells of, and the address of the entry in the peer's list that
    /// it is to be written to with the message.
    pub(crate) renewal: Option<(Segment, u64)>,
}

/// The direction of a stream from its peer.
///
/// # Invariants
///
/// - `half` is not 0, and `next` and `first` are below twice that.
/// - `room + unread + free` is twice `half`.
/// - `promised - taken`, modulo 2^16, is at most `credits`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receiver {
    ring: Segment,
    half: u32,
    /// The place of the next byte that arrives.
    next: u32,
    /// The place of the first byte that has not been read.
    first: u32,
    /// The bytes that the peer may still write.
    room: u32,
    /// The bytes that have arrived and have not been read.
    unread: u32,
    /// The bytes that have been read, and that the peer was not told of since.
    free: u32,
    /// The place of the half that is renewed next.
    renewed: u32,
    credits: u16,
    /// The messages that took a credit, modulo 2^16.
    taken: u16,
    /// The number of the message up to which the peer was given credits.
    promised: u16,
    /// The number of the entry that is written next.
    entry: u32,
}

impl Receiver {
    /// Creates the direction from a peer that was told of the first half of `ring` and of
    /// `credits`. `ring` has an even number of bytes.
    pub(crate) const fn new(ring: Segment, credits: u16) -> Self {
        // The least ring has 2 bytes.
        let half = match ring.len / 2 {
            0 => 1,
            half => half,
        };
        // INVARIANT: The second half is as good as read.
        Self {
            ring,
            half,
            next: 0,
            first: 0,
            room: half,
            unread: 0,
            free: half,
            renewed: half,
            credits,
            taken: 0,
            promised: credits,
            // The first half takes entry 0, though nobody writes it there.
            entry: 1,
        }
    }

    /// Returns the part of `ring` that the peer is told of in the private data.
    pub(crate) const fn first_part(ring: Segment) -> Segment {
        Segment {
            len: ring.len / 2,
            ..ring
        }
    }

    /// Takes a message that says that `len` bytes have arrived, and returns their place. All are in
    /// one half.
    ///
    /// # Errors
    ///
    /// [`Violation::Overrun`] where they do not fit into the half, or the peer may not write to it;
    /// [`Violation::NoCredit`].
    pub(crate) fn arrived(&mut self, len: u32) -> Result<Piece, Violation> {
        let before_end = match self.half.checked_sub(self.next) {
            None | Some(0) => self
                .half
                .saturating_sub(self.next.saturating_sub(self.half)),
            Some(left) => left,
        };
        let room = before_end.min(self.room);
        if len > room {
            return Err(Violation::Overrun(len, room));
        }
        self.take_credit()?;
        let piece = Piece {
            offset: self.next,
            len,
        };
        self.next = self.behind(self.next, len);
        self.room = self.room.saturating_sub(len);
        self.unread = self.unread.saturating_add(len);
        Ok(piece)
    }

    /// Notes a message that takes a credit.
    ///
    /// # Errors
    ///
    /// [`Violation::NoCredit`] where the peer has none.
    pub(crate) fn take_credit(&mut self) -> Result<(), Violation> {
        if self.taken == self.promised {
            return Err(Violation::NoCredit);
        }
        self.taken = self.taken.wrapping_add(1);
        Ok(())
    }

    /// Returns the bytes to read next, as far as they are contiguous; `None` where there are none.
    pub(crate) fn readable(&self) -> Option<Piece> {
        let len = self.unread.min(self.size().saturating_sub(self.first));
        (len != 0).then_some(Piece {
            offset: self.first,
            len,
        })
    }

    /// Returns the number of bytes to read.
    pub(crate) const fn unread(&self) -> u32 {
        self.unread
    }

    /// Notes that the next `len` bytes were read, or all where there are fewer.
    pub(crate) fn read(&mut self, len: u32) {
        let len = len.min(self.unread);
        self.first = self.behind(self.first, len);
        self.unread = self.unread.saturating_sub(len);
        self.free = self.free.saturating_add(len);
    }

    /// Takes the grant that is due, if one is: of a half of the ring that has been read, or of
    /// credits, once half of them are used. `peer` is the peer's private data, with its list.
    pub(crate) fn grant(&mut self, peer: &Hello) -> Option<Grant> {
        let renews = self.free >= self.half;
        let left = self.promised.wrapping_sub(self.taken);
        let used = self.credits.saturating_sub(left);
        // With a single credit, one is half of them.
        if !renews && used < (self.credits / 2).max(1) {
            return None;
        }
        self.promised = self.taken.wrapping_add(self.credits);
        Some(Grant {
            message: Message::Grant(self.promised),
            renewal: renews.then(|| self.renew(peer)),
        })
    }

    /// Renews the next half.
    fn renew(&mut self, peer: &Hello) -> (Segment, u64) {
        let segment = Segment {
            addr: self.ring.addr.wrapping_add(self.renewed.into()),
            rkey: self.ring.rkey,
            len: self.half,
        };
        self.renewed = self.behind(self.renewed, self.half);
        self.free = self.free.saturating_sub(self.half);
        self.room = self.room.saturating_add(self.half);
        let entry = peer.entry(self.entry);
        self.entry = match self.entry.wrapping_add(1) {
            next if next < peer.list.len => next,
            _ => 0,
        };
        (segment, entry)
    }

    const fn size(&self) -> u32 {
        self.half.saturating_mul(2)
    }

    /// Returns the place that is `len` bytes behind another one.
    const fn behind(&self, place: u32, len: u32) -> u32 {
        let size = self.size();
        match place.saturating_add(len) {
            end if end < size => end,
            end => end.saturating_sub(size),
        }
    }
}
