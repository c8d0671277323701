// SPDX-License-Identifier: GPL-2.0

//! Messages of a stream's peer that break the protocol.

use core::fmt;

/// A message of a stream's peer that breaks the protocol. Reported as `EPROTO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// The operation of the immediate data is not one that is sent.
    Operation(u32),
    /// The control message is unknown.
    Control(u32),
    /// A data message has no byte.
    Empty,
    /// The bytes do not fit into the part of the ring that they go to: (bytes, room).
    Overrun(u32, u32),
    /// A message that takes a credit came without one.
    NoCredit,
    /// The credits are fewer than before, or more than the receives behind them: (available,
    /// before, the most).
    Credits(u16, u16, u16),
    /// The number of a grant has more bits than a grant has.
    Grant(u32),
    /// A part of the peer's memory goes beyond the last address.
    Segment(u64, u32),
    /// The index of a mapping is beyond those of this side: (index, mappings).
    Mapping(u32, u32),
    /// A mapping ends beyond the last offset.
    MappingRange(u64, u32),
    /// The peer's list has no room for a mapping.
    NoMapping,
    /// The peer has mapped other memory than this side writes to: (bytes of it, bytes to write).
    Unmapped(u32, u32),
    /// Data came after the peer had ended its direction.
    AfterEnd,
    /// So many bytes came that were not asked for.
    Unasked(u32),
    /// A message without immediate data has another length than 4 bytes.
    Length(u32),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Operation(op) => write!(f, "sent a message of an unknown kind ({op})"),
            Self::Control(kind) => write!(f, "sent an unknown control message ({kind})"),
            Self::Empty => f.write_str("sent a data message of no bytes"),
            Self::Overrun(bytes, room) => write!(
                f,
                "wrote {bytes} bytes into a part of the ring that has room for {room}"
            ),
            Self::NoCredit => f.write_str("sent more messages than it has credits for"),
            Self::Credits(now, before, most) => write!(
                f,
                "granted credits that leave {now}, where there were {before} and its receives are \
                 {most}"
            ),
            Self::Grant(value) => write!(f, "granted credits up to {value}, which no count has"),
            Self::Segment(addr, len) => write!(
                f,
                "named {len} bytes of memory at {addr:#x}, which end beyond the last address"
            ),
            Self::Mapping(index, count) => {
                write!(f, "updated mapping {index} of {count}")
            }
            Self::MappingRange(offset, len) => write!(
                f,
                "mapped {len} bytes at offset {offset:#x}, which end beyond the last one"
            ),
            Self::NoMapping => f.write_str("has no room for the mapping of this side"),
            Self::Unmapped(has, wants) => write!(
                f,
                "has mapped {has} bytes at offset 0, where this side writes {wants}"
            ),
            Self::AfterEnd => f.write_str("sent data after it had shut down its direction"),
            Self::Unasked(bytes) => write!(f, "sent {bytes} bytes that were not asked for"),
            Self::Length(bytes) => write!(f, "sent a message of {bytes} bytes instead of 4"),
        }
    }
}
