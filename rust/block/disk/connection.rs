// SPDX-License-Identifier: GPL-2.0

//! One connection of a disk, and how it is established.

#![forbid(unsafe_code)]

use crate::{
    block::{
        disk::{
            queue::{
                DiskQueue,
                Layout, //
            },
            Pair, //
        },
        MAX_BYTES, //
    },
    cm::{
        addr::SocketAddress,
        CmId, //
    },
    engine::{
        connect::{
            Attempt,
            Connected,
            Initiator, //
        },
        depths::Depths,
        drive::failed,
        limits::PATIENT_ACK_TIMEOUT,
        outcome::WaitQueue,
        queue::Queue,
        queue_pair::QueuePair,
        quirks::{
            checksums_in_place,
            repeats_local_operations, //
        },
        results::Report,
        session::Session,
        side::PrivateBytes,
        worker::Worker, //
    },
    kernel_ext::time::Deadline,
    logic::{
        block::segments::boundary_mask,
        command::Test,
        failure::Failure,
        wire::{
            extensions::Extensions,
            hello::{
                Geometry,
                Hello, //
            },
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

/// Maximum number of RDMA READs that the server may have under way on one connection.
pub(crate) const READS: u8 = 16;

/// Parameters common to all connections of a disk.
pub(crate) struct DiskParams<'a> {
    /// The session of the disk's command.
    pub(crate) session: &'a Arc<Session>,
    /// The thread that runs the connections.
    pub(crate) worker: &'a Arc<Worker>,
    /// The server's address.
    pub(crate) addr: &'a SocketAddress,
    /// Wait queue that reports of the connections wake.
    pub(crate) wait_queue: &'a WaitQueue,
    /// Random number by which the server tells disks apart.
    pub(crate) disk: u64,
    /// Number of the current attempt to connect, from 1. The server tells old connections from
    /// new ones by it.
    pub(crate) generation: u32,
    /// Number of connections, one per hardware queue.
    pub(crate) queues: u16,
    /// True if data is copied through buffers that are registered once.
    pub(crate) bounce: bool,
    /// The geometry from the first connection, which the disk relies on and later ones must be
    /// compatible with; `None` until then.
    pub(crate) geometry: Option<Geometry>,
}

/// A connection that is up. Fields are in drop order.
pub(crate) struct DiskConnection {
    /// The queue pair, until it is moved to its hardware queue.
    pub(crate) pair: Option<Pair>,
    /// The store's geometry, as the server reports it.
    pub(crate) geometry: Geometry,
    /// Mask of the memory boundaries that no segment of a request may cross.
    pub(crate) segment_mask: u64,
    /// True if memory must not change while the device sends from it.
    pub(crate) stable: bool,
    /// The connection identifier.
    pub(crate) id: Arc<CmId>,
}

/// A connection attempt for hardware queue `index`. `build` makes the queue's workload.
struct Attaching<'a, B> {
    params: &'a DiskParams<'a>,
    index: u16,
    build: Option<B>,
    max_bytes: u32,
    segment_mask: u64,
    stable: bool,
}

impl<B> Initiator for Attaching<'_, B>
where
    B: FnOnce(&Layout, &mut Memory) -> Result<KBox<DiskQueue>>,
{
    type Workload = DiskQueue;
    type Answer = Geometry;
    const STARTING: &'static str = "starting a connection";
    const READS: u8 = READS;
    // A disk that is to end answers its requests first.
    const ENDS_WITH_THREAD: bool = false;

    fn adapt(&self, id: &CmId, device: &Device<'_>) {
        if repeats_local_operations(device) && !self.params.bounce {
            id.set_ack_timeout(PATIENT_ACK_TIMEOUT);
        }
    }

    fn check(&mut self, device: &Device<'_>) -> Result<(), Failure> {
        self.max_bytes = max_bytes(device)?;
        self.segment_mask = boundary_mask(device.max_segment(), PAGE_SIZE as u64);
        self.stable = checksums_in_place(device);
        Ok(())
    }

    fn build(&mut self, _: &Device<'_>, memory: &mut Memory) -> Result<(KBox<DiskQueue>, Depths)> {
        let layout = Layout {
            depth: self.params.session.command.block.depth,
            segments: (self.max_bytes as usize).div_ceil(PAGE_SIZE) + 1,
            bounce: self.params.bounce,
        };
        let build = self.build.take().ok_or(EINVAL)?;
        let queue = build(&layout, memory)?;
        let depths = queue.depths();
        Ok((queue, depths))
    }

    fn prepare(disk: &mut DiskQueue, queue: &mut Queue<'_>) -> Result<(), Failure> {
        disk.prepare(queue)
    }

    fn hello(&self, _: &QueuePair<Self::Workload>) -> PrivateBytes {
        PrivateBytes::Own(self.request().encode())
    }

    fn answered(
        &mut self,
        connected: &Connected<DiskQueue>,
        _: &mut Report<'_>,
    ) -> Result<Geometry, Failure> {
        let Connected { queue_pair, id } = connected;
        let data = id.peer_data();
        let geometry = Geometry::decode(data.as_slice())
            .and_then(|geometry| geometry.keeps_to(&self.request()).map(|()| geometry))
            .map_err(Failure::PrivateData)?;
        check(self.params, &geometry)?;
        let device = id.device().map_err(failed("finding the device"))?;
        let inline = if device.has_immediates() {
            geometry.inline
        } else {
            0
        };
        let extensions = Extensions::decode(data.as_slice());
        queue_pair
            .with(|disk, queue| disk.start(queue, inline, extensions, &geometry.extras))
            .ok_or(Failure::Interrupted)??;
        Ok(geometry)
    }

    fn give_up(&self, session: &Session, failure: Failure) {
        // Without a disk yet, an interruption is not the regular end of one: the session fails.
        if let (Failure::Interrupted, None) = (failure, self.params.geometry) {
            session.abort(failure);
        }
    }

    fn disconnect_deadline(&self, _: &Session, _: Failure) -> Option<Deadline> {
        None
    }
}

impl<B> Attaching<'_, B> {
    /// Returns the hello that is sent to the server.
    fn request(&self) -> Hello {
        let params = self.params;
        let options = &params.session.command.block;
        Hello {
            test: Test::Block,
            disk: params.disk,
            generation: params.generation,
            index: self.index,
            queues: params.queues,
            depth: options.depth,
            max_bytes: self.max_bytes,
            alive_ms: params.session.keepalive_ms(),
            hold_ms: options.reconnect_s.saturating_mul(1000),
        }
    }
}

