// SPDX-License-Identifier: GPL-2.0

//! The messages that go over the wire.
//!
//! - [`Advertisement`]: the 16 bytes of every SEND, the same as the C krping's and rping's.
//! - [`PrivateData`]: what both sides of ours tell each other while they connect. A legacy peer
//!   sends none and ignores ours.
//! - [`Control`]: what the two sides of a microbenchmark tell each other before and after it.
//! - [`Reject`]: why a server of ours refused, so that the client can say it.
//!
//! All numbers are big-endian. Nothing that a peer sends is believed: what does not decode is an
//! error, and reserved bytes must be zero so that a later version can give them a meaning.

pub(crate) mod control;
pub(crate) mod extensions;
pub(crate) mod extras;
pub(crate) mod hello;
pub(crate) mod private_data;

pub(crate) use private_data::{
    PeerRole,
    PrivateData,
    PrivateDataError, //
};

use core::fmt;

/// The advertisement of a buffer of the sender's, which the peer shall read from or write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Advertisement {
    /// Its address.
    pub(crate) addr: u64,
    /// Its rkey.
    pub(crate) rkey: u32,
    /// Its size in bytes.
    pub(crate) size: u32,
}

impl Advertisement {
    /// Bytes on the wire.
    pub(crate) const LEN: usize = 16;

    /// Returns the advertisement of `size` bytes that are not reached by RDMA.
    pub(crate) const fn nowhere(size: u32) -> Self {
        Self {
            addr: 0,
            rkey: 0,
            size,
        }
    }

    /// Returns the bytes on the wire.
    pub(crate) fn encode(&self) -> [u8; Self::LEN] {
        pack(
            [].into_iter()
                .chain(self.addr.to_be_bytes())
                .chain(self.rkey.to_be_bytes())
                .chain(self.size.to_be_bytes()),
        )
    }

    /// Decodes an advertisement; any bytes are one.
    pub(crate) fn decode(bytes: &[u8; Self::LEN]) -> Self {
        let mut fields = Fields(bytes);
        Self {
            addr: u64::from_be_bytes(fields.take()),
            rkey: u32::from_be_bytes(fields.take()),
            size: u32::from_be_bytes(fields.take()),
        }
    }
}

/// The reason why a server refused a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RejectReason {
    /// The client speaks another version.
    Version,
    /// The client asked for more data than the server can serve.
    TooLarge,
    /// The server does not do that test.
    Test,
    /// The server has a client already.
    Busy,
    /// The server is being stopped.
    Stopping,
    /// The server has no memory or no room on its device.
    Resources,
    /// The server still works on requests of the client's old connections.
    OldWork,
    /// The client's address is not one that the server accepts.
    NotAllowed,
}

/// The private data with which a server of ours refuses a client.
///
/// Its layout is the same in every version, since two versions that differ say so with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reject {
    /// The reason.
    pub(crate) reason: RejectReason,
    /// With [`RejectReason::TooLarge`] the largest size served, with [`RejectReason::Version`] the
    /// version spoken, and otherwise 0.
    pub(crate) value: u32,
}

impl Reject {
    /// Bytes on the wire.
    pub(crate) const LEN: usize = 16;

    const MAGIC: [u8; 4] = *b"krpr";

    /// Returns the bytes on the wire.
    pub(crate) fn encode(&self) -> [u8; Self::LEN] {
        let reason = match self.reason {
            RejectReason::Version => 1,
            RejectReason::TooLarge => 2,
            RejectReason::Test => 3,
            RejectReason::Busy => 4,
            RejectReason::Stopping => 5,
            RejectReason::Resources => 6,
            RejectReason::OldWork => 7,
            RejectReason::NotAllowed => 8,
        };
        pack(
            Self::MAGIC
                .into_iter()
                .chain([PrivateData::VERSION, reason, 0, 0])
                .chain(self.value.to_be_bytes()),
        )
    }

    /// Decodes a reject; `None` where it is not one of ours, or its reason is not known here.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes.first_chunk::<{ Self::LEN }>()?);
        if fields.take() != Self::MAGIC {
            return None;
        }
        let [_version, reason, _, _] = fields.take();
        let reason = match reason {
            1 => RejectReason::Version,
            2 => RejectReason::TooLarge,
            3 => RejectReason::Test,
            4 => RejectReason::Busy,
            5 => RejectReason::Stopping,
            6 => RejectReason::Resources,
            7 => RejectReason::OldWork,
            8 => RejectReason::NotAllowed,
            _ => return None,
        };
        let value = u32::from_be_bytes(fields.take());
        Some(Self { reason, value })
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            RejectReason::Version => write!(
                f,
                "the server speaks version {} of the protocol, and this side version {}",
                self.value,
                PrivateData::VERSION
            ),
            RejectReason::TooLarge => {
                write!(f, "the server takes a size of at most {} bytes", self.value)
            }
            RejectReason::Test => f.write_str("the server does not do this test"),
            RejectReason::Busy => f.write_str("the server is busy with another client"),
            RejectReason::Stopping => f.write_str("the server is being stopped"),
            RejectReason::Resources => f.write_str("the server lacks memory or device resources"),
            RejectReason::OldWork => {
                f.write_str("the server still works on requests of the old connections")
            }
            RejectReason::NotAllowed => {
                f.write_str("the server does not accept this address (its allow=)")
            }
        }
    }
}

/// Writes bytes in order into a message; what they do not reach is 0.
pub(crate) fn pack<const N: usize>(fields: impl Iterator<Item = u8>) -> [u8; N] {
    let mut message = [0; N];
    for (byte, field) in message.iter_mut().zip(fields) {
        *byte = field;
    }
    message
}

/// The rest of a message that is read in order.
pub(crate) struct Fields<'a>(pub(super) &'a [u8]);

impl Fields<'_> {
    /// Takes the next `N` bytes. Each layout is read as long as it is; past its end there would be
    /// zeros.
    pub(crate) fn take<const N: usize>(&mut self) -> [u8; N] {
        let Some((field, rest)) = self.0.split_first_chunk() else {
            return [0; N];
        };
        self.0 = rest;
        *field
    }
}
