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
        dial::dial,
        drive::failed,
        limits::{
            read_limits,
            PATIENT_ACK_TIMEOUT, //
        },
        management::diagnose,
        outcome::{
            Bell,
            Outcome, //
        },
        results::Report,
        session::Session,
        worker::Worker, //
    },
    logic::{
        block::segments::boundary_mask,
        command::Test,
        failure::Failure,
        wire::{
            extensions::Extensions,
            hello::{
                Geometry,
                Hello, //
            }, //
        }, //
    },
    mr::Memory,
    rdma::{
        cq::PollMode,
        device::Device,
        qp::QueuePair, //
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
pub(crate) struct Terms<'a> {
    pub(crate) session: &'a Arc<Session>,
    pub(crate) worker: &'a Arc<Worker>,
    pub(crate) addr: &'a SocketAddress,
    pub(crate) bell: &'a Bell,
    /// By what the server tells disks apart.
    pub(crate) disk: u64,
    /// How often the disk has connected.
    pub(crate) generation: u32,
    pub(crate) queues: u16,
    /// Copy data through buffers that are registered once.
    pub(crate) bounce: bool,
    /// What the server said first, and must say again.
    pub(crate) geometry: Option<Geometry>,
}

/// A connection that is up. Fields are in drop order.
pub(crate) struct Connection {
    /// Until it is put in its place.
    pub(crate) pair: Option<Pair>,
    /// What the server has.
    pub(crate) geometry: Geometry,
    /// Bounds in memory that no segment of a request may cross.
    pub(crate) segment_mask: u64,
    /// Whether memory must not change while it is written from there.
    pub(crate) stable: bool,
    /// The identifier.
    pub(crate) id: Arc<CmId>,
}

impl Connection {
    /// Makes connection number `index`. Each step may take `timeout` ms. May sleep.
    ///
    /// # Errors
    ///
    /// The failure, with the errno that the kernel or the peer gave;
    /// [`Failure::OtherStore`] where the server has another store than at first.
    pub(crate) fn open(
        terms: &Terms<'_>,
        index: u16,
        timeout: u32,
        report: &mut Report<'_>,
        build: impl FnOnce(&Layout, &mut Memory) -> Result<KBox<DiskQueue>>,
    ) -> Result<Self, Failure> {
        let outcome = Outcome::new(terms.bell).map_err(failed("starting a connection"))?;
        // As long as it comes up, the end of the disk ends it.
        terms
            .worker
            .attach(&outcome)
            .map_err(failed("starting a connection"))?;
        let result = Self::connect(terms, &outcome, index, timeout, report, build)
            .map_err(|failure| outcome.cause_of(failure));
        terms.worker.detach(&outcome);
        result
    }

    #[inline(never)]
    fn connect(
        terms: &Terms<'_>,
        outcome: &Arc<Outcome>,
        index: u16,
        timeout: u32,
        report: &mut Report<'_>,
        build: impl FnOnce(&Layout, &mut Memory) -> Result<KBox<DiskQueue>>,
    ) -> Result<Self, Failure> {
        let session = terms.session;
        let command = &session.command;
        let id = dial(
            session,
            terms.worker,
            outcome.clone(),
            terms.addr,
            timeout,
            report,
            |id, device| {
                if device.repeats_local_operations() && !terms.bounce {
                    id.set_ack_timeout(PATIENT_ACK_TIMEOUT);
                }
            },
        )?;
        let device = id.device().map_err(failed("finding the device"))?;
        let max_bytes = max_bytes(&device)?;
        let segment_mask = boundary_mask(device.max_segment(), PAGE_SIZE as u64);
        let layout = Layout {
            depth: command.block.depth,
            segments: (max_bytes as usize).div_ceil(PAGE_SIZE).saturating_add(1),
            bounce: terms.bounce,
        };
        let mut memory =
            Memory::new(&id, false).map_err(failed("allocating a protection domain"))?;
        let lead =
            build(&layout, &mut memory).map_err(failed("allocating and registering buffers"))?;
        let depths = lead.depths();
        let pair = QueuePair::new(memory, depths, PollMode::Event, lead)
            .map_err(failed("creating the queue pair"))?;
        let hello = Hello {
            test: Test::Block,
            disk: terms.disk,
            generation: terms.generation,
            index,
            queues: terms.queues,
            depth: command.block.depth,
            max_bytes,
            alive_ms: session.alive(),
            hold_ms: command.block.reconnect_s.saturating_mul(1000),
        };
        let connected = pair
            .with(|lead, queue| lead.prepare(queue))
            .ok_or(Failure::Interrupted)
            .and_then(|prepared| prepared)
            .and_then(|()| {
                let limits = read_limits(&device, None, READS);
                id.connect(&hello.encode(), limits, timeout)
            })
            .and_then(|()| {
                let geometry = Geometry::decode(id.peer_data().as_slice())
                    .and_then(|geometry| geometry.keeps_to(&hello).map(|()| geometry))
                    .map_err(Failure::PrivateData)?;
                check(terms, &geometry)?;
                let inline = if device.has_immediates() {
                    geometry.inline
                } else {
                    0
                };
                let extensions = Extensions::decode(id.peer_data().as_slice());
                pair.with(|lead, queue| lead.start(queue, inline, extensions, &geometry.extras))
                    .ok_or(Failure::Interrupted)??;
                Ok(geometry)
            });
        match connected {
            Ok(geometry) => Ok(Self {
                pair: Some(pair),
                geometry,
                segment_mask,
                stable: device.checksums_in_place(),
                id,
            }),
            Err(failure) => {
                let failure = diagnose(session, terms.worker, &id, id.cause_of(failure));
                if let (Failure::Interrupted, None) = (failure, terms.geometry) {
                    // There is no disk that it would be the regular end of. Before the
                    // server notices, which may be of the same session: what that then
                    // reports is a consequence.
                    session.abort(failure);
                }
                drop(pair.stop());
                id.disconnect();
                Err(failure)
            }
        }
    }
}

/// Whether the server has what the disk needs.
fn check(terms: &Terms<'_>, geometry: &Geometry) -> Result<(), Failure> {
    if geometry.test != Test::Block {
        return Err(Failure::Unsupported("the server takes taps, not disks"));
    }
    match terms.geometry.and_then(|first| first.continues(geometry)) {
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
