// SPDX-License-Identifier: GPL-2.0

//! The connection of a tap, and how it is made and taken down.

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
    cm::{
        addr::SocketAddress,
        CmId, //
    },
    engine::{
        dial::dial,
        drive::failed,
        limits::read_limits,
        management::diagnose,
        outcome::{
            Bell,
            Outcome, //
        },
        results::Report,
        session::Session,
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
    rdma::{
        cq::PollMode,
        device::Device,
        qp::{
            Queue,
            QueuePair, //
        }, //
    }, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*,
    sync::Arc, //
};

/// What a connection is made of.
pub(crate) struct Terms<'a> {
    pub(crate) session: &'a Arc<Session>,
    pub(crate) worker: &'a Arc<Worker>,
    pub(crate) addr: &'a SocketAddress,
    pub(crate) bell: &'a Bell,
    /// The disk that is tapped.
    pub(crate) disk: &'a Disk,
    pub(crate) live: &'a Arc<Live>,
}

/// A tap's connection that is up. Fields are in drop order.
pub(crate) struct Connection {
    pair: Pin<KBox<QueuePair<Tap>>>,
    pub(crate) id: Arc<CmId>,
    /// The largest part of a request that it takes, in bytes.
    pub(crate) largest: u32,
    /// What the server has.
    pub(crate) geometry: Geometry,
}

impl Connection {
    /// Connects to the server. A signal ends it as long as it comes up, and not any more
    /// then. May sleep.
    ///
    /// # Errors
    ///
    /// The failure, with the errno that the kernel or the peer gave; what [`check`] says
    /// of the server's store.
    pub(crate) fn open(terms: &Terms<'_>, report: &mut Report<'_>) -> Result<Self, Failure> {
        let outcome = Outcome::new(terms.bell).map_err(failed("starting the tap"))?;
        terms
            .worker
            .attach(&outcome)
            .map_err(failed("starting the tap"))?;
        let result = Self::connect(terms, &outcome, report);
        terms.worker.detach(&outcome);
        result.map_err(|failure| outcome.cause_of(failure))
    }

    #[inline(never)]
    fn connect(
        terms: &Terms<'_>,
        outcome: &Arc<Outcome>,
        report: &mut Report<'_>,
    ) -> Result<Self, Failure> {
        let session = terms.session;
        let timeout = session.timeout();
        let id = dial(
            session,
            terms.worker,
            outcome.clone(),
            terms.addr,
            timeout,
            report,
            |_, _| {},
        )?;
        let device = id.device().map_err(failed("finding the device"))?;
        let most = most_bytes(&device)?;
        let mut memory =
            Memory::new(&id, false).map_err(failed("allocating a protection domain"))?;
        let tap = terms
            .worker
            .add_traffic()
            .and_then(|traffic| Tap::new(&mut memory, most, terms.live.clone(), traffic))
            .map_err(failed("allocating and registering buffers"))?;
        let pair = QueuePair::new(memory, Tap::depths(), PollMode::Event, tap)
            .map_err(failed("creating the queue pair"))?;
        let connected = pair
            .with(|tap, queue| tap.prepare(queue))
            .ok_or(Failure::Interrupted)
            .and_then(|prepared| prepared)
            .and_then(|()| {
                let hello = Hello {
                    test: Test::Tap,
                    disk: random(),
                    generation: 1,
                    index: 0,
                    queues: 1,
                    depth: WINDOW as u16,
                    max_bytes: most,
                    alive_ms: session.alive(),
                    hold_ms: 0,
                };
                let limits = read_limits(&device, None, READS);
                id.connect(&hello.encode(), limits, timeout)
            })
            .and_then(|()| {
                let geometry =
                    Geometry::decode(id.peer_data().as_slice()).map_err(Failure::PrivateData)?;
                check(terms.disk, &id, &geometry)?;
                pair.with(|tap, queue| tap.start(queue, geometry.depth, geometry.inline))
                    .ok_or(Failure::Interrupted)??;
                Ok(geometry)
            });
        match connected {
            Ok(geometry) => Ok(Self {
                pair,
                id,
                largest: most.min(geometry.max_bytes),
                geometry,
            }),
            Err(failure) => {
                let failure = diagnose(session, terms.worker, &id, id.cause_of(failure));
                // Before the peer notices: what it then reports is a consequence.
                session.abort(failure);
                drop(pair.stop());
                if id.disconnect() {
                    id.wait_disconnected(Deadline::after_ms(PATIENCE_MS));
                }
                Err(failure)
            }
        }
    }

    /// Where it reports to.
    pub(crate) fn outcome(&self) -> &Arc<Outcome> {
        self.pair.outcome()
    }

    /// Calls `f` on its workload. `f` must not sleep.
    ///
    /// # Errors
    ///
    /// What `f` returns.
    pub(crate) fn with<R>(
        &self,
        f: impl FnOnce(&mut Tap, &mut Queue<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        self.pair.with(f).ok_or(Failure::Interrupted)?
    }

    /// Says farewell, and waits for the server's answer until `deadline` at most. Sleeps.
    pub(crate) fn say_farewell(&self, deadline: Deadline) {
        while !self.outcome().ended() && !deadline.passed() {
            if let Err(failure) = self.with(Tap::close) {
                self.outcome().fail(failure);
            }
            self.outcome().pause(deadline);
        }
    }

    /// Takes it down, and returns its workload. Sleeps.
    pub(crate) fn close(self) -> Option<KBox<Tap>> {
        let tap = self.pair.stop();
        if self.id.disconnect() {
            self.id.wait_disconnected(Deadline::after_ms(PATIENCE_MS));
        }
        tap
    }
}

/// How long the end waits for the server to notice, in ms: one that is there does so at
/// once.
const PATIENCE_MS: u32 = 200;

/// Whether the server can take what the tapped disk is given.
///
/// # Errors
///
/// [`Failure::Unsupported`]; `EROFS`; `ENOSPC` for a store that is smaller than the disk;
/// [`Failure::Busy`] for one that is the disk.
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
    // On another host it may well have the same number.
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

/// The most bytes of one part on `device`: what one buffer can have.
///
/// # Errors
///
/// [`Failure::Unsupported`] for a device that registers too little.
fn most_bytes(device: &Device<'_>) -> Result<u32, Failure> {
    match u32::try_from(device.max_buffer()) {
        Ok(most) if (most as usize) < PAGE_SIZE => Err(Failure::Unsupported(
            "tap: the device has no fast registration of a page",
        )),
        most => Ok(most.unwrap_or(u32::MAX).min(MAX_BYTES)),
    }
}
