// SPDX-License-Identifier: GPL-2.0

//! What becomes of one connection: how far it has come, and how it ended.
//!
//! Completions, CM events, asynchronous errors and signals all report here, from
//! whatever context they run in; one thread waits here. The first cause of a
//! failure is kept, so what follows from it does not hide it. Every wait has a
//! deadline that counts from the last sign of progress.
//!
//! A thread that has several connections waits for all of them at once: their
//! outcomes share a bell, which any report of any of them rings.
//!
//! The lock is a leaf: it is taken with any other lock held, and takes none.

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
    }, //
};
use kernel::{
    prelude::*,
    static_lock_class,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// How long a consequence waits for its cause to be reported, in ms.
const GRACE_MS: u32 = 200;

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Progress {
    /// Nothing has been reported yet.
    Started,
    /// The peer's address is known, and the device that leads to it.
    AddressResolved,
    /// The route is known.
    RouteResolved,
    /// Both sides may send.
    Established,
    /// The workload has ended its warm-up, or would but for the last operation.
    Warm,
    /// The workload has done what is measured, and may have to say so to the peer.
    Measured,
    /// The workload has done all that it was to do.
    Finished,
}

/// There is a failure, whose cause may still be reported.
const ENDED: u32 = 1;

/// There is [`Progress::Finished`], or a failure that nothing replaces.
const SETTLED: u32 = 2;

struct State {
    progress: Progress,
    end: ConnectionEnd,
}

impl State {
    /// Returns what [`Outcome::ended`] keeps of it.
    fn ended(&self) -> u32 {
        match self.end.known() {
            Known::Nothing => 0,
            Known::Consequence => ENDED,
            Known::Settled => SETTLED,
        }
    }
}

/// What reports ring, for one thread to hear.
pub(crate) type Bell = Arc<Completion>;

/// Makes a bell. May sleep.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn new_bell() -> Result<Bell> {
    Arc::pin_init(Completion::new(), GFP_KERNEL)
}

/// The fate of one connection.
#[pin_data]
pub(crate) struct Outcome {
    #[pin]
    state: SpinLockIrq<State>,
    changed: Bell,
    /// When something last moved, in jiffies.
    touched: Atomic<usize>,
    /// [`ENDED`] or [`SETTLED`] once there is an end, for loops and completions.
    ended: Atomic<u32>,
}

