// SPDX-License-Identifier: GPL-2.0

//! Messages on the wire, except those of connected disks and taps ([`super::block`]).
//!
//! - [`Advertisement`]: the 16 bytes of each SEND of a ping/pong, the same as those of the C krping
//!   and of rping. Other messages contain it.
//! - [`PrivateData`]: the private data that both sides of a ping/pong or microbenchmark exchange
//!   while they connect. A legacy peer sends none and ignores ours.
//! - [`ServerPort`](server_port::ServerPort): the port of a server, behind its private data.
//! - [`Hello`](hello::Hello): the private data of a disk or tap that connects.
//! - [`Geometry`](hello::Geometry): the private data with which its server answers, and
//!   [`Extensions`](extensions::Extensions) and [`Extras`](extras::Extras) behind it, which older
//!   clients ignore.
//! - [`Control`](control::Control): the messages that begin and end a microbenchmark, and its
//!   keepalives.
//! - [`Reject`]: the private data with which a server refuses a client, with the reason.
//!
//! All numbers are big-endian. Decoding trusts no peer. An [`Advertisement`] can be any 16 bytes;
//! its user checks them. The other messages begin with a mark. Private data and control messages
//! that are malformed do not decode, and their reserved bytes and unknown flags must be 0, so that
//! a later version can give them a meaning. Bytes behind private data are ignored, because
//! transports pad it. A reject decodes whatever its version and its reserved bytes are. Extensions
//! and extras without their mark are taken as absent, and their unknown flags are ignored.

pub(crate) mod control;
pub(crate) mod extensions;
pub(crate) mod extras;
pub(crate) mod hello;
pub(crate) mod private_data;
pub(crate) mod server_port;

pub(crate) use private_data::{
    PeerRole,
    PrivateData,
    PrivateDataError, //
};

use core::fmt;

/// The advertisement of a buffer of the sender, which the peer is to read from or write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Advertisement {
    /// The address of the buffer.
    pub(crate) addr: u64,
    /// The rkey of the buffer.
    pub(crate) rkey: u32,
    /// The size of the buffer in bytes.
    pub(crate) size: u32,
}

impl Advertisement {
    /// The number of bytes on the wire.
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
    /// The client speaks another version of the protocol.
    Version,
    /// The client asked for more data than the server can serve.
    TooLarge,
    /// The server does not support the test.
    Test,
    /// The server has a client already.
    Busy,
    /// The server is being stopped.
    Stopping,
    /// The server lacks memory or device resources.
    Resources,
    /// The server still works on requests of the client's old connections.
    OldWork,
    /// The client's address is not one that the server accepts.
    NotAllowed,
    /// The client may be silent for longer than the server allows.
    Silent,
}

/// The private data with which a server of ours refuses a client.
///
/// The layout is the same in every version, because it reports a difference of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reject {
    /// The reason.
    pub(crate) reason: RejectReason,
    /// With [`RejectReason::TooLarge`] the largest size served, with [`RejectReason::Version`] the
    /// version spoken, with [`RejectReason::Silent`] the milliseconds allowed, and otherwise 0.
    pub(crate) value: u32,
}

impl Reject {
    /// The number of bytes on the wire.
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
            RejectReason::Silent => 9,
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
            9 => RejectReason::Silent,
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
            RejectReason::Silent => write!(
                f,
                "the server lets a client be silent for {} ms at most (its silence=)",
                self.value
            ),
        }
    }
}

/// Returns a message that begins with the bytes of `fields`; the rest is 0.
pub(crate) fn pack<const N: usize>(fields: impl Iterator<Item = u8>) -> [u8; N] {
    let mut message = [0; N];
    for (byte, field) in message.iter_mut().zip(fields) {
        *byte = field;
    }
    message
}

/// A reader of a message's fields in order, which holds the bytes that are left.
pub(crate) struct Fields<'a>(pub(super) &'a [u8]);

impl Fields<'_> {
    /// Takes the next `N` bytes; returns zeros where fewer are left.
    pub(crate) fn take<const N: usize>(&mut self) -> [u8; N] {
        let Some((field, rest)) = self.0.split_first_chunk() else {
            return [0; N];
        };
        self.0 = rest;
        *field
    }
}
