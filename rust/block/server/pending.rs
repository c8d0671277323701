// SPDX-License-Identifier: GPL-2.0

//! State of a request at the server: the location of its data, and its progress.

#![forbid(unsafe_code)]

use super::arena::ArenaPart;
use crate::logic::{
    block::{
        Action,
        Request,
        Status, //
    },
    wire::Advertisement, //
};

/// Location of a request's data in the server's memory, before or after the transfer.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// In the message, or the request has no data.
    Message,
    /// In the chunks of the store.
    Chunks,
    /// In a part of the arena.
    Arena(ArenaPart),
}

/// Progress of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The slot has no request.
    Free,
    /// The request is worked on, or waits for that. Nothing is posted or to be posted for it.
    Held,
    /// The READs wait for room in the send queue.
    Fetch,
    /// This many READs are posted and have not completed.
    Fetching(u8),
    /// The answer with this status waits to be posted.
    Answer(Status),
}

/// A request, from its arrival to its answer.
#[derive(Clone, Copy)]
pub(super) struct PendingRequest {
    /// The request.
    pub(super) request: Request,
    /// Location of its data.
    pub(super) place: Place,
    /// True if the message had no header: it was the data, with immediate data that describes the
    /// write.
    pub(super) bare: bool,
    /// Progress of the request.
    pub(super) stage: Stage,
}

impl PendingRequest {
    /// A slot without a request.
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

    /// Returns true while its data is being fetched, or is about to be.
    pub(super) fn is_fetching(&self) -> bool {
        matches!(self.stage, Stage::Fetch | Stage::Fetching(_))
    }
}

/// Returns the key that the answer to `request` must invalidate.
pub(super) fn key_to_invalidate(request: &Request) -> Option<u32> {
    Some(request.remote.rkey).filter(|key| *key != 0 && !request.keep)
}

/// Returns true if data is sent to the client with the answer to `request`: by a WRITE before it,
/// or as the answer itself.
pub(super) fn moves_out(request: &Request, status: Status) -> bool {
    request.action == Action::Read && status == Status::Ok
}
