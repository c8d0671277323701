// SPDX-License-Identifier: GPL-2.0

//! What a run counts.

use core::{
    fmt,
    ops::{
        Add,
        AddAssign, //
    },
};

/// Bytes and messages by operation.
///
/// Its `Display` is the part of a line of `/proc/krping` that follows the device's name.
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
