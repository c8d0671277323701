// SPDX-License-Identifier: GPL-2.0

//! The extras of a server of disks beyond its [`Geometry`](super::hello::Geometry): facts that an
//! older client does not look for.
//!
//! They stand behind the private data that every transport has room for, where clients have always
//! ignored what they find. So there is no new version: a client that does not know them does as
//! before, and a server that does not send them is taken for [`Extras::NONE`].

use super::{
    extensions::Extensions,
    hello::in_range,
    pack,
    Fields,
    PrivateDataError, //
};

/// Sizes by which a store does its work best, in bytes; 0 where it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Topology {
    /// The size that the medium writes in one piece: the physical block size.
    pub(crate) physical: u32,
    /// The smallest size without a penalty.
    pub(crate) minimum: u32,
    /// The size for the highest throughput.
    pub(crate) optimal: u32,
    /// The size that is discarded in one piece.
    pub(crate) discard: u32,
}

impl Topology {
    /// The largest size.
    const MOST: u32 = 1 << 30;

    /// Checks that the sizes suit a store with this `block` size.
    ///
    /// # Errors
    ///
    /// [`PrivateDataError::Range`] with the first field that does not.
    pub(super) fn check(&self, block: u32) -> Result<(), PrivateDataError> {
        let in_blocks = |bytes: u32| bytes <= Self::MOST && bytes.checked_rem(block) == Some(0);
        in_range(&[
            (
                "physical_block",
                in_blocks(self.physical) && (self.physical == 0 || self.physical.is_power_of_two()),
            ),
            ("minimum_io", in_blocks(self.minimum)),
            ("optimal_io", in_blocks(self.optimal)),
            ("discard_granularity", in_blocks(self.discard)),
        ])
    }

    /// Returns the sizes, in the order in which they are sent.
    fn fields(&self) -> [u32; 4] {
        [self.physical, self.minimum, self.optimal, self.discard]
    }
}

/// The facts about a server of disks beyond its geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extras {
    /// True where an answered write can be lost before it was flushed (a volatile write cache).
    pub(crate) volatile: bool,
    /// True where write-zeroes may say that the blocks keep their space.
    pub(crate) keeps_space: bool,
    /// The number of the boot of the server's host; 0 where it does not say.
    pub(crate) boot: u64,
    /// The sizes by which the store does its work best.
    pub(crate) topology: Topology,
}

impl Extras {
    /// Bytes of private data with extensions and these.
    pub(crate) const END: usize = Self::FIRST_END + 16;

    /// Bytes of private data up to the number of the boot. Servers of earlier versions send no
    /// more.
    const FIRST_END: usize = Extensions::END + 16;

    /// The extras of a server that says nothing.
    pub(crate) const NONE: Self = Self {
        volatile: true,
        keeps_space: false,
        boot: 0,
        topology: Topology {
            physical: 0,
            minimum: 0,
            optimal: 0,
            discard: 0,
        },
    };

    /// The mark that tells them from the padding of a transport.
    const MAGIC: [u8; 4] = *b"krpx";

    const STABLE: u32 = 1 << 0;
    const KEEPS_SPACE: u32 = 1 << 1;
    const TOPOLOGY: u32 = 1 << 2;

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
                .chain((stable | keeps_space | Self::TOPOLOGY).to_be_bytes())
                .chain(self.boot.to_be_bytes())
                .chain(
                    self.topology
                        .fields()
                        .into_iter()
                        .flat_map(u32::to_be_bytes),
                ),
        )
    }

    /// Decodes the extras of the server whose private data is `bytes`. Flags of later servers are
    /// ignored.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let Some(first) = bytes.get(Extensions::END..Self::FIRST_END) else {
            return Self::NONE;
        };
        let mut fields = Fields(first);
        if fields.take() != Self::MAGIC {
            return Self::NONE;
        }
        let flags = u32::from_be_bytes(fields.take());
        let boot = u64::from_be_bytes(fields.take());
        let sizes = bytes.get(Self::FIRST_END..Self::END);
        let mut sizes = Fields(sizes.filter(|_| flags & Self::TOPOLOGY != 0).unwrap_or(&[]));
        let mut next = || u32::from_be_bytes(sizes.take());
        Self {
            volatile: flags & Self::STABLE == 0,
            keeps_space: flags & Self::KEEPS_SPACE != 0,
            boot,
            topology: Topology {
                physical: next(),
                minimum: next(),
                optimal: next(),
                discard: next(),
            },
        }
    }
}
