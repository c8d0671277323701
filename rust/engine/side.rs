// SPDX-License-Identifier: GPL-2.0

//! The workloads of a connection's two sides, as the threads of clients and servers see them.

#![forbid(unsafe_code)]

use crate::{
    logic::{
        command::Load,
        failure::Failure,
        measure::histogram::Histogram, //
    },
    rdma::qp::{
        Depths,
        Queue,
        Workload, //
    }, //
};
use kernel::time::{
    Instant,
    Monotonic, //
};

/// What a microbenchmark has counted.
#[derive(Clone, Copy)]
pub(crate) struct Figures {
    /// How it was posted.
    pub(crate) load: Load,
    /// Operations that the send queue had room for.
    pub(crate) txdepth: u32,
    /// Operations before measuring began.
    pub(crate) warmup: u64,
    /// Completions of operations.
    pub(crate) completions: u64,
    /// Lists of operations posted.
    pub(crate) posts: u64,
    /// Nanoseconds that were measured, the sum over all connections.
    pub(crate) busy_ns: u64,
    /// How often a time is halved for a latency.
    pub(crate) halvings: u32,
    /// Operations and nanoseconds that the peer measured.
    pub(crate) peer: Option<(u64, u64)>,
}

impl Figures {
    /// Those of two connections with the same load.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            warmup: self.warmup.saturating_add(other.warmup),
            completions: self.completions.saturating_add(other.completions),
            posts: self.posts.saturating_add(other.posts),
            busy_ns: self.busy_ns.saturating_add(other.busy_ns),
            peer: match (self.peer, other.peer) {
                (Some((count, ns)), Some((more, longer))) => {
                    Some((count.saturating_add(more), ns.max(longer)))
                }
                (one, other) => one.or(other),
            },
            ..*self
        }
    }
}

/// What a workload has done.
pub(crate) struct Summary<'a> {
    /// Finished iterations.
    pub(crate) iterations: u64,
    /// From the first post, or the end of the warm-up, to the last completion.
    pub(crate) times: Option<(Instant<Monotonic>, Instant<Monotonic>)>,
    /// When it went on from its warm-up, and twice what it had done when the first of
    /// its queue pairs came to its end; `None` of one that is alone.
    pub(crate) stretch: Option<(Instant<Monotonic>, u64)>,
    /// Nanoseconds for each iteration, where they are measured.
    pub(crate) histogram: Option<&'a Histogram>,
    /// Of a microbenchmark.
    pub(crate) figures: Option<Figures>,
}

impl Summary<'_> {
    /// How long it took, in nanoseconds.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.times.map_or(0, elapsed_ns)
    }
}

/// From the first to the second, in nanoseconds.
pub(crate) fn elapsed_ns((started, ended): (Instant<Monotonic>, Instant<Monotonic>)) -> u64 {
    u64::try_from((ended - started).as_nanos()).unwrap_or(0)
}

/// What both sides' workloads have.
pub(crate) trait Side: Workload {
    /// How large its queue pair must be.
    fn depths(&self) -> Depths;

    /// Posts what must be posted before the connection is made.
    ///
    /// # Errors
    ///
    /// What the device says.
    fn prepare(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure>;

    /// Gives the peer a sign of life, where it would not see any.
    ///
    /// # Errors
    ///
    /// What the device says.
    fn beat(&mut self, _: &mut Queue<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Notes that the run has ended, before the connection is taken down.
    fn end(&mut self) {}

    /// What has been done.
    fn summary(&self) -> Summary<'_>;
}

/// A client's workload: it leads, and says when it is done by advancing its
/// outcome to `Finished`.
pub(crate) trait Lead: Side {
    /// Begins, once connected.
    ///
    /// # Errors
    ///
    /// What the device says.
    fn start(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure>;

    /// Goes on from the end of the warm-up, where the workload waits for that once it
    /// has advanced to [`Warm`](crate::engine::outcome::Progress::Warm).
    ///
    /// # Errors
    ///
    /// What the device says.
    fn go(&mut self, _: &mut Queue<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Tells the peer of the end, where the workload waits for that once it has advanced
    /// to [`Measured`](crate::engine::outcome::Progress::Measured).
    ///
    /// # Errors
    ///
    /// What the device says.
    fn finish(&mut self, _: &mut Queue<'_>) -> Result<(), Failure> {
        Ok(())
    }
}

/// A server's workload.
pub(crate) trait Follow: Side {
    /// Whether the client may disconnect now without having broken off.
    fn may_end(&self) -> bool;

    /// Whether the client said how much it wants, and has had it.
    fn served_all(&self) -> bool;

    /// Whether all that came was as it should be.
    ///
    /// # Errors
    ///
    /// The failure.
    fn verdict(&self) -> Result<(), Failure> {
        Ok(())
    }
}
