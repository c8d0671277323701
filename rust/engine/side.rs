// SPDX-License-Identifier: GPL-2.0

//! Workloads of the client and the server side of a connection, as the engine's threads use them.

#![forbid(unsafe_code)]

use crate::{
    engine::{
        depths::Depths,
        queue::Queue,
        queue_pair::QueuePair,
        workload::Workload, //
    },
    logic::{
        command::Load,
        failure::Failure,
        measure::{
            histogram::Histogram,
            loss::LossFigures,
            schedule::OpenLoopFigures, //
        },
        stream::{
            self,
            figures::StreamFigures, //
        },
        wire::{
            server_port::ServerPort,
            PrivateData, //
        }, //
    },
    rdma::qp::Opening, //
};

/// Figures of a microbenchmark.
#[derive(Clone, Copy)]
pub(crate) struct Figures {
    /// Parameters that the operations were posted with.
    pub(crate) load: Load,
    /// Number of operations that the send queue has room for.
    pub(crate) txdepth: u32,
    /// Number of receives that are kept posted for data.
    pub(crate) recvs: u32,
    /// Number of operations before the measurement began.
    pub(crate) warmup: u64,
    /// Number of completions of operations.
    pub(crate) completions: u64,
    /// Number of lists of operations that were posted.
    pub(crate) posts: u64,
    /// Measured time in nanoseconds, summed over all connections.
    pub(crate) busy_ns: u64,
    /// Number of times that a measured time is halved to get a latency.
    pub(crate) halvings: u32,
    /// Bytes of the measured operations, where these have several sizes.
    pub(crate) bytes: Option<u64>,
    /// Number of operations and nanoseconds that the peer measured.
    pub(crate) peer: Option<(u64, u64)>,
    /// Bytes of these operations, where they have several sizes.
    pub(crate) peer_bytes: Option<u64>,
    /// True where the peer has found a difference in the data that has arrived there, and false
    /// where it has found none; `None` where it does not compare, or has not told.
    pub(crate) peer_mismatch: Option<bool>,
    /// Figures of messages that may be lost.
    pub(crate) loss: Option<LossFigures>,
}

impl Figures {
    /// Returns the combined figures of two connections with the same load.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            warmup: self.warmup.saturating_add(other.warmup),
            completions: self.completions.saturating_add(other.completions),
            posts: self.posts.saturating_add(other.posts),
            busy_ns: self.busy_ns.saturating_add(other.busy_ns),
            bytes: sum(self.bytes, other.bytes),
            peer_bytes: sum(self.peer_bytes, other.peer_bytes),
            peer: match (self.peer, other.peer) {
                (Some((count, ns)), Some((more, longer))) => {
                    Some((count.saturating_add(more), ns.max(longer)))
                }
                (one, other) => one.or(other),
            },
            peer_mismatch: self
                .peer_mismatch
                .zip(other.peer_mismatch)
                .map(|(one, other)| one || other),
            loss: match (self.loss, other.loss) {
                (Some(one), Some(other)) => Some(one.and(&other)),
                (one, other) => one.or(other),
            },
            ..*self
        }
    }
}

/// Returns the sum of those of two numbers that there are.
fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

/// Result of a workload.
#[derive(Default)]
pub(crate) struct Summary<'a> {
    /// Finished iterations.
    pub(crate) iterations: u64,
    /// Time of the first post, or of the end of the warm-up, and time of the last completion, in
    /// nanoseconds.
    pub(crate) times: Option<(u64, u64)>,
    /// Time at which the queue pair left its warm-up, and twice the number of operations that it
    /// had done when the first queue pair of its thread ended. `None` for a queue pair that does
    /// not run together with others.
    pub(crate) stretch: Option<(u64, u64)>,
    /// Latency of each iteration in nanoseconds, if it is measured.
    pub(crate) histogram: Option<&'a Histogram>,
    /// Figures of operations that were posted when they were due, as far as there was room.
    pub(crate) open_loop: Option<&'a OpenLoopFigures>,
    /// Figures of a microbenchmark; `None` for other workloads.
    pub(crate) figures: Option<Figures>,
    /// Figures of a stream; `None` for other workloads.
    pub(crate) stream: Option<StreamFigures>,
}

impl Summary<'_> {
    /// Returns the time that the workload took, in nanoseconds.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.times.map_or(0, elapsed_ns)
    }

    /// Returns the bytes of the operations of the side that measured them, where these have
    /// several sizes.
    pub(crate) fn measured_bytes(&self) -> Option<u64> {
        let figures = self.figures.as_ref()?;
        figures.peer_bytes.or(figures.bytes)
    }

    /// Returns the operations, and their time in nanoseconds, of the side that measured them.
    pub(crate) fn measured(&self) -> (u64, u64) {
        let peer = self.figures.and_then(|figures| figures.peer);
        peer.unwrap_or((self.iterations, self.elapsed_ns()))
    }
}

