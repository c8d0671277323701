// SPDX-License-Identifier: GPL-2.0

//! The connection of a tap, and how it is established and taken down.

#![forbid(unsafe_code)]

use crate::{
    block::{
        disk::connection::READS,
        figures::Live,
        server::store::number,
        tap::{
            Tap,
            WINDOW, //
        },
        MAX_BYTES, //
    },
    cm::CmId,
    engine::{
        connect::{
            Attempt,
            Connected,
            Initiator, //
        },
        depths::Depths,
        outcome::Outcome,
        queue::Queue,
        queue_pair::QueuePair,
        results::Report,
        session::Session,
        side::PrivateBytes,
        worker::Worker, //
    },
    kernel_ext::{
        random::random,
        tapped::Disk,
        time::Deadline, //
    },
    logic::{
        command::Test,
        failure::{
            errno,
            Failure, //
        },
        wire::hello::{
            Geometry,
            Hello, //
        }, //
    },
    mr::Memory,
    rdma::device::Device, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*,
    sync::Arc, //
};

/// A tap's connection that is up. Fields are in drop order.
pub(crate) struct TapConnection {
    pair: QueuePair<Tap>,
    pub(crate) id: Arc<CmId>,
    /// Maximum size of a part of a request, in bytes.
    pub(crate) largest: u32,
    /// The store's geometry, as the server reports it.
    pub(crate) geometry: Geometry,
}

/// A connection attempt of a tap.
struct Tapping<'a> {
    worker: &'a Worker,
    /// The disk that is tapped.
    disk: &'a Disk,
    live: &'a Arc<Live>,
    most: u32,
    alive_ms: u32,
}

impl Initiator for Tapping<'_> {
    type Workload = Tap;
    type Answer = Geometry;
    const STARTING: &'static str = "starting the tap";
    const READS: u8 = READS;
    // A tap that has to end sends a close message first.
    const ENDS_WITH_THREAD: bool = false;

    fn check(&mut self, device: &Device<'_>) -> Result<(), Failure> {
        self.most = most_bytes(device)?;
        Ok(())
    }

    fn build(&mut self, _: &Device<'_>, memory: &mut Memory) -> Result<(KBox<Tap>, Depths)> {
        let traffic = self.worker.add_traffic()?;
        let tap = Tap::new(memory, self.most, self.live.clone(), traffic)?;
        Ok((tap, Tap::depths()))
    }

    fn prepare(tap: &mut Tap, queue: &mut Queue<'_>) -> Result<(), Failure> {
        tap.prepare(queue)
    }

    fn hello(&self, _: &QueuePair<Self::Workload>) -> PrivateBytes {
        let hello = Hello {
            test: Test::Tap,
            disk: random(),
            generation: 1,
            index: 0,
            queues: 1,
            depth: WINDOW as u16,
            max_bytes: self.most,
            alive_ms: self.alive_ms,
            hold_ms: 0,
        };
        PrivateBytes::Own(hello.encode())
    }

    fn answered(
        &mut self,
        connected: &Connected<Tap>,
        _: &mut Report<'_>,
    ) -> Result<Geometry, Failure> {
        let Connected { queue_pair, id } = connected;
        let geometry = Geometry::decode(id.peer_data().as_slice()).map_err(Failure::PrivateData)?;
        check(self.disk, id, &geometry)?;
        queue_pair
            .with(|tap, queue| tap.start(queue, geometry.depth, geometry.inline))
            .ok_or(Failure::Interrupted)??;
        Ok(geometry)
    }

    fn disconnect_deadline(&self, _: &Session, _: Failure) -> Option<Deadline> {
        Some(Deadline::after_ms(PATIENCE_MS))
    }
}

