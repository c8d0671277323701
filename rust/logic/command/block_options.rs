// SPDX-License-Identifier: GPL-2.0

//! What a command says of a disk, a tap, or the server of one.

use super::{
    limits,
    Comm,
    PathName, //
};

/// Where a server keeps blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
// There is no allocation here, and one of them at a time.
#[allow(clippy::large_enum_variant)]
pub(crate) enum StoreName {
    /// In memory, which is zeroes at first and gone at the end.
    Ram,
    /// In this file or on this block device; begins with a slash.
    Path(PathName),
}

/// What a command says of a disk, a tap, or the server of one.
///
/// # Invariants
///
/// Where the test is neither a disk nor a tap, it is [`NONE`](Self::NONE).
/// Otherwise, with the same limits as [`NONE`](Self::NONE) for whatever is not named:
///
/// - `store` is set for the server and the loopback of a disk; the server of a tap has a store, or
///   `log`, or both.
/// - `bytes` of a store is a multiple of 512, and not 0 for [`StoreName::Ram`]. `bytes` of a tap is
///   never 0.
/// - `read_only` is set for a store of a disk only.
/// - `direct` is set for a [`StoreName::Path`] only.
/// - `queues`, `depth`, `reconnect_s` and `request_timeout_s` are those of a client's or loopback's
///   disk.
/// - `tap` is set for the client of a tap, and `comm` only then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockOptions {
    /// Where the server keeps the blocks.
    pub(crate) store: Option<StoreName>,
    /// Bytes of the store, where 0 is all that the file or device has; of a tap those of its ring.
    pub(crate) bytes: u64,
    /// The store is not to be changed.
    pub(crate) read_only: bool,
    /// The store is read and written past the page cache.
    pub(crate) direct: bool,
    /// Connections of the disk.
    pub(crate) queues: u16,
    /// The most requests under way on each connection.
    pub(crate) depth: u16,
    /// For how many seconds a lost disk tries to come back.
    pub(crate) reconnect_s: u32,
    /// For how many seconds a disk waits for the end of a request; 0 is as long as it takes.
    pub(crate) request_timeout_s: u32,
    /// Which disk to tap: a path, or a name under `/dev` where there is no slash in it.
    pub(crate) tap: Option<PathName>,
    /// The program whose requests to forward.
    pub(crate) comm: Option<Comm>,
    /// The server of a tap logs each request.
    pub(crate) log: bool,
}

impl BlockOptions {
    /// That of a command without any of them.
    pub(crate) const NONE: Self = Self {
        store: None,
        bytes: 0,
        read_only: false,
        direct: false,
        queues: limits::DEFAULT_QUEUES,
        depth: limits::DEFAULT_DEPTH,
        reconnect_s: limits::DEFAULT_RECONNECT_S,
        request_timeout_s: 0,
        tap: None,
        comm: None,
        log: false,
    };
}
