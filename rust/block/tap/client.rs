// SPDX-License-Identifier: GPL-2.0

//! The client thread of a tap, which forwards the requests of an existing disk to a server.
//!
//! The disk is opened and the ring is allocated in the writer's context, with its rights and its
//! view of the file system. The thread connects, and only then hooks the disk. From then on
//! [`Intake`] puts the disk's requests into the ring, and the thread forwards them.
//!
//! A tap that is interrupted accepts no more requests, and forwards those in the ring for a
//! moment; those that are still unanswered then count as dropped. A lost connection ends the tap.
//!
//! A server on the same host must not write to the tapped disk, as each of its writes would be
//! tapped in turn. A store that is that very disk is refused. It is up to the user to avoid a
//! store that is a file on that disk, or a partition of it where the whole disk is tapped.

#![forbid(unsafe_code)]

use super::connection::TapConnection;
use crate::{
    block::{
        figures::Live,
        server,
        tap::{
            cutter::{
                Cutter,
                Most,
                Step, //
            },
            intake::Intake,
            part::Part,
            ring::Ring, //
        }, //
    },
    cm::addr::SocketAddress,
    engine::{
        connect::Attempt,
        device_counters::DeviceCounters,
        drive::failed,
        entry::{
            Client,
            Entry, //
        },
        outcome::{
            new_wait_queue,
            Outcome, //
            WaitQueue,
        },
        results::Report,
        session::Session,
        usage::metered,
        worker::{
            Detail,
            Worker, //
        }, //
    },
    kernel_ext::{
        tapped::{
            Disk,
            Tap as Hooks,
            Tapped, //
        },
        time::{
            monotonic_ns,
            Deadline, //
        }, //
    },
    logic::{
        command::PathName,
        device::caps,
        failure::{
            errno,
            Failure, //
        },
        measure::stats::BlockFigures,
        spec::tests::Family, //
    }, //
};
use kernel::{
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    str::CString,
    sync::Arc, //
};

/// Time for which an interrupted tap goes on forwarding, in ms.
const LAST_MS: u32 = 500;

/// Interval in ms for polling conditions that raise no event.
const KEEPALIVE_MS: u32 = 200;

/// Counters and disk name of a tap, for `/proc/krping` and the final report.
pub(crate) struct View {
    disk: PathName,
    live: Arc<Live>,
    ring: Arc<Ring>,
}

impl View {
    /// Returns the current counts. May sleep.
    pub(crate) fn figures(&self) -> BlockFigures {
        BlockFigures {
            dropped: self.ring.dropped(),
            ..self.live.snapshot()
        }
    }
}

impl Detail for View {
    fn show(&self, out: &SeqFile) {
        let figures = self.figures();
        let bytes = figures.read_bytes.saturating_add(figures.write_bytes);
        seq_print!(
            out,
            " tap={} requests={} bytes={} dropped={} errors={}",
            self.disk.as_str(),
            figures.requests,
            bytes,
            figures.dropped,
            figures.errors
        );
    }
}

/// State that is created before the thread.
struct Setup {
    tapped: Arc<Tapped<Intake>>,
    view: Arc<View>,
    wait_queue: WaitQueue,
}

impl Setup {
    /// Opens the disk that the command names, and allocates the ring. In the writer's context;
    /// may sleep.
    fn new(session: &Session) -> Result<Self, Failure> {
        let no_memory = failed("making the tap's ring");
        let block = &session.command.block;
        let name = block.tap.as_ref();
        let name = name.ok_or_else(|| failed("finding the disk to be tapped")(EINVAL))?;
        let size = usize::try_from(block.bytes).map_err(|_| no_memory(ENOMEM))?;
        let disk = open(name)?;
        let wait_queue = new_wait_queue().map_err(&no_memory)?;
        let ring =
            Ring::new(size, session.command.count, wait_queue.clone()).map_err(&no_memory)?;
        let watch = Intake::new(&ring, &disk, block.comm).map_err(&no_memory)?;
        let made = || -> Result<Self> {
            let live = Arc::new(Live::default(), GFP_KERNEL)?;
            let view = View {
                disk: *name,
                live,
                ring,
            };
            Ok(Self {
                tapped: Arc::new(Tapped { disk, watch }, GFP_KERNEL)?,
                view: Arc::new(view, GFP_KERNEL)?,
                wait_queue,
            })
        };
        made().map_err(no_memory)
    }
}

