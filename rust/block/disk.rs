// SPDX-License-Identifier: GPL-2.0

//! A disk as seen by the block layer: each hardware queue hands its requests to its current
//! connection.
//!
//! While a queue has no connection, the block layer holds requests back ([`Disk::quiesce`]). The
//! first connections are put in place before the disk is added; later ones are replaced only
//! while requests are held back. A disk that has given up ends every request with an I/O error.
//!
//! Lock order: a queue's connection, then the locks inside the connection.
//!
//! [`Disk::quiesce`]: crate::kernel_ext::blk::disk::Disk::quiesce
//!
//! - [`command`], [`attachment`], [`disks`] - commands, a disk from its command to its removal, all
//!   disks
//! - [`client`] - the thread that connects and reconnects; [`connection`]: one connection
//! - [`queue`], [`sender`], [`bounce`] - a hardware queue, its messages, buffers for devices that
//!   cannot register each request
//! - [`stability`] - which answered writes flushes have covered

#![forbid(unsafe_code)]

mod attachment;
mod bounce;
mod client;
pub(crate) mod command;
pub(super) mod connection;
mod disks;
pub(crate) mod queue;
mod sender;
mod stability;

use super::figures::Live;
use crate::{
    engine::{
        queue_pair::QueuePair,
        traffic::Traffic, //
    },
    kernel_ext::{
        blk::{
            request::Request,
            Operations, //
        },
        spinlock::SpinLockBh, //
    },
    logic::{
        failure::errno,
        measure::stats::BlockFigures, //
    }, //
};
use kernel::{
    prelude::*,
    static_lock_class,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};
use queue::{
    DiskQueue,
    Submitted, //
};
use stability::Stability;

/// A queue pair of a disk, with its workload.
pub(crate) type Pair = QueuePair<DiskQueue>;

/// A hardware queue of a disk, and its connection.
#[pin_data]
pub(crate) struct HwQueue {
    #[pin]
    pair: SpinLockBh<Option<Pair>>,
    /// Counters over all connections of this queue.
    pub(crate) live: Arc<Live>,
    /// Bytes and messages moved by all connections of this queue.
    pub(crate) traffic: Arc<Traffic>,
}

impl HwQueue {
    /// Replaces the connection, and returns the previous one.
    pub(crate) fn replace(&self, pair: Option<Pair>) -> Option<Pair> {
        core::mem::replace(&mut *self.pair.lock(), pair)
    }

    /// Ends a request that has not been sent with `errno`, and counts the failure.
    fn fail(&self, request: Request, errno: i32) {
        self.live.failed(1);
        request.end(errno);
    }

    /// Calls `f` on the connection, if there is one. `f` must not sleep.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&QueuePair<DiskQueue>) -> R) -> Option<R> {
        self.pair.lock().as_ref().map(f)
    }
}

/// State of a disk that the block layer's callbacks use.
pub(crate) struct DiskData {
    queues: KVec<Pin<KBox<HwQueue>>>,
    /// Nonzero once the disk has given up.
    dead: Atomic<u32>,
    /// Number of requests held until there is a new connection.
    held: Atomic<u64>,
    /// Number of successful reconnects.
    reconnects: Atomic<u32>,
    stability: Arc<Stability>,
}

impl DiskData {
    /// Creates the state of disk `number`, with a hardware queue for each item of `traffic`. May
    /// sleep.
    pub(crate) fn new(number: u32, traffic: impl Iterator<Item = Arc<Traffic>>) -> Result<Self> {
        let mut queues = KVec::new();
        for traffic in traffic {
            let live = Arc::new(Live::default(), GFP_KERNEL)?;
            let queue = KBox::pin_init(
                pin_init!(HwQueue {
                    pair <- SpinLockBh::new(None, c"krping_disk", static_lock_class!()),
                    live,
                    traffic,
                }),
                GFP_KERNEL,
            )?;
            queues.push(queue, GFP_KERNEL)?;
        }
        let stability = Stability::new(number, queues.iter().map(|queue| queue.live.clone()))?;
        Ok(Self {
            queues,
            stability,
            dead: Atomic::new(0),
            held: Atomic::new(0),
            reconnects: Atomic::new(0),
        })
    }

    /// Returns the hardware queues.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &HwQueue> + Clone {
        self.queues.iter().map(|queue| &**queue)
    }

    /// Returns the record of the disk's answered writes and of which are durable.
    pub(crate) fn stability(&self) -> &Arc<Stability> {
        &self.stability
    }

    /// Makes the disk end all further requests with an I/O error.
    pub(crate) fn give_up(&self) {
        self.dead.store(1, Relaxed);
    }

    /// Returns true if the disk has given up.
    pub(crate) fn has_given_up(&self) -> bool {
        self.dead.load(Relaxed) != 0
    }

    /// Sets the number of requests held until there is a new connection.
    pub(crate) fn hold(&self, requests: u64) {
        self.held.store(requests, Relaxed);
    }

    /// Counts a successful reconnect.
    pub(crate) fn came_back(&self) {
        self.reconnects
            .store(self.reconnects.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Returns the counters summed over all queues. Any context.
    pub(crate) fn figures(&self) -> BlockFigures {
        let sum = self.queues().fold(BlockFigures::default(), |sum, queue| {
            sum + queue.live.snapshot()
        });
        BlockFigures {
            reconnects: u64::from(self.reconnects.load(Relaxed)),
            ..sum
        }
    }

    /// Returns the number of requests under way, including those held until there is a new
    /// connection. Any context.
    pub(crate) fn in_flight(&self) -> u64 {
        self.queues().fold(self.held.load(Relaxed), |sum, queue| {
            sum.wrapping_add(queue.live.in_flight())
        })
    }
}

impl Operations for DiskData {
    fn queue(&self, queue: usize, request: Request) -> core::result::Result<(), Request> {
        let Some(queue) = self.queues.get(queue) else {
            request.end(errno::EIO);
            return Ok(());
        };
        if self.has_given_up() {
            queue.fail(request, errno::EIO);
            return Ok(());
        }
        let mut request = Some(request);
        // Ending a request may call this function again, so it is done without the lock.
        let submitted = queue
            .with(|pair| {
                pair.with(|lead, queue| request.take().map(|request| lead.submit(queue, request)))
            })
            .flatten()
            .flatten();
        match (submitted, request) {
            (Some(Submitted::Posted), _) => Ok(()),
            (Some(Submitted::Busy(request)), _) | (None, Some(request)) => Err(request),
            (Some(Submitted::Refused(request, errno)), _) => {
                queue.fail(request, errno);
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }
}
