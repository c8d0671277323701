// SPDX-License-Identifier: GPL-2.0

//! The thread of one connection of a disk or tap, at its server.

#![forbid(unsafe_code)]

use super::{
    job_thread::{
        JobShared,
        JobThread, //
    },
    making::Making, //
};
use crate::{
    block::{
        disk::connection::{
            max_bytes,
            READS, //
        },
        server::{
            clients::{
                Ending,
                Membership, //
            },
            export::{
                give_up,
                Export, //
            }, //
        },
        MAX_BYTES, //
    },
    cm::{
        listener::Request,
        ReadLimits, //
    },
    engine::{
        accept::Accepting,
        device_counters::{
            DeviceCounters,
            Moved, //
        },
        drive::{
            disconnect_deadline,
            failed, //
        },
        outcome::{
            new_wait_queue,
            Progress, //
        },
        peer_log::Level,
        rejection::rejection,
        results::Report,
        session::Session,
        worker::Worker, //
    },
    kernel_ext::{
        file::throttle_locally,
        memory::NoIo, //
    },
    logic::{
        command::{
            Command,
            Test, //
        },
        failure::{
            errno::EPROTO,
            Failure, //
        },
        spec::tests::Family,
        wire::{
            extensions::Extensions,
            hello::{
                announced,
                Hello, //
            }, //
        }, //
    },
    rdma::device::Device, //
};
use kernel::{
    fmt::Arguments,
    prelude::*,
    sync::Arc, //
};

/// Serves one connection and reports the result. The body of the connection's thread.
#[inline(never)]
pub(super) fn run(session: &Arc<Session>, worker: &Arc<Worker>, request: Request, export: &Export) {
    // The disk may be of this machine, and memory reclaim may be waiting for writes to it.
    let _no_io = NoIo::enter();
    throttle_locally();
    let mut report = Report::new(session.id, worker.id, "server", &session.command);
    report.peer = Some(request.id.peer());
    let outcome = request.id.outcome().clone();
    let mut moved = Moved::default();
    report.failure = worker
        .attach(request.id.outcome())
        .map_err(failed("serving a client"))
        .and_then(|()| serve(session, worker, request, export, &mut report, &mut moved))
        .err();
    if let Some(Failure::OldWork) = report.failure {
        // The client retries until the old work is done, which the log mentions once.
        return;
    }
    report.refused = !outcome.reached(Progress::Established);
    report.counters = worker.counters();
    report.device_counters = Some(&moved);
    session.report(&report);
}

#[inline(never)]
fn serve(
    session: &Arc<Session>,
    worker: &Arc<Worker>,
    request: Request,
    export: &Export,
    report: &mut Report<'_>,
    moved: &mut Moved,
) -> Result<(), Failure> {
    let Request { id, data, limits } = request;
    let id = Arc::new(id, GFP_KERNEL).map_err(|e| failed("serving a client")(e.into()))?;
    let serving = BlockResponder {
        accepting: Accepting {
            session,
            worker,
            id: &id,
        },
        export,
    };
    let accepted = serving
        .check(data.as_slice(), limits, report)
        .and_then(|(hello, limits)| {
            let membership = export.clients.join(&hello, id.outcome())?;
            Ok((hello, limits, membership))
        });
    match accepted {
        Ok((hello, limits, mut membership)) => {
            let mut jobs = None;
            let result = serving.follow(&hello, limits, &mut membership, &mut jobs, report, moved);
            // From here on, nothing of the device is held while the thread waits for the store.
            drop(id);
            if let Some(jobs) = jobs {
                jobs.join(&session.peer_log, hello.disk);
            }
            // From here on, no work is done for the connection.
            drop(membership);
            result
        }
        Err(failure) => Err(serving.refuse(failure)),
    }
}

/// One connection of a disk or tap.
struct BlockResponder<'a> {
    accepting: Accepting<'a>,
    export: &'a Export,
}

