// SPDX-License-Identifier: GPL-2.0

//! The load that a test puts on its connection.

use super::{
    service::Service,
    tests::Test, //
};

/// The load that a microbenchmark or a transfer puts on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// The service of the queue pair that data is moved by.
    pub(crate) service: Service,
    /// True where both sides send, write or read at once.
    pub(crate) duplex: bool,
    /// True where WRITEs carry immediate data, which is a completion for the peer.
    pub(crate) imm: bool,
    /// True where the data is in the work request itself.
    pub(crate) inline: bool,
    /// True where no clock is read for each operation.
    pub(crate) untimed: bool,
    /// True where the sides wait for the events of solicited messages only.
    pub(crate) solicited: bool,
    /// True where each message has a number, and is compared when it has arrived.
    pub(crate) full: bool,
    /// True where the queue pair has each request complete, and none asks for it.
    pub(crate) sig_all: bool,
    /// True where the client begins operations at moments of its clock.
    pub(crate) paced: bool,
    /// Queue pairs of each thread.
    pub(crate) qps: u16,
    /// Requests posted at once, as one list.
    pub(crate) postlist: u16,
    /// The number of requests of which one asks for a completion.
    pub(crate) signal_every: u16,
    /// Scatter/gather elements of each request.
    pub(crate) sge: u8,
    /// True where operations have several sizes.
    pub(crate) mixed: bool,
    /// Buffers of each side that operations take in turn.
    pub(crate) buffers: u16,
    /// Regions of each side that these are in, no more than there are buffers.
    pub(crate) mrs: u16,
    /// Pieces of the server's memory of a transfer.
    pub(crate) segs: u8,
    /// The first byte of a transfer in the first page of the server's memory.
    pub(crate) offset: u16,
    /// True where the server lists that memory as `bio_vec`s, not as a scatterlist.
    pub(crate) biovec: bool,
}

impl Load {
    /// Returns the load of a `test` without options, the only one where the server is told of none.
    pub(crate) const fn new(test: Test) -> Self {
        Self {
            service: Service::Rc,
            duplex: false,
            imm: false,
            inline: false,
            untimed: false,
            solicited: false,
            full: false,
            sig_all: false,
            paced: false,
            qps: 1,
            postlist: 1,
            signal_every: Self::usual_signal_every(test, false),
            sge: 1,
            mixed: false,
            buffers: 1,
            mrs: 1,
            segs: 1,
            offset: 0,
            biovec: false,
        }
    }

    /// Returns the number of requests of a `test` of which one asks for a completion, where a
    /// command does not say it; 1 where each must complete.
    pub(crate) const fn usual_signal_every(test: Test, each: bool) -> u16 {
        if test.takes_signal_every() && !each {
            16
        } else {
            1
        }
    }

    /// Returns true where each operation completes, whatever its test: with `sig_all`, and where
    /// its latency is that since it was due.
    pub(crate) const fn completes_each(&self) -> bool {
        self.sig_all || self.paced
    }

    /// Returns the depth of a send queue with which each wait for room ends, whichever requests ask
    /// for a completion.
    pub(crate) fn depth(&self) -> u32 {
        u32::from(self.postlist)
            .saturating_add(u32::from(self.signal_every))
            .saturating_sub(1)
    }
}
