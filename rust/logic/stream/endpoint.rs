// SPDX-License-Identifier: GPL-2.0

//! All of one side of a stream, as the messages of its peer change it.

use super::{
    control::Control,
    hello::Hello,
    immediate::Message,
    iomap::{
        Mapping,
        Mappings, //
    },
    receiver::{
        Grant,
        Piece,
        Receiver, //
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

/// The news in a message of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Bytes have arrived in a piece of the ring.
    Data(Piece),
    /// Credits were granted. The entry that is [due](Sender::due) may have been written.
    Granted,
    /// The entry of that index in the list of mappings was written.
    Mapped(u16),
    /// The peer sends no more data.
    Shutdown,
    /// The peer neither sends nor receives any more.
    Disconnected,
    /// Nothing but a sign of life.
    Alive,
}

/// One side of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoint {
    mine: Hello,
    theirs: Hello,
    /// The direction to the peer.
    pub(crate) sender: Sender,
    /// The direction from the peer.
    pub(crate) receiver: Receiver,
    /// The ends of both.
    pub(crate) control: Control,
    /// The mappings of the peer.
    pub(crate) mappings: Mappings,
}

impl Endpoint {
    /// Creates a side that has said `mine`, where its ring is `ring` of an even number of bytes,
    /// and has been told `theirs`.
    pub(crate) fn new(
        mine: &Hello,
        ring: Segment,
        theirs: &Hello,
        carrier: Carrier,
        sizes: Sizes,
    ) -> Self {
        Self {
            mine: *mine,
            theirs: *theirs,
            sender: Sender::new(theirs, carrier, sizes),
            receiver: Receiver::new(ring, mine.credits),
            control: Control::new(carrier),
            mappings: Mappings::new(mine.mappings),
        }
    }

    /// Returns the private data of the peer.
    pub(crate) const fn theirs(&self) -> &Hello {
        &self.theirs
    }

    /// Takes a message of the peer.
    ///
    /// # Errors
    ///
    /// The rule that it breaks. The state is as before.
    pub(crate) fn received(&mut self, message: Message) -> Result<Event, Violation> {
        Ok(match message {
            Message::Data(len) => {
                self.control.check_data()?;
                Event::Data(self.receiver.arrived(len)?)
            }
            Message::Grant(limit) => {
                self.sender.granted(limit)?;
                Event::Granted
            }
            Message::Mapped(index) => {
                self.mappings.check(index)?;
                self.receiver.take_credit()?;
                Event::Mapped(index)
            }
            Message::Shutdown => {
                self.control.peer_shuts_down();
                Event::Shutdown
            }
            Message::Disconnect => {
                self.control.peer_disconnects();
                Event::Disconnected
            }
            Message::Keepalive => Event::Alive,
        })
    }

    /// Takes the bytes of the entry that is [due](Sender::due). Returns true where the entry is to
    /// be zeroed.
    ///
    /// # Errors
    ///
    /// As of [`Sender::renewed`].
    pub(crate) fn renewed(&mut self, bytes: &[u8; Segment::LEN]) -> Result<bool, Violation> {
        self.sender.renewed(Segment::decode(bytes, self.mine.order))
    }

    /// Takes the bytes of an entry in the list of mappings.
    ///
    /// # Errors
    ///
    /// As of [`Mapping::decode`].
    pub(crate) fn mapped(
        &mut self,
        index: u16,
        bytes: &[u8; Mapping::LEN],
    ) -> Result<(), Violation> {
        let mapping = Mapping::decode(bytes, self.mine.order)?;
        self.mappings.set(index, mapping);
        Ok(())
    }

    /// Takes the message that tells the peer of mapping number `index`; `None` where this side may
    /// not send.
    ///
    /// # Errors
    ///
    /// [`Violation::NoMapping`] where the peer has no room for it; and in it, the reason for which
    /// it has to wait.
    pub(crate) fn map(&mut self, index: u16) -> Result<Result<Option<Write>, Stall>, Violation> {
        let list = self.theirs.list;
        let addr = self.theirs.mapping(index).ok_or(Violation::NoMapping)?;
        let len = Mapping::LEN as u32;
        Ok(match self.control.sends() {
            true => self
                .sender
                .map(Segment { addr, len, ..list }, index)
                .map(Some),
            false => Ok(None),
        })
    }

    /// Takes the next request of a direct write to the peer's `offset` that has `left` bytes left;
    /// `None` where this side may not send, or the peer has mapped no memory there.
    ///
    /// # Errors
    ///
    /// As of [`Sender::write_direct`].
    pub(crate) fn write_direct(&mut self, offset: u64, left: u32) -> Result<Option<Write>, Stall> {
        match self.mappings.find(offset, left) {
            Some(part) if self.control.sends() => self.sender.write_direct(part).map(Some),
            _ => Ok(None),
        }
    }

    /// Takes the next message of a write of data that has `left` bytes left; `None` where this side
    /// may not send.
    ///
    /// # Errors
    ///
    /// As of [`Sender::write`].
    pub(crate) fn write(&mut self, left: u32) -> Result<Option<Write>, Stall> {
        match self.control.sends() {
            true => self.sender.write(left).map(Some),
            false => Ok(None),
        }
    }

    /// Takes the grant that is due, if one is and the send queue has room for it.
    pub(crate) fn grant(&mut self) -> Option<Grant> {
        match self.control.grants() && self.control.has_room() {
            true => self.receiver.grant(&self.theirs),
            false => None,
        }
    }

    /// Returns the bytes that are to be written into the peer's list for a mapping.
    pub(crate) fn mapping(&self, mapping: &Mapping) -> [u8; Mapping::LEN] {
        mapping.encode(self.theirs.order)
    }

    /// Returns the bytes that are to be written into the peer's list for a renewal.
    pub(crate) fn entry(&self, renewal: &Segment) -> [u8; Segment::LEN] {
        renewal.encode(self.theirs.order)
    }
}
