// SPDX-License-Identifier: GPL-2.0

//! The answer to [`Action::Survey`](super::Action::Survey): a list of the connection's requests
//! that the server is working on.
//!
//! The client's timeout does not apply to a request while the server works on it. Any other delay
//! of an answer, such as data that does not arrive, must end within that timeout.
//!
//! A connection delivers in order. So the server had not answered a listed request before it sent
//! the survey.
//!
//! Its length tells it apart from other answers: theirs is a multiple of 16 bytes, and a survey has
//! 8 bytes more than such a multiple.

use super::{
    MessageError,
    Request, //
};
use crate::logic::{
    command::limits,
    wire::{
        pack,
        Fields, //
    }, //
};

/// The size in bytes of the bitmap, which has one bit for each tag of a request.
const BITMAP: usize = (*limits::DEPTH.end() as usize) / 8;

/// The list of the requests that a server is working on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Survey {
    /// The tag of the survey request.
    pub(crate) tag: u16,
    /// The number of the survey request.
    pub(crate) seq: u32,
    depth: u16,
    listed: [u8; BITMAP],
}

impl Survey {
    /// The maximum number of bytes on the wire.
    pub(crate) const MOST: usize = Self::HEAD + BITMAP;

    const HEAD: usize = 8;
    const KIND: u8 = 0x82;
    /// The bitmap's length on the wire is a multiple of this, in bytes.
    const UNIT: u32 = 16;

    /// Creates an empty answer to `request`, on a connection whose tags of requests are below
    /// `depth`.
    pub(crate) const fn to(request: &Request, depth: u16) -> Self {
        Self {
            tag: request.tag,
            seq: request.seq,
            depth,
            listed: [0; BITMAP],
        }
    }

    /// Lists the request of `tag`. A tag that is not below the depth is ignored.
    pub(crate) fn add(&mut self, tag: u16) {
        if tag < self.depth {
            if let Some(byte) = self.listed.get_mut(usize::from(tag / 8)) {
                *byte |= 1 << (tag % 8);
            }
        }
    }

    /// Returns true where the request of `tag` is listed.
    pub(crate) fn has(&self, tag: u16) -> bool {
        let byte = self.listed.get(usize::from(tag / 8));
        byte.is_some_and(|byte| byte & 1 << (tag % 8) != 0)
    }

    /// Returns the number of bytes on the wire, on a connection of that depth.
    pub(crate) const fn len(depth: u16) -> u32 {
        let units = (depth as u32).div_ceil(Self::UNIT * 8);
        Self::HEAD as u32 + units * Self::UNIT
    }

    /// Returns true where a message of `len` bytes may be a survey.
    pub(crate) const fn may_be(len: u32) -> bool {
        len % Self::UNIT == Self::HEAD as u32
    }

    /// Returns the bytes on the wire, of which the first [`len`](Self::len) are sent.
    pub(crate) fn encode(&self) -> [u8; Self::MOST] {
        pack(
            [Self::KIND, 0]
                .into_iter()
                .chain(self.tag.to_be_bytes())
                .chain(self.seq.to_be_bytes())
                .chain(self.listed),
        )
    }

    /// Decodes a message of `len` bytes, which `bytes` begins with, on a connection whose tags of
    /// requests are below `depth`.
    ///
    /// # Errors
    ///
    /// [`MessageError::Length`] and [`MessageError::Action`] where it is no survey of that depth,
    /// and [`MessageError::Reserved`] where a reserved bit is set, such as that of a tag beyond the
    /// depth.
    pub(crate) fn decode(
        bytes: &[u8; Self::MOST],
        len: u32,
        depth: u16,
    ) -> Result<Self, MessageError> {
        let whole = Self::len(depth);
        if len != whole {
            return Err(MessageError::Length(len, whole));
        }
        let mut fields = Fields(bytes);
        let [kind, reserved] = fields.take();
        if kind != Self::KIND {
            return Err(MessageError::Action(kind));
        }
        let (tag, seq) = (fields.take(), fields.take());
        // Bytes beyond the message are left over from another one.
        let sent = (whole as usize).saturating_sub(Self::HEAD);
        let mut survey = Self {
            tag: u16::from_be_bytes(tag),
            seq: u32::from_be_bytes(seq),
            depth,
            listed: [0; BITMAP],
        };
        let mut beyond = reserved;
        for (at, byte) in fields.0.iter().take(sent).enumerate() {
            for bit in 0..8 {
                // Far below the largest u16.
                let tag = (at as u16).saturating_mul(8).saturating_add(bit);
                if byte & 1 << bit == 0 {
                    continue;
                }
                if tag < depth {
                    survey.add(tag);
                } else {
                    beyond = 1;
                }
            }
        }
        if beyond == 0 {
            Ok(survey)
        } else {
            Err(MessageError::Reserved)
        }
    }
}
