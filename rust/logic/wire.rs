// SPDX-License-Identifier: GPL-2.0

//! The messages that go over the wire.
//!
//! - [`Advertisement`]: the 16 bytes of every SEND, the same as the C krping's and rping's.
//! - [`PrivateData`]: what both sides of ours tell each other while they connect. A legacy peer
//!   sends none and ignores ours.
//! - [`Reject`]: why a server of ours refused, so that the client can say it.
//!
//! All numbers are big-endian. Nothing that a peer sends is believed: what does not decode is an
//! error, and reserved bytes must be zero so that a later version can give them a meaning.

use super::command::{
    MemMode,
    PatternKind,
    Test, //
};
use core::fmt;

/// Where a buffer of the sender's is: what the peer shall read from or write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Advertisement {
    /// Its address.
    pub(crate) addr: u64,
    /// The key that opens it.
    pub(crate) rkey: u32,
    /// Its size in bytes.
    pub(crate) size: u32,
}

impl Advertisement {
    /// Bytes on the wire.
    pub(crate) const LEN: usize = 16;

    /// As it is sent.
    pub(crate) fn encode(&self) -> [u8; Self::LEN] {
        pack(
            [].into_iter()
                .chain(self.addr.to_be_bytes())
                .chain(self.rkey.to_be_bytes())
                .chain(self.size.to_be_bytes()),
        )
    }

    /// What it says; any bytes are one.
    pub(crate) fn decode(bytes: &[u8; Self::LEN]) -> Self {
        let mut fields = Fields(bytes);
        Self {
            addr: u64::from_be_bytes(fields.take()),
            rkey: u32::from_be_bytes(fields.take()),
            size: u32::from_be_bytes(fields.take()),
        }
    }
}

/// Who sends [`PrivateData`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerRole {
    /// The side that connects.
    Client,
    /// The side that accepts.
    Server,
}

/// What one side of ours tells the other while they connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrivateData {
    /// Who says this.
    pub(crate) role: PeerRole,
    /// The test.
    pub(crate) test: Test,
    /// How the client opens its buffers.
    pub(crate) mem_mode: MemMode,
    /// The server is to invalidate the client's key.
    pub(crate) server_inv: bool,
    /// The server invalidates its key with its READ.
    pub(crate) read_inv: bool,
    /// The client compares the data.
    pub(crate) validate: bool,
    /// The data.
    pub(crate) pattern: PatternKind,
    /// Bytes of data in each iteration; not 0.
    pub(crate) size: u32,
    /// How many iterations; 0 is until stopped.
    pub(crate) count: u64,
    /// Where the binary pattern begins.
    pub(crate) seed: u32,
    /// The largest size that the sender can serve.
    pub(crate) max_size: u32,
}

impl PrivateData {
    /// Bytes on the wire: what every transport has room for.
    pub(crate) const LEN: usize = 56;
    /// The version of this layout.
    pub(crate) const VERSION: u8 = 1;

    const MAGIC: [u8; 4] = *b"krpg";
    const RESERVED: usize = 24;

    const SERVER_INV: u32 = 1 << 0;
    const READ_INV: u32 = 1 << 1;
    const VALIDATE: u32 = 1 << 2;
    const BINARY: u32 = 1 << 3;
    const FLAGS: u32 = Self::SERVER_INV | Self::READ_INV | Self::VALIDATE | Self::BINARY;

    /// As it is sent.
    pub(crate) fn encode(&self) -> [u8; Self::LEN] {
        let role = match self.role {
            PeerRole::Client => 1,
            PeerRole::Server => 2,
        };
        let test = match self.test {
            Test::PingPong => 1,
            Test::FastReg => 2,
        };
        let mem_mode = match self.mem_mode {
            MemMode::Dma => 1,
            MemMode::Reg => 2,
        };
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        let flags = flag(self.server_inv, Self::SERVER_INV)
            | flag(self.read_inv, Self::READ_INV)
            | flag(self.validate, Self::VALIDATE)
            | flag(self.pattern == PatternKind::Binary, Self::BINARY);
        pack(
            Self::MAGIC
                .into_iter()
                .chain([Self::VERSION, role, test, mem_mode])
                .chain(flags.to_be_bytes())
                .chain(self.size.to_be_bytes())
                .chain(self.count.to_be_bytes())
                .chain(self.seed.to_be_bytes())
                .chain(self.max_size.to_be_bytes()),
        )
    }

    /// What a peer's private data says; `None` from a legacy peer.
    ///
    /// Bytes after [`LEN`](Self::LEN) are ignored: transports pad to a length of their own.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Option<Self>, PrivateDataError> {
        let Some(rest) = bytes.strip_prefix(&Self::MAGIC) else {
            return Ok(None);
        };
        // Another version may have another length, and that it is another is what counts.
        match rest.first() {
            Some(&Self::VERSION) => (),
            Some(&version) => return Err(PrivateDataError::Version(version)),
            None => return Err(PrivateDataError::Truncated(bytes.len())),
        }
        let Some(bytes) = bytes.first_chunk::<{ Self::LEN }>() else {
            return Err(PrivateDataError::Truncated(bytes.len()));
        };