impl TapConnection {
    /// Connects to the server of `attempt`. A signal aborts the attempt while it lasts, but does
    /// not end an established connection. Sleeps.
    ///
    /// # Errors
    ///
    /// The failure, with the errno from the kernel or the peer; [`check`] lists those about the
    /// server's store.
    #[inline(never)]
    pub(crate) fn open(
        attempt: &Attempt<'_>,
        disk: &Disk,
        live: &Arc<Live>,
        report: &mut Report<'_>,
    ) -> Result<Self, Failure> {
        let mut tapping = Tapping {
            worker: attempt.worker,
            disk,
            live,
            most: 0,
            alive_ms: attempt.session.keepalive_ms(),
        };
        let (connected, geometry) = attempt.connect(&mut tapping, report)?;
        Ok(Self {
            pair: connected.queue_pair,
            id: connected.id,
            largest: tapping.most.min(geometry.max_bytes),
            geometry,
        })
    }

    /// Returns the connection's outcome, which gets its reports.
    pub(crate) fn outcome(&self) -> &Arc<Outcome> {
        self.pair.outcome()
    }

    /// Calls `f` on the connection's workload. `f` must not sleep.
    ///
    /// # Errors
    ///
    /// The failure that `f` returns; [`Failure::Interrupted`] if the queue pair has been stopped.
    pub(crate) fn with<R>(
        &self,
        f: impl FnOnce(&mut Tap, &mut Queue<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        self.pair.with(f).ok_or(Failure::Interrupted)?
    }

    /// Sends a close message, and waits for the server's answer until `deadline`. Sleeps.
    pub(crate) fn send_close(&self, deadline: Deadline) {
        while !self.outcome().ended() && !deadline.passed() {
            if let Err(failure) = self.with(Tap::close) {
                self.outcome().fail(failure);
            }
            self.outcome().pause(deadline);
        }
    }

    /// Takes the connection down, and returns its workload. Sleeps.
    pub(crate) fn close(self) -> Option<KBox<Tap>> {
        let tap = self.pair.stop();
        if self.id.disconnect() {
            self.id.wait_disconnected(Deadline::after_ms(PATIENCE_MS));
        }
        tap
    }
}

/// Timeout for the server to notice the end of the connection, in ms. A server that is reachable
/// notices at once.
const PATIENCE_MS: u32 = 200;

/// Checks that the server can store what is written to the tapped disk.
///
/// # Errors
///
/// [`Failure::Unsupported`] if the server takes no taps, or its store's blocks are larger than
/// the disk's; `EROFS` if the store is read-only; `ENOSPC` if it is smaller than the disk;
/// [`Failure::Busy`] if it is the disk itself.
fn check(disk: &Disk, id: &CmId, geometry: &Geometry) -> Result<(), Failure> {
    if geometry.test != Test::Tap {
        return Err(Failure::Unsupported("the server takes disks, not taps"));
    }
    if geometry.log_only {
        return Ok(());
    }
    let refused = |what, number: i32| Err(Failure::Kernel(what, number.saturating_neg()));
    if geometry.read_only {
        return refused("writing to the server's store", errno::EROFS);
    }
    // On another host, another store may have the same number.
    if id.is_loopback() && geometry.store == number(&disk.identity()) {
        return Err(Failure::Busy(
            "the server's store is the disk that is tapped: what it writes would come back",
        ));
    }
    if geometry.size < disk.size() {
        return refused(
            "copying the tapped disk to the server's store, which is smaller,",
            errno::ENOSPC,
        );
    }
    if geometry.block > disk.block() {
        return Err(Failure::Unsupported(
            "the blocks of the server's store are larger than those of the tapped disk",
        ));
    }
    Ok(())
}

/// Returns the maximum number of bytes per part on `device`: the size of its largest buffer, at
/// most [`MAX_BYTES`].
///
/// # Errors
///
/// [`Failure::Unsupported`] if that is less than a page.
fn most_bytes(device: &Device<'_>) -> Result<u32, Failure> {
    match u32::try_from(device.max_buffer()) {
        Ok(most) if (most as usize) < PAGE_SIZE => Err(Failure::Unsupported(
            "tap: the device has no fast registration of a page",
        )),
        most => Ok(most.unwrap_or(u32::MAX).min(MAX_BYTES)),
    }
}
