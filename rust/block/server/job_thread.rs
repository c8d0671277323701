// SPDX-License-Identifier: GPL-2.0

//! The thread that does the file work of one connection to a block server.
//!
//! A file system may take long, and cannot be interrupted. So while this thread works, it holds
//! neither the queue pair nor the connection identifier, only the store and the memory of the
//! request's data. When the connection ends or the device is removed, queue pair and identifier go
//! at once, whatever the store does. The connection's own thread takes them down and then waits for
//! this thread, because the client must not come back before.

#![forbid(unsafe_code)]

use crate::{
    block::server::{
        store::{
            Store,
            Work, //
        },
        BlockServer, //
    },
    engine::{
        outcome::{
            new_wait_queue,
            Outcome, //
            WaitQueue,
        },
        peer_log::{
            Level,
            PeerLog, //
        },
        queue::Queue,
        queue_pair::QueuePair,
        session::Session,
        worker::{
            Worker, //
        }, //
    },
    kernel_ext::{
        completion::Waited,
        file::throttle_locally,
        kthread::Kthread,
        memory::NoIo,
        time::Deadline, //
    },
    logic::{
        block::{
            Action,
            Request,
            Status, //
        },
        failure::Failure, //
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

/// Time that the work for an ended connection may take before a line in the log says so, in ms.
const SLOW_MS: u32 = 2000;

/// A queue pair of a block server.
pub(crate) type Pair = QueuePair<BlockServer>;

struct State {
    /// The queue pair; `None` once the connection has ended.
    pair: Option<Pair>,
    /// Action of the request that was taken last.
    current: Option<Action>,
}

/// State shared by a connection's thread and its job thread.
#[pin_data]
pub(crate) struct JobShared {
    #[pin]
    state: Mutex<State>,
    /// Woken when there is work, and when the connection has ended.
    wait_queue: WaitQueue,
    /// Woken when the job thread has ended.
    done: WaitQueue,
    outcome: Arc<Outcome>,
    store: Arc<Store>,
    /// The session's number, for the log.
    id: u32,
}

impl JobShared {
    /// Creates the state for `pair`, which wakes `wait_queue` when there is work on `store`. May
    /// sleep.
    pub(crate) fn new(
        pair: Pair,
        wait_queue: WaitQueue,
        store: Arc<Store>,
        id: u32,
    ) -> Result<Arc<Self>> {
        let outcome = pair.outcome().clone();
        let done = new_wait_queue()?;
        Arc::pin_init(
            pin_init!(Self {
                state <- new_mutex!(State { pair: Some(pair), current: None }, "krping_desk"),
                wait_queue,
                done,
                outcome,
                store,
                id,
            }),
            GFP_KERNEL,
        )
    }

    /// Calls `f` on the connection. Returns `None` if the connection has ended. `f` must not sleep.
    pub(crate) fn with<R>(
        &self,
        f: impl FnOnce(&mut BlockServer, &mut Queue<'_>) -> R,
    ) -> Option<R> {
        let state = self.state.lock();
        state.pair.as_ref().and_then(|pair| pair.with(f))
    }

    /// Takes the next request to work on, if there is one. Returns `None` if the connection has
    /// ended.
    fn next(&self) -> Option<Result<Option<Work>, Failure>> {
        let mut state = self.state.lock();
        let next = state
            .pair
            .as_ref()?
            .with(|server, queue| match server.look_for_work() {
                true => server.take(queue),
                false => Ok(None),
            })?;
        if let Ok(Some(work)) = &next {
            state.current = Some(work.request.action);
        }
        Some(next)
    }

    /// Takes the queue pair, and wakes the job thread. No further work begins.
    pub(crate) fn close(&self) -> Option<Pair> {
        let pair = self.state.lock().pair.take();
        self.wait_queue.complete();
        pair
    }

    /// Works on requests until the connection ends. The body of the thread.
    fn work(&self) {
        // The disk may be of this machine, and memory reclaim may be waiting for writes to it.
        let _no_io = NoIo::enter();
        throttle_locally();
        while !self.outcome.ended() {
            let work = match self.next() {
                None => break,
                Some(Ok(Some(work))) => work,
                Some(Ok(None)) => {
                    let _ = self.wait_queue.wait_interruptible(Deadline::never());
                    continue;
                }
                Some(Err(failure)) => {
                    self.outcome.fail(failure);
                    break;
                }
            };
            let status = work.execute(&self.store, || !self.outcome.ended());
            if self.outcome.ended() {
                break;
            }
            if self.store.logs() {
                self.log(&work.request, status);
            }
            if let Some(Err(failure)) = self.with(|server, queue| server.done(queue, &work, status))
            {
                self.outcome.fail(failure);
            }
        }
    }

    fn log(&self, request: &Request, status: Status) {
        if request.action == Action::Close {
            return;
        }
        let (ended, how) = match status {
            Status::Ok => ("", ""),
            status => (": ", status.as_str()),
        };
        pr_info!(
            "{}: tap: {} offset {} bytes {}{}{}\n",
            self.id,
            request.action.as_str(),
            request.offset,
            request.bytes(),
            ended,
            how
        );
    }
}

/// Wakes those who wait for the end of the job thread when dropped, even if the thread never ran.
struct Done(Arc<JobShared>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.done.complete();
    }
}

/// The job thread of a connection, until it is [`joined`](Self::join).
pub(crate) struct JobThread {
    shared: Arc<JobShared>,
    thread: Kthread,
}

impl JobThread {
    /// Starts the thread, on the CPU of `worker`, with the rights of the writer. May sleep.
    pub(crate) fn start(
        shared: &Arc<JobShared>,
        session: &Session,
        worker: &Worker,
    ) -> Result<Self> {
        let done = Done(shared.clone());
        let thread = session.run_thread(worker, move |on_cpu| {
            match on_cpu {
                Ok(()) => done.0.work(),
                Err(failure) => done.0.outcome.fail(failure),
            }
            drop(done);
        })?;
        Ok(Self {
            shared: shared.clone(),
            thread,
        })
    }

    /// Waits until the thread has ended, which takes as long as the store works on the last request
    /// of client `disk`. Logs it if that takes long. Called after [`JobShared::close`]. Sleeps.
    pub(crate) fn join(self, log: &PeerLog, disk: u64) {
        let Self { shared, thread } = self;
        let wait = |limit| shared.done.wait_interruptible(limit) == Waited::Completed;
        if !wait(Deadline::after_ms(SLOW_MS)) {
            let action = shared.state.lock().current;
            let action = action.map_or("request", Action::as_str);
            log.say(
                Level::Warning,
                fmt!(
                    "client {:016x}: its connection is gone, and the store still works on a {} of \
                     it; the client cannot come back before that is done",
                    disk,
                    action
                ),
            );
            while !wait(Deadline::never()) {}
            log.say(
                Level::Info,
                fmt!(
                    "client {:016x}: the store is done with the {}",
                    disk,
                    action
                ),
            );
        }
        drop(thread);
    }
}
