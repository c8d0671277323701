// SPDX-License-Identifier: GPL-2.0

//! The options of a command for a stream.

use super::limits;

/// The options of a command for a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamOptions {
    /// The server sends back what it receives, and the client waits for it.
    pub(crate) echo: bool,
    /// The server sends, and the client takes what comes.
    pub(crate) reverse: bool,
    /// Each side writes directly into memory that the other one has opened.
    pub(crate) iomap: bool,
    /// Writes that wait for room go together, as one message.
    pub(crate) coalesce: bool,
    /// Bytes of the buffer that is sent from.
    pub(crate) sbuf: u32,
    /// Bytes of the ring that bytes arrive in; the last one is not used where they are odd.
    pub(crate) rbuf: u32,
    /// Receives that the peer has credits for.
    pub(crate) rqdepth: u16,
}

impl StreamOptions {
    /// The options of a command that gives none of them.
    pub(crate) const NONE: Self = Self {
        echo: false,
        reverse: false,
        iomap: false,
        coalesce: false,
        sbuf: limits::DEFAULT_STREAM_BUFFER,
        rbuf: limits::DEFAULT_STREAM_BUFFER,
        rqdepth: limits::DEFAULT_RQDEPTH,
    };

    /// Returns the number of mappings that a side has room for: those that its peer opens.
    pub(crate) const fn mappings(&self) -> u16 {
        self.iomap as u16
    }
}
