// SPDX-License-Identifier: GPL-2.0

//! Records of the requests that a tap has seen.

#![forbid(unsafe_code)]

use crate::logic::block::Action;

/// A request, or one range of a discard that has several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// The action of the request. The data of a write is in the ring.
    pub(crate) action: Action,
    /// The request had to be durable when it ended.
    pub(crate) fua: bool,
    /// Offset on the tapped disk, in bytes.
    pub(crate) offset: u64,
    /// Length of the range, in bytes.
    pub(crate) bytes: u32,
    /// Time at which the driver was given the request, in ns of the monotonic clock.
    pub(crate) issued_ns: u64,
}

impl Record {
    /// Returns the number of bytes of data in the ring.
    pub(super) fn data(&self) -> usize {
        match self.action {
            Action::Write => self.bytes as usize,
            _ => 0,
        }
    }
}

/// Progress of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A probe is filling it in.
    Reserved,
    /// The record is complete and can be taken.
    Ready,
    /// The data could not be copied; the record is skipped.
    Void,
}

/// A place in the ring, with its record.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// The record.
    pub(super) record: Record,
    /// The progress of the record.
    pub(super) state: State,
    /// The record is the last of its request.
    pub(super) last: bool,
    /// Position of the record's data: the number of bytes of data before it since the start.
    pub(super) position: u64,
    /// Number of bytes reserved for the data.
    pub(super) room: u32,
}

/// A place in the ring that holds no record.
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
