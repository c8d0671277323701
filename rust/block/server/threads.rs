// SPDX-License-Identifier: GPL-2.0

//! A server of disks or taps: its listening thread, and the thread of each
//! connection.
//!
//! A client outlives its connections. One that is lost ends nothing but itself: the
//! client may come back. So the listening thread stays until all clients that it was
//! to serve have gone, and gives up those that do not come back in time.

#![forbid(unsafe_code)]

use super::job_thread::{
    Desk,
    JobThread, //
};
use crate::{
    block::{
        disk::connection::{
            max_bytes,
            READS, //
        },
        server::{
            clients::{
                Clients,
                Ending,
                Membership, //
            },
            store::{
                ledger::Ledgers,
                Store, //
            },
            BlockServer,
            Terms, //
        },
        MAX_BYTES, //
    },
    cm::{
        addr::SocketAddress,
        listener::Request,
        CmId,
        ReadLimits, //
    },
    engine::{
        drive::{
            failed,
            note_device,
            patience, //
        },
        ear::Ear,
        entry::State,
        limits::{
            queue_limits,
            read_limits, //
        },
        management,
        outcome::{
            new_bell,
            Outcome,
            Progress, //
        },
        peer_log::Level,
        rejection::rejection,
        results::Report,
        server::{
            is_allowed,
            listening_address,
            start_listening,
            MAX_CLIENTS,
            STARTING, //
        },
        session::Session,
        worker::Worker, //
    },
    kernel_ext::{
        file::throttle_locally,
        memory::NoIo,
        time::Deadline, //
    },
    logic::{
        block::Request as BlockRequest,
        command::{
            Command,
            Role,
            Test, //
        },
        failure::{
            errno::EPROTO,
            Failure, //
        },
        pingpong::Violation,
        wire::{
            extensions::Extensions,
            hello::{
                announced,
                Hello, //
            },
            Reject,
            RejectReason, //
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
    fmt::Arguments,
    prelude::*,
    sync::Arc, //
};

/// Makes what servers know of failed stores for as long as the module is loaded.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn new_ledgers() -> Result<State> {
    Ok(KBox::new(Ledgers::new()?, GFP_KERNEL)?)
}

/// What is served, to all clients.
struct Export {
    store: Arc<Store>,
    clients: Arc<Clients>,
}

impl Export {
    /// Opens the store of the session's command, whose listening thread waits on
    /// `listener`. Process context of the writer; sleeps.
    ///
    /// # Errors
    ///
    /// Those of [`Store::open`].
    fn open(session: &Session, listener: &Arc<Outcome>) -> Result<Arc<Self>, Failure> {
        let no_memory = failed(STARTING);
        let command = &session.command;
        let ledgers = session.registry.state::<Arc<Ledgers>>();
        let ledgers = ledgers.ok_or_else(|| no_memory(EINVAL))?;
        let store = Store::open(&command.block, ledgers)?;
        let most = (!command.persist).then_some(command.threads);
        let clients = Clients::new(
            most,
            session.timeout(),
            listener.clone(),
            store.ledger().cloned(),
        )
        .map_err(&no_memory)?;
        let store = Arc::new(store, GFP_KERNEL).map_err(|e| no_memory(e.into()))?;
        Arc::new(Self { store, clients }, GFP_KERNEL).map_err(|e| no_memory(e.into()))
    }
}

/// Starts the session's listening thread, and returns the address it is bound
/// to. Failures to bind are the caller's, before any thread runs.
///
/// # Errors
///
/// `EADDRINUSE`, `EADDRNOTAVAIL`, `ENODEV` and what else binding reports; those of
/// [`Store::open`].
pub(crate) fn start(session: &Arc<Session>) -> Result<SocketAddress, Failure> {
    let addr = listening_address(session)?;
    let no_memory = failed(STARTING);
    let bell = new_bell().map_err(&no_memory)?;
    let outcome = Outcome::new(&bell).map_err(&no_memory)?;
    let export = Export::open(session, &outcome)?;
    // The server outlives its listener.
    let reports = Outcome::new(&bell).map_err(&no_memory)?;
    start_listening(
        session,
        addr,
        reports,
        outcome,
        move |session, listener, local, outcome| {
            listen(session, Ear::new(listener, local, bell), outcome, &export)
        },
    )
}

/// Starts a thread for each connection, until all clients have gone. The body of the
/// listening thread.
///
/// # Errors
///
/// What the listener or a signal reports; [`Failure::TimedOut`] where no client comes
/// in time.
fn listen(
    session: &Arc<Session>,
    mut ear: Ear,
    outcome: &Outcome,
    export: &Arc<Export>,
) -> Result<(), Failure> {
    let clients = &export.clients;
    let (what, limit) = ("waiting for a client", first_client(session));
    let limit_ends = Deadline::after(limit);
    loop {
        if let Some(failure) = outcome.failure() {
            return Err(failure);
        }
        if let Some(failure) = ear.take_failure() {
            if clients.is_idle() && !session.command.persist {
                return Err(failure);
            }
            pr_warn!(
                "{}: not listening any more: {}; listening again as soon as the address is back\n",
                session.id,
                failure
            );
        }
        ear.revive(session);
        while let Some(disk) = clients.take_lost() {
            session.peer_log.say(
                Level::Error,
                fmt!(
                    "client {:016x} was lost, and has not come back in time",
                    disk
                ),
            );
            give_up(session, Failure::Disconnected);
        }
        if clients.all_gone() {
            return Ok(());
        }
        if let Some(request) = ear.take() {
            if is_allowed(session, &request) {
                session.reap();
                admit(session, request, export)?;
            }
            continue;
        }
        let mut wake_up = clients.patience().sooner(ear.patience());
        if clients.is_idle() {
            if let (true, Some(ms)) = (limit_ends.passed(), limit) {
                return Err(Failure::TimedOut(what, ms));
            }
            wake_up = wake_up.sooner(limit_ends);
        }
        outcome.pause(wake_up);
    }
}

/// How long the first client may take to come, in ms: only a loopback's must.
fn first_client(session: &Session) -> Option<u32> {
    let command = &session.command;
    match command.role {
        Role::Loopback => Some(management::client_comes_within(session)),
        _ => command.timeout_ms.filter(|_| !command.persist),
    }
}

/// Starts the thread of a connection.
fn admit(session: &Arc<Session>, request: Request, export: &Arc<Export>) -> Result<(), Failure> {
    // The threads that listen and that have the disk of a loopback are the session's, too.
    if session.running() > MAX_CLIENTS.saturating_add(1) {
        request.id.reject(&Reject {
            reason: RejectReason::Busy,
            value: MAX_CLIENTS as u32,
        });
        return Ok(());
    }
    let export = export.clone();
    match session.spawn(move |session, worker| run(session, worker, request, &export)) {
        // Dropping the request has rejected it.
        Err(failure) if session.command.persist => {
            session
                .peer_log
                .say(Level::Error, fmt!("a client was not served: {}", failure));
            Ok(())
        }
        started => started,
    }
}

/// Serves one connection, and reports. The body of its thread.
fn run(session: &Arc<Session>, worker: &Arc<Worker>, request: Request, export: &Export) {
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
    let serving = Serving {
        session,
        worker,
        id: &id,
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

/// One connection.
struct Serving<'a> {
    session: &'a Arc<Session>,
    worker: &'a Worker,
    id: &'a Arc<CmId>,
    export: &'a Export,
}

impl Serving<'_> {
    /// Checks what the client asks for.
    fn check(
        &self,
        data: &[u8],
        limits: ReadLimits,
        report: &mut Report<'_>,
    ) -> Result<(Hello, ReadLimits), Failure> {
        let device = self.id.device().map_err(failed("finding the device"))?;
        note_device(self.worker, &device);
        report.device = Some((device.name(), device.transport()));
        let test = announced(data).map_err(Failure::PrivateData)?;
        report.legacy = Some(test.is_none());
        check_test(&self.session.command, test)?;
        let hello = Hello::decode(data).map_err(Failure::PrivateData)?;
        taken_bytes(&device)?;
        if device.max_reads_started() == 0 {
            return Err(Failure::Unsupported("the device starts no RDMA READ"));
        }
        let limits = read_limits(&device, Some(limits), READS);
        if limits.initiator_depth == 0 {
            return Err(Failure::Protocol(Violation::NoReads, 0));
        }
        Ok((hello, limits))
    }

    fn say(&self, level: Level, line: Arguments<'_>) {
        self.session.peer_log.say(level, line);
    }

    /// Rejects a client that has been admitted by nobody, because of `failure`, and
    /// returns its cause.
    fn refuse(&self, failure: Failure) -> Failure {
        let cause = self.id.outcome().cause_of(failure);
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
                give_up(self.session, cause);
                self.export.clients.refused();
            }
        }
        // Last, as the rejection is a failure of a client in the same session.
        self.id.reject(&rejection(&cause));
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
        let outcome = self.id.outcome();
        let desk = match self.prepare(hello, membership, jobs) {
            Ok(desk) => desk,
            Err(failure) => {
                let cause = self.part(membership, outcome.cause_of(failure));
                self.id.reject(&rejection(&cause));
                return Err(cause);
            }
        };
        let extensions = Extensions { surveys: true };
        let answer = desk.with(|server, _| {
            let geometry = server.geometry();
            let before = extensions.encode(geometry.encode());
            geometry.extras.encode(before)
        });
        let result = self
            .id
            .accept(
                answer.as_ref().map_or(&[], |answer| answer),
                limits,
                self.session.timeout(),
            )
            .and_then(|()| {
                let timeout = Some(self.session.timeout());
                outcome.wait_for(Progress::Established, "accepting", timeout)
            })
            .and_then(|()| {
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
            other => other.map_err(|failure| self.id.cause_of(failure)),
        };
        let queue_pair = desk.close();
        let server = queue_pair.as_ref().and_then(|pair| pair.stop());
        if self.id.disconnect() && !matches!(result, Err(Failure::Replaced)) {
            self.id.wait_disconnected(patience(self.session, &result));
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
        let device = self.id.device().map_err(failed("finding the device"))?;
        self.id.set_short_rnr_timer();
        let mut memory =
            Memory::new(self.id, false).map_err(failed("allocating a protection domain"))?;
        memory.charge_to(self.session.budget.clone());
        let room = queue_limits(self.session, &device);
        let terms = Terms {
            hello,
            farewell: membership.farewell().clone(),
            bell: bell.clone(),
            account: membership.account().cloned(),
            requests: room.requests,
            completions: room.completions,
            max_bytes: taken_bytes(&device)?,
            inline: if device.has_immediates() {
                BlockRequest::INLINE
            } else {
                0
            },
            alive_ms: self.session.alive(),
        };
        let server = self
            .worker
            .add_traffic()
            .and_then(|traffic| {
                BlockServer::new(terms, self.export.store.clone(), &mut memory, traffic)
            })
            .map_err(|error| self.session.no_buffers(error))?;
        let depths = server.depths();
        let needs_thread = server.needs_thread();
        let queue_pair = QueuePair::new(memory, depths, PollMode::Event, server)
            .map_err(failed("creating the queue pair"))?;
        queue_pair
            .with(|server, queue| server.prepare(queue))
            .ok_or(Failure::Interrupted)??;
        let store = &self.export.store;
        let desk =
            Desk::new(queue_pair, bell, store.clone(), self.session.id).map_err(&starting)?;
        if needs_thread {
            *jobs = Some(JobThread::start(&desk, self.worker).map_err(&starting)?);
        }
        Ok(desk)
    }

    /// Waits until the connection ends. Completions and the thread of jobs do the rest.
    ///
    /// # Errors
    ///
    /// Always: how the connection has ended.
    fn wait(&self, hello: &Hello) -> Result<(), Failure> {
        let timeout = self.session.timeout().max(hello.alive_ms.saturating_mul(3));
        let outcome = self.id.outcome();
        outcome.wait_until("waiting for the client", Some(timeout), || false)
    }

    /// Takes a connection that `failure` has ended out of its client, and returns the
    /// failure.
    #[inline(never)]
    fn part(&self, membership: &mut Membership, failure: Failure) -> Failure {
        let session = self.session;
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

/// Notes how a client has failed: that is how the session fails, unless it persists.
fn give_up(session: &Session, failure: Failure) {
    if !session.command.persist {
        session.record(failure);
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
