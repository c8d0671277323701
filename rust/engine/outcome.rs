// SPDX-License-Identifier: GPL-2.0

//! Connection state: the last milestone reached and the first failure.
//!
//! Completions, CM events, asynchronous errors and signals all report here, from any context; one
//! thread waits here. The first cause of a failure is kept, so that its consequences do not hide
//! it. Every timeout counts from the last activity.
//!
//! A thread with several connections waits for all of them at once: their outcomes share a
//! wait queue, which every report wakes.
//!
//! The lock is a leaf: it may be taken with any other lock held, and no lock is taken under it.

use crate::{
    kernel_ext::{
        completion::Completion,
        spinlock::SpinLockIrq,
        time::{
            jiffies,
            Deadline, //
        }, //
    },
    logic::failure::{
        cause::{
            ConnectionEnd,
            Known, //
        },
        Failure, //
    },
    trace, //
};
use kernel::{
    prelude::*,
    static_lock_class,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Relaxed,
            Release, //
        },
        Arc, //
    }, //
};

/// Time that a consequence waits for its cause to be reported, in ms.
const GRACE_MS: u32 = 200;

/// Milestones of a connection, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Progress {
    /// Nothing has been reported yet.
    Started,
    /// The peer's address and the device that leads to it are known.
    AddressResolved,
    /// The route is known.
    RouteResolved,
    /// Both sides may send.
    Established,
    /// The workload has ended its warm-up, or would with one more operation.
    Warm,
    /// The workload has done everything that is measured, and may have to tell the peer.
    Measured,
    /// The workload has done all its work.
    Finished,
}

/// Value of [`Outcome::ended`]: there is a failure, and its cause may still be reported.
const ENDED: u32 = 1;

/// Value of [`Outcome::ended`]: [`Progress::Finished`] is reached, or a failure that no other
/// replaces.
const SETTLED: u32 = 2;

struct State {
    progress: Progress,
    end: ConnectionEnd,
}

impl State {
    /// Returns the value that [`Outcome::ended`] keeps for this state.
    fn ended(&self) -> u32 {
        match self.end.known() {
            Known::Nothing => 0,
            Known::Consequence => ENDED,
            Known::Settled => SETTLED,
        }
    }
}

/// Completion that every report signals, to wake the one thread that waits.
pub(crate) type WaitQueue = Arc<Completion>;

/// Creates a wait queue. May sleep.
pub(crate) fn new_wait_queue() -> Result<WaitQueue> {
    Arc::pin_init(Completion::new(), GFP_KERNEL)
}

/// State of one connection.
#[pin_data]
pub(crate) struct Outcome {
    #[pin]
    state: SpinLockIrq<State>,
    changed: WaitQueue,
    /// Time of the last activity, in jiffies.
    touched: Atomic<usize>,
    /// Not 0 while nothing is under way, so that no timeout counts.
    resting: Atomic<u32>,
    /// 0, [`ENDED`] or [`SETTLED`]; read without the lock by loops and completion handlers.
    ended: Atomic<u32>,
}

impl Outcome {
    /// Creates the state of a new connection, whose reports wake `wait_queue`. May sleep.
    pub(crate) fn new(wait_queue: &WaitQueue) -> Result<Arc<Self>> {
        Arc::pin_init(Self::init(wait_queue.clone()), GFP_KERNEL)
    }

    /// Calls [`new`](Self::new) with a new wait queue.
    pub(crate) fn single() -> Result<Arc<Self>> {
        Self::new(&new_wait_queue()?)
    }

    fn init(wait_queue: WaitQueue) -> impl PinInit<Self> {
        pin_init!(Self {
            state <- SpinLockIrq::new(
                State { progress: Progress::Started, end: ConnectionEnd::default() },
                c"krping_outcome",
                static_lock_class!(),
            ),
            changed: wait_queue,
            touched: Atomic::new(jiffies()),
            resting: Atomic::new(0),
            ended: Atomic::new(0),
        })
    }

