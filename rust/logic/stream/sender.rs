// SPDX-License-Identifier: GPL-2.0

//! The direction of a stream to its peer: which messages with data may be posted, and where to.
//!
//! A peer names parts of its ring by writing them into the list of this side, one entry after the
//! other. A part is filled to its end before the next is used, so no message spans two of them: a
//! write of up to the size of a part takes one message or two.

use super::{
    hello::Hello,
    immediate::Message,
    send_buffer::{
        Place,
        SendBuffer, //
    },
    violation::Violation,
    Carrier,
    Segment, //
};

/// The number of entries in the list of this side.
const ENTRIES: u32 = Hello::ENTRIES;

/// The free bytes of the buffer that a larger write waits for, so that it is not cut into small
/// messages.
const LEAST_BUFFER: u32 = 2048;

/// The reason why nothing can be posted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stall {
    /// The send queue has no room for a request.
    QueueEntry,
    /// The send buffer has no room.
    Buffer,
    /// All credits are used.
    Credit,
    /// The peer's ring has no room.
    RingSpace,
}

impl Stall {
    /// All reasons, in the order in which they are looked for.
    pub(crate) const ALL: [Self; 4] = [
        Self::QueueEntry,
        Self::Buffer,
        Self::Credit,
        Self::RingSpace,
    ];

    /// Returns the name in results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::QueueEntry => "queue_entry",
            Self::Buffer => "send_buffer",
            Self::Credit => "credit",
            Self::RingSpace => "ring_space",
        }
    }
}

/// The state up to a request, which its completion restores: all before it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The requests that were posted, modulo 2^32.
    requests: u32,
    /// The bytes of the send buffer that were taken, modulo 2^32.
    bytes: u32,
}

/// A message with data to post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    /// The bytes of the send buffer, none for what is not sent from there.
    pub(crate) place: Place,
    /// The peer's memory, of that many bytes.
    pub(crate) remote: Segment,
    /// The message that comes with it; `None` for a direct write.
    pub(crate) message: Option<Message>,
    /// Handed back to [`Sender::completed`] when the last of its requests has completed.
    pub(crate) mark: Mark,
}

/// The sizes of the direction to the peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Requests in the send queue for messages with data.
    pub(crate) requests: u32,
    /// Bytes of the send buffer.
    pub(crate) buffer: u32,
    /// The most bytes of one message.
    pub(crate) message: u32,
}

/// The direction of a stream to its peer.
///
/// # Invariants
///
/// - `held` is at most [`ENTRIES`], and so many segments from `current` on have bytes.
/// - `limit - sent`, modulo 2^16, is at most `window`.
/// - `posted - done`, modulo 2^32, is at most `sizes.requests`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    sizes: Sizes,
    carrier: Carrier,
    segments: [Segment; ENTRIES as usize],
    current: u32,
    held: u32,
    window: u16,
    /// The messages that took a credit, modulo 2^16.
    sent: u16,
    /// The number of the message up to which there are credits.
    limit: u16,
    posted: u32,
    done: u32,
    buffer: SendBuffer,
}

impl Sender {
    /// Creates the direction to a peer that has said `hello`.
    pub(crate) fn new(hello: &Hello, carrier: Carrier, sizes: Sizes) -> Self {
        // INVARIANT: A ring has bytes. All credits are there.
        Self {
            sizes,
            carrier,
            segments: [hello.ring, Segment::default()],
            current: 0,
            held: 1,
            window: hello.credits,
            sent: 0,
            limit: hello.credits,
            posted: 0,
            done: 0,
            buffer: SendBuffer::new(sizes.buffer),
        }
    }

    /// Returns the number of credits.
    pub(crate) const fn credits(&self) -> u16 {
        self.limit.wrapping_sub(self.sent)
    }

    /// Returns the number of requests that are posted and not known to be done.
    pub(crate) const fn in_flight(&self) -> u32 {
        self.posted.wrapping_sub(self.done)
    }

    /// Returns the number of bytes that can be written before the peer renews a part of its ring.
    #[allow(dead_code, reason = "tests compare it with what the peer has told of")]
    pub(crate) fn ring_space(&self) -> u64 {
        self.segments
            .iter()
            .map(|segment| u64::from(segment.len))
            .fold(0, u64::saturating_add)
    }

    /// Returns the number of bytes that the send buffer has room for.
    pub(crate) const fn room(&self) -> u32 {
        self.buffer.free()
    }

    /// Returns true where all that was posted is done.
    pub(crate) const fn is_idle(&self) -> bool {
        self.in_flight() == 0
    }

    /// Returns the first reason why a write of `left` bytes has to wait.
    ///
    /// # Errors
    ///
    /// The reason.
    fn ready(&self, left: u32, requests: u32) -> Result<(), Stall> {
        let room = self.sizes.requests.saturating_sub(self.in_flight());
        if room < requests {
            return Err(Stall::QueueEntry);
        }
        if self.buffer.free() < left.min(LEAST_BUFFER).min(self.sizes.buffer) {
            return Err(Stall::Buffer);
        }
        Ok(())
    }

