// SPDX-License-Identifier: GPL-2.0

//! A tap: the thread that forwards to a server what an existing disk is asked to do.
//!
//! The disk is opened and the ring is made in the writer's context, as it sees files, with
//! its rights. The thread connects, and only then hooks the disk; from there on what the
//! disk is asked comes into the ring ([`Intake`]), and the thread sends it on.
//!
//! A tap that is interrupted takes nothing more, and sends on what is in the ring for a
//! moment; whatever has not been answered then counts as dropped. A connection that is
//! lost ends the tap.
//!
//! A server on the same host must not write to the disk that is tapped, as each of its
//! writes would come back as the next. A store that is that very disk is refused; a file
//! on it, or a partition of it where the whole is tapped, is for the user to avoid.

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
        drive::failed,
        entry::{
            Client,
            Entry, //
        },
        outcome::{
            new_bell,
            Bell,
            Outcome, //
        },
        results::Report,
        session::Session,
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

/// How long an interrupted tap goes on forwarding, in ms.
const LAST_MS: u32 = 500;

/// How often the thread looks after what nothing tells of, in ms.
const BEAT_MS: u32 = 200;

/// What a tap has done so far, as others may see it.
pub(crate) struct View {
    disk: PathName,
    live: Arc<Live>,
    ring: Arc<Ring>,
}

impl View {
    /// The counts now. May sleep.
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

/// What is made before the thread.
struct Setup {
    tapped: Arc<Tapped<Intake>>,
    view: Arc<View>,
    bell: Bell,
}

impl Setup {
    /// Opens the disk that the command names, and makes the ring. In the writer's context;
    /// may sleep.
    fn new(session: &Session) -> Result<Self, Failure> {
        let no_memory = failed("making the tap's ring");
        let block = &session.command.block;
        let name = block.tap.as_ref();
        let name = name.ok_or_else(|| failed("finding the disk to be tapped")(EINVAL))?;
        let size = usize::try_from(block.bytes).map_err(|_| no_memory(ENOMEM))?;
        let disk = open(name)?;
        let bell = new_bell().map_err(&no_memory)?;
        let ring = Ring::new(size, session.command.count, bell.clone()).map_err(&no_memory)?;
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
                bell,
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
    path.and_then(|path| Disk::open(&path)).map_err(|error| {
        match error.to_errno().saturating_neg() {
            errno::EOPNOTSUPP => Failure::Unsupported(
                "tap: the disk has no queue of requests, as brd, md and most of dm, or is zoned",
            ),
            _ => failed("opening the disk to be tapped")(error),
        }
    })
}

/// Taps. Their servers are those of disks.
pub(crate) static ENTRY: Entry = Entry {
    families: &[Family::Tap],
    client: Client::Threads(start),
    listen: Some(server::listening::start),
    serve: None,
    depths: None,
    states: &[],
};

/// Starts the thread of the session's tap, to `addr`.
///
/// # Errors
///
/// Those of [`Setup::new`]; `ENOMEM`.
fn start(session: &Arc<Session>, addr: SocketAddress) -> Result<(), Failure> {
    let setup = Setup::new(session)?;
    session.spawn(move |session, worker| run(session, worker, &addr, &setup))
}

fn run(session: &Arc<Session>, worker: &Arc<Worker>, addr: &SocketAddress, setup: &Setup) {
    let mut report = Report::new(session.id, worker.id, "client", &session.command);
    report.peer = Some(*addr);
    worker.set_detail(setup.view.clone());
    let attempt = Attempt {
        session,
        worker,
        addr,
        bell: &setup.bell,
        timeout: session.timeout(),
    };
    let result = Outcome::new(&setup.bell)
        .and_then(|control| worker.attach(&control).map(|()| control))
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
    /// Fails when the tap is to end.
    control: Arc<Outcome>,
    connection: TapConnection,
}

impl Forwarding<'_> {
    /// Hooks the disk, forwards to the end, takes all down, and reports.
    #[inline(never)]
    fn run(self, report: &mut Report<'_>) {
        let Setup { tapped, view, .. } = self.setup;
        let command = &self.session.command;
        let begun = monotonic_ns();
        let result = Hooks::new(tapped, command.block.comm.is_some())
            .map_err(failed("hooking the disk's requests"))
            .and_then(|hooks| {
                self.announce();
                let mut watch = Watch::default();
                let result = self.forward(&mut watch);
                view.ring.close();
                // No probe runs any more after this.
                drop(hooks);
                self.warn(&mut watch);
                result
            });
        view.ring.give_up();
        if let Err(failure) = result {
            // Before the server notices: what it then reports is a consequence.
            self.session.abort(failure);
        }
        let patience = match result {
            Ok(()) => self.session.timeout(),
            Err(_) => LAST_MS,
        };
        self.connection.say_farewell(Deadline::after_ms(patience));
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
        self.session.report(&Report {
            stages: stages.as_ref().map_or(&[], |stages| stages),
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

    /// Forwards until all has been, or the tap is to end.
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
        let mut beat = Deadline::after_ms(BEAT_MS);
        // Why the tap takes nothing more, and until when it goes on.
        let mut ending: Option<(Failure, Deadline)> = None;
        loop {
            // Fails where the connection has, and waits for nothing else.
            outcome
                .wait_until("forwarding", None, || true)
                .map_err(|failure| self.connection.id.cause_of(failure))?;
            match (&ending, self.control.failure()) {
                (None, Some(failure)) => {
                    ring.close();
                    ending = Some((failure, Deadline::after_ms(LAST_MS)));
                }
                (Some((failure, until)), _) if until.passed() => return Err(*failure),
                _ => {}
            }
            if beat.passed() {
                self.look_after()?;
                self.warn(watch);
                if ending.is_none() && !self.setup.tapped.disk.is_there() {
                    ring.close();
                    let failure = failed("tapping a disk that has been removed")(ENODEV);
                    ending = Some((failure, Deadline::after_ms(self.session.timeout())));
                }
                beat = Deadline::after_ms(BEAT_MS);
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
                    None => beat,
                    Some((_, until)) => beat.sooner(*until),
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

    /// Sees that the server answers, and hears of this side.
    fn look_after(&self) -> Result<(), Failure> {
        let alive = self.session.alive();
        let timeout = self
            .session
            .timeout()
            .max(self.connection.geometry.alive_ms.saturating_mul(3));
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

    /// Says in the log, once each, that requests are dropped or refused.
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

/// What the log has been told.
#[derive(Default)]
struct Watch {
    dropping: bool,
    refused: bool,
}
