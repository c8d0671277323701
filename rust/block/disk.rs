// SPDX-License-Identifier: GPL-2.0

//! A disk as the block layer calls it: each hardware queue hands its requests to the
//! connection that it has at present.
//!
//! While a queue has none, the block layer is told to hold requests back
//! ([`Disk::quiesce`]); a connection is only put in place or taken away then. A disk
//! that has given up ends every request with an I/O error.
//!
//! Lock order: a queue's connection, then what is in it.
//!
//! [`Disk::quiesce`]: crate::kernel_ext::blk::disk::Disk::quiesce

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
    engine::traffic::Traffic,
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
    },
    rdma::qp::QueuePair, //
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

/// A connection of a disk.
pub(crate) type Pair = Pin<KBox<QueuePair<DiskQueue>>>;

/// One hardware queue.
#[pin_data]
pub(crate) struct HwQueue {
    #[pin]
    pair: SpinLockBh<Option<Pair>>,
    /// What it has done, over all connections.
    pub(crate) live: Arc<Live>,
    /// What its connections have moved.
    pub(crate) traffic: Arc<Traffic>,
}

impl HwQueue {
    /// Puts a connection in place, and returns what was there.
    pub(crate) fn replace(&self, pair: Option<Pair>) -> Option<Pair> {
        core::mem::replace(&mut *self.pair.lock(), pair)
    }

    /// Ends a request that has not been sent.
    fn fail(&self, request: Request, errno: i32) {
        self.live.failed(1);
        request.end(errno);
    }

    /// Calls `f` on the connection, if there is one. `f` must not sleep.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&QueuePair<DiskQueue>) -> R) -> Option<R> {
        self.pair.lock().as_ref().map(|pair| f(pair))
    }
}

/// What the block layer's calls work on.
pub(crate) struct DiskData {
    queues: KVec<Pin<KBox<HwQueue>>>,
    /// Whether it has given up.
    dead: Atomic<u32>,
    /// Requests that wait for a connection.
    held: Atomic<u64>,
    /// How often it has come back.
    reconnects: Atomic<u32>,
    stability: Arc<Stability>,
}

impl DiskData {
    /// Creates the data of disk `number`, with a hardware queue for each of `traffic`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
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

    /// The hardware queues.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &HwQueue> + Clone {
        self.queues.iter().map(|queue| &**queue)
    }

    /// The disk's answered writes, and which of them are durable.
    pub(crate) fn stability(&self) -> &Arc<Stability> {
        &self.stability
    }

    /// Has it end all further requests with an I/O error.
    pub(crate) fn give_up(&self) {
        self.dead.store(1, Relaxed);
    }

    /// Whether it has given up.
    pub(crate) fn has_given_up(&self) -> bool {
        self.dead.load(Relaxed) != 0
    }

    /// Notes how many requests wait for a connection.
    pub(crate) fn hold(&self, requests: u64) {
        self.held.store(requests, Relaxed);
    }

    /// Notes that its connections, once lost, are there again.
    pub(crate) fn came_back(&self) {
        self.reconnects
            .store(self.reconnects.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// What all queues have done. Any context.
    pub(crate) fn figures(&self) -> BlockFigures {
        let sum = self.queues().fold(BlockFigures::default(), |sum, queue| {
            sum + queue.live.snapshot()
        });
        BlockFigures {
            reconnects: u64::from(self.reconnects.load(Relaxed)),
            ..sum
        }
    }

    /// Requests under way, those that wait for a connection among them. Any context.
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
        // Ending a request may lead back here, so it is done without the lock.
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
