// SPDX-License-Identifier: GPL-2.0

//! Memory modes: the ways in which a side registers the buffers that it opens to its peer.

/// The way in which a side registers the buffers that it opens to its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemMode {
    /// One registration for the whole session.
    Dma,
    /// A registration with a new key for each advertisement.
    Reg,
}

impl MemMode {
    /// Returns its name in commands and results.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Dma => "dma",
            Self::Reg => "reg",
        }
    }
}