impl DiskConnection {
    /// Establishes connection number `index`. Each step may take up to `timeout` ms. The end of
    /// the disk aborts the attempt while it lasts. Sleeps.
    ///
    /// # Errors
    ///
    /// The failure, with the errno from the kernel or the peer; [`Failure::OtherStore`] if the
    /// disk cannot go on with what the server has now.
    pub(crate) fn open(
        params: &DiskParams<'_>,
        index: u16,
        timeout: u32,
        report: &mut Report<'_>,
        build: impl FnOnce(&Layout, &mut Memory) -> Result<KBox<DiskQueue>>,
    ) -> Result<Self, Failure> {
        let attempt = Attempt {
            session: params.session,
            worker: params.worker,
            addr: params.addr,
            wait_queue: params.wait_queue,
            timeout,
        };
        let mut attaching = Attaching {
            params,
            index,
            build: Some(build),
            max_bytes: 0,
            segment_mask: 0,
            stable: false,
        };
        let (connected, geometry) = attempt.connect(&mut attaching, report)?;
        Ok(Self {
            pair: Some(connected.queue_pair),
            geometry,
            segment_mask: attaching.segment_mask,
            stable: attaching.stable,
            id: connected.id,
        })
    }
}

/// Checks that the server serves disks, and that the disk can go on with the server's geometry.
fn check(params: &DiskParams<'_>, geometry: &Geometry) -> Result<(), Failure> {
    if geometry.test != Test::Block {
        return Err(Failure::Unsupported("the server takes taps, not disks"));
    }
    match params.geometry.and_then(|first| first.continues(geometry)) {
        None => Ok(()),
        Some(why) => Err(Failure::OtherStore(why)),
    }
}

/// Returns the maximum number of bytes per request on `device`: at most [`MAX_BYTES`], and what
/// one fast registration covers less one page, since data may begin within a page.
///
/// # Errors
///
/// [`Failure::Unsupported`] if that is less than a page.
pub(crate) fn max_bytes(device: &Device<'_>) -> Result<u32, Failure> {
    let most = device.max_fast_reg_len().saturating_sub(PAGE_SIZE);
    match u32::try_from(most).unwrap_or(u32::MAX).min(MAX_BYTES) {
        most if most as usize >= PAGE_SIZE => Ok(most),
        _ => Err(Failure::Unsupported(
            "blk: the device has no fast registration of a page",
        )),
    }
}