    /// Reports a failure. It is ignored if an earlier failure is its cause. Any context.
    pub(crate) fn fail(&self, failure: Failure) {
        {
            let mut state = self.state.lock();
            state.end.fail(failure);
            self.ended.store(state.ended(), Relaxed);
        }
        self.changed.complete();
    }

    /// Reports that the peer knows of the end, whichever side ended the connection. Any context.
    pub(crate) fn disconnected(&self) {
        self.state.lock().end.release();
        self.fail(Failure::Disconnected);
    }

    /// Returns the cause of `failure`: the failure that had been reported when a call failed, or
    /// the one that an early disconnect overtook. Waits a moment for the latter to be reported.
    /// Process context; sleeps.
    pub(crate) fn cause_of(&self, failure: Failure) -> Failure {
        self.cause_until(failure, Self::grace())
    }

    /// Returns the cause of `failure` as [`cause_of`](Self::cause_of) does, for which it waits
    /// until `grace` at most. For those who look for the causes of several failures, and wait for
    /// all of them at once. Process context; sleeps.
    pub(crate) fn cause_until(&self, failure: Failure, grace: Deadline) -> Failure {
        loop {
            match self.cause_now(failure) {
                Ok(cause) => return cause,
                Err(failure) if grace.passed() => return failure,
                Err(_) => self.sleep(grace),
            }
        }
    }

    /// Returns the cause of `failure` as far as it has been reported. Any context.
    pub(crate) fn known_cause(&self, failure: Failure) -> Failure {
        match self.cause_now(failure) {
            Ok(cause) | Err(cause) => cause,
        }
    }

    fn cause_now(&self, failure: Failure) -> Result<Failure, Failure> {
        self.state.lock().end.cause_of(failure)
    }

    /// Waits a moment for a failure that is about to be reported. Process context; sleeps.
    pub(crate) fn await_failure(&self) {
        let grace = Self::grace();
        while self.failure().is_none() && !grace.passed() {
            self.sleep(grace);
        }
    }

    /// Returns the deadline for the cause of a consequence to be reported.
    pub(crate) fn grace() -> Deadline {
        Deadline::after_ms(GRACE_MS)
    }

    /// Returns true if the teardown need not wait for the peer any more: the peer knows of the end,
    /// the device is gone, or a signal came. Any context.
    pub(crate) fn is_released(&self) -> bool {
        self.state.lock().end.is_released()
    }

    /// Reports that `progress` is reached. Any context.
    pub(crate) fn advance(&self, progress: Progress) {
        trace::connect(self, progress as u32);
        self.touch();
        {
            let mut state = self.state.lock();
            // The first messages may overtake the event that says that the connection is made.
            state.progress = state.progress.max(progress);
            if progress == Progress::Finished {
                state.end.finish();
                self.ended.store(SETTLED, Relaxed);
            }
        }
        self.changed.complete();
    }

    /// Records activity: timeouts count from here. Any context, one store.
    pub(crate) fn touch(&self) {
        self.touched.store(jiffies(), Relaxed);
    }

    /// Says whether the connection rests: nothing is under way, and this side decides when the next
    /// step is due. No timeout counts meanwhile. Any context.
    pub(crate) fn rest(&self, rests: bool) {
        if rests {
            self.resting.store(1, Relaxed);
        } else if self.resting.load(Relaxed) != 0 {
            self.touch();
            // Whoever sees the end of the rest sees that time, too.
            self.resting.store(0, Release);
        }
    }

