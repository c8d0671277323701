// SPDX-License-Identifier: GPL-2.0

//! What a server answers to the requests of disks and taps.

use super::{
    MessageError,
    Request,
    Status, //
};
use crate::logic::wire::{
    pack,
    Fields, //
};

/// What a server answers to a [`Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    /// The request's tag.
    pub(crate) tag: u16,
    /// The request's number.
    pub(crate) seq: u32,
    /// How it ended.
    pub(crate) status: Status,
}

impl Response {
    /// Bytes on the wire.
    pub(crate) const LEN: usize = 16;
    /// The most that one message has.
    pub(crate) const JOINED: usize = 8;

    const KIND: u8 = 0x81;

    /// That to `request`.
    pub(crate) const fn to(request: &Request, status: Status) -> Self {
        Self {
            tag: request.tag,
            seq: request.seq,
            status,
        }
    }

    /// As it is sent.
    pub(crate) fn encode(&self) -> [u8; Self::LEN] {
        pack(
            [Self::KIND, self.status.number()]
                .into_iter()
                .chain(self.tag.to_be_bytes())
                .chain(self.seq.to_be_bytes()),
        )
    }

    /// How many a message of `len` bytes has.
    ///
    /// # Errors
    ///
    /// [`MessageError::Length`], where that is not a number of them that it may have.
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

    /// What the bytes of one say.
    ///
    /// # Errors
    ///
    /// A [`MessageError`], where it is no response.
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

/// The immediate of an answer that is the data of a read and nothing else: the request's tag, and
/// the lower half of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataAnswer {
    /// The request's tag.
    pub(crate) tag: u16,
    /// The lower half of the request's number.
    pub(crate) seq: u16,
}

impl DataAnswer {
    /// That to `request`.
    pub(crate) const fn to(request: &Request) -> Self {
        Self {
            tag: request.tag,
            seq: request.seq as u16,
        }
    }

    /// As it is sent.
    pub(crate) const fn encode(self) -> u32 {
        (self.tag as u32) << 16 | self.seq as u32
    }

    /// What an immediate says; any bits say something.
    pub(crate) const fn decode(immediate: u32) -> Self {
        Self {
            tag: (immediate >> 16) as u16,
            seq: immediate as u16,
        }
    }

    /// Whether it may answer a request of number `seq`.
    pub(crate) const fn answers(self, seq: u32) -> bool {
        self.seq == seq as u16
    }
}
