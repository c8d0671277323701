// SPDX-License-Identifier: GPL-2.0

//! The messages with which the two sides of a microbenchmark begin and end it.
//!
//! They arrive where the data of SENDs arrives, and their length tells them apart: it is never that
//! of the data.

use super::{
    pack,
    Advertisement,
    Fields, //
};
use crate::logic::measure::loss::Arrived;

/// A control message from one side of a microbenchmark to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// The side can be measured now, at this buffer.
    Ready(Advertisement),
    /// A keepalive: the side is still at work.
    Alive,
    /// The messages that have arrived on the unreliable queue pair of the side.
    Arrived(Arrived),
    /// The bytes of the side's operations that were measured, which have several sizes.
    Moved(u64),
    /// The side has done all that it was to do.
    Done {
        /// The number of operations, without the warmup.
        iterations: u64,
        /// The time that they took, in nanoseconds.
        elapsed_ns: u64,
        /// True where the data that arrived is not what was sent.
        mismatch: bool,
    },
}

impl Control {
    /// The most bytes on the wire.
    pub(crate) const MAX_LEN: usize = 25;

    const LEN: u32 = 24;
    const MAGIC: [u8; 4] = *b"krpc";

    /// Returns the length on the wire, in bytes, where the data has `size` bytes, or with `mixed`
    /// any number but [`MAX_LEN`](Self::MAX_LEN), up to `size`.
    pub(crate) const fn len(size: u32, mixed: bool) -> u32 {
        if mixed || size == Self::LEN {
            Self::MAX_LEN as u32
        } else {
            Self::LEN
        }
    }

    /// Returns the bytes on the wire, of which the first [`len`](Self::len) are sent.
    pub(crate) fn encode(&self) -> [u8; Self::MAX_LEN] {
        let (kind, mismatch) = match self {
            Self::Ready(_) => (1, false),
            Self::Alive => (2, false),
            Self::Done { mismatch, .. } => (3, *mismatch),
            Self::Arrived(_) => (4, false),
            Self::Moved(_) => (5, false),
        };
        let body: [u8; Advertisement::LEN] = match self {
            Self::Ready(advertisement) => advertisement.encode(),
            Self::Alive => [0; Advertisement::LEN],
            Self::Moved(bytes) => pack(bytes.to_be_bytes().into_iter().chain([0; 8])),
            Self::Arrived(arrived) => pack(
                arrived
                    .messages
                    .to_be_bytes()
                    .into_iter()
                    .chain(arrived.late.to_be_bytes())
                    .chain(arrived.repeated.to_be_bytes()),
            ),
            Self::Done {
                iterations,
                elapsed_ns,
                ..
            } => pack(
                iterations
                    .to_be_bytes()
                    .into_iter()
                    .chain(elapsed_ns.to_be_bytes()),
            ),
        };
        pack(
            Self::MAGIC
                .into_iter()
                .chain([kind, u8::from(mismatch), 0, 0])
                .chain(body),
        )
    }

    /// Decodes a control message; `None` where it makes no sense.
    ///
    /// Bytes that did not arrive, since the message was shorter, must be 0.
    pub(crate) fn decode(bytes: &[u8; Self::MAX_LEN]) -> Option<Self> {
        let mut fields = Fields(bytes);
        if fields.take() != Self::MAGIC {
            return None;
        }
        let [kind, mismatch, reserved @ ..]: [u8; 4] = fields.take();
        let body: [u8; Advertisement::LEN] = fields.take();
        let [padding] = fields.take();
        if reserved != [0, 0] || padding != 0 {
            return None;
        }
        match (kind, mismatch) {
            (1, 0) => Some(Self::Ready(Advertisement::decode(&body))),
            (2, 0) if body == [0; Advertisement::LEN] => Some(Self::Alive),
            (3, 0 | 1) => {
                let mut fields = Fields(&body);
                Some(Self::Done {
                    iterations: u64::from_be_bytes(fields.take()),
                    elapsed_ns: u64::from_be_bytes(fields.take()),
                    mismatch: mismatch != 0,
                })
            }
            (4, 0) => {
                let mut fields = Fields(&body);
                Some(Self::Arrived(Arrived {
                    messages: u64::from_be_bytes(fields.take()),
                    late: u32::from_be_bytes(fields.take()),
                    repeated: u32::from_be_bytes(fields.take()),
                }))
            }
            (5, 0) => {
                let mut fields = Fields(&body);
                let bytes = u64::from_be_bytes(fields.take());
                (fields.take() == [0; 8]).then_some(Self::Moved(bytes))
            }
            _ => None,
        }
    }
}