impl BlockResponder<'_> {
    /// Checks the client's private data and the device. Returns the private data, and the agreed
    /// limits of READs.
    fn check(
        &self,
        data: &[u8],
        limits: ReadLimits,
        report: &mut Report<'_>,
    ) -> Result<(Hello, ReadLimits), Failure> {
        let device = self.accepting.show_device(report)?;
        let test = announced(data).map_err(Failure::PrivateData)?;
        report.legacy = Some(test.is_none());
        check_test(&self.accepting.session.command, test)?;
        let hello = Hello::decode(data).map_err(Failure::PrivateData)?;
        self.accepting
            .session
            .allowance
            .check_silence(hello.alive_ms)?;
        taken_bytes(&device)?;
        let limits = self.accepting.agree_on_reads(limits, READS)?;
        Ok((hello, limits))
    }

    fn say(&self, level: Level, line: Arguments<'_>) {
        self.accepting.session.peer_log.say(level, line);
    }

    /// Rejects a client that was not admitted because of `failure`, and returns the cause of the
    /// failure.
    fn refuse(&self, failure: Failure) -> Failure {
        let cause = self.accepting.cause_of(failure);
        if !matches!(cause, Failure::OldWork) {
            self.say(Level::Warning, fmt!("a client was refused: {}", cause));
        }
        match cause {
            // Another attempt may succeed, or this one was given up.
            Failure::Busy(_)
            | Failure::OldWork
            | Failure::Replaced
            | Failure::Disconnected
            | Failure::Unreachable(_)
            | Failure::Interrupted
            | Failure::Cancelled => {}
            // The server has all its clients, so this one does not count.
            _ if !self.export.clients.has_room() => {}
            _ => {
                give_up(self.accepting.session, cause);
                self.export.clients.refused();
            }
        }
        // Last, because in a loopback the rejection makes the client of the same session fail.
        self.accepting.id.reject(&rejection(&cause));
        cause
    }

    /// Accepts the client, serves it until it leaves or is lost, and takes the connection down. The
    /// job thread in `jobs` may still be working after that. The counters of the device that have
    /// moved meanwhile are stored in `moved`.
    #[inline(never)]
    fn follow(
        &self,
        hello: &Hello,
        limits: ReadLimits,
        membership: &mut Membership,
        jobs: &mut Option<JobThread>,
        report: &mut Report<'_>,
        moved: &mut Moved,
    ) -> Result<(), Failure> {
        let shared = match self.prepare(hello, membership, jobs) {
            Ok(shared) => shared,
            Err(failure) => {
                let cause = self.part(membership, self.accepting.cause_of(failure));
                self.accepting.id.reject(&rejection(&cause));
                return Err(cause);
            }
        };
        let extensions = Extensions { surveys: true };
        let answer = shared.with(|server, _| {
            let geometry = server.geometry();
            let before = extensions.encode(geometry.encode());
            geometry.extras.encode(before)
        });
        let answer = answer.as_ref().map_or(&[] as &[u8], |answer| answer);
        let counters = DeviceCounters::begin(self.accepting.id);
        let result = self.accepting.accept(answer, limits).and_then(|()| {
            membership.established();
            self.say(
                Level::Info,
                fmt!(
                    "client {:016x}: connection {} of {} is up",
                    hello.disk,
                    hello.index.wrapping_add(1),
                    hello.queues
                ),
            );
            self.wait(hello)
        });
        let result = self.accepting.end(result, |failure| {
            matches!(failure, Failure::Disconnected | Failure::TimedOut(..))
                && membership.client_close().is_said()
        });
        let queue_pair = shared.close();
        let server = queue_pair.as_ref().and_then(|pair| pair.stop());
        if self.accepting.id.disconnect() && !matches!(result, Err(Failure::Replaced)) {
            self.accepting
                .id
                .wait_disconnected(disconnect_deadline(self.accepting.session, &result));
        }
        *moved = counters.moved(self.accepting.id);
        // Once the queue pair is gone, the device does no more work for the client.
        drop(queue_pair);
        if let Some(server) = server {
            let figures = *server.figures();
            report.iterations = figures.requests;
            report.block = Some(figures);
        }
        match result {
            Ok(()) => Ok(()),
            Err(failure) => Err(self.part(membership, failure)),
        }
    }

    /// Creates the queue pair with all receives posted, and starts the job thread if one is needed,
    /// which is stored in `jobs`.
    #[inline(never)]
    fn prepare(
        &self,
        hello: &Hello,
        membership: &Membership,
        jobs: &mut Option<JobThread>,
    ) -> Result<Arc<JobShared>, Failure> {
        let starting = failed("serving a client");
        let wait_queue = new_wait_queue().map_err(&starting)?;
        let mut making = Making {
            store: &self.export.store,
            hello,
            membership,
            wait_queue: &wait_queue,
            max_bytes: taken_bytes(&self.accepting.device()?)?,
            alive_ms: self.accepting.session.keepalive_ms(),
            needs_thread: false,
        };
        let queue_pair = self.accepting.make(&mut making)?;
        let needs_thread = making.needs_thread;
        let store = &self.export.store;
        let shared = JobShared::new(
            queue_pair,
            wait_queue,
            store.clone(),
            self.accepting.session.id,
        )
        .map_err(&starting)?;
        if needs_thread {
            *jobs = Some(
                JobThread::start(&shared, self.accepting.session, self.accepting.worker)
                    .map_err(&starting)?,
            );
        }
        Ok(shared)
    }

    /// Waits until the connection ends. Completion handlers and the job thread do the rest.
    ///
    /// # Errors
    ///
    /// Always fails, with the failure that ended the connection.
    fn wait(&self, hello: &Hello) -> Result<(), Failure> {
        let timeout = self
            .accepting
            .session
            .allowance
            .timeout_of_silent(hello.alive_ms);
        let outcome = self.accepting.id.outcome();
        outcome.wait_until("waiting for the client", Some(timeout), || false)
    }

    /// Logs the `failure` that has ended the connection, and records it in the session and in
    /// `membership` as far as it concerns them. Returns the failure.
    #[inline(never)]
    fn part(&self, membership: &mut Membership, failure: Failure) -> Failure {
        let session = self.accepting.session;
        let (is_up, broken) = (membership.is_up(), failure.errno() == EPROTO);
        match failure {
            Failure::Interrupted | Failure::Cancelled | Failure::Replaced => {}
            _ if broken => {
                self.say(
                    Level::Error,
                    fmt!("a client was not served to its end: {}", failure),
                );
                give_up(session, failure);
                membership.ended(Ending::Broken);
            }
            // The client may come back.
            _ if is_up => self.say(Level::Warning, fmt!("a connection was lost: {}", failure)),
            _ => {
                self.say(Level::Error, fmt!("a client was not served: {}", failure));
                give_up(session, failure);
            }
        }
        failure
    }
}

/// Returns the maximum number of data bytes per request that a server on `device` supports:
/// [`MAX_BYTES`], unless the data arrives through a registered region, which may cover less.
///
/// # Errors
///
/// [`Failure::Unsupported`] if the device registers too little memory at a time.
fn taken_bytes(device: &Device<'_>) -> Result<u32, Failure> {
    if device.read_sink_needs_remote_write() {
        max_bytes(device)
    } else {
        Ok(MAX_BYTES)
    }
}

/// Checks that the client asks for what the command serves: a disk or a tap.
fn check_test(command: &Command, asked: Option<Test>) -> Result<(), Failure> {
    if asked == Some(command.test) {
        return Ok(());
    }
    Err(Failure::Unsupported(
        match asked.map(|test| test.spec().family) {
            Some(Family::Disk) => "the client wants a disk, and this server takes taps only",
            Some(Family::Tap) => "the client is a tap, and this server has disks only",
            None
            | Some(
                Family::PingPong
                | Family::FastReg
                | Family::Latency
                | Family::Bandwidth
                | Family::Caps
                | Family::Conformance
                | Family::Rw
                | Family::Stream
                | Family::Messenger,
            ) => "the client wants neither a disk nor a tap, and this server has nothing else",
        },
    ))
}
