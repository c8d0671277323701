// SPDX-License-Identifier: GPL-2.0

//! Packets of a connection that are longer than a port takes.

use super::{
    Failure,
    STATUS_FLUSHED,
    STATUS_RETRIES, //
};
use core::fmt;

/// The packets of a connection, and the port that does not take the longest of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packets {
    /// Bytes of data in the longest.
    path: u16,
    /// Bytes of data that the port takes.
    port: u16,
    /// True where it is this side's port, not the server's.
    is_own: bool,
}

impl Packets {
    /// Returns the packets of `path` bytes where a port takes `port` only: this side's where
    /// `is_own` is true, otherwise the server's. `None` where it takes them.
    pub(crate) fn too_long(path: u16, port: u16, is_own: bool) -> Option<Self> {
        (path > port).then_some(Self { path, port, is_own })
    }

    /// Returns true where packets that do not arrive would explain `failure`.
    pub(crate) fn explain(failure: &Failure) -> bool {
        match failure {
            Failure::Completion { status, .. } => {
                matches!(*status, STATUS_FLUSHED | STATUS_RETRIES)
            }
            Failure::TimedOut(..) => !failure.is_unanswered(),
            _ => matches!(failure, Failure::Disconnected | Failure::LegacyDisconnected),
        }
    }
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, port, is_own } = *self;
        let whose = if is_own { "this" } else { "the server's" };
        write!(
            f,
            "packets of {path} bytes are too long for {whose} port, which takes {port}: give the \
             client mtu={port}, or all interfaces the same MTU"
        )
    }
}
