// SPDX-License-Identifier: GPL-2.0

//! A request that a server has under way: where its data is, and how far it has come.

#![forbid(unsafe_code)]

use super::arena::Part;
use crate::logic::{
    block::{
        Action,
        Request,
        Status, //
    },
    wire::Advertisement, //
};

/// Where the data of a request is, or is to go, on this side.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// In the message, or there is none.
    Message,
    /// In the chunks of the store.
    Chunks,
    /// In a part of the arena.
    Arena(Part),
}

/// What is under way for a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// There is no request.
    Free,
    /// Nothing: it is being worked on.
    Held,
    /// READs wait for room in the send queue.
    Fetch,
    /// So many READs have been posted.
    Fetching(u8),
    /// The answer waits for room in the send queue.
    Answer(Status),
}

/// A request, from its arrival to its answer.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// What the client asks for.
    pub(super) request: Request,
    /// Where its data is, or is to go.
    pub(super) place: Place,
    /// Whether the message was nothing but data.
    pub(super) bare: bool,
    /// What is under way for it.
    pub(super) stage: Stage,
}

impl Slot {
    /// That of no request.
    pub(super) const EMPTY: Self = Self {
        request: Request {
            action: Action::Ping,
            fua: false,
            inline: false,
            keep: false,
            keep_space: false,
            tag: 0,
            seq: 0,
            offset: 0,
            remote: Advertisement::nowhere(0),
        },
        place: Place::Message,
        bare: false,
        stage: Stage::Free,
    };

    /// Whether its data is still to come.
    pub(super) fn is_fetching(&self) -> bool {
        matches!(self.stage, Stage::Fetch | Stage::Fetching(_))
    }
}

/// The key that the answer to `request` must invalidate.
pub(super) fn key_to_invalidate(request: &Request) -> Option<u32> {
    Some(request.remote.rkey).filter(|key| *key != 0 && !request.keep)
}

/// Whether the answer to `request` follows data that goes to the client's memory.
pub(super) fn moves_out(request: &Request, status: Status) -> bool {
    request.action == Action::Read && status == Status::Ok
}
