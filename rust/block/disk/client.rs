// SPDX-License-Identifier: GPL-2.0

//! The thread that runs a disk's connections: it connects, and reconnects after connection loss,
//! until the disk is gone or cannot come back.
//!
//! When one connection fails, all are taken down: the block layer is told to hold requests back,
//! the queue pairs are destroyed, and the requests that were not answered are kept ([`held`]).
//! After that, nothing on this side can still change the disk through the old connections; on the
//! server's side, the generation in each [`Hello`] ensures the same. When all connections are up
//! again, the kept requests are requeued, and the block layer sends everything again.
//!
//! [`Hello`]: crate::logic::wire::hello::Hello

#![forbid(unsafe_code)]

mod held;
mod reconnect;

use super::{
    attachment::Attachment,
    connection::{
        DiskConnection,
        DiskParams, //
    }, //
};
use crate::{
    block::{
        disk::{
            queue::DiskQueue,
            DiskData, //
        },
        figures::Stages, //
    },
    cm::addr::SocketAddress,
    engine::{
        device_counters::DeviceCounters,
        drive::failed,
        outcome::Progress,
        print::Plain,
        results::Report,
        session::Session,
        worker::{
            Detail,
            Worker, //
        }, //
    },
    kernel_ext::{
        blk::disk::{
            max_queues,
            Disk,
            Labels,
            Shape, //
        },
        memory::NoIo,
        random::random,
        time::{
            monotonic_ns,
            Deadline, //
        }, //
    },
    logic::{
        block::backoff::Backoff,
        failure::Failure,
        wire::hello::Geometry, //
    }, //
};
use core::net::Ipv4Addr;
use held::HeldRequests;
use kernel::{
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    str::CString,
    sync::Arc, //
};

/// Alignment of request memory, in bytes. RDMA devices address single bytes; this is the minimum
/// that other disks ask for.
const ALIGNMENT: u32 = 4;

/// Timeout of one step of a reconnect attempt, in ms.
const ATTEMPT_MS: u32 = 2000;

/// Timeout for the server's answer to a close message, and for the removal of a disk that has
/// given up, in ms.
const FAREWELL_MS: u32 = 500;

/// Starts the thread that connects the disk `attachment` to `addr`.
pub(crate) fn start(
    session: &Arc<Session>,
    addr: SocketAddress,
    attachment: Arc<Attachment>,
) -> Result<(), Failure> {
    session.spawn(move |session, worker| {
        // Allocations must not start I/O here: it could wait for this very disk.
        let _no_io = NoIo::enter();
        attachment.set_worker(worker);
        let mut report = Report::new(session.id, worker.id, "client", &session.command);
        report.peer = Some(addr);
        let result = run(session, worker, &attachment, &addr, &mut report);
        if let Err(failure) = result {
            session.abort(failure);
            report.failure = Some(failure);
            session.report(&report);
        }
    })
}

/// Runs the disk until it ends.
#[inline(never)]
fn run(
    session: &Arc<Session>,
    worker: &Arc<Worker>,
    attachment: &Attachment,
    addr: &SocketAddress,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    worker
        .attach(&attachment.control)
        .and_then(|()| worker.add_series(&session.command))
        .map_err(failed("starting the disk"))?;
    DiskConnections::open(session, worker, attachment, addr, report)?.run(report)
}

/// The disk's part of the thread's line in `/proc/krping`.
struct Line {
    /// The N of `krpingN`.
    number: u32,
    data: Arc<DiskData>,
}

impl Detail for Line {
    fn show(&self, out: &SeqFile) {
        let figures = self.data.figures();
        let bytes = figures.read_bytes.saturating_add(figures.write_bytes);
        seq_print!(
            out,
            " krping{} requests={} bytes={} in_flight={} errors={} reconnects={}",
            self.number,
            figures.requests,
            bytes,
            self.data.in_flight(),
            figures.errors,
            figures.reconnects
        );
    }
}