/// Private data of a connection request or of its answer.
pub(crate) enum PrivateBytes {
    /// In krping's own protocol.
    Own([u8; PrivateData::LEN]),
    /// The same of a server, which tells of its port.
    Answer([u8; ServerPort::END]),
    /// In rsocket's protocol.
    Stream([u8; stream::hello::Hello::LEN]),
}

impl PrivateBytes {
    /// Returns the bytes.
    pub(crate) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Answer(bytes) => bytes,
            Self::Stream(bytes) => bytes,
        }
    }
}

/// Returns the time from the first to the second of two times, in nanoseconds.
pub(crate) fn elapsed_ns((started, ended): (u64, u64)) -> u64 {
    ended.saturating_sub(started)
}

/// Interface that the workloads of both sides share.
pub(crate) trait Side: Workload {
    /// Returns the size that its queue pair must have.
    fn depths(&self) -> Depths;

    /// Does what must be done before receives are posted, for `timeout` ms at most; `opening` says
    /// which side this is. Sleeps.
    ///
    /// # Errors
    ///
    /// The failure, for which there is no connection.
    fn early(_: &QueuePair<Self>, _: Opening, _timeout: u32) -> Result<(), Failure>
    where
        Self: Sized,
    {
        Ok(())
    }

    /// Returns the private data of this side, for a protocol that is not krping's own.
    fn hello(&self) -> Option<PrivateBytes> {
        None
    }

    /// Posts the work requests that must be posted before the connection is made.
    fn prepare(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure>;

    /// Sends the peer a keepalive if it would see no other traffic.
    fn keepalive(&mut self, _: &mut Queue<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Returns the interval in ms at which [`tick`](Self::tick) is to be called; `None` for never.
    fn tick_ms(&self) -> Option<u32> {
        None
    }

    /// Looks for what has not come in time. Called at each [interval](Self::tick_ms).
    fn tick(&mut self, _: &mut Queue<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Returns true where the workload posts at moments of the clock, and
    /// [`post_due`](Self::post_due) is to be called for that.
    fn is_paced(&self) -> bool {
        false
    }

    /// Posts what is due by now, and returns the moment of
    /// [`monotonic_ns`](crate::kernel_ext::time::monotonic_ns) at which to call this again; `None`
    /// once nothing more will be due. Called in a softirq, or by the thread that polls: it must not
    /// sleep or allocate.
    fn post_due(&mut self, _: &mut Queue<'_>) -> Result<Option<u64>, Failure> {
        Ok(None)
    }

    /// Does work that completions have left because it may sleep, and returns true where there may
    /// be more. The thread of the connection calls it, each time that it is woken, until it
    /// returns false; [`Queue::ask_for_attention`] wakes it.
    ///
    /// # Errors
    ///
    /// The failure, which ends the run.
    fn attend(_: &QueuePair<Self>) -> Result<bool, Failure>
    where
        Self: Sized,
    {
        Ok(false)
    }

    /// Called when the run has ended, before the connection is taken down.
    fn end(&mut self) {}

    /// Returns the result so far.
    fn summary(&self) -> Summary<'_>;
}

/// A client's workload. It drives the test, and advances its outcome to `Finished` when it is done.
pub(crate) trait Lead: Side {
    /// The time in ms for which the server may end the connection first, once all work is done, so
    /// that its last message is acknowledged before the queue pair goes.
    const LINGER_MS: u32 = 0;

    /// Takes the private data of the server's answer, for a protocol that is not krping's own.
    /// Returns false where it is krping's.
    ///
    /// # Errors
    ///
    /// The failure that names what is wrong with it.
    fn answered(&mut self, _: &[u8]) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Returns true if a disconnect by the server now is a regular end, although the workload has
    /// not come to its own.
    fn may_end(&self) -> bool {
        false
    }

    /// Starts the workload, once connected.
    fn start(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure>;

    /// Continues after the warm-up. A workload that has advanced to
    /// [`Warm`](crate::engine::outcome::Progress::Warm) may wait for this call.
    fn go(&mut self, _: &mut Queue<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Tells the peer about the end. A workload that has advanced to
    /// [`Measured`](crate::engine::outcome::Progress::Measured) may wait for this call.
    fn finish(&mut self, _: &mut Queue<'_>) -> Result<(), Failure> {
        Ok(())
    }
}

/// A server's workload.
pub(crate) trait Follow: Side {
    /// Returns true if a disconnect by the client now is a regular end.
    fn may_end(&self) -> bool;

    /// Returns true if the client announced an amount of work, and all of it was done.
    fn served_all(&self) -> bool;

    /// Returns an error if anything that arrived was wrong.
    fn verdict(&self) -> Result<(), Failure> {
        Ok(())
    }
}
