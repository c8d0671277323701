// SPDX-License-Identifier: GPL-2.0

//! The thread that does the file work of one connection to a block server.
//!
//! A file system may take long, and cannot be interrupted. So this thread holds neither the
//! queue pair nor the identifier while it works, only the store and the memory that a request's
//! data is in: both go at once when the connection ends or the device is removed, whatever the
//! store does. The connection's own thread takes them down, and then waits for this one, since
//! the client must not come back before.

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
            new_bell,
            Bell,
            Outcome, //
        },
        worker::Worker, //
    },
    kernel_ext::{
        completion::Waited,
        file::throttle_locally,
        kthread::{
            run_on,
            Kthread, //
        },
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
    },
    rdma::qp::{
        Queue,
        QueuePair, //
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

/// How long the work of a connection that has ended may take without a word in the log, in ms.
const SLOW_MS: u32 = 2000;

/// A queue pair of a block server.
pub(crate) type Pair = Pin<KBox<QueuePair<BlockServer>>>;

struct State {
    /// Until the connection ends.
    pair: Option<Pair>,
    /// What was taken out last, to be worked on.
    current: Option<Action>,
}

/// Where a connection's thread and the one that works for it meet.
#[pin_data]
pub(crate) struct Desk {
    #[pin]
    state: Mutex<State>,
    /// Rung when there is something to do, or nothing more.
    bell: Bell,
    /// Rung by the thread when it is done for good.
    done: Bell,
    outcome: Arc<Outcome>,
    store: Arc<Store>,
    /// The session's number, for the log.
    id: u32,
}

impl Desk {
    /// That of `pair`, which rings `bell` for work on `store`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(pair: Pair, bell: Bell, store: Arc<Store>, id: u32) -> Result<Arc<Self>> {
        let outcome = pair.outcome().clone();
        let done = new_bell()?;
        Arc::pin_init(
            pin_init!(Self {
                state <- new_mutex!(State { pair: Some(pair), current: None }, "krping_desk"),
                bell,
                done,
                outcome,
                store,
                id,
            }),
            GFP_KERNEL,
        )
    }

    /// Calls `f` on the connection; `None` where it has ended. `f` must not sleep.
    pub(crate) fn with<R>(
        &self,
        f: impl FnOnce(&mut BlockServer, &mut Queue<'_>) -> R,
    ) -> Option<R> {
        let state = self.state.lock();
        state.pair.as_ref().and_then(|pair| pair.with(f))
    }

    /// Takes out what is to be done next; `None` where the connection has ended.
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

    /// Takes the queue pair away: no work begins any more.
    pub(crate) fn close(&self) -> Option<Pair> {
        let pair = self.state.lock().pair.take();
        self.bell.complete();
        pair
    }

    /// Works until the connection ends. The body of the thread.
    fn work(&self) {
        // The disk may be one of this very machine, whose memory waits to be written to it.
        let _no_io = NoIo::enter();
        throttle_locally();
        while !self.outcome.ended() {
            let work = match self.next() {
                None => break,
                Some(Ok(Some(work))) => work,
                Some(Ok(None)) => {
                    let _ = self.bell.wait_interruptible(Deadline::never());
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

/// Says that the thread is done, also where it never ran.
struct Done(Arc<Desk>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.done.complete();
    }
}

/// The thread of a connection's file work, until it is [`joined`](Self::join).
pub(crate) struct JobThread {
    desk: Arc<Desk>,
    thread: Kthread,
}

impl JobThread {
    /// Starts it, on the CPU of `worker`. May sleep.
    ///
    /// # Errors
    ///
    /// Those of [`Kthread::run`].
    pub(crate) fn start(desk: &Arc<Desk>, worker: &Worker) -> Result<Self> {
        let (done, cpu) = (Done(desk.clone()), worker.cpu());
        let thread = Kthread::run(worker.id, move || {
            match cpu.map_or(Ok(()), run_on) {
                Ok(()) => done.0.work(),
                Err(_) => done.0.outcome.fail(Failure::NoCpu(cpu.unwrap_or(0))),
            }
            drop(done);
        })?;
        Ok(Self {
            desk: desk.clone(),
            thread,
        })
    }

    /// Waits until it has ended, after [`Desk::close`]: as long as the store works on the last
    /// request of client `disk`. Says so in the log. Sleeps.
    pub(crate) fn join(self, disk: u64) {
        let Self { desk, thread } = self;
        let wait = |limit| desk.done.wait_interruptible(limit) == Waited::Completed;
        if !wait(Deadline::after_ms(SLOW_MS)) {
            let action = desk.state.lock().current;
            let action = action.map_or("request", Action::as_str);
            pr_warn!(
                "{}: client {:016x}: its connection is gone, and the store still works on a {} \
                 of it; the client cannot come back before that is done\n",
                desk.id,
                disk,
                action
            );
            while !wait(Deadline::never()) {}
            pr_info!(
                "{}: client {:016x}: the store is done with the {}\n",
                desk.id,
                disk,
                action
            );
        }
        drop(thread);
    }
}
