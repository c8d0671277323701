// SPDX-License-Identifier: GPL-2.0

//! One connection of a disk, and how it is made.

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
        drive::failed,
        limits::PATIENT_ACK_TIMEOUT,
        outcome::Bell,
        results::Report,
        session::Session,
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
            PrivateData, //
        }, //
    },
    mr::Memory,
    rdma::{
        device::Device,
        qp::{
            Depths,
            Queue, //
        }, //
    }, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*,
    sync::Arc, //
};

/// RDMA READs that the server may have under way on one connection.
pub(crate) const READS: u8 = 16;

/// What all connections of a disk have in common.
pub(crate) struct DiskParams<'a> {
    /// The session.
    pub(crate) session: &'a Arc<Session>,
    /// The disk's thread.
    pub(crate) worker: &'a Arc<Worker>,
    /// The server.
    pub(crate) addr: &'a SocketAddress,
    /// What reports ring.
    pub(crate) bell: &'a Bell,
    /// The number by which the server tells disks apart.
    pub(crate) disk: u64,
    /// How often the disk has connected.
    pub(crate) generation: u32,
    /// The number of connections.
    pub(crate) queues: u16,
    /// True where data is copied through buffers that are registered once.
    pub(crate) bounce: bool,
    /// What the server said first, and must say again.
    pub(crate) geometry: Option<Geometry>,
}

/// A connection that is up. Fields are in drop order.
pub(crate) struct DiskConnection {
    /// The queue pair, until it is put in its place.
    pub(crate) pair: Option<Pair>,
    /// What the server has.
    pub(crate) geometry: Geometry,
    /// Bounds in memory that no segment of a request may cross.
    pub(crate) segment_mask: u64,
    /// True where memory must not change while it is written from there.
    pub(crate) stable: bool,
    /// The identifier.
    pub(crate) id: Arc<CmId>,
}

/// A disk that makes its connection number `index`, with the queue that `build` makes.
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
        if device.repeats_local_operations() && !self.params.bounce {
            id.set_ack_timeout(PATIENT_ACK_TIMEOUT);
        }
    }

    fn check(&mut self, device: &Device<'_>) -> Result<(), Failure> {
        self.max_bytes = max_bytes(device)?;
        self.segment_mask = boundary_mask(device.max_segment(), PAGE_SIZE as u64);
        self.stable = device.checksums_in_place();
        Ok(())
    }

    fn build(&mut self, _: &Device<'_>, memory: &mut Memory) -> Result<(KBox<DiskQueue>, Depths)> {
        let layout = Layout {
            depth: self.params.session.command.block.depth,
            segments: (self.max_bytes as usize)
                .div_ceil(PAGE_SIZE)
                .saturating_add(1),
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

    fn hello(&self) -> [u8; PrivateData::LEN] {
        self.request().encode()
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
        // Without a disk there is none that it would be the regular end of.
        if let (Failure::Interrupted, None) = (failure, self.params.geometry) {
            session.abort(failure);
        }
    }

    fn patience(&self, _: &Session, _: Failure) -> Option<Deadline> {
        None
    }
}

impl<B> Attaching<'_, B> {
    /// Returns what the server is told.
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
            alive_ms: params.session.alive(),
            hold_ms: options.reconnect_s.saturating_mul(1000),
        }
    }
}

impl DiskConnection {
    /// Makes connection number `index`. Each step may take `timeout` ms. As long as it comes up,
    /// the end of the disk ends it. Sleeps.
    ///
    /// # Errors
    ///
    /// The failure, with the errno that the kernel or the peer gave;
    /// [`Failure::OtherStore`] where the server has another store than at first.
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
            bell: params.bell,
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

/// Checks that the server has what the disk needs.
fn check(params: &DiskParams<'_>, geometry: &Geometry) -> Result<(), Failure> {
    if geometry.test != Test::Block {
        return Err(Failure::Unsupported("the server takes taps, not disks"));
    }
    match params.geometry.and_then(|first| first.continues(geometry)) {
        None => Ok(()),
        Some(why) => Err(Failure::OtherStore(why)),
    }
}

/// The most bytes of a request on `device`: what one fast registration covers, with a
/// page more for what begins within one.
///
/// # Errors
///
/// [`Failure::Unsupported`] for a device that registers too little.
pub(crate) fn max_bytes(device: &Device<'_>) -> Result<u32, Failure> {
    let most = device.max_registered().saturating_sub(PAGE_SIZE);
    match u32::try_from(most).unwrap_or(u32::MAX).min(MAX_BYTES) {
        most if most as usize >= PAGE_SIZE => Ok(most),
        _ => Err(Failure::Unsupported(
            "blk: the device has no fast registration of a page",
        )),
    }
}
