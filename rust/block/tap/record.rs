// SPDX-License-Identifier: GPL-2.0

//! What a tap knows of a request that it has seen.

#![forbid(unsafe_code)]

use crate::logic::block::Action;

/// One request, or one of several parts of a discard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// What it did. The data of a write is in the ring.
    pub(crate) action: Action,
    /// It had to be durable when it was done.
    pub(crate) fua: bool,
    /// Where on the tapped disk, in bytes.
    pub(crate) offset: u64,
    /// How many bytes of it.
    pub(crate) bytes: u32,
    /// When the driver was given it, on the monotonic clock.
    pub(crate) issued_ns: u64,
}

impl Record {
    /// How many bytes of data are in the ring.
    pub(super) fn data(&self) -> usize {
        match self.action {
            Action::Write => self.bytes as usize,
            _ => 0,
        }
    }
}

/// How far a record has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A probe is at work on it.
    Reserved,
    /// It can be taken.
    Ready,
    /// Its data could not be had.
    Void,
}

/// A place in the ring.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// What is there.
    pub(super) record: Record,
    /// Whether it can be taken.
    pub(super) state: State,
    /// The last of its request.
    pub(super) last: bool,
    /// Where its data begins: how many bytes of data there were before.
    pub(super) position: u64,
    /// How many bytes are reserved for it.
    pub(super) room: u32,
}

/// A place in the ring that nothing has been put into.
pub(super) const NOTHING: Entry = Entry {
    record: Record {
        action: Action::Note,
        fua: false,
        offset: 0,
        bytes: 0,
        issued_ns: 0,
    },
    state: State::Void,
    last: false,
    position: 0,
    room: 0,
};
