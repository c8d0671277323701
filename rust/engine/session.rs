// SPDX-License-Identifier: GPL-2.0

//! Session of one command: its threads, its cancellation and its end.
//!
//! A session lives in the `write()` of its command. It starts kernel threads, waits for the last of
//! them to end, and turns the first failure into the errno of the `write()`. A signal to the writer
//! cancels every thread. The writer then still waits for the threads, because they use objects that
//! it owns; each of them ends within its teardown. If the kernel restarts the `write()`, the
//! session survives in between ([`restart`]).
//!
//! Lock order: the session's threads, then a worker, then an `Outcome`. No thread
//! is joined with a lock held.

#![forbid(unsafe_code)]

use crate::{
    engine::{
        allowance::{
            Allowance,
            SILENCE_MS, //
        },
        endpoint::Endpoint,
        peer_log::{
            Level,
            PeerLog, //
        },
        registry::Registry,
        restart::Awaited,
        results::Report,
        sharing::Sharings,
        worker::{
            Connections,
            ThreadName,
            Worker, //
        }, //
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
            packets::Packets,
            verdict::apply_expectation,
            Failure, //
        },
        measure::served::Served,
        wire::server_port::ServerPort, //
    }, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// Time in ms that a signalled writer still waits, ignoring signals, for threads that are about to
/// end anyway.
pub(crate) const GOING_MS: u32 = 1000;

struct Threads {
    /// Threads, joined when dropped; `None` for a thread that is still being started.
    handles: KVec<(Arc<Worker>, Option<Kthread>)>,
    /// Number of threads that were started.
    started: usize,
    /// Number of threads that have not ended yet.
    running: usize,
    /// Number of client threads that have done all their work.
    led: u32,
    /// First failure, and the failure that the threads were cancelled with.
    end: SessionEnd,
    /// Packets of connections that may not arrive.
    packets: Option<Packets>,
}

/// Observer of a session's threads other than the writer.
pub(crate) trait Watcher: Send + Sync {
    /// Called when a thread is about to end. Process context.
    fn thread_ends(&self);
}

/// One running command.
#[pin_data]
pub(crate) struct Session {
    /// Number of the command, in the log and in results.
    pub(crate) id: u32,
    /// The command.
    pub(crate) command: KBox<Command>,
    /// The writer's network namespace.
    pub(crate) net: Netns,
    /// The writer's credentials, with which all threads act.
    credentials: Arc<Credentials>,
    /// Told whenever a thread has ended, in addition to the writer.
    watcher: Option<Arc<dyn Watcher>>,
    pub(crate) registry: Arc<Registry>,
    /// Limits for the peers of its connections.
    pub(crate) allowance: Allowance,
    /// Shared receive queues of a server's connections.
    #[pin]
    pub(crate) sharings: Sharings,
    #[pin]
    pub(crate) peer_log: PeerLog,
    #[pin]
    threads: Mutex<Threads>,
    /// Sums over the connections that a server has served.
    #[pin]
    served: Mutex<Served>,
    #[pin]
    ended: Completion,
}

impl Session {
    /// Returns true for a detached server that has started without a failure.
    pub(super) fn goes_on(&self) -> bool {
        self.command.detach && self.threads.lock().end.failure().is_none()
    }

