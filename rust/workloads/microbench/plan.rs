// SPDX-License-Identifier: GPL-2.0

//! What one side of a microbenchmark is to do, and what follows from that.

#![forbid(unsafe_code)]

use super::link::{
    CONTROL_RECEIVES,
    CONTROL_SENDS, //
};
use crate::{
    engine::limits::QueueLimits,
    logic::{
        command::{
            Load,
            Test, //
        },
        data::pattern::Pattern,
        failure::Operation,
        measure::window::warmup,
        spec::tests::Verb, //
    },
    rdma::qp::Depths, //
};

/// Receives that are kept posted at the most, so that a client does not decide how
/// much memory its server needs: a sender that finds none tries again.
const MOST_RECEIVES: u32 = 512;

/// What one side of a microbenchmark is to do.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// Which one.
    pub(crate) test: Test,
    /// What it measures.
    pub(crate) verb: Verb,
    /// Whether this side begins and ends it.
    pub(crate) leading: bool,
    /// Bytes of data in each operation.
    pub(crate) size: u32,
    /// Operations to measure; 0 is until stopped.
    pub(crate) count: u64,
    /// When to stop.
    pub(crate) duration_ms: Option<u32>,
    /// How to post.
    pub(crate) load: Load,
    /// What there is room for.
    pub(crate) room: QueueLimits,
    /// The data.
    pub(crate) pattern: Pattern,
    /// Compare what has arrived with it.
    pub(crate) validate: bool,
    /// Open all memory to the peer.
    pub(crate) unsafe_global_rkey: bool,
}

impl Plan {
    /// The operation.
    pub(crate) fn operation(&self) -> Operation {
        match self.verb {
            Verb::Write => Operation::Write,
            Verb::Read => Operation::Read,
            Verb::Send => Operation::Send,
        }
    }

    /// Whether this side posts it, which the side that does not lead does in
    /// answer, or at the same time.
    pub(crate) fn posts(&self) -> bool {
        self.leading || self.peer_posts_too()
    }

    fn peer_posts_too(&self) -> bool {
        self.load.duplex || (self.test.is_latency() && self.operation() != Operation::Read)
    }

    /// Whether the peer does it to this side.
    pub(crate) fn is_target(&self) -> bool {
        !self.leading || self.peer_posts_too()
    }

    /// Whether each operation of the peer's takes a receive here.
    pub(crate) fn counts_arrivals(&self) -> bool {
        self.is_target() && (self.operation() == Operation::Send || self.load.imm)
    }

    /// Whether the target of an operation sees it, by a receive or in memory.
    fn is_seen(&self) -> bool {
        self.load.imm || self.operation() == Operation::Send || self.watches_memory()
    }

    /// Whether the side that does not lead sees nothing of what is done to it, and
    /// does nothing itself.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.peer_posts_too() && !self.is_seen()
    }

    /// Whether the peer sees nothing of what this side posts.
    pub(crate) fn is_unseen(&self) -> bool {
        self.posts() && !self.is_seen()
    }

    /// Whether the end of an operation shows in memory only.
    pub(crate) fn watches_memory(&self) -> bool {
        self.test.shows_in_memory() && !self.load.imm
    }

    /// Operations before measuring begins.
    pub(crate) fn warmup(&self) -> u64 {
        warmup(self.size, self.load.signal_every)
    }

    /// After how many operations to wait for those of other queue pairs. A way there and
    /// back waits one before the end of its warm-up, so that both sides begin to measure
    /// after that.
    pub(crate) fn hold(&self) -> Option<u64> {
        match self.test.is_latency() {
            _ if !self.leading && !self.load.duplex => None,
            true => (self.load.qps > 1).then(|| self.warmup() - 1),
            false => Some(self.warmup()),
        }
    }

    /// Whether to wait with the end for other queue pairs, which what is said at the end
    /// would slow down. Those of a latency test are measured until the first one ends.
    pub(crate) fn ends_together(&self) -> bool {
        self.leading && self.load.qps > 1 && !self.test.is_latency()
    }

    /// All operations, where that is known.
    pub(crate) fn total(&self) -> Option<u64> {
        (self.count != 0).then(|| self.count.saturating_add(self.warmup()))
    }

    /// Operations under way, as many as the load needs at the least.
    pub(crate) fn depth(&self) -> u32 {
        let mut most = self.room.requests.saturating_sub(CONTROL_SENDS);
        if self.counts_arrivals() {
            // The completions of receives must have room beside them.
            most = most.min(self.room.completions / 3);
        }
        self.room.txdepth.min(most).max(self.load.depth())
    }

    fn sends(&self) -> u32 {
        CONTROL_SENDS.saturating_add(if self.posts() { self.depth() } else { 0 })
    }

    /// Receives to keep posted: where many operations are under way, twice as many
    /// as that, so that the sender need not wait for a receive to be posted again.
    pub(crate) fn receives(&self) -> u32 {
        let data = match (self.counts_arrivals(), self.test.is_latency()) {
            (false, _) => 0,
            (true, true) => 2,
            (true, false) => self.depth().saturating_mul(2).min(MOST_RECEIVES),
        };
        let most = self.room.completions.saturating_sub(self.sends());
        data.saturating_add(CONTROL_RECEIVES)
            .min(most)
            .min(self.room.requests)
    }

    /// How large the queue pair must be.
    pub(crate) fn depths(&self) -> Depths {
        let posts = self.posts();
        Depths {
            batch: if posts {
                usize::from(self.load.postlist)
            } else {
                0
            },
            pieces: if posts { self.load.sge } else { 1 },
            inline: if posts && self.load.inline {
                self.size
            } else {
                0
            },
            ..Depths::plain(self.sends(), self.receives())
        }
    }
}