    /// Takes the next message of a write that has `left` bytes left, at least one. It must be
    /// posted before any other.
    ///
    /// # Errors
    ///
    /// The reason why nothing can be posted now. Completions end the first two of them, messages of
    /// the peer the others.
    pub(crate) fn write(&mut self, left: u32) -> Result<Write, Stall> {
        let requests = self.carrier.requests();
        self.ready(left.max(1), requests)?;
        if self.credits() == 0 {
            return Err(Stall::Credit);
        }
        let current = match self.segments.get_mut(self.current as usize) {
            Some(segment) if self.held > 0 => segment,
            _ => return Err(Stall::RingSpace),
        };
        let len = left
            .max(1)
            .min(self.sizes.message.clamp(1, Message::MOST_DATA))
            .min(current.len)
            .min(match self.carrier {
                Carrier::Immediate => self.buffer.free(),
                // An RDMA WRITE of its own has one piece.
                Carrier::Send => self.buffer.contiguous(),
            });
        let remote = Segment { len, ..*current };
        current.addr = current.addr.wrapping_add(len.into());
        current.len = current.len.saturating_sub(len);
        if current.len == 0 {
            self.current = next_entry(self.current);
            self.held = self.held.saturating_sub(1);
        }
        self.sent = self.sent.wrapping_add(1);
        let place = self.buffer.take(len);
        Ok(self.post(requests, place, remote, Some(Message::Data(len))))
    }

    /// Takes the write of a mapping to the peer's list at `remote`, with its message.
    ///
    /// # Errors
    ///
    /// As of [`write`](Self::write); it needs no room in the ring, and none in the send buffer.
    pub(crate) fn map(&mut self, remote: Segment, index: u16) -> Result<Write, Stall> {
        let requests = self.carrier.requests();
        self.ready(0, requests)?;
        if self.credits() == 0 {
            return Err(Stall::Credit);
        }
        self.sent = self.sent.wrapping_add(1);
        let message = Some(Message::Mapped(index));
        Ok(self.post(requests, Place::default(), remote, message))
    }

    /// Takes the next part of a direct write to `remote`, a part of a mapping. The peer is told
    /// nothing of it, and it takes no credit. It is sent from where it lies.
    ///
    /// # Errors
    ///
    /// [`Stall::QueueEntry`] where it has to wait.
    pub(crate) fn write_direct(&mut self, remote: Segment) -> Result<Write, Stall> {
        self.ready(0, 1)?;
        let len = remote.len.min(self.sizes.message.max(1));
        Ok(self.post(1, Place::default(), Segment { len, ..remote }, None))
    }

    fn post(
        &mut self,
        requests: u32,
        place: Place,
        remote: Segment,
        message: Option<Message>,
    ) -> Write {
        self.posted = self.posted.wrapping_add(requests);
        Write {
            place,
            remote,
            message,
            mark: Mark {
                requests: self.posted,
                bytes: self.buffer.mark(),
            },
        }
    }

    /// Notes that a request has completed, and all before it have.
    pub(crate) fn completed(&mut self, mark: Mark) {
        if mark.requests.wrapping_sub(self.done) <= self.in_flight() {
            self.done = mark.requests;
            self.buffer.free_to(mark.bytes);
        }
    }

    /// Takes a grant of credits up to message number `limit`.
    ///
    /// # Errors
    ///
    /// [`Violation::Credits`] where they are fewer than before, or more than the peer has receives.
    pub(crate) fn granted(&mut self, limit: u16) -> Result<(), Violation> {
        let available = limit.wrapping_sub(self.sent);
        let before = self.credits();
        if available > self.window || available < before {
            return Err(Violation::Credits(available, before, self.window));
        }
        self.limit = limit;
        Ok(())
    }

    /// Returns the number of the entry in the list that the peer writes next, to be read when a
    /// grant comes; `None` where both hold bytes that are not used yet.
    pub(crate) fn due(&self) -> Option<u32> {
        match self.held {
            0 => Some(self.current),
            1 => Some(next_entry(self.current)),
            _ => None,
        }
    }

    /// Takes the entry that is [due](Self::due), as it was read. Returns true where the peer has
    /// written it: then the entry must be zeroed, so that it is not taken again.
    ///
    /// # Errors
    ///
    /// [`Violation::Segment`] where it ends beyond the last address.
    pub(crate) fn renewed(&mut self, segment: Segment) -> Result<bool, Violation> {
        // On iWARP nothing says which grants come with an entry, and the next entry may be on its
        // way. It has two words, each of which is whole.
        if segment.len == 0 || segment.addr == 0 {
            return Ok(false);
        }
        if segment.wraps(segment.len.into()) {
            return Err(Violation::Segment(segment.addr, segment.len));
        }
        let Some(entry) = self.due() else {
            return Ok(false);
        };
        let Some(place) = self.segments.get_mut(entry as usize) else {
            return Ok(false);
        };
        *place = segment;
        self.held = self.held.saturating_add(1);
        Ok(true)
    }
}

/// Returns the number of the entry behind another one.
const fn next_entry(entry: u32) -> u32 {
    match entry.wrapping_add(1) {
        ENTRIES => 0,
        next => next,
    }
}