/// The connections of a disk, and the thread's state.
struct DiskConnections<'a> {
    session: &'a Arc<Session>,
    worker: &'a Arc<Worker>,
    attachment: &'a Attachment,
    params: DiskParams<'a>,
    geometry: Geometry,
    disk: Arc<Disk<DiskData>>,
    connections: KVec<DiskConnection>,
    /// Requests held until there are new connections.
    waiting: HeldRequests,
    /// True while the block layer holds requests back.
    held: bool,
    /// Time at which the connections first came up, in ns of the monotonic clock.
    started_ns: u64,
    stages: Stages,
    /// Counters of the device when they first came up.
    counters: DeviceCounters,
    /// Pauses before attempts to reconnect.
    backoff: Backoff,
    /// Time at which the present connections came up, in ns of the monotonic clock.
    up_ns: u64,
}

impl<'a> DiskConnections<'a> {
    /// Makes the first connections, and creates the disk with the geometry that the server
    /// reports.
    #[inline(never)]
    fn open(
        session: &'a Arc<Session>,
        worker: &'a Arc<Worker>,
        attachment: &'a Attachment,
        addr: &'a SocketAddress,
        report: &mut Report<'_>,
    ) -> Result<Self, Failure> {
        let no_memory = failed("starting the disk");
        let block = &session.command.block;
        let queues = u16::try_from(max_queues())
            .unwrap_or(u16::MAX)
            .min(block.queues);
        if queues < block.queues {
            pr_warn!(
                "{}: queues={} lowered to {}, the number of CPUs\n",
                session.id,
                block.queues,
                queues
            );
        }
        let mut traffic = KVec::new();
        for _ in 0..queues {
            traffic
                .push(worker.add_traffic().map_err(&no_memory)?, GFP_KERNEL)
                .map_err(|e| no_memory(e.into()))?;
        }
        let data = DiskData::new(attachment.number, traffic.into_iter())
            .and_then(|data| Ok(Arc::new(data, GFP_KERNEL)?))
            .map_err(&no_memory)?;
        let mut params = DiskParams {
            session,
            worker,
            addr,
            wait_queue: &attachment.wait_queue,
            disk: random(),
            generation: 0,
            queues,
            bounce: false,
            geometry: None,
        };
        let mut made = Self::connect(&mut params, &data, session.timeout(), report)?;
        let geometry = made
            .first()
            .map(|connection| connection.geometry)
            .ok_or_else(|| no_memory(EINVAL))?;
        params.geometry = Some(geometry);
        // Stores of two servers may have the same number, since it identifies a file only on its
        // own host. So the serial number includes the server's address.
        let ip = addr.ip().unwrap_or(Ipv4Addr::UNSPECIFIED.into());
        let serial = CString::try_from_fmt(fmt!("{}-{:016x}", Plain(ip), geometry.store))
            .map_err(&no_memory)?;
        let tag =
            CString::try_from_fmt(fmt!("{}", session.command.tag.as_str())).map_err(&no_memory)?;
        let name =
            CString::try_from_fmt(fmt!("{}", DiskName(attachment.number))).map_err(&no_memory)?;
        let depth = geometry.depth.min(block.depth);
        let topology = geometry.extras.topology;
        let segment_mask = made.iter().fold(u64::MAX, |mask, connection| {
            mask.min(connection.segment_mask)
        });
        let waiting = HeldRequests::new(queues, depth, block).map_err(&no_memory)?;
        let disk = Disk::new(
            data,
            &Shape {
                size: geometry.size,
                block: geometry.block,
                physical: topology.physical,
                minimum: topology.minimum,
                optimal: topology.optimal,
                discard: topology.discard,
                alignment: ALIGNMENT,
                max_bytes: geometry.max_bytes,
                segment_mask,
                max_discard: geometry.max_discard,
                read_only: geometry.read_only,
                cache: geometry.extras.volatile,
                stable: made.iter().any(|connection| connection.stable),
                queues,
                depth,
            },
            &name,
            Labels { serial, tag },
        )
        .and_then(|disk| Ok(Arc::new(disk, GFP_KERNEL)?))
        .map_err(failed("creating the disk"))?;
        let counters = made.first().map(|first| DeviceCounters::begin(&first.id));
        let line = Line {
            number: attachment.number,
            data: disk.data().clone(),
        };
        worker.set_detail(Arc::new(line, GFP_KERNEL).map_err(|e| no_memory(e.into()))?);
        let started_ns = monotonic_ns();
        for (queue, connection) in disk.data().queues().zip(&mut made) {
            queue.replace(connection.pair.take());
            queue.traffic.measuring(started_ns);
        }
        Ok(Self {
            session,
            worker,
            attachment,
            params,
            geometry,
            disk,
            connections: made,
            waiting,
            held: false,
            started_ns,
            up_ns: started_ns,
            backoff: Backoff::new(),
            stages: Stages::new().map_err(&no_memory)?,
            counters: counters.unwrap_or_default(),
        })
    }

