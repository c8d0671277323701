// SPDX-License-Identifier: GPL-2.0

//! One command's life: its threads, its cancellation, and its end.
//!
//! A session lives in the `write()` that brought the command. It starts kernel
//! threads, waits for the last of them to end, and turns the first failure into
//! the errno of the `write()`. A signal to the writer cancels every thread; the
//! writer then still waits for them, since they use what it owns, and each of
//! them ends within its teardown. Where the kernel restarts the `write()`, the
//! session lives on in between ([`restart`]).
//!
//! Lock order: the session's threads, then a worker, then an `Outcome`. No thread
//! is joined with a lock held.

#![forbid(unsafe_code)]

use super::entry::{
    Client,
    Entry, //
};
use crate::{
    engine::{
        detached::DetachedServer,
        peer_log::PeerLog,
        registry::Registry,
        restart::{
            Awaited,
            Waiting, //
        },
        results::Report,
        worker::Worker, //
    },
    kernel_ext::{
        completion::{
            Completion,
            Waited, //
        },
        cred::Credentials,
        kthread::{
            run_on,
            Kthread, //
        },
        module::ModuleRef,
        net::Netns,
        signal::Disturbance,
        time::Deadline, //
    },
    logic::{
        command::{
            Command,
            Role, //
        },
        failure::{
            cause::SessionEnd,
            errno,
            verdict::apply_expectation,
            Failure, //
        }, //
    },
    mr::Budget, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// The deadline of every wait on a peer, unless `timeout=` says otherwise, in ms.
pub(crate) const DEFAULT_TIMEOUT_MS: u32 = 10_000;

/// How long what is about to end anyway is waited for without heed of signals, in ms.
pub(crate) const GOING_MS: u32 = 1000;

struct Threads {
    /// Joined when dropped; `None` for one that is still being started.
    handles: KVec<(Arc<Worker>, Option<Kthread>)>,
    /// Threads that were started.
    started: usize,
    /// Threads that have not ended yet.
    running: usize,
    /// Clients that have done all that they were to do.
    led: u32,
    /// Why they end, and what they are told.
    end: SessionEnd,
}

/// Somebody who waits for the threads of a session, but is not its writer.
pub(crate) trait Watcher: Send + Sync {
    /// Takes note that a thread is about to end. Process context.
    fn thread_ends(&self);
}

/// One running command.
#[pin_data]
pub(crate) struct Session {
    /// The number of the command, in the log and in results.
    pub(crate) id: u32,
    /// What was asked for.
    pub(crate) command: KBox<Command>,
    /// The writer's network namespace.
    pub(crate) net: Netns,
    /// The writer's credentials, with which all threads act.
    credentials: Credentials,
    /// Who is told that a thread has ended, besides the writer.
    watcher: Option<Arc<dyn Watcher>>,
    pub(crate) registry: Arc<Registry>,
    /// What it is for.
    pub(super) workload: &'static Entry,
    /// What the buffers of a server's connections may take.
    pub(crate) budget: Option<Arc<Budget>>,
    #[pin]
    pub(crate) peer_log: PeerLog,
    #[pin]
    threads: Mutex<Threads>,
    #[pin]
    ended: Completion,
}

impl Session {
    /// Begins `command`. Process context of the writer, which then waits for what is
    /// returned; may sleep. `in_use` keeps the module loaded.
    ///
    /// # Errors
    ///
    /// The errno of the failure; the log has the sentence.
    pub(crate) fn begin(
        registry: &Arc<Registry>,
        command: KBox<Command>,
        in_use: &ModuleRef,
    ) -> Result<Waiting> {
        let workload = registry.workload(command.test.spec().family)?;
        match workload.client {
            Client::Kept(begin) if command.role != Role::Server => {
                return begin(registry, command, in_use);
            }
            _ => {}
        }
        let id = registry.next_id();
        let session = Self::new(registry, id, command, None).map_err(not_begun(id))?;
        match session.start() {
            Ok(()) if session.goes_on() => Ok(session.leave(in_use)),
            Ok(()) => Ok(Some(session)),
            Err(failure) => Err(session.conclude(Err(failure)).err().unwrap_or(EIO)),
        }
    }

    /// Whether it is a server that is to go on without its writer, and has begun.
    fn goes_on(&self) -> bool {
        self.command.detach && self.threads.lock().end.failure().is_none()
    }

    /// Has the server go on without its writer; what that is to wait for.
    fn leave(self: Arc<Self>, in_use: &ModuleRef) -> Waiting {
        match DetachedServer::keep(&self, in_use) {
            Ok(()) => {
                let port = self.command.port;
                pr_info!("{}: listens; stop=server:{} ends it\n", self.id, port);
                None
            }
            Err(error) => {
                self.abort(Failure::Kernel("detaching the server", error.to_errno()));
                Some(self)
            }
        }
    }

    /// Says in the log how it ended, and turns that into an errno.
    pub(crate) fn conclude(&self, result: Result<(), Failure>) -> Result {
        let id = self.id;
        self.peer_log.conclude();
        match apply_expectation(self.command.expect, result) {
            Ok(None) => {
                pr_info!("{}: {}: done\n", id, self.command);
                Ok(())
            }
            Ok(Some(failure)) => {
                pr_info!("{}: {}: as expected: {}\n", id, self.command, failure);
                Ok(())
            }
            Err(failure) => {
                let errno = failure.errno();
                let name = crate::logic::failure::errno::name(errno).unwrap_or("errno");
                pr_err!(
                    "{}: {}: {} ({}): {}\n",
                    id,
                    self.command,
                    name,
                    errno,
                    failure
                );
                Err(Error::from_errno(errno.saturating_neg()))
            }
        }
    }

    pub(crate) fn new(
        registry: &Arc<Registry>,
        id: u32,
        command: KBox<Command>,
        watcher: Option<Arc<dyn Watcher>>,
    ) -> Result<Arc<Self>> {
        let workload = registry.workload(command.test.spec().family)?;
        let net = Netns::current().ok_or(ESRCH)?;
        let credentials = Credentials::current().ok_or(ESRCH)?;
        let budget = command.max_memory.map(Budget::new).transpose()?;
        Arc::pin_init(
            pin_init!(Self {
                id,
                command,
                net,
                credentials,
                watcher,
                registry: registry.clone(),
                workload,
                budget,
                peer_log <- PeerLog::new(*id),
                threads <- new_mutex!(
                    Threads {
                        handles: KVec::new(),
                        started: 0,
                        running: 0,
                        led: 0,
                        end: SessionEnd::default(),
                    },
                    "krping_threads"
                ),
                ended <- Completion::new(),
            }),
            GFP_KERNEL,
        )
    }

    /// The deadline of waits on a peer, in ms.
    pub(crate) fn timeout(&self) -> u32 {
        self.command.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS)
    }

    /// Why the buffers of a client could not be made, as `error` says.
    pub(crate) fn no_buffers(&self, error: Error) -> Failure {
        match self.command.max_memory {
            Some(limit) if error.to_errno() == -errno::EDQUOT => Failure::OverMemory(limit),
            _ => Failure::Kernel("allocating and registering buffers", error.to_errno()),
        }
    }

    /// How often a client gives a sign of life that its peer would not see
    /// otherwise, in ms.
    pub(crate) fn alive(&self) -> u32 {
        (self.timeout() / 3).max(1)
    }

    /// Waits for the last thread; returns false where something disturbs the calling
    /// task before. May sleep.
    pub(crate) fn wait_for_threads(&self) -> bool {
        while self.running() > 0 {
            if self.ended.wait_interruptible(Deadline::never()) == Waited::Interrupted {
                return false;
            }
        }
        true
    }

    /// Ends all threads because of a signal, and waits for them. Those that have done
    /// all that they were to do, and only take their connections down, are given the
    /// time for it, unless the writer is being killed. May sleep.
    pub(crate) fn interrupt_threads(&self, why: Disturbance) {
        if why != Disturbance::Kill && self.has_led() {
            let going = Deadline::after_ms(GOING_MS);
            while self.running() > 0 && !going.passed() {
                self.ended.wait(going);
            }
        }
        self.cancel(Failure::Interrupted);
        while self.running() > 0 {
            self.ended.wait(Deadline::never());
        }
    }

    /// Notes that a client has done all that it was to do.
    pub(crate) fn led(&self) {
        let mut threads = self.threads.lock();
        threads.led = threads.led.saturating_add(1);
    }

    /// Whether all of its clients have.
    fn has_led(&self) -> bool {
        self.threads.lock().led == self.command.threads
    }

    /// Joins all threads, which have ended, and returns the failure.
    pub(crate) fn join(&self) -> Result<(), Failure> {
        let handles = core::mem::replace(&mut self.threads.lock().handles, KVec::new());
        drop(handles);
        match self.threads.lock().end.failure() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Ends all threads because of `failure`, or of what they are to end for already.
    pub(crate) fn cancel(&self, failure: Failure) {
        let mut threads = self.threads.lock();
        let failure = threads.end.cancel(failure);
        for (worker, _) in &threads.handles {
            worker.cancel(failure);
        }
    }

    /// Reports a failure that ends the whole session. The first is kept, unless it is what
    /// the two sides of a loopback see of each other's end, and the cause comes after it.
    pub(crate) fn record(&self, failure: Failure) {
        let both_sides = self.command.role == Role::Loopback;
        self.threads.lock().end.fail(failure, both_sides);
    }

    /// Reports a failure of one thread, and ends the others.
    pub(crate) fn abort(&self, failure: Failure) {
        self.record(failure);
        self.cancel(match failure {
            // A signal, or the end of a disk, which is for all of them.
            Failure::Interrupted => Failure::Interrupted,
            _ => Failure::Cancelled,
        });
    }

    /// Keeps the result of one connection.
    #[inline(never)]
    pub(crate) fn report(&self, report: &Report<'_>) {
        self.registry.results().add(report);
    }

    /// Starts a thread that runs `body`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; [`Failure::Interrupted`] where a signal kills the writer that starts it;
    /// what the session is being cancelled for.
    pub(crate) fn spawn(
        self: &Arc<Self>,
        body: impl FnOnce(&Arc<Session>, &Arc<Worker>) + Send + 'static,
    ) -> Result<(), Failure> {
        let not_started = |error: Error| {
            if error == EINTR {
                Failure::Interrupted
            } else {
                Failure::Kernel("starting a thread", error.to_errno())
            }
        };
        let worker = self.registry.add_worker().map_err(not_started)?;
        let running = Running {
            session: self.clone(),
            worker: worker.clone(),
        };
        let cpu = {
            let mut threads = self.threads.lock();
            let cpu = self.command.cpus.nth(threads.started);
            worker.set_cpu(cpu);
            threads.started = threads.started.wrapping_add(1);
            threads.running = threads.running.saturating_add(1);
            if let Some(failure) = threads.end.cancelled() {
                return Err(failure);
            }
            // Before it runs: whatever it does, it can be cancelled, and for want of memory
            // here it would have to be, with a failure that it would report itself.
            threads
                .handles
                .push((worker.clone(), None), GFP_KERNEL)
                .map_err(|e| not_started(e.into()))?;
            cpu
        };
        // From here on `running` counts itself out when it is dropped, be it by
        // the thread or by the failure to start it.
        let handle = Kthread::run(worker.id, move || {
            let _as_writer = running.session.credentials.assume();
            match cpu.map_or(Ok(()), |cpu| run_on(cpu).map_err(|_| Failure::NoCpu(cpu))) {
                Ok(()) => body(&running.session, &running.worker),
                Err(failure) => running.session.abort(failure),
            }
        });
        let handles = &mut self.threads.lock().handles;
        match handle {
            Ok(handle) => {
                let own = |(each, _): &&mut (Arc<Worker>, _)| Arc::ptr_eq(each, &worker);
                if let Some((_, place)) = handles.iter_mut().find(own) {
                    *place = Some(handle);
                }
                Ok(())
            }
            Err(error) => {
                handles.retain(|(each, _)| !Arc::ptr_eq(each, &worker));
                Err(not_started(error))
            }
        }
    }

    /// Threads that have not ended yet.
    pub(crate) fn running(&self) -> usize {
        self.threads.lock().running
    }

    /// Joins the threads that have ended. For sessions without an end.
    pub(crate) fn reap(&self) {
        loop {
            let mut threads = self.threads.lock();
            let Some(index) = threads
                .handles
                .iter()
                .position(|(worker, handle)| handle.is_some() && worker.finished())
            else {
                return;
            };
            let ended = threads.handles.remove(index);
            // Joining waits for the thread, which may want the lock.
            drop(threads);
            drop(ended);
        }
    }
}

/// Says in the log that command `id` has failed before there was a session that could.
pub(crate) fn not_begun(id: u32) -> impl FnOnce(Error) -> Error {
    move |error| {
        let errno = error.to_errno().saturating_neg();
        let name = crate::logic::failure::errno::name(errno).unwrap_or("errno");
        pr_err!("{}: {} ({}): the command was not begun\n", id, name, errno);
        error
    }
}

impl Awaited for Session {
    fn wait(&self) -> Option<Result> {
        self.wait_for_threads().then(|| self.conclude(self.join()))
    }

    fn interrupt(&self, why: Disturbance) -> Result {
        self.interrupt_threads(why);
        self.conclude(self.join())
    }
}

/// A thread that has not ended yet. Its drop is the last that the thread does.
struct Running {
    session: Arc<Session>,
    worker: Arc<Worker>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.session.registry.remove_worker(self.worker.id);
        self.worker.finish();
        let mut threads = self.session.threads.lock();
        threads.running = threads.running.saturating_sub(1);
        drop(threads);
        self.session.ended.complete();
        if let Some(watcher) = &self.session.watcher {
            watcher.thread_ends();
        }
    }
}
