// SPDX-License-Identifier: GPL-2.0

//! How a microbenchmark loads its connection.

use super::tests::Test;

/// How a microbenchmark loads its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// Both sides send, write or read at once.
    pub(crate) duplex: bool,
    /// WRITEs carry immediate data, which is a completion for the peer.
    pub(crate) imm: bool,
    /// The data is in the request itself.
    pub(crate) inline: bool,
    /// No clock is read for each operation.
    pub(crate) untimed: bool,
    /// Queue pairs of each thread.
    pub(crate) qps: u16,
    /// Requests posted at once, as one list.
    pub(crate) postlist: u16,
    /// One request of so many asks for a completion.
    pub(crate) signal_every: u16,
    /// Pieces of memory of each request.
    pub(crate) sge: u8,
}

impl Load {
    /// That of a `test` without options; of one that is no microbenchmark, the only one.
    pub(crate) const fn new(test: Test) -> Self {
        Self {
            duplex: false,
            imm: false,
            inline: false,
            untimed: false,
            qps: 1,
            postlist: 1,
            signal_every: if test.takes_signal_every() { 16 } else { 1 },
            sge: 1,
        }
    }

    /// The depth of a send queue with which each wait for room ends, whichever requests ask for a
    /// completion.
    pub(crate) fn depth(&self) -> u32 {
        u32::from(self.postlist)
            .saturating_add(u32::from(self.signal_every))
            .saturating_sub(1)
    }
}