    /// Returns the failure, if there is one. Any context.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.state.lock().end.failure()
    }

    /// Returns true once the workload has finished or a failure was reported. Any context, one
    /// load.
    pub(crate) fn ended(&self) -> bool {
        self.ended.load(Relaxed) != 0
    }

    /// Returns true once the outcome is final: the workload has finished, or its failure will not
    /// be replaced. Any context, one load.
    pub(crate) fn settled(&self) -> bool {
        self.ended.load(Relaxed) == SETTLED
    }

    /// Returns true once the connection has reached `progress`. Any context.
    pub(crate) fn reached(&self, progress: Progress) -> bool {
        self.state.lock().progress >= progress
    }

    /// Wakes the waiting thread to check its condition again. Any context.
    pub(crate) fn wake(&self) {
        self.changed.complete();
    }

    /// Waits until `progress` is reached. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// The failure that was reported, or [`Failure::TimedOut`] with `what` after `timeout` ms
    /// without activity.
    pub(crate) fn wait_for(
        &self,
        progress: Progress,
        what: &'static str,
        timeout: Option<u32>,
    ) -> Result<(), Failure> {
        self.wait_until(what, timeout, || self.reached(progress))
    }

    /// Waits until `done` returns true. It is called again after each report.
    pub(crate) fn wait_until(
        &self,
        what: &'static str,
        timeout: Option<u32>,
        mut done: impl FnMut() -> bool,
    ) -> Result<(), Failure> {
        self.touch();
        loop {
            if let Some(failure) = self.settled_failure() {
                return Err(failure);
            }
            if done() {
                return Ok(());
            }
            self.check_deadline(what, timeout)?;
            self.sleep(self.deadline(timeout));
        }
    }

    /// Fails if there was no activity for `timeout` ms. For loops that poll.
    ///
    /// # Errors
    ///
    /// [`Failure::TimedOut`].
    pub(crate) fn check_deadline(
        &self,
        what: &'static str,
        timeout: Option<u32>,
    ) -> Result<(), Failure> {
        match timeout {
            Some(ms) if self.deadline(timeout).passed() => Err(Failure::TimedOut(what, ms)),
            _ => Ok(()),
        }
    }

    /// Waits until all of `outcomes`, which share a wait queue, have reached `goal`. Calls
    /// `send_keepalives` every `interval` ms, or soon after, and `attend` before each sleep, until
    /// that returns false. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// See [`Self::wait_for`], for any of the outcomes; the error of `attend` or
    /// `send_keepalives`.
    pub(crate) fn wait_all<'a>(
        outcomes: impl Iterator<Item = &'a Self> + Clone,
        goal: Progress,
        what: &'static str,
        timeout: Option<u32>,
        interval: Option<u32>,
        mut attend: impl FnMut() -> Result<bool, Failure>,
        mut send_keepalives: impl FnMut() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut next = Deadline::after(interval);
        loop {
            let mut wait = next;
            let mut waiter = None;
            for outcome in outcomes.clone() {
                if let Some(failure) = outcome.settled_failure() {
                    return Err(failure);
                }
                if !outcome.reached(goal) {
                    outcome.check_deadline(what, timeout)?;
                    wait = wait.sooner(outcome.deadline(timeout));
                    waiter = Some(outcome);
                }
            }
            let Some(waiter) = waiter else {
                return Ok(());
            };
            if next.passed() {
                send_keepalives()?;
                next = Deadline::after(interval);
            } else if !attend()? {
                waiter.sleep(wait);
            }
        }
    }

    /// Sleeps until a report to this or another outcome of the same wait queue, or until
    /// `deadline`. For kernel threads that check a condition of their own.
    pub(crate) fn pause(&self, deadline: Deadline) {
        self.sleep(deadline);
    }

    /// Sleeps until something is reported. Only kernel threads wait here, and these get no signals.
    /// An interruptible sleep neither adds to the load average nor counts as a hang.
    fn sleep(&self, deadline: Deadline) {
        let _ = self.changed.wait_interruptible(deadline);
    }

    /// Returns the time at which `timeout` ms without activity will have passed; never while the
    /// connection [rests](Self::rest).
    pub(crate) fn deadline(&self, timeout: Option<u32>) -> Deadline {
        match timeout {
            Some(ms) if self.resting.load(Acquire) == 0 => {
                Deadline::since(self.touched.load(Relaxed), ms)
            }
            Some(_) | None => Deadline::never(),
        }
    }

    /// Returns the failure, after a short wait for the cause if it is only a consequence. Process
    /// context; sleeps.
    pub(crate) fn settled_failure(&self) -> Option<Failure> {
        let grace = Self::grace();
        loop {
            let failure = self.failure()?;
            if !failure.is_consequence() || grace.passed() {
                return Some(failure);
            }
            self.sleep(grace);
        }
    }
}
