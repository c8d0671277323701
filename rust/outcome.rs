// SPDX-License-Identifier: GPL-2.0

//! What becomes of one connection: how far it has come, and how it ended.
//!
//! Completions, CM events, asynchronous errors and signals all report here, from
//! whatever context they run in; one thread waits here. The first cause of a
//! failure is kept, so what follows from it does not hide it. Every wait has a
//! deadline that counts from the last sign of progress.
//!
//! The lock is a leaf: it is taken with any other lock held, and takes none.

use crate::kernel_ext::{
    completion::Completion,
    spinlock::SpinLockIrq,
    time::{jiffies, Deadline},
};
use crate::logic::failure::Failure;
use kernel::{
    prelude::*,
    static_lock_class,
    sync::atomic::{Atomic, Relaxed},
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
    /// The workload has done all that it was to do.
    Finished,
}

/// There is a failure, whose cause may still be reported.
const ENDED: u32 = 1;

/// There is [`Progress::Finished`], or a failure that nothing replaces.
const SETTLED: u32 = 2;

struct State {
    progress: Progress,
    failure: Option<Failure>,
    /// Whether the end has nothing more to wait for from the peer.
    released: bool,
}

/// The fate of one connection.
#[pin_data]
pub(crate) struct Outcome {
    #[pin]
    state: SpinLockIrq<State>,
    #[pin]
    changed: Completion,
    /// When something last moved, in jiffies.
    touched: Atomic<usize>,
    /// [`ENDED`] or [`SETTLED`] once there is an end, for loops and completions.
    ended: Atomic<u32>,
}

impl Outcome {
    /// Returns an initialiser of the fate of a connection that has just begun.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            state <- SpinLockIrq::new(
                State { progress: Progress::Started, failure: None, released: false },
                c"krping_outcome",
                static_lock_class!(),
            ),
            changed <- Completion::new(),
            touched: Atomic::new(jiffies()),
            ended: Atomic::new(0),
        })
    }

    /// Reports a failure, unless an earlier one is its cause. Any context.
    pub(crate) fn fail(&self, failure: Failure) {
        {
            let mut state = self.state.lock();
            // What comes after the end is not its cause, but may shorten it.
            let ending = state.progress == Progress::Finished || state.failure.is_some();
            state.released |= match failure {
                Failure::DeviceRemoved => true,
                Failure::Interrupted => ending,
                _ => false,
            };
            let better = state
                .failure
                .is_none_or(|first| first.rank() < failure.rank());
            if state.progress != Progress::Finished && better {
                state.failure = Some(failure);
                let settled = failure.rank() == Failure::CAUSE;
                self.ended
                    .store(if settled { SETTLED } else { ENDED }, Relaxed);
            }
        }
        self.changed.complete();
    }

    /// Reports that the peer knows of the end, be it its doing or this side's.
    /// Any context.
    pub(crate) fn disconnected(&self) {
        self.state.lock().released = true;
        self.fail(Failure::Disconnected);
    }

    /// The cause of `failure`: what had been reported when a call failed, or what
    /// overtakes a disconnect that should not have come yet, which is given a
    /// moment for that. Process context; sleeps.
    pub(crate) fn cause_of(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Disconnected => {}
            Failure::Kernel(..) => return self.failure().unwrap_or(failure),
            _ => return failure,
        }
        let grace = Deadline::after_ms(GRACE_MS);
        loop {
            match self.failure() {
                Some(cause) if cause.rank() > failure.rank() => return cause,
                _ if grace.passed() => return failure,
                _ => self.sleep(grace),
            }
        }
    }

    /// Waits for [`Self::disconnected`], `ms` at most, or until the device is gone
    /// or a signal comes. Process context; sleeps.
    pub(crate) fn wait_disconnected(&self, ms: u32) {
        let deadline = Deadline::after_ms(ms);
        while !self.state.lock().released && !deadline.passed() {
            self.sleep(deadline);
        }
    }

    /// Reports progress. Any context.
    pub(crate) fn advance(&self, progress: Progress) {
        self.touch();
        self.state.lock().progress = progress;
        if progress == Progress::Finished {
            self.ended.store(SETTLED, Relaxed);
        }
        self.changed.complete();
    }

    /// Notes a sign of life: deadlines count from here. Any context, one store.
    pub(crate) fn touch(&self) {
        self.touched.store(jiffies(), Relaxed);
    }

    /// The failure, if there is one. Any context.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.state.lock().failure
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

    /// Sleeps until something changes. Only kernel threads wait here, and get no
    /// signals; but in this state they neither count as load nor as hung.
    fn sleep(&self, deadline: Deadline) {
        let _ = self.changed.wait_interruptible(deadline);
    }

    fn deadline(&self, timeout: Option<u32>) -> Deadline {
        match timeout {
            Some(ms) => Deadline::since(self.touched.load(Relaxed), ms),
            None => Deadline::never(),
        }
    }

    /// The failure; a mere consequence is given a moment to meet its cause.
    fn settled_failure(&self) -> Option<Failure> {
        let grace = Deadline::after_ms(GRACE_MS);
        loop {
            let failure = self.failure()?;
            if !failure.is_consequence() || grace.passed() {
                return Some(failure);
            }
            self.sleep(grace);
        }
    }
}