    /// Makes a connection for each hardware queue, as one generation.
    #[inline(never)]
    fn connect(
        params: &mut DiskParams<'a>,
        data: &DiskData,
        timeout: u32,
        report: &mut Report<'_>,
    ) -> Result<KVec<DiskConnection>, Failure> {
        params.generation = params.generation.wrapping_add(1).max(1);
        let mut made = KVec::with_capacity(usize::from(params.queues), GFP_KERNEL)
            .map_err(|e| failed("connecting")(e.into()))?;
        for (index, queue) in (0..params.queues).zip(data.queues()) {
            let connection =
                DiskConnection::open(params, index, timeout, report, |layout, memory| {
                    DiskQueue::new(
                        layout,
                        memory,
                        queue.live.clone(),
                        data.stability().clone(),
                        queue.traffic.clone(),
                    )
                })?;
            // The vector has capacity for all connections.
            drop(made.push_within_capacity(connection));
        }
        Ok(made)
    }

    /// Has the disk added, and maintains its connections until it is gone.
    #[inline(never)]
    fn run(&mut self, report: &mut Report<'_>) -> Result<(), Failure> {
        self.attachment.ready(self.disk.clone());
        let result = self.keep(report);
        match &result {
            Ok(()) => self.say_farewell(),
            // The server may still be there.
            Err(Failure::Interrupted) => {
                self.disk.data().give_up();
                self.say_farewell();
            }
            Err(failure) => {
                pr_err!("{}: {}: {}\n", self.session.id, self.name(), failure);
                self.disk.data().give_up();
            }
        }
        let first = self.connections.first();
        let moved = first.map(|first| self.counters.moved(&first.id));
        self.fail_requests();
        // A disk that was stopped by force, or while it was being added, has not failed.
        let result = match result {
            Err(Failure::Interrupted) if self.attachment.was_up() => Ok(()),
            other => other,
        };
        report.failure = result.err();
        report.state = Some("closed");
        self.fill(report);
        let series = self.worker.take_series();
        self.session.report(&Report {
            series: series.as_deref(),
            stages: &self.stages.named(),
            device_counters: moved.as_ref(),
            ..*report
        });
        if let Some(failure) = report.failure {
            self.session.abort(failure);
        }
        Ok(())
    }

    /// Logs that the disk is up, reports it for `detach`, and releases the writer.
    fn announce(&self, report: &mut Report<'_>) {
        pr_info!(
            "{}: /dev/{}: {} bytes in blocks of {}, {} queue(s), depth {}{}\n",
            self.session.id,
            self.name(),
            self.geometry.size,
            self.geometry.block,
            self.params.queues,
            self.geometry.depth.min(self.session.command.block.depth),
            if self.geometry.read_only {
                ", read-only"
            } else {
                ""
            }
        );
        if self.session.command.detach {
            self.fill(report);
            report.state = Some("attached");
            self.session.report(report);
        }
        self.attachment.announced();
    }

