// SPDX-License-Identifier: GPL-2.0

//! The answer to [`Action::Survey`](super::Action::Survey): which requests of a connection
//! the server works on. That may take as long as it takes; whatever else keeps a request from being
//! answered, such as data that does not come, is to be over within the client's timeout.
//!
//! A connection delivers in order. So a request that is listed has not been answered before.
//!
//! Its length tells it from other answers, whose length is a multiple of 16: this one's is 8 more.

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

/// Requests that a survey is about are listed by a bit each, in so many bytes.
const BITMAP: usize = (*limits::DEPTH.end() as usize) / 8;

/// Which requests a server works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Survey {
    /// The survey's tag.
    pub(crate) tag: u16,
    /// The survey's number.
    pub(crate) seq: u32,
    depth: u16,
    listed: [u8; BITMAP],
}

impl Survey {
    /// The most bytes on the wire.
    pub(crate) const MOST: usize = Self::HEAD + BITMAP;

    const HEAD: usize = 8;
    const KIND: u8 = 0x82;
    /// The bitmap is as many of these as the depth needs.
    const UNIT: u32 = 16;

    /// That to `request`, on a connection whose tags are below `depth`: it lists none.
    pub(crate) const fn to(request: &Request, depth: u16) -> Self {
        Self {
            tag: request.tag,
            seq: request.seq,
            depth,
            listed: [0; BITMAP],
        }
    }

    /// Lists the request of `tag`, if that is one of a request.
    pub(crate) fn add(&mut self, tag: u16) {
        if tag < self.depth {
            if let Some(byte) = self.listed.get_mut(usize::from(tag / 8)) {
                *byte |= 1 << (tag % 8);
            }
        }
    }

    /// Whether the request of `tag` is listed.
    pub(crate) fn has(&self, tag: u16) -> bool {
        let byte = self.listed.get(usize::from(tag / 8));
        byte.is_some_and(|byte| byte & 1 << (tag % 8) != 0)
    }

    /// Bytes on the wire.
    pub(crate) const fn len(depth: u16) -> u32 {
        let units = (depth as u32).div_ceil(Self::UNIT * 8);
        Self::HEAD as u32 + units * Self::UNIT
    }

    /// Whether a message of `len` bytes may be one.
    pub(crate) const fn may_be(len: u32) -> bool {
        len % Self::UNIT == Self::HEAD as u32
    }

    /// As it is sent: the first [`len`](Self::len) bytes.
    pub(crate) fn encode(&self) -> [u8; Self::MOST] {
        pack(
            [Self::KIND, 0]
                .into_iter()
                .chain(self.tag.to_be_bytes())
                .chain(self.seq.to_be_bytes())
                .chain(self.listed),
        )
    }

    /// What a message of `len` bytes says that begins with `bytes`, on a connection whose tags are
    /// below `depth`.
    ///
    /// # Errors
    ///
    /// A [`MessageError`], where it is none.
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
        // Bytes beyond the message are of another one.
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
                // Far below its range.
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
