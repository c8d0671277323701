// SPDX-License-Identifier: GPL-2.0

//! Deviations of a device from a [`Rule`](super::rule::Rule).

use core::fmt;

/// A deviation of a device from a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Deviation {
    /// The request ended in a way that is not allowed.
    First,
    /// The requester's other requests ended in a way that is not allowed.
    Rest,
    /// The receive for the request ended in a way that is not allowed.
    Receive,
    /// The completion of that receive does not tell what the message has.
    Told,
    /// Receives did not complete.
    Receives,
    /// Completions came out of order.
    Order,
    /// A request or receive completed twice.
    Repeated,
    /// The requester's queue pair is in a state that is not allowed.
    Requester,
    /// The responder's queue pair is in a state that is not allowed.
    Responder,
    /// A side had an asynchronous error.
    Event,
    /// The responder did not have the asynchronous error that tells of the request.
    NoEvent,
    /// Memory does not hold what it must.
    Memory,
    /// More READs were under way than the connection allows.
    Depth,
    /// The same connection stopped working.
    Works,
    /// The queue pairs could not be destroyed.
    Destroyed,
    /// A new connection did not work.
    Recovery,
}

/// All deviations, each with its text.
const DEVIATIONS: [(Deviation, &str); 16] = [
    (Deviation::First, "how the request ended"),
    (Deviation::Rest, "how the requester's other requests ended"),
    (Deviation::Receive, "how the receive ended"),
    (Deviation::Told, "what the receive tells of the message"),
    (Deviation::Receives, "receives did not complete"),
    (Deviation::Order, "the order of completions"),
    (Deviation::Repeated, "something completed twice"),
    (Deviation::Requester, "the requester's state"),
    (Deviation::Responder, "the responder's state"),
    (Deviation::Event, "an asynchronous error"),
    (Deviation::NoEvent, "no asynchronous error at the responder"),
    (Deviation::Memory, "memory is not as it must be"),
    (
        Deviation::Depth,
        "more READs under way than the connection allows",
    ),
    (Deviation::Works, "the connection does not go on"),
    (Deviation::Destroyed, "the device holds the queue pairs"),
    (Deviation::Recovery, "no new connection works"),
];

/// A set of deviations. Its `Display` is a list of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deviations(u16);

impl Deviations {
    /// Adds a deviation.
    pub(crate) fn add(&mut self, deviation: Deviation) {
        self.0 |= 1 << (deviation as u8);
    }

    /// Returns true where the set is empty.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true where the set contains `deviation`.
    pub(crate) fn has(self, deviation: Deviation) -> bool {
        self.0 & (1 << (deviation as u8)) != 0
    }
}

impl fmt::Display for Deviations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let those = DEVIATIONS.iter().filter(|(each, _)| self.has(*each));
        let mut between = "";
        for (_, text) in those {
            write!(f, "{between}{text}")?;
            between = "; ";
        }
        Ok(())
    }
}
