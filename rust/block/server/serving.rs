// SPDX-License-Identifier: GPL-2.0

//! The thread of one connection of a disk or tap, at its server.

#![forbid(unsafe_code)]

use super::{
    job_thread::{
        Desk,
        JobThread, //
    },
    listening::{
        give_up,
        Export, //
    },
    making::Making, //
};
use crate::{
    block::{
        disk::connection::{
            max_bytes,
            READS, //
        },
        server::clients::{
            Ending,
            Membership, //
        },
        MAX_BYTES, //
    },
    cm::{
        listener::Request,
        ReadLimits, //
    },
    engine::{
        accept::Accepting,
        drive::{
            failed,
            patience, //
        },
        outcome::{
            new_bell,
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

/// Serves one connection, and reports. The body of its thread.
pub(super) fn run(session: &Arc<Session>, worker: &Arc<Worker>, request: Request, export: &Export) {
    // The disk may be one of this very machine, whose memory waits to be written to it.
    let _no_io = NoIo::enter();
    throttle_locally();
    let mut report = Report::new(session.id, worker.id, "server", &session.command);
    report.peer = Some(request.id.peer());
    let outcome = request.id.outcome().clone();
    report.failure = worker
        .attach(request.id.outcome())
        .map_err(failed("serving a client"))
        .and_then(|()| serve(session, worker, request, export, &mut report))
        .err();
    if let Some(Failure::OldWork) = report.failure {
        // It comes again and again until the work is done, of which the log tells once.
        return;
    }
    report.refused = !outcome.reached(Progress::Established);
    report.counters = worker.counters();
    session.report(&report);
}

#[inline(never)]
fn serve(
    session: &Arc<Session>,
    worker: &Arc<Worker>,
    request: Request,
    export: &Export,
    report: &mut Report<'_>,
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
            let result = serving.follow(&hello, limits, &mut membership, &mut jobs, report);
            // Nothing of the device is held any more, while the store is waited for.
            drop(id);
            if let Some(jobs) = jobs {
                jobs.join(hello.disk);
            }
            // Nothing is done for the client any more.
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
    /// Checks what the client asks for.
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
        taken_bytes(&device)?;
        let limits = self.accepting.agree_on_reads(limits, READS)?;
        Ok((hello, limits))
    }

    fn say(&self, level: Level, line: Arguments<'_>) {
        self.accepting.session.peer_log.say(level, line);
    }

    /// Rejects a client that has been admitted by nobody, because of `failure`, and
    /// returns its cause.
    fn refuse(&self, failure: Failure) -> Failure {
        let cause = self.accepting.id.outcome().cause_of(failure);
        if !matches!(cause, Failure::OldWork) {
            self.say(Level::Warning, fmt!("a client was refused: {}", cause));
        }
        match cause {
            // Another attempt may go better, or this one was given up.
            Failure::Busy(_)
            | Failure::OldWork
            | Failure::Replaced
            | Failure::Disconnected
            | Failure::Unreachable(_)
            | Failure::Interrupted
            | Failure::Cancelled => {}
            // It is none of those that are to be served, and they go on.
            _ if !self.export.clients.has_room() => {}
            _ => {
                give_up(self.accepting.session, cause);
                self.export.clients.refused();
            }
        }
        // Last, as the rejection is a failure of a client in the same session.
        self.accepting.id.reject(&rejection(&cause));
        cause
    }

    /// Accepts the client, serves it until it leaves or is lost, and takes the
    /// connection down. What is left of it is the thread of `jobs`, which may still be
    /// working.
    #[inline(never)]
    fn follow(
        &self,
        hello: &Hello,
        limits: ReadLimits,
        membership: &mut Membership,
        jobs: &mut Option<JobThread>,
        report: &mut Report<'_>,
    ) -> Result<(), Failure> {
        let outcome = self.accepting.id.outcome();
        let desk = match self.prepare(hello, membership, jobs) {
            Ok(desk) => desk,
            Err(failure) => {
                let cause = self.part(membership, outcome.cause_of(failure));
                self.accepting.id.reject(&rejection(&cause));
                return Err(cause);
            }
        };
        let extensions = Extensions { surveys: true };
        let answer = desk.with(|server, _| {
            let geometry = server.geometry();
            let before = extensions.encode(geometry.encode());
            geometry.extras.encode(before)
        });
        let answer = answer.as_ref().map_or(&[] as &[u8], |answer| answer);
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
        let result = match result {
            Err(Failure::Disconnected | Failure::TimedOut(..))
                if membership.farewell().is_said() =>
            {
                Ok(())
            }
            other => other.map_err(|failure| self.accepting.id.cause_of(failure)),
        };
        let queue_pair = desk.close();
        let server = queue_pair.as_ref().and_then(|pair| pair.stop());
        if self.accepting.id.disconnect() && !matches!(result, Err(Failure::Replaced)) {
            self.accepting
                .id
                .wait_disconnected(patience(self.accepting.session, &result));
        }
        // The device does nothing for the client any more once this is gone.
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

    /// Makes the queue pair, with all receives posted, and starts the thread of `jobs` where
    /// there is to be one.
    #[inline(never)]
    fn prepare(
        &self,
        hello: &Hello,
        membership: &Membership,
        jobs: &mut Option<JobThread>,
    ) -> Result<Arc<Desk>, Failure> {
        let starting = failed("serving a client");
        let bell = new_bell().map_err(&starting)?;
        let mut making = Making {
            store: &self.export.store,
            hello,
            membership,
            bell: &bell,
            max_bytes: taken_bytes(&self.accepting.device()?)?,
            alive_ms: self.accepting.session.alive(),
            needs_thread: false,
        };
        let queue_pair = self.accepting.make(&mut making)?;
        let needs_thread = making.needs_thread;
        let store = &self.export.store;
        let desk = Desk::new(queue_pair, bell, store.clone(), self.accepting.session.id)
            .map_err(&starting)?;
        if needs_thread {
            *jobs = Some(JobThread::start(&desk, self.accepting.worker).map_err(&starting)?);
        }
        Ok(desk)
    }

    /// Waits until the connection ends. Completions and the thread of jobs do the rest.
    ///
    /// # Errors
    ///
    /// Always: how the connection has ended.
    fn wait(&self, hello: &Hello) -> Result<(), Failure> {
        let timeout = self
            .accepting
            .session
            .timeout()
            .max(hello.alive_ms.saturating_mul(3));
        let outcome = self.accepting.id.outcome();
        outcome.wait_until("waiting for the client", Some(timeout), || false)
    }

    /// Takes a connection that `failure` has ended out of its client, and returns the
    /// failure.
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
            // The last word has not been said.
            _ if is_up => self.say(Level::Warning, fmt!("a connection was lost: {}", failure)),
            _ => {
                self.say(Level::Error, fmt!("a client was not served: {}", failure));
                give_up(session, failure);
            }
        }
        failure
    }
}

/// The most bytes of a request that a server on `device` takes the data of: all, unless
/// the data comes through a registration.
///
/// # Errors
///
/// [`Failure::Unsupported`] for a device that registers too little for that.
fn taken_bytes(device: &Device<'_>) -> Result<u32, Failure> {
    if device.read_needs_rkey() {
        max_bytes(device)
    } else {
        Ok(MAX_BYTES)
    }
}

/// Whether the client wants what is served.
fn check_test(command: &Command, asked: Option<Test>) -> Result<(), Failure> {
    match asked {
        Some(test) if test == command.test => Ok(()),
        Some(Test::Block) => Err(Failure::Unsupported(
            "the client wants a disk, and this server takes taps only",
        )),
        Some(Test::Tap) => Err(Failure::Unsupported(
            "the client is a tap, and this server has disks only",
        )),
        _ => Err(Failure::Unsupported(
            "the client wants neither a disk nor a tap, and this server has nothing else",
        )),
    }
}
