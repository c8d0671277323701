// SPDX-License-Identifier: GPL-2.0

//! The extensions of a server of disks, beyond what every version of the protocol has.
//!
//! They stand behind the private data proper, where older clients do not look; and a client that
//! finds nothing there goes without. Transports pad private data, so they begin with a mark.

use super::{
    pack,
    Fields,
    PrivateData, //
};

/// The extensions that a server has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extensions {
    /// True where it answers [`Action::Survey`](crate::logic::block::Action::Survey).
    pub(crate) surveys: bool,
}

impl Extensions {
    /// Bytes of private data with extensions.
    pub(crate) const END: usize = PrivateData::LEN + 4;

    const MARK: [u8; 2] = *b"+f";
    const SURVEYS: u16 = 1 << 0;

    /// Returns `private` with these extensions behind it.
    pub(crate) fn encode(self, private: [u8; PrivateData::LEN]) -> [u8; Self::END] {
        let surveys = if self.surveys { Self::SURVEYS } else { 0 };
        pack(
            private
                .into_iter()
                .chain(Self::MARK)
                .chain(surveys.to_be_bytes()),
        )
    }

    /// Decodes the extensions of the server whose private data is `bytes`. Those of a later version
    /// are ignored.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let mut fields = Fields(bytes.get(PrivateData::LEN..).unwrap_or(&[]));
        if fields.take() != Self::MARK {
            return Self::default();
        }
        let bits = u16::from_be_bytes(fields.take());
        Self {
            surveys: bits & Self::SURVEYS != 0,
        }
    }
}