        let mut fields = Fields(bytes);
        let [_, _, _, _, _, role, test, mem_mode] = fields.take();
        let flags = u32::from_be_bytes(fields.take());
        if flags & !Self::FLAGS != 0 {
            return Err(PrivateDataError::Flags(flags & !Self::FLAGS));
        }
        let data = Self {
            role: match role {
                1 => PeerRole::Client,
                2 => PeerRole::Server,
                _ => return Err(PrivateDataError::Role(role)),
            },
            test: match test {
                1 => Test::PingPong,
                2 => Test::FastReg,
                _ => return Err(PrivateDataError::Test(test)),
            },
            mem_mode: match mem_mode {
                1 => MemMode::Dma,
                2 => MemMode::Reg,
                _ => return Err(PrivateDataError::MemMode(mem_mode)),
            },
            server_inv: flags & Self::SERVER_INV != 0,
            read_inv: flags & Self::READ_INV != 0,
            validate: flags & Self::VALIDATE != 0,
            pattern: match flags & Self::BINARY {
                0 => PatternKind::Text,
                _ => PatternKind::Binary,
            },
            size: u32::from_be_bytes(fields.take()),
            count: u64::from_be_bytes(fields.take()),
            seed: u32::from_be_bytes(fields.take()),
            max_size: u32::from_be_bytes(fields.take()),
        };
        if data.size == 0 {
            return Err(PrivateDataError::Size);
        }
        if fields.take::<{ Self::RESERVED }>() != [0; Self::RESERVED] {
            return Err(PrivateDataError::Reserved);
        }
        Ok(Some(data))
    }
}

/// Why private data that is marked as ours does not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrivateDataError {
    /// It ends after so many bytes.
    Truncated(usize),
    /// It is of another version.
    Version(u8),
    /// No such role.
    Role(u8),
    /// No such test.
    Test(u8),
    /// No such memory mode.
    MemMode(u8),
    /// These flags mean nothing.
    Flags(u32),
    /// The size is 0.
    Size,
    /// What must be zero is not.
    Reserved,
}

impl fmt::Display for PrivateDataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the peer's private data ")?;
        match self {
            Self::Truncated(len) => {
                write!(f, "ends after {len} of {} bytes", PrivateData::LEN)
            }
            Self::Version(version) => write!(
                f,
                "is of version {version}, and this side speaks version {}",
                PrivateData::VERSION
            ),
            Self::Role(role) => write!(f, "names a role that does not exist ({role})"),
            Self::Test(test) => write!(f, "names a test that does not exist ({test})"),
            Self::MemMode(mode) => write!(f, "names a memory mode that does not exist ({mode})"),
            Self::Flags(flags) => write!(f, "has flags that do not exist ({flags:#x})"),
            Self::Size => f.write_str("asks for 0 bytes of data"),
            Self::Reserved => f.write_str("has reserved bytes that are not zero"),
        }
    }
}

/// Why a server refused a client.
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
}

/// What a server of ours says when it refuses.
///
/// Its layout is the same in every version, since two versions that differ say so with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reject {
    /// Why.
    pub(crate) reason: RejectReason,
    /// With [`RejectReason::TooLarge`] the largest size served, with [`RejectReason::Version`] the
    /// version spoken, and otherwise 0.
    pub(crate) value: u32,
}

impl Reject {
    /// Bytes on the wire.
    pub(crate) const LEN: usize = 16;

    const MAGIC: [u8; 4] = *b"krpr";

    /// As it is sent.
    pub(crate) fn encode(&self) -> [u8; Self::LEN] {
        let reason = match self.reason {
            RejectReason::Version => 1,
            RejectReason::TooLarge => 2,
            RejectReason::Test => 3,
            RejectReason::Busy => 4,
            RejectReason::Stopping => 5,
            RejectReason::Resources => 6,
        };
        pack(
            Self::MAGIC
                .into_iter()
                .chain([PrivateData::VERSION, reason, 0, 0])
                .chain(self.value.to_be_bytes()),
        )
    }

    /// What it says; `None` where it is not a reject of ours, or its reason is not known here.
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
        }
    }
}

/// Writes bytes in order into a message; what they do not reach is 0.
fn pack<const N: usize>(fields: impl Iterator<Item = u8>) -> [u8; N] {
    let mut message = [0; N];
    for (byte, field) in message.iter_mut().zip(fields) {
        *byte = field;
    }
    message
}

/// What is left of a message that is read in order.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    /// The next `N` bytes. Each layout is read as long as it is; past its end there would be zeros.
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let Some((field, rest)) = self.0.split_first_chunk() else {
            return [0; N];
        };
        self.0 = rest;
        *field
    }
}
