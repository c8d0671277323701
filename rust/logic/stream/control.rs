// SPDX-License-Identifier: GPL-2.0

//! The ends of a stream's two directions, and the requests of messages without data.
//!
//! A direction ends with SHUTDOWN of its sender, and both end with DISCONNECT of either side. The
//! second of two sides that end their directions sends DISCONNECT. Grants and messages of the end
//! take no credit; a sender has a few requests for them.

use super::{
    immediate::Message,
    violation::Violation,
    Carrier, //
};

/// The number of messages without data that may be in flight.
pub(crate) const MESSAGES: u32 = 4;

/// The end of a direction, as its sender has told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// It goes on.
    Open,
    /// No more data is sent.
    Shutdown,
    /// The sender neither sends nor receives.
    Disconnected,
}

/// The ends of both directions, and the requests of the messages that tell of them.
///
/// # Invariants
///
/// `in_flight` is at most [`room`](Self::requests) for the carrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Control {
    carrier: Carrier,
    ours: End,
    theirs: End,
    in_flight: u32,
}

impl Control {
    /// Creates the state of two open directions.
    pub(crate) const fn new(carrier: Carrier) -> Self {
        Self {
            carrier,
            ours: End::Open,
            theirs: End::Open,
            in_flight: 0,
        }
    }

    /// Returns the number of requests in the send queue for messages without data.
    pub(crate) const fn requests(carrier: Carrier) -> u32 {
        MESSAGES.saturating_mul(carrier.requests())
    }

    /// Returns true where this side may send data.
    pub(crate) fn sends(&self) -> bool {
        self.ours == End::Open && self.theirs != End::Disconnected
    }

    /// Returns true where data of the peer may come.
    pub(crate) fn receives(&self) -> bool {
        self.theirs == End::Open && self.ours != End::Disconnected
    }

    /// Returns true where nothing more is sent in either direction.
    pub(crate) fn is_over(&self) -> bool {
        self.ours == End::Disconnected
            || self.theirs == End::Disconnected
            || (self.ours == End::Shutdown && self.theirs == End::Shutdown)
    }

    /// Returns true where grants to the peer are of use.
    pub(crate) fn grants(&self) -> bool {
        self.receives()
    }

    /// Checks that data may come.
    ///
    /// # Errors
    ///
    /// [`Violation::AfterEnd`] where the peer has ended its direction.
    pub(crate) fn check_data(&self) -> Result<(), Violation> {
        match self.theirs {
            End::Open => Ok(()),
            End::Shutdown | End::Disconnected => Err(Violation::AfterEnd),
        }
    }

    /// Notes a SHUTDOWN of the peer. A second one says nothing new.
    pub(crate) fn peer_shuts_down(&mut self) {
        self.theirs = self.theirs.max(End::Shutdown);
    }

    /// Notes a DISCONNECT of the peer.
    pub(crate) fn peer_disconnects(&mut self) {
        self.theirs = End::Disconnected;
    }

    /// Ends the direction to the peer, and returns the message that tells of it; `None` where it
    /// has ended.
    pub(crate) fn shut_down(&mut self) -> Option<Message> {
        if !self.sends() {
            return None;
        }
        match self.theirs {
            End::Open => {
                self.ours = End::Shutdown;
                Some(Message::Shutdown)
            }
            End::Shutdown | End::Disconnected => self.disconnect(),
        }
    }

    /// Ends both directions, and returns the message that tells of it; `None` where they have
    /// ended.
    pub(crate) fn disconnect(&mut self) -> Option<Message> {
        if self.is_over() {
            return None;
        }
        self.ours = End::Disconnected;
        Some(Message::Disconnect)
    }

    /// Returns true where the send queue has room for a message without data, or for a grant with
    /// an entry of the list.
    pub(crate) fn has_room(&self) -> bool {
        let room = Self::requests(self.carrier).saturating_sub(self.in_flight);
        room >= self.carrier.requests()
    }

    /// Notes that `requests` requests are posted for a message.
    pub(crate) fn posted(&mut self, requests: u32) {
        self.in_flight = self.in_flight.saturating_add(requests);
    }

    /// Notes that a request of a message has completed.
    pub(crate) fn completed(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Returns true where no message is in flight.
    pub(crate) const fn is_idle(&self) -> bool {
        self.in_flight == 0
    }
}
