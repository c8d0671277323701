// SPDX-License-Identifier: GPL-2.0

//! The options of a command for messages.

use super::limits;

/// The options of a command for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MessengerOptions {
    /// Connections of each thread of a client.
    pub(crate) conns: u16,
    /// The most messages of a client that are under way on a connection.
    pub(crate) inflight: u16,
    /// Bytes of a chunk.
    pub(crate) chunk: u32,
    /// Chunks of the pool.
    pub(crate) chunks: u32,
    /// The sides meet over TCP, and connect without the CM's handshake.
    pub(crate) tcp: bool,
}

impl MessengerOptions {
    /// The options of a command that gives none of them.
    pub(crate) const NONE: Self = Self {
        conns: 1,
        inflight: limits::DEFAULT_INFLIGHT,
        chunk: limits::DEFAULT_CHUNK,
        chunks: limits::DEFAULT_CHUNKS,
        tcp: false,
    };
}
