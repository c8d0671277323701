// SPDX-License-Identifier: GPL-2.0

//! The pool of chunks and the completion queue that all connections of a dispatcher share.
//!
//! Half of the chunks are for sending at most, so that there are always some to receive with: what
//! has come is done with at once, and gives its chunk back.

#![forbid(unsafe_code)]

use crate::{
    cm::CmId,
    engine::{
        drive::failed,
        histogram::{
            new_histogram,
            new_open_loop_figures, //
        },
        outcome::WaitQueue,
        peer_log::Level,
        session::Session, //
    },
    kernel_ext::{
        spinlock::SpinLockBh,
        time::monotonic_ns, //
    },
    logic::{
        failure::Failure,
        measure::{
            histogram::Histogram,
            schedule::OpenLoopFigures, //
        },
        messenger::figures::MessengerFigures, //
    },
    mr::{
        new_domain,
        BufferId,
        Memory, //
    },
    rdma::{
        cq::{
            CompletionQueue,
            NextEvent,
            Receives, //
        },
        event::{
            AsyncEvent,
            EventHandler, //
        },
        memory,
        srq::{
            Chunk,
            SharedReceiveQueue, //
        }, //
    }, //
};
use kernel::{
    prelude::*,
    static_lock_class,
    sync::{
        atomic::{
            Atomic,
            Full,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// Completions that are handled at a time.
const BATCH: u16 = 64;

/// The device's events, which wake the dispatcher.
struct Signals {
    wait_queue: WaitQueue,
    /// 1 where there may be completions.
    due: Atomic<u32>,
    /// 1 where few receives are posted.
    few: Atomic<u32>,
    limit_events: Atomic<u64>,
    /// The number of an error of the queues; 0 of none.
    error: Atomic<u32>,
}

impl EventHandler for Signals {
    fn async_event(&self, event: AsyncEvent) {
        if event.is_srq_limit() {
            self.limit_events.fetch_add(1, Relaxed);
            self.few.store(1, Relaxed);
        } else if event.is_error() {
            self.error.store(event.number(), Relaxed);
            pr_err!("queues that connections share: {}\n", event.as_str());
        }
        self.wait_queue.complete();
    }

    fn completion_event(&self) {
        self.due.store(1, Relaxed);
        self.wait_queue.complete();
    }
}

/// The part of a pool that completions change.
pub(super) struct State {
    /// Connections that wait for a chunk, by their numbers; the first has waited longest.
    waiting: KVVec<u32>,
    /// The time since which there are any.
    waiting_since: u64,
    /// The times of messages: from the first byte to the reply, or to the acknowledgment.
    histogram: Option<KBox<Histogram>>,
    /// Figures of messages that are due at moments of the clock.
    open_loop: Option<KBox<OpenLoopFigures>>,
    pub(super) figures: MessengerFigures,
}

impl State {
    /// Notes that a message took `ns` nanoseconds.
    pub(super) fn record(&mut self, ns: u64) {
        if let Some(histogram) = &mut self.histogram {
            histogram.record(ns);
        }
    }

    /// Notes that nobody waits for a chunk any more.
    fn waited(&mut self) {
        let waited = monotonic_ns().saturating_sub(self.waiting_since);
        self.figures.exhausted_ns = self.figures.exhausted_ns.saturating_add(waited);
    }
}

/// The chunks and the completion queue that all connections of a dispatcher share. Fields are in
/// drop order.
#[pin_data]
pub(super) struct Pool {
    chunks: Arc<SharedReceiveQueue>,
    completions: Arc<CompletionQueue>,
    signals: Arc<Signals>,
    /// A buffer to name in a request of no bytes.
    no_bytes: BufferId,
    /// Chunks that may be sent from at a time.
    most_sends: u32,
    /// Posted receives below which the device tells that there are few.
    limit: u32,
    /// The number of connections that wait for a chunk, to be read without the lock.
    waiting: Atomic<u32>,
    /// The number of those that have come to their end.
    finished: Atomic<u32>,
    #[pin]
    state: SpinLockBh<State>,
}

impl Pool {
    /// Makes the pool that the session's command asks for, on the device of `id`, for up to
    /// `connections` connections with `sends` sends of theirs altogether. Events wake
    /// `wait_queue`. May sleep.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`], [`Failure::OverMemory`], [`Failure::Kernel`].
    pub(super) fn new(
        session: &Session,
        id: &CmId,
        wait_queue: &WaitQueue,
        connections: u32,
        sends: u32,
    ) -> Result<Arc<Self>, Failure> {
        let most = id
            .device()
            .map_err(failed("finding the device"))?
            .max_srq_wr();
        if most == 0 {
            return Err(Failure::Unsupported(
                "messenger: the device has no shared receive queues",
            ));
        }
        let options = &session.command.messenger;
        let chunks = options.chunks.min(most);
        if chunks < options.chunks {
            session.peer_log.say(
                Level::Warning,
                fmt!(
                    "chunks={} lowered to {}, the device's limit",
                    options.chunks,
                    chunks
                ),
            );
        }
        Self::make(session, id, wait_queue, chunks, (connections, sends))
            .map_err(|error| session.allowance.no_buffers(error))
    }

    fn make(
        session: &Session,
        id: &CmId,
        wait_queue: &WaitQueue,
        count: u32,
        (connections, sends): (u32, u32),
    ) -> Result<Arc<Self>> {
        let signals = Arc::new(
            Signals {
                wait_queue: wait_queue.clone(),
                due: Atomic::new(0),
                few: Atomic::new(0),
                limit_events: Atomic::new(0),
                error: Atomic::new(0),
            },
            GFP_KERNEL,
        )?;
        let id = id.rdma();
        let mut memory = memory::Memory::new(id, new_domain(id, false)?)?;
        session.allowance.apply(&mut memory);
        let chunk = session.command.messenger.chunk;
        let chunks = SharedReceiveQueue::new(memory, count, chunk, signals.clone())?;
        let chunk = chunks.claim(1).ok_or(EINVAL)?;
        let no_bytes = chunk.buffer();
        chunks.release(chunk).map_err(|_| EINVAL)?;
        let users = connections as usize;
        let receives = count.div_ceil(2);
        let shared = Receives {
            queue: chunks.clone(),
            posted: receives,
        };
        let completions = CompletionQueue::shared(id, users, sends, shared, signals.clone())?;
        let state = State {
            waiting: KVVec::with_capacity(users, GFP_KERNEL)?,
            waiting_since: 0,
            histogram: Some(new_histogram()?),
            open_loop: None,
            figures: MessengerFigures {
                chunk: chunks.room(),
                chunks: count,
                ..MessengerFigures::default()
            },
        };
        let this = Arc::pin_init(
            pin_init!(Self {
                chunks,
                completions,
                signals,
                no_bytes,
                most_sends: count - receives.min(count),
                limit: receives / 4,
                waiting: Atomic::new(0),
                finished: Atomic::new(0),
                state <- SpinLockBh::new(state, c"krping_pool", static_lock_class!()),
            }),
            GFP_KERNEL,
        )?;
        this.refill()?;
        this.chunks.arm(this.limit)?;
        Ok(this)
    }

    /// Makes an empty memory for a queue pair of `id` that takes its receives and its completion
    /// queue from here. May sleep.
    ///
    /// # Errors
    ///
    /// `ENODEV` for an unbound identifier; `EXDEV` for one on another device.
    pub(super) fn new_memory(&self, id: &CmId) -> Result<Memory> {
        let mut memory = Memory::new(id.rdma(), self.chunks.memory().pd().clone())?;
        memory.share(self.chunks.clone())?;
        memory.complete_to(self.completions.clone())?;
        Ok(memory)
    }

    /// Returns the bytes of a chunk.
    pub(super) fn room(&self) -> u32 {
        self.chunks.room()
    }

    /// Returns a buffer to name in a request of no bytes.
    pub(super) fn no_bytes(&self) -> BufferId {
        self.no_bytes
    }

    /// Returns the chunks, to read what has come.
    pub(super) fn chunks(&self) -> &SharedReceiveQueue {
        &self.chunks
    }

    /// Returns true where a connection that sends from `held` chunks may take another one: it has
    /// none; or it has fewer than are left for the others, and these are more than half of all. The
    /// latter half is for those that have none. So whoever takes all it can leaves as much as it
    /// has, and many who do so leave one for each of the others.
    pub(super) fn may_claim(&self, held: u32) -> bool {
        let left = self.most_sends.saturating_sub(self.chunks.claimed());
        held == 0 || held < left && left > self.most_sends / 2
    }

    /// Takes a chunk to send from, if there is one. While connections wait, it is only for the one
    /// whose `turn` it is. Any context but hard interrupts.
    pub(super) fn claim(&self, turn: bool) -> Option<Chunk> {
        match turn || self.waiting.load(Relaxed) == 0 {
            true => self.chunks.claim(self.most_sends),
            false => None,
        }
    }

    /// Gives a chunk back that was [taken](Self::claim) here. Any context but hard interrupts.
    pub(super) fn release(&self, chunk: Chunk) {
        // It fails for those of other pools only.
        let _ = self.chunks.release(chunk);
    }

    /// Runs `f` on what completions change. Any context but hard interrupts; `f` must not sleep.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.state.lock())
    }

    /// Makes room for figures of messages that are due at moments of the clock. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn add_open_loop(&self) -> Result {
        let figures = new_open_loop_figures()?;
        self.state.lock().open_loop = Some(figures);
        Ok(())
    }

    /// Runs `f` on these figures, if there are any. Any context but hard interrupts; `f` must not
    /// sleep.
    pub(super) fn with_open_loop<R>(&self, f: impl FnOnce(&mut OpenLoopFigures) -> R) -> Option<R> {
        self.state.lock().open_loop.as_deref_mut().map(f)
    }

    /// Returns these figures, once.
    pub(super) fn take_open_loop(&self) -> Option<KBox<OpenLoopFigures>> {
        self.state.lock().open_loop.take()
    }

    /// Notes that a connection has come to its end. Any context.
    pub(super) fn note_finished(&self) {
        self.finished.fetch_add(1, Relaxed);
    }

    /// Returns the number of connections that have come to their end. Any context.
    pub(super) fn finished(&self) -> u32 {
        self.finished.load(Relaxed)
    }

    /// Changes the connections that wait for a chunk, and notes how long there were any.
    fn change_waiting<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.state.lock();
        let before = state.waiting.len();
        let result = f(&mut state);
        let after = state.waiting.len();
        match (before, after) {
            (0, 1..) => state.waiting_since = monotonic_ns(),
            (1.., 0) => state.waited(),
            _ => {}
        }
        self.waiting.store(after as u32, Relaxed);
        result
    }

    /// Notes that connection `number` waits for a chunk. It is there but once.
    pub(super) fn wait(&self, number: u32) {
        self.change_waiting(|state| {
            state.figures.exhausted = state.figures.exhausted.saturating_add(1);
            // There is a place for each connection.
            let _ = state.waiting.push_within_capacity(number);
        });
    }

    /// Returns the connection that has waited longest, if there is a chunk to send from.
    pub(super) fn next_waiting(&self) -> Option<u32> {
        if self.waiting.load(Relaxed) == 0 || self.chunks.claimed() >= self.most_sends {
            return None;
        }
        self.change_waiting(|state| state.waiting.remove(0).ok())
    }

    /// Notes that connection `number`, which waits for a chunk, is gone.
    pub(super) fn leave(&self, number: u32) {
        self.change_waiting(|state| state.waiting.retain(|waiting| *waiting != number));
    }

    /// Handles a batch of completions, and returns their number. Process context; may sleep.
    pub(super) fn poll(&self) -> usize {
        let begun = monotonic_ns();
        let found = self.completions.poll(BATCH);
        if found > 0 {
            let busy = monotonic_ns().saturating_sub(begun);
            let mut state = self.state.lock();
            let figures = &mut state.figures;
            figures.batches = figures.batches.saturating_add(1);
            figures.completions = figures.completions.saturating_add(found as u64);
            figures.largest_batch = figures.largest_batch.max(found as u32);
            figures.busy_ns = figures.busy_ns.saturating_add(busy);
        }
        found
    }

    /// Posts receives that are missing, where [`poll`](Self::poll) has not done so, and asks the
    /// device to tell when few are left where it has. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub(super) fn refill(&self) -> Result {
        let receives = self.chunks.receives().saturating_sub(self.most_sends);
        self.chunks.refill_to(receives)?;
        if self.signals.few.load(Relaxed) != 0 && self.signals.few.xchg(0, Full) != 0 {
            self.chunks.arm(self.limit)?;
        }
        Ok(())
    }

    /// Asks for an event of the next completion, and returns true where one may have come already.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub(super) fn arm(&self) -> Result<bool> {
        self.completions.arm(NextEvent::Any)
    }

    /// Returns true where there may be completions since this was called last.
    pub(super) fn take_due(&self) -> bool {
        self.signals.due.xchg(0, Full) != 0
    }

    /// Returns an error of the device's queues.
    pub(super) fn error(&self) -> Option<Failure> {
        match self.signals.error.load(Relaxed) {
            0 => None,
            number => Some(Failure::Async(number, "an error of shared queues")),
        }
    }

    /// Returns the times of messages, once.
    pub(super) fn take_histogram(&self) -> Option<KBox<Histogram>> {
        self.state.lock().histogram.take()
    }

    /// Returns the figures so far. Once all connections are gone, chunks that are not back are
    /// lost.
    pub(super) fn figures(&self) -> MessengerFigures {
        MessengerFigures {
            limit_events: self.signals.limit_events.load(Relaxed),
            lost_chunks: self.chunks.claimed(),
            ..self.state.lock().figures
        }
    }
}