impl Outcome {
    /// The fate of a connection that has just begun; its reports ring `bell`. May
    /// sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(bell: &Bell) -> Result<Arc<Self>> {
        Arc::pin_init(Self::init(bell.clone()), GFP_KERNEL)
    }

    /// [`new`](Self::new), with a bell of its own.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn single() -> Result<Arc<Self>> {
        Self::new(&new_bell()?)
    }

    fn init(bell: Bell) -> impl PinInit<Self> {
        pin_init!(Self {
            state <- SpinLockIrq::new(
                State { progress: Progress::Started, end: ConnectionEnd::default() },
                c"krping_outcome",
                static_lock_class!(),
            ),
            changed: bell,
            touched: Atomic::new(jiffies()),
            ended: Atomic::new(0),
        })
    }

    /// Reports a failure, unless an earlier one is its cause. Any context.
    pub(crate) fn fail(&self, failure: Failure) {
        {
            let mut state = self.state.lock();
            state.end.fail(failure);
            self.ended.store(state.ended(), Relaxed);
        }
        self.changed.complete();
    }

    /// Reports that the peer knows of the end, be it its doing or this side's.
    /// Any context.
    pub(crate) fn disconnected(&self) {
        self.state.lock().end.release();
        self.fail(Failure::Disconnected);
    }

    /// The cause of `failure`: what had been reported when a call failed, or what
    /// overtakes a disconnect that should not have come yet, which is given a
    /// moment for that. Process context; sleeps.
    pub(crate) fn cause_of(&self, failure: Failure) -> Failure {
        let grace = Self::grace();
        loop {
            match self.cause_now(failure) {
                Ok(cause) => return cause,
                Err(failure) if grace.passed() => return failure,
                Err(_) => self.sleep(grace),
            }
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

    /// Until when a consequence waits for its cause.
    pub(crate) fn grace() -> Deadline {
        Deadline::after_ms(GRACE_MS)
    }

    /// Whether the end has nothing more to wait for from the peer: it knows, or the device is
    /// gone, or a signal came. Any context.
    pub(crate) fn is_released(&self) -> bool {
        self.state.lock().end.is_released()
    }

    /// Reports progress. Any context.
    pub(crate) fn advance(&self, progress: Progress) {
        self.touch();
        {
            let mut state = self.state.lock();
            state.progress = progress;
            if progress == Progress::Finished {
                state.end.finish();
                self.ended.store(SETTLED, Relaxed);
            }
        }
        self.changed.complete();
    }

    /// Notes a sign of life: deadlines count from here. Any context, one store.
    pub(crate) fn touch(&self) {
        self.touched.store(jiffies(), Relaxed);
    }

    /// The failure, if there is one. Any context.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.state.lock().end.failure()
    }

    /// Whether there is anything to wait for no more. Any context, one load.
    pub(crate) fn ended(&self) -> bool {
        self.ended.load(Relaxed) != 0
    }

    /// Whether the end is known for good. Any context, one load.
    pub(crate) fn settled(&self) -> bool {
        self.ended.load(Relaxed) == SETTLED
    }

    /// Whether the connection has come as far as `progress`. Any context.
    pub(crate) fn reached(&self, progress: Progress) -> bool {
        self.state.lock().progress >= progress
    }

    /// Wakes the waiting thread to look at its condition again. Any context.
    pub(crate) fn wake(&self) {
        self.changed.complete();
    }

    /// Waits until `progress` is reached. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// The failure that was reported, or [`Failure::TimedOut`] with `what` where
    /// there was no sign of life for `timeout` ms.
    pub(crate) fn wait_for(
        &self,
        progress: Progress,
        what: &'static str,
        timeout: Option<u32>,
    ) -> Result<(), Failure> {
        self.wait_until(what, timeout, || self.reached(progress))
    }

    /// Waits until `done` says so; it is asked again after each report.
    ///
    /// # Errors
    ///
    /// As [`Self::wait_for`].
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

    /// Fails where nothing moved for `timeout` ms. For loops that poll.
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

    /// Waits until all of `outcomes`, which share a bell, have come as far as `goal`.
    /// Each `beat` ms at the least, `beaten` is called. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// As [`Self::wait_for`], for any of them; what `beaten` returns.
    pub(crate) fn wait_all<'a>(
        outcomes: impl Iterator<Item = &'a Self> + Clone,
        goal: Progress,
        what: &'static str,
        timeout: Option<u32>,
        beat: Option<u32>,
        mut beaten: impl FnMut() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut next = Deadline::after(beat);
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
                beaten()?;
                next = Deadline::after(beat);
            } else {
                waiter.sleep(wait);
            }
        }
    }

    /// Sleeps until something is reported, to this or to another outcome of the same
    /// bell, or `deadline`. For kernel threads that have a condition of their own.
    pub(crate) fn pause(&self, deadline: Deadline) {
        self.sleep(deadline);
    }

    /// Sleeps until something changes. Only kernel threads wait here, and get no
    /// signals; but in this state they neither count as load nor as hung.
    fn sleep(&self, deadline: Deadline) {
        let _ = self.changed.wait_interruptible(deadline);
    }

    fn deadline(&self, timeout: Option<u32>) -> Deadline {
        timeout.map_or(Deadline::never(), |ms| {
            Deadline::since(self.touched.load(Relaxed), ms)
        })
    }

    /// The failure; a mere consequence is given a moment to meet its cause.
    fn settled_failure(&self) -> Option<Failure> {
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