    fn name(&self) -> DiskName {
        DiskName(self.attachment.number)
    }

    fn fill(&self, report: &mut Report<'_>) {
        let mut figures = self.disk.data().figures();
        figures.disk = Some(self.attachment.number);
        figures.size = self.geometry.size;
        report.block = Some(figures);
        report.counters = self.worker.counters();
        report.iterations = figures.requests;
        report.elapsed_ns = monotonic_ns().saturating_sub(self.started_ns);
    }

    /// Watches the connections, and reconnects as needed, until the disk is gone.
    #[inline(never)]
    fn keep(&mut self, report: &mut Report<'_>) -> Result<(), Failure> {
        let control = &self.attachment.control;
        let mut next_keepalive = self.next_keepalive();
        let mut announced = false;
        loop {
            if control.reached(Progress::Finished) {
                return Ok(());
            }
            if let Some(failure) = control.failure() {
                return Err(failure);
            }
            if !announced && self.attachment.was_up() {
                announced = true;
                self.announce(report);
            }
            if let Some(failure) = self.lost() {
                self.reconnect(failure, report)?;
                next_keepalive = self.next_keepalive();
                continue;
            }
            if next_keepalive.passed() {
                self.ping();
                next_keepalive = self.next_keepalive();
            }
            control.pause(next_keepalive);
        }
    }

    /// Returns the time of the next keepalive and check for overdue requests.
    fn next_keepalive(&self) -> Deadline {
        let soon = Deadline::after_ms(self.session.keepalive_ms());
        soon.sooner(self.waiting.look_again())
    }

    /// Sends a keepalive on each connection. A connection with a request that takes too long
    /// fails.
    fn ping(&self) {
        let timeout = self.session.timeout();
        let overdue = self.waiting.overdue_ns();
        for queue in self.disk.data().queues() {
            queue.with(|pair| {
                let result = pair.with(|lead, queue| match overdue {
                    Some((limit, before)) if lead.has_older(queue, before) => {
                        Err(Failure::Overdue(limit))
                    }
                    _ => lead.ping(queue, timeout),
                });
                if let Some(Err(failure)) = result {
                    pair.outcome().fail(failure);
                }
            });
        }
    }

    /// Takes the connections down, and ends all remaining requests with an error.
    fn fail_requests(&mut self) {
        self.take_down();
        let failed = self.waiting.end();
        if let Some(queue) = self.disk.data().queues().next() {
            queue.live.failed(failed);
        }
        self.resume();
        self.attachment.wake();
        // Requests that were held back arrive now, to fail and be counted, until the disk is
        // removed.
        let control = &self.attachment.control;
        let deadline = Deadline::after_ms(FAREWELL_MS);
        while !control.reached(Progress::Finished) && !deadline.passed() {
            control.pause(deadline);
        }
    }

    /// Tells the server that the disk is gone, and disconnects.
    fn say_farewell(&mut self) {
        let deadline = Deadline::after_ms(FAREWELL_MS);
        for queue in self.disk.data().queues() {
            queue.with(|pair| pair.with(|lead, queue| lead.close(queue)));
        }
        for connection in &self.connections {
            let outcome = connection.id.outcome();
            while !outcome.ended() && !deadline.passed() {
                outcome.pause(deadline);
            }
        }
        for connection in &self.connections {
            if connection.id.disconnect() {
                connection.id.wait_disconnected(deadline);
            }
        }
    }
}

/// The name of a disk.
struct DiskName(u32);

impl kernel::fmt::Display for DiskName {
    fn fmt(&self, f: &mut kernel::fmt::Formatter<'_>) -> kernel::fmt::Result {
        f.write_fmt(kernel::prelude::fmt!("krping{}", self.0))
    }
}
