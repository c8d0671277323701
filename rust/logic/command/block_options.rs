// SPDX-License-Identifier: GPL-2.0

//! The options of a command for a disk, a tap, or the server of one.

use super::{
    limits,
    Comm,
    PathName, //
};

/// The place where a server keeps blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
// Nothing here can allocate, and only one value exists at a time.
#[allow(clippy::large_enum_variant)]
pub(crate) enum StoreName {
    /// Memory, which is zeroed at first and freed at the end.
    Ram,
    /// The path of a file or block device, which begins with a slash.
    Path(PathName),
}

/// The options of a command for a disk, a tap, or the server of one.
///
/// # Invariants
///
/// Where the test is neither a disk nor a tap, it is [`NONE`](Self::NONE).
/// Otherwise each field has its value of [`NONE`](Self::NONE), except as follows:
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
    /// The place where the server keeps the blocks.
    pub(crate) store: Option<StoreName>,
    /// The size of the store in bytes (0 is the whole file or device), or of a tap's ring.
    pub(crate) bytes: u64,
    /// The store is read-only.
    pub(crate) read_only: bool,
    /// Reads and writes of the store bypass the page cache.
    pub(crate) direct: bool,
    /// The number of connections of the disk.
    pub(crate) queues: u16,
    /// The maximum number of requests in flight on each connection.
    pub(crate) depth: u16,
    /// The time for which a disk tries to reconnect after connection loss, in seconds.
    pub(crate) reconnect_s: u32,
    /// The time that the server has to answer a request of a disk, in seconds; 0 is unlimited.
    pub(crate) request_timeout_s: u32,
    /// The disk to tap: a path, or without a slash a name under `/dev`.
    pub(crate) tap: Option<PathName>,
    /// The name of the program whose requests the tap forwards; `None` is every program.
    pub(crate) comm: Option<Comm>,
    /// The server of a tap logs each request.
    pub(crate) log: bool,
}

impl BlockOptions {
    /// The options of a command that gives none of them.
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
