// SPDX-License-Identifier: GPL-2.0

//! The receiver of the events of one end: it counts those of completions, and can have a thread
//! poll while it runs.

#![forbid(unsafe_code)]

use crate::{
    engine::outcome::Outcome,
    kernel_ext::time::monotonic_ns,
    rdma::event::{
        AsyncEvent,
        EventHandler, //
    }, //
};
use core::hint::spin_loop;
use kernel::{
    cpu::CpuId,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Full,
            Relaxed,
            Release, //
        },
        Arc, //
    }, //
};

/// Time in ns for which the handler of an event waits for a thread that polls: long enough for one
/// that is running, and short enough for a CPU to have its interrupts off.
const HOLD_NS: u64 = 50_000_000;

/// The handler waits for nobody.
const IDLE: u32 = 0;
/// The handler runs, and waits for a thread to poll.
const WAITS: u32 = 1;
/// The handler runs, and a thread has begun to poll.
const POLLS: u32 = 2;
/// The thread has polled while the handler ran.
const POLLED: u32 = 3;
/// The handler has waited in vain for the poll to end.
const LOCKED: u32 = 4;
/// The handler has waited in vain for a poll to begin.
const UNSEEN: u32 = 5;

/// No CPU.
const NOBODY: u32 = u32::MAX;

/// The end of a poll that was tried while the handler ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Polled {
    /// The poll ended while the handler ran.
    Meanwhile,
    /// The poll did not end before the handler did.
    Afterwards,
    /// The handler did not run beside the thread.
    Unseen,
}

/// The receiver of the events of one end's queues.
pub(super) struct Watch {
    outcome: Arc<Outcome>,
    /// Number of events of a shared receive queue that few receives are posted.
    limit_events: Atomic<u32>,
    /// Number of events that the queue pair takes no shared receive any more.
    last_receives: Atomic<u32>,
    /// Number of completion events.
    events: Atomic<u32>,
    /// CPU of the thread that the handler waits for.
    poller: Atomic<u32>,
    stage: Atomic<u32>,
}

impl Watch {
    /// Creates a receiver that hands asynchronous events on to `outcome`.
    pub(super) fn new(outcome: Arc<Outcome>) -> Self {
        Self {
            outcome,
            limit_events: Atomic::new(0),
            last_receives: Atomic::new(0),
            events: Atomic::new(0),
            poller: Atomic::new(NOBODY),
            stage: Atomic::new(IDLE),
        }
    }

    /// Returns the number of completion events so far. Any context.
    pub(super) fn events(&self) -> u32 {
        self.events.load(Acquire)
    }

    /// Returns the number of events that few receives of the shared queue are posted. Any context.
    pub(super) fn limit_events(&self) -> u32 {
        self.limit_events.load(Acquire)
    }

    /// Returns the number of events that the queue pair takes no shared receive any more. Any
    /// context.
    pub(super) fn last_receives(&self) -> u32 {
        self.last_receives.load(Acquire)
    }

    /// Has the handler of the next event wait for the calling thread, which is to call
    /// [`Self::poll_in_event`]. Process context.
    pub(super) fn expect_poll(&self) {
        self.stage.store(IDLE, Relaxed);
        self.poller.store(CpuId::current().as_u32(), Release);
    }

    /// Calls `poll` as soon as the handler runs on another CPU, and returns what came of it.
    /// `before` is the number of events before the one that is expected; `expired` ends the wait
    /// for it. Process context.
    pub(super) fn poll_in_event(
        &self,
        before: u32,
        poll: impl FnOnce(),
        expired: impl Fn() -> bool,
    ) -> Polled {
        let began = loop {
            if self.stage.cmpxchg(WAITS, POLLS, Full).is_ok() {
                break true;
            }
            let waited = self.events() != before && self.stage.load(Acquire) != WAITS;
            if waited || expired() {
                break false;
            }
            self.poller.store(CpuId::current().as_u32(), Release);
        };
        if began {
            poll();
        }
        self.poller.store(NOBODY, Release);
        match self.stage.cmpxchg(POLLS, POLLED, Full) {
            Ok(_) if began => Polled::Meanwhile,
            Err(LOCKED) => Polled::Afterwards,
            _ => Polled::Unseen,
        }
    }

    /// Waits for the thread, if it runs on another CPU.
    fn hold(&self) {
        let poller = self.poller.load(Acquire);
        if poller == NOBODY || poller == CpuId::current().as_u32() {
            return;
        }
        self.stage.store(WAITS, Release);
        for (stage, given_up) in [(WAITS, UNSEEN), (POLLS, LOCKED)] {
            let until = monotonic_ns().saturating_add(HOLD_NS);
            while self.stage.load(Acquire) == stage && monotonic_ns() < until {
                spin_loop();
            }
            if self.stage.cmpxchg(stage, given_up, Full).is_ok() {
                return;
            }
        }
    }
}

impl EventHandler for Watch {
    fn async_event(&self, event: AsyncEvent) {
        if event.is_srq_limit() {
            self.limit_events.fetch_add(1, Release);
        }
        if event.is_last_receive() {
            self.last_receives.fetch_add(1, Release);
        }
        self.outcome.async_event(event);
    }

    fn completion_event(&self) {
        self.hold();
        self.events.fetch_add(1, Release);
    }
}