    /// Logs how the session ended, and turns the result into an errno.
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
                let error = Error::from_errno(failure.errno().saturating_neg());
                let errors = self.registry.errors();
                Err(match self.advice(failure) {
                    Some(advice) => errors.failed(
                        fmt!("{}: {}", id, self.command),
                        error,
                        fmt!("{}; {}", failure, advice),
                    ),
                    None => errors.failed(fmt!("{}: {}", id, self.command), error, failure),
                })
            }
        }
    }

    /// Notes and logs where `port`, that of the server of the connection with `endpoint` here, does
    /// not take the connection's packets. May sleep.
    pub(super) fn check_packets(&self, endpoint: &Endpoint, port: Option<&ServerPort>) {
        let is_server = self.command.role != Role::Client;
        let path = endpoint.path_mtu().zip(port);
        let packets =
            path.and_then(|(path, port)| Packets::too_long(path, port.active_mtu, is_server));
        let Some(packets) = packets else {
            return;
        };
        let before = self.threads.lock().packets.replace(packets);
        if is_server {
            self.peer_log.say(Level::Warning, fmt!("{}", packets));
        } else if before.is_none() {
            pr_warn!("{}: {}\n", self.id, packets);
        }
    }

    /// Returns the packets that may not arrive.
    pub(super) fn packets(&self) -> Option<Packets> {
        self.threads.lock().packets
    }

    pub(crate) fn new(
        registry: &Arc<Registry>,
        id: u32,
        command: KBox<Command>,
        watcher: Option<Arc<dyn Watcher>>,
    ) -> Result<Arc<Self>> {
        let net = Netns::current().ok_or(ESRCH)?;
        let credentials = Arc::new(Credentials::current().ok_or(ESRCH)?, GFP_KERNEL)?;
        let allowance = Allowance::new(&command)?;
        Arc::pin_init(
            pin_init!(Self {
                id,
                command,
                net,
                credentials,
                watcher,
                registry: registry.clone(),
                allowance,
                sharings <- Sharings::new(),
                peer_log <- PeerLog::new(*id),
                threads <- new_mutex!(
                    Threads {
                        handles: KVec::new(),
                        started: 0,
                        running: 0,
                        led: 0,
                        end: SessionEnd::default(),
                        packets: None,
                    },
                    "krping_threads"
                ),
                served <- new_mutex!(Served::default(), "krping_served"),
                ended <- Completion::new(),
            }),
            GFP_KERNEL,
        )
    }

    /// Returns the timeout of waits for a peer, in ms.
    pub(crate) fn timeout(&self) -> u32 {
        self.allowance.timeout_ms
    }

    /// Returns the keepalive interval of a client in ms, for times when its peer would see no other
    /// traffic. Any server allows it that has the default of `silence=`.
    pub(crate) fn keepalive_ms(&self) -> u32 {
        (self.timeout() / 3).clamp(1, SILENCE_MS / 3)
    }

    /// Starts a thread of the command, on the CPU of `worker`, with the credentials of the writer.
    /// `body` is told [`Failure::NoCpu`] where there is no such CPU any more. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINTR` if the caller is being killed.
    pub(crate) fn run_thread<F: FnOnce(Result<(), Failure>) + Send + 'static>(
        &self,
        worker: &Worker,
        body: F,
    ) -> Result<Kthread> {
        let cpu = worker.cpu();
        Kthread::run_as(
            fmt!("{}", ThreadName(worker.id)),
            &self.credentials,
            move || body(cpu.map_or(Ok(()), |cpu| run_on(cpu).map_err(|_| Failure::NoCpu(cpu)))),
        )
    }

    /// Waits for the last thread until `deadline`. Returns false if that passes, or something
    /// disturbs the calling task, first. May sleep.
    pub(crate) fn wait_for_threads(&self, deadline: Deadline) -> bool {
        while self.running() > 0 {
            if self.ended.wait_interruptible(deadline) != Waited::Completed {
                return self.running() == 0;
            }
        }
        true
    }

    /// Counts the connections of all threads. May sleep.
    pub(crate) fn connections(&self) -> Connections {
        let threads = self.threads.lock();
        let mut sum = Connections::default();
        for (worker, _) in &threads.handles {
            let Connections { up, ended } = worker.connections();
            sum.up += up;
            sum.ended += ended;
        }
        sum
    }

    /// Ends all threads because of a signal, and waits for them. If all clients have done their
    /// work and only take their connections down, they get time to do so, unless the writer is
    /// being killed. May sleep.
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

    /// Records that a client thread has done all its work.
    pub(crate) fn led(&self) {
        let mut threads = self.threads.lock();
        threads.led += 1;
    }

    /// Returns true if all client threads have done their work.
    fn has_led(&self) -> bool {
        self.threads.lock().led == self.command.threads
    }

    /// Joins all threads, which must have ended, and returns the session's failure.
    pub(crate) fn join(&self) -> Result<(), Failure> {
        let handles = core::mem::replace(&mut self.threads.lock().handles, KVec::new());
        drop(handles);
        match self.threads.lock().end.failure() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Cancels all threads with `failure`, or with the failure that they were cancelled with
    /// before.
    pub(crate) fn cancel(&self, failure: Failure) {
        let mut threads = self.threads.lock();
        let failure = threads.end.cancel(failure);
        for (worker, _) in &threads.handles {
            worker.cancel(failure);
        }
    }

    /// Records a failure of the whole session. The first failure is kept, with one exception: in a
    /// loopback, the real cause replaces a failure that only shows the other side's end.
    pub(crate) fn record(&self, failure: Failure) {
        let both_sides = self.command.role == Role::Loopback;
        self.threads.lock().end.fail(failure, both_sides);
    }

    /// Records a failure of one thread, and cancels the others.
    pub(crate) fn abort(&self, failure: Failure) {
        self.record(failure);
        self.cancel(match failure {
            // A signal or the end of a disk applies to all threads.
            Failure::Interrupted => Failure::Interrupted,
            _ => Failure::Cancelled,
        });
    }

    /// Adds a connection of a server that has ended to the sums over all, which it returns: see
    /// [`Served::add`]. May sleep.
    pub(crate) fn add_served(&self, failed: bool, operations: u64, bytes: u64, ns: u64) -> Served {
        let mut served = self.served.lock();
        served.add(failed, operations, bytes, ns);
        *served
    }

    /// Stores the result of one connection.
    #[inline(never)]
    pub(crate) fn report(&self, report: &Report<'_>) {
        self.registry.results().add(report);
    }

    /// Starts a thread that runs `body`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; [`Failure::Interrupted`] if a signal kills the writer that starts the thread; the
    /// failure that the session is being cancelled with.
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
        {
            let mut threads = self.threads.lock();
            worker.set_cpu(self.command.cpus.nth(threads.started));
            threads.started += 1;
            threads.running += 1;
            if let Some(failure) = threads.end.cancelled() {
                return Err(failure);
            }
            // Push before the thread runs, so that it can be cancelled whatever it does. Without
            // memory for this it would have to be cancelled, with a failure that it would report
            // itself.
            threads
                .handles
                .push((worker.clone(), None), GFP_KERNEL)
                .map_err(|e| not_started(e.into()))?;
        }
        // From here on, dropping `running` updates the count: in the thread, or here if it is not
        // started.
        let handle = self.run_thread(&worker, move |on_cpu| {
            let session = &running.session;
            match on_cpu {
                Ok(()) => body(session, &running.worker),
                Err(failure) => session.abort(failure),
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

    /// Returns the number of threads that have not ended yet.
    pub(crate) fn running(&self) -> usize {
        self.threads.lock().running
    }

    /// Joins the threads that have ended. For sessions that run forever.
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
            // Joining waits for the thread, which may need the lock.
            drop(threads);
            drop(ended);
        }
    }
}

/// Returns a function that logs that command `id` failed before its session existed.
pub(crate) fn not_begun(registry: &Registry, id: u32) -> impl FnOnce(Error) -> Error + '_ {
    move |error| {
        let errors = registry.errors();
        errors.failed(id, error, "the command was not begun")
    }
}

impl Awaited for Session {
    fn wait(&self) -> Option<Result> {
        self.wait_for_threads(Deadline::never())
            .then(|| self.conclude(self.join()))
    }

    fn interrupt(&self, why: Disturbance) -> Result {
        self.interrupt_threads(why);
        self.conclude(self.join())
    }
}

/// A thread that has not ended yet. Dropping it is the thread's last action.
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