/// Opens the disk `name`: a path, or a name under `/dev`.
fn open(name: &PathName) -> Result<Disk, Failure> {
    let name = name.as_str();
    let path = if name.contains('/') {
        CString::try_from_fmt(fmt!("{name}"))
    } else {
        CString::try_from_fmt(fmt!("/dev/{name}"))
    };
    path.and_then(|path| Disk::open(&path))
        .map_err(|error| match -error.to_errno() {
            errno::EOPNOTSUPP => Failure::Unsupported(
                "tap: the disk has no queue of requests, as brd, md and most of dm, or is zoned",
            ),
            _ => failed("opening the disk to be tapped")(error),
        })
}

/// The tap tests. Their servers are those of disks.
pub(crate) static ENTRY: Entry = Entry {
    families: &[Family::Tap],
    client: Client::Threads(start),
    listen: Some(server::listening::start),
    serve: None,
    depths: None,
    states: &[],
};

/// Starts the thread of the session's tap, which connects to `addr`.
///
/// # Errors
///
/// The failures of [`Setup::new`]; `ENOMEM`.
fn start(session: &Arc<Session>, addr: SocketAddress) -> Result<(), Failure> {
    let setup = Setup::new(session)?;
    session.spawn(move |session, worker| run(session, worker, &addr, &setup))
}

#[inline(never)]
fn run(session: &Arc<Session>, worker: &Arc<Worker>, addr: &SocketAddress, setup: &Setup) {
    let mut report = Report::new(session.id, worker.id, "client", &session.command);
    report.peer = Some(*addr);
    worker.set_detail(setup.view.clone());
    let attempt = Attempt {
        session,
        worker,
        addr,
        wait_queue: &setup.wait_queue,
        timeout: session.timeout(),
    };
    let result = Outcome::new(&setup.wait_queue)
        .and_then(|control| worker.attach(&control).map(|()| control))
        .and_then(|control| worker.add_series(&session.command).map(|()| control))
        .map_err(failed("starting the tap"))
        .and_then(|control| {
            let disk = &setup.tapped.disk;
            let connection = TapConnection::open(&attempt, disk, &setup.view.live, &mut report)?;
            let forwarding = Forwarding {
                session,
                worker,
                setup,
                control,
                connection,
            };
            forwarding.run(&mut report);
            Ok(())
        });
    if let Err(failure) = result {
        session.abort(failure);
        report.failure = Some(failure);
        session.report(&report);
    }
}

/// A tap whose connection is up.
struct Forwarding<'a> {
    session: &'a Arc<Session>,
    worker: &'a Worker,
    setup: &'a Setup,
    /// Fails when the tap has to end.
    control: Arc<Outcome>,
    connection: TapConnection,
}

