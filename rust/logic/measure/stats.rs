// SPDX-License-Identifier: GPL-2.0

//! Counters of a run, and figures of disks and taps.

use core::{
    fmt,
    ops::{
        Add,
        AddAssign,
        Sub, //
    }, //
};

/// Bytes and messages by operation.
///
/// Its `Display` is the part of a line of `/proc/krping` that follows the device's name, which does
/// not have the last two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Bytes sent.
    pub(crate) send_bytes: u64,
    /// Messages sent.
    pub(crate) send_msgs: u64,
    /// Bytes received.
    pub(crate) recv_bytes: u64,
    /// Messages received.
    pub(crate) recv_msgs: u64,
    /// Bytes written to the peer's memory.
    pub(crate) write_bytes: u64,
    /// RDMA WRITEs.
    pub(crate) write_msgs: u64,
    /// Bytes read from the peer's memory.
    pub(crate) read_bytes: u64,
    /// RDMA READs.
    pub(crate) read_msgs: u64,
    /// Bytes that were compared with what was sent, and were right.
    pub(crate) validated_bytes: u64,
    /// Messages that were compared, and were right.
    pub(crate) validated_msgs: u64,
}

impl Add for Counters {
    type Output = Self;

    /// Adds each counter to its like; they wrap.
    fn add(self, other: Self) -> Self {
        Self {
            send_bytes: self.send_bytes.wrapping_add(other.send_bytes),
            send_msgs: self.send_msgs.wrapping_add(other.send_msgs),
            recv_bytes: self.recv_bytes.wrapping_add(other.recv_bytes),
            recv_msgs: self.recv_msgs.wrapping_add(other.recv_msgs),
            write_bytes: self.write_bytes.wrapping_add(other.write_bytes),
            write_msgs: self.write_msgs.wrapping_add(other.write_msgs),
            read_bytes: self.read_bytes.wrapping_add(other.read_bytes),
            read_msgs: self.read_msgs.wrapping_add(other.read_msgs),
            validated_bytes: self.validated_bytes.wrapping_add(other.validated_bytes),
            validated_msgs: self.validated_msgs.wrapping_add(other.validated_msgs),
        }
    }
}

impl Sub for Counters {
    type Output = Self;

    /// Returns what each counter has moved by since it was that of `before`.
    fn sub(self, before: Self) -> Self {
        Self {
            send_bytes: self.send_bytes.wrapping_sub(before.send_bytes),
            send_msgs: self.send_msgs.wrapping_sub(before.send_msgs),
            recv_bytes: self.recv_bytes.wrapping_sub(before.recv_bytes),
            recv_msgs: self.recv_msgs.wrapping_sub(before.recv_msgs),
            write_bytes: self.write_bytes.wrapping_sub(before.write_bytes),
            write_msgs: self.write_msgs.wrapping_sub(before.write_msgs),
            read_bytes: self.read_bytes.wrapping_sub(before.read_bytes),
            read_msgs: self.read_msgs.wrapping_sub(before.read_msgs),
            validated_bytes: self.validated_bytes.wrapping_sub(before.validated_bytes),
            validated_msgs: self.validated_msgs.wrapping_sub(before.validated_msgs),
        }
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {} {} {} {} {} {}",
            self.send_bytes,
            self.send_msgs,
            self.recv_bytes,
            self.recv_msgs,
            self.write_bytes,
            self.write_msgs,
            self.read_bytes,
            self.read_msgs
        )
    }
}

/// Counters of a disk, a tap, or the server of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockFigures {
    /// The number of the disk, on the side that has it.
    pub(crate) disk: Option<u32>,
    /// Bytes that the disk has.
    pub(crate) size: u64,
    /// Requests, whatever they asked for.
    pub(crate) requests: u64,
    /// Read requests.
    pub(crate) reads: u64,
    /// Write requests.
    pub(crate) writes: u64,
    /// All other requests.
    pub(crate) others: u64,
    /// Bytes that were read from the disk.
    pub(crate) read_bytes: u64,
    /// Bytes that were written to it.
    pub(crate) write_bytes: u64,
    /// Requests that ended with an error.
    pub(crate) errors: u64,
    /// The number of times that the disk reconnected after connection loss.
    pub(crate) reconnects: u64,
    /// Requests that a tap has seen and not forwarded.
    pub(crate) dropped: u64,
}

impl Add for BlockFigures {
    type Output = Self;

    /// Adds each count to its like; they wrap. The disk is that of the first that has one.
    fn add(self, other: Self) -> Self {
        Self {
            disk: self.disk.or(other.disk),
            size: self.size.max(other.size),
            requests: self.requests.wrapping_add(other.requests),
            reads: self.reads.wrapping_add(other.reads),
            writes: self.writes.wrapping_add(other.writes),
            others: self.others.wrapping_add(other.others),
            read_bytes: self.read_bytes.wrapping_add(other.read_bytes),
            write_bytes: self.write_bytes.wrapping_add(other.write_bytes),
            errors: self.errors.wrapping_add(other.errors),
            reconnects: self.reconnects.wrapping_add(other.reconnects),
            dropped: self.dropped.wrapping_add(other.dropped),
        }
    }
}
