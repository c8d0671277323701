// SPDX-License-Identifier: GPL-2.0

//! The extras of a server of disks beyond its [`Geometry`](super::hello::Geometry): facts that an
//! older client does not look for.
//!
//! They stand behind the private data that every transport has room for, where clients have always
//! ignored what they find. So there is no new version: a client that does not know them does as
//! before, and a server that does not send them is taken for [`Extras::NONE`].

use super::{
    extensions::Extensions,
    pack,
    Fields, //
};

/// The facts about a server of disks beyond its geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extras {
    /// True where an answered write can be lost before it was flushed (a volatile write cache).
    pub(crate) volatile: bool,
    /// True where write-zeroes may say that the blocks keep their space.
    pub(crate) keeps_space: bool,
    /// The number of the boot of the server's host; 0 where it does not say.
    pub(crate) boot: u64,
}

impl Extras {
    /// Bytes of private data with extensions and these.
    pub(crate) const END: usize = Extensions::END + 16;

    /// The extras of a server that says nothing.
    pub(crate) const NONE: Self = Self {
        volatile: true,
        keeps_space: false,
        boot: 0,
    };

    /// The mark that tells them from the padding of a transport.
    const MAGIC: [u8; 4] = *b"krpx";

    const STABLE: u32 = 1 << 0;
    const KEEPS_SPACE: u32 = 1 << 1;

    /// Returns `before` with these behind it.
    pub(crate) fn encode(&self, before: [u8; Extensions::END]) -> [u8; Self::END] {
        let stable = if self.volatile { 0 } else { Self::STABLE };
        let keeps_space = if self.keeps_space {
            Self::KEEPS_SPACE
        } else {
            0
        };
        pack(
            before
                .into_iter()
                .chain(Self::MAGIC)
                .chain((stable | keeps_space).to_be_bytes())
                .chain(self.boot.to_be_bytes()),
        )
    }

    /// Decodes the extras of the server whose private data is `bytes`. Flags of later servers are
    /// ignored.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let Some(bytes) = bytes.get(Extensions::END..Self::END) else {
            return Self::NONE;
        };
        let mut fields = Fields(bytes);
        if fields.take() != Self::MAGIC {
            return Self::NONE;
        }
        let flags = u32::from_be_bytes(fields.take());
        Self {
            volatile: flags & Self::STABLE == 0,
            keeps_space: flags & Self::KEEPS_SPACE != 0,
            boot: u64::from_be_bytes(fields.take()),
        }
    }
}