impl Forwarding<'_> {
    /// Hooks the disk, forwards until the end, takes everything down, and reports.
    #[inline(never)]
    fn run(self, report: &mut Report<'_>) {
        let Setup { tapped, view, .. } = self.setup;
        let command = &self.session.command;
        let begun = monotonic_ns();
        let counters = DeviceCounters::begin(&self.connection.id);
        let mut usage = None;
        let ready = self.connection.with(|tap, _| {
            tap.measuring(begun);
            Ok(())
        });
        let result = ready
            .and_then(|()| {
                let comm = command.block.comm.is_some();
                Hooks::new(tapped, comm).map_err(|error| match error {
                    ENOENT if comm => Failure::Unsupported(caps::NO_COMM),
                    error => failed("hooking the disk's requests")(error),
                })
            })
            .and_then(|hooks| {
                self.announce();
                let mut watch = Watch::default();
                let result = metered(&mut usage, || self.forward(&mut watch));
                view.ring.close();
                // No probe runs any more after this.
                drop(hooks);
                self.warn(&mut watch);
                result
            });
        view.ring.give_up();
        if let Err(failure) = result {
            // The session is told before the server notices: what the server then reports is a
            // consequence.
            self.session.abort(failure);
        }
        let wait_ms = match result {
            Ok(()) => self.session.timeout(),
            Err(_) => LAST_MS,
        };
        self.connection.send_close(Deadline::after_ms(wait_ms));
        let moved = counters.moved(&self.connection.id);
        let tap = self.connection.close();
        let mut figures = view.figures();
        figures.size = tapped.disk.size();
        if let Some(tap) = &tap {
            figures.dropped = figures.dropped.saturating_add(tap.unanswered());
        }
        report.failure = result.err();
        report.counters = self.worker.counters();
        report.iterations = figures.requests;
        report.elapsed_ns = monotonic_ns().saturating_sub(begun);
        report.block = Some(figures);
        pr_info!(
            "{}: {}: {} requests forwarded, {} dropped, {} refused by the server\n",
            self.session.id,
            view.disk.as_str(),
            figures.requests,
            figures.dropped,
            figures.errors
        );
        let stages = tap.as_ref().map(|tap| tap.stages().named());
        let series = self.worker.take_series();
        self.session.report(&Report {
            series: series.as_deref(),
            stages: stages.as_ref().map_or(&[], |stages| stages),
            usage: usage.as_ref(),
            device_counters: Some(&moved),
            ..*report
        });
    }

    fn announce(&self) {
        let block = &self.session.command.block;
        let view = &self.setup.view;
        let size = self.setup.tapped.disk.size();
        match &block.comm {
            Some(comm) => pr_info!(
                "{}: tapping {} ({} bytes), requests of {}\n",
                self.session.id,
                view.disk.as_str(),
                size,
                comm.as_str()
            ),
            None => pr_info!(
                "{}: tapping {} ({} bytes)\n",
                self.session.id,
                view.disk.as_str(),
                size
            ),
        }
    }

    /// Forwards requests until all have been answered, or the tap has to end.
    #[inline(never)]
    fn forward(&self, watch: &mut Watch) -> Result<(), Failure> {
        let ring = &self.setup.view.ring;
        let outcome = self.connection.outcome();
        let geometry = &self.connection.geometry;
        let most = Most {
            data: self.connection.largest,
            discard: geometry.max_discard,
        };
        let mut cutter = Cutter::new(ring, most);
        let mut next_keepalive = Deadline::after_ms(KEEPALIVE_MS);
        // The reason why the tap accepts no more requests, and the deadline for those left.
        let mut ending: Option<(Failure, Deadline)> = None;
        loop {
            self.connection.id.check()?;
            match (&ending, self.control.failure()) {
                (None, Some(failure)) => {
                    ring.close();
                    ending = Some((failure, Deadline::after_ms(LAST_MS)));
                }
                (Some((failure, until)), _) if until.passed() => return Err(*failure),
                _ => {}
            }
            if next_keepalive.passed() {
                self.check()?;
                self.warn(watch);
                if ending.is_none() && !self.setup.tapped.disk.is_there() {
                    ring.close();
                    let failure = failed("tapping a disk that has been removed")(ENODEV);
                    ending = Some((failure, Deadline::after_ms(self.session.timeout())));
                }
                next_keepalive = Deadline::after_ms(KEEPALIVE_MS);
            }
            let sent = match cutter.next() {
                Step::Send(part) => self.send(&mut cutter, &part)?,
                Step::Wait => false,
                Step::End if self.connection.with(|tap, _| Ok(tap.is_idle()))? => {
                    return match ending {
                        None => Ok(()),
                        Some((failure, _)) => Err(failure),
                    }
                }
                Step::End => false,
            };
            if !sent {
                outcome.pause(match &ending {
                    None => next_keepalive,
                    Some((_, until)) => next_keepalive.sooner(*until),
                });
            }
        }
    }

    /// Sends `part`, which is next, and returns whether there was room for it.
    fn send(&self, cutter: &mut Cutter<'_>, part: &Part) -> Result<bool, Failure> {
        let Some(claim) = self.connection.with(|tap, _| Ok(tap.claim(part)))? else {
            return Ok(false);
        };
        cutter
            .load(part, &claim)
            .map_err(failed("taking data out of the ring"))?;
        self.connection
            .with(|tap, queue| tap.send(queue, &claim, part))?;
        cutter.sent(part);
        Ok(true)
    }

    /// Sends a keepalive if one is due, and fails if the server has not answered for too long.
    fn check(&self) -> Result<(), Failure> {
        let alive = self.session.keepalive_ms();
        let timeout = self
            .session
            .allowance
            .timeout_of_silent(self.connection.geometry.alive_ms);
        let silent_ms = self.connection.with(|tap, queue| {
            tap.ping(queue, alive)?;
            Ok(tap.silent_ms())
        })?;
        if silent_ms > u64::from(timeout) {
            return Err(Failure::TimedOut(
                "waiting for the server's answer",
                timeout,
            ));
        }
        Ok(())
    }

    /// Logs, once each, that requests are dropped or refused.
    fn warn(&self, watch: &mut Watch) {
        let id = self.session.id;
        if !watch.dropping && self.setup.view.ring.dropped() > 0 {
            watch.dropping = true;
            pr_warn!(
                "{}: the ring is full, and requests are dropped: a larger size= helps against \
                 bursts\n",
                id
            );
        }
        let refused = self.connection.with(|tap, _| Ok(tap.refused()));
        if let (false, Ok(Some(refused))) = (watch.refused, refused) {
            watch.refused = true;
            pr_warn!(
                "{}: the server refuses {} of {} bytes at offset {}: {}\n",
                id,
                refused.record.action.as_str(),
                refused.record.bytes,
                refused.record.offset,
                refused.status.as_str()
            );
        }
    }
}

/// The warnings that have been logged.
#[derive(Default)]
struct Watch {
    dropping: bool,
    refused: bool,
}
