// SPDX-License-Identifier: GPL-2.0

//! Server answers to the requests of disks and taps.

use super::{
    MessageError,
    Request,
    Status, //
};
use crate::logic::wire::{
    pack,
    Fields, //
};

/// A server's answer to a [`Request`], unless that answer is data ([`DataAnswer`]) or a survey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    /// The request's tag.
    pub(crate) tag: u16,
    /// The request's number.
    pub(crate) seq: u32,
    /// The result of the request.
    pub(crate) status: Status,
}

impl Response {
    /// Bytes on the wire.
    pub(crate) const LEN: usize = 16;
    /// The maximum number of responses in one message.
    pub(crate) const JOINED: usize = 8;

    const KIND: u8 = 0x81;

    /// Creates the response to `request` with that status.
    pub(crate) const fn to(request: &Request, status: Status) -> Self {
        Self {
            tag: request.tag,
            seq: request.seq,
            status,
        }
    }

    /// Returns the bytes on the wire.
    pub(crate) fn encode(&self) -> [u8; Self::LEN] {
        pack(
            [Self::KIND, self.status.number()]
                .into_iter()
                .chain(self.tag.to_be_bytes())
                .chain(self.seq.to_be_bytes()),
        )
    }

    /// Returns the number of responses in a message of `len` bytes.
    ///
    /// # Errors
    ///
    /// [`MessageError::Length`] where that is not the length of 1 to [`JOINED`](Self::JOINED)
    /// responses.
    pub(crate) fn count(len: u32) -> Result<usize, MessageError> {
        const LEN: u32 = Response::LEN as u32;

        let count = len.checked_div(LEN).unwrap_or(0);
        let count = count.clamp(1, Self::JOINED as u32);
        let whole = count.saturating_mul(LEN);
        if len == whole {
            Ok(count as usize)
        } else {
            Err(MessageError::Length(len, whole))
        }
    }

    /// Decodes one response.
    ///
    /// # Errors
    ///
    /// [`MessageError::Action`] where it is no response, [`MessageError::Status`] where its status
    /// is unknown, and [`MessageError::Reserved`] where a reserved byte is not 0.
    pub(crate) fn decode(bytes: &[u8; Self::LEN]) -> Result<Self, MessageError> {
        let mut fields = Fields(bytes);
        let [kind, status] = fields.take();
        if kind != Self::KIND {
            return Err(MessageError::Action(kind));
        }
        let response = Self {
            tag: u16::from_be_bytes(fields.take()),
            seq: u32::from_be_bytes(fields.take()),
            status: Status::of_number(status).ok_or(MessageError::Status(status))?,
        };
        match fields.take() {
            [0, 0, 0, 0, 0, 0, 0, 0] => Ok(response),
            _ => Err(MessageError::Reserved),
        }
    }
}

/// The immediate data of an answer whose message is the data of a small read and nothing else: the
/// request's tag, and the lower half of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataAnswer {
    /// The request's tag.
    pub(crate) tag: u16,
    /// The lower half of the request's number.
    pub(crate) seq: u16,
}

impl DataAnswer {
    /// Creates the answer to `request`.
    pub(crate) const fn to(request: &Request) -> Self {
        Self {
            tag: request.tag,
            seq: request.seq as u16,
        }
    }

    /// Returns the immediate data on the wire.
    pub(crate) const fn encode(self) -> u32 {
        (self.tag as u32) << 16 | self.seq as u32
    }

    /// Decodes immediate data. Every value is valid.
    pub(crate) const fn decode(immediate: u32) -> Self {
        Self {
            tag: (immediate >> 16) as u16,
            seq: immediate as u16,
        }
    }

    /// Returns true where it may answer the request of number `seq`: the lower halves agree.
    pub(crate) const fn answers(self, seq: u32) -> bool {
        self.seq == seq as u16
    }
}
