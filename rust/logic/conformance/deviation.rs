// SPDX-License-Identifier: GPL-2.0

//! In what a device did otherwise than a [`Rule`](super::expectation::Rule) demands.

use core::fmt;

/// In what a device did otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Deviation {
    /// How the request ended.
    First,
    /// How the others of the requester ended.
    Rest,
    /// How the receive ended.
    Receive,
    /// Receives did not complete.
    Receives,
    /// The order of completions.
    Order,
    /// Something completed twice.
    Repeated,
    /// The state of the requester's queue pair.
    Requester,
    /// The state of the responder's.
    Responder,
    /// There was an asynchronous error.
    Event,
    /// Memory was changed.
    Memory,
    /// The same connection did not go on.
    Works,
    /// A new connection did not work.
    Recovery,
}

/// All deviations, in words.
const DEVIATIONS: [(Deviation, &str); 12] = [
    (Deviation::First, "how the request ended"),
    (Deviation::Rest, "how the requester's other requests ended"),
    (Deviation::Receive, "how the receive ended"),
    (Deviation::Receives, "receives did not complete"),
    (Deviation::Order, "the order of completions"),
    (Deviation::Repeated, "something completed twice"),
    (Deviation::Requester, "the requester's state"),
    (Deviation::Responder, "the responder's state"),
    (Deviation::Event, "an asynchronous error"),
    (Deviation::Memory, "memory is not as it must be"),
    (Deviation::Works, "the connection does not go on"),
    (Deviation::Recovery, "no new connection works"),
];

/// A set of deviations. Its `Display` is a list of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deviations(u16);

impl Deviations {
    /// Adds one.
    pub(crate) fn add(&mut self, deviation: Deviation) {
        self.0 |= 1 << (deviation as u8);
    }

    /// Whether there is none.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether one is in it.
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
