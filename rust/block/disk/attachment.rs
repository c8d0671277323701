// SPDX-License-Identifier: GPL-2.0

//! A disk of this host's from its command to its removal, and the thread that keeps
//! it: adds it, waits until it is to go, and removes it.
//!
//! Adding and removing a disk both wait for requests to it, which need a connection.
//! So one thread keeps the disk, and another one ([`super::client`]) its connections.
//! The keeper belongs to no writer: a disk stays when the writer of its command goes.
//!
//! Lock order: `Attachment::state`, then a worker, then an `Outcome`.

#![forbid(unsafe_code)]

use crate::{
    block::disk::DiskData,
    engine::{
        outcome::{
            new_bell,
            Bell,
            Outcome,
            Progress, //
        },
        session::{
            Session,
            Watcher, //
        },
        worker::Worker, //
    },
    kernel_ext::{
        blk::disk::Disk,
        completion::{
            Completion,
            Waited, //
        },
        time::Deadline, //
    },
    logic::failure::Failure, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

struct State {
    disk: Option<Arc<Disk<DiskData>>>,
    /// The thread that has the connections.
    worker: Option<Arc<Worker>>,
    /// Whether it is visible.
    up: bool,
    /// Whether it has been.
    was_up: bool,
    /// Whether it is to go.
    stopping: bool,
    /// Whether it is to go even if requests fail.
    forced: bool,
    /// How the command ended: 0 or a positive errno.
    verdict: Option<i32>,
}

/// A disk that a command makes.
#[pin_data]
pub(crate) struct Attachment {
    /// The number in its name, by which `stop=` calls it.
    pub(crate) number: u32,
    /// Ends the connections: finished, or failed where it is not to wait any more.
    pub(crate) control: Arc<Outcome>,
    /// What reports of the control and of the connections ring.
    pub(crate) bell: Bell,
    #[pin]
    state: Mutex<State>,
    /// Rung when the keeper has something to do.
    #[pin]
    changed: Completion,
    /// The disk is up, or will not be.
    #[pin]
    pub(super) up: Completion,
    /// Nothing of it is left.
    #[pin]
    pub(super) gone: Completion,
}

impl Attachment {
    /// That of disk `number`, which is not there yet. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(number: u32) -> Result<Arc<Self>> {
        let bell = new_bell()?;
        let control = Outcome::new(&bell)?;
        Arc::pin_init(
            pin_init!(Self {
                number,
                control,
                bell,
                state <- new_mutex!(
                    State {
                        disk: None,
                        worker: None,
                        up: false,
                        was_up: false,
                        stopping: false,
                        forced: false,
                        verdict: None,
                    },
                    "krping_attachment"
                ),
                changed <- Completion::new(),
                up <- Completion::new(),
                gone <- Completion::new(),
            }),
            GFP_KERNEL,
        )
    }

    /// Says which thread has the connections. Where the disk was told to go before, so is
    /// the thread.
    pub(crate) fn set_worker(&self, worker: &Arc<Worker>) {
        let mut state = self.state.lock();
        state.worker = Some(worker.clone());
        if let Some(failure) = self.control.failure() {
            worker.cancel(failure);
        }
    }

    /// Has the keeper add a disk whose connections are up.
    pub(crate) fn ready(&self, disk: Arc<Disk<DiskData>>) {
        self.state.lock().disk = Some(disk);
        self.changed.complete();
    }

    /// Has the keeper look whether there is something to do. Any context.
    pub(crate) fn wake(&self) {
        self.changed.complete();
    }

    /// Has the disk removed, and returns at once. With `force`, requests that are
    /// under way fail. May sleep.
    ///
    /// # Errors
    ///
    /// [`Failure::Busy`] where it is open and `force` is not set.
    pub(crate) fn stop(&self, force: bool) -> Result<(), Failure> {
        // Force must not wait for one who opens it, and may wait for an answer.
        let visible = {
            let state = self.state.lock();
            state.disk.clone().filter(|_| state.up && !force)
        };
        if visible.is_some_and(|disk| disk.close() != Ok(true)) {
            return Err(Failure::Busy(
                "the disk is open: unmount or close it, or add force",
            ));
        }
        let mut state = self.state.lock();
        state.stopping = true;
        state.forced |= force;
        if force || !state.up {
            self.cut(&state);
        }
        drop(state);
        self.changed.complete();
        Ok(())
    }

    /// Ends the connections without waiting for anything.
    fn cut(&self, state: &State) {
        self.control.fail(Failure::Interrupted);
        if let Some(worker) = &state.worker {
            worker.cancel(Failure::Interrupted);
        }
    }

    /// Whether the disk has been visible.
    pub(crate) fn was_up(&self) -> bool {
        self.state.lock().was_up
    }

    /// Lets a writer go that only waits for the disk to be up.
    pub(crate) fn announced(&self) {
        self.up.complete_all();
    }

    /// Waits until nothing of the disk is left or, with `detach`, until it is there or
    /// will not be: how the command ended. Returns `None` where something disturbs the
    /// calling task before. May sleep.
    pub(crate) fn wait(&self, detach: bool) -> Option<Result> {
        let until = if detach { &self.up } else { &self.gone };
        match until.wait_interruptible(Deadline::never()) {
            Waited::Interrupted => None,
            _ => Some(self.verdict()),
        }
    }

    /// How the command ended.
    pub(super) fn verdict(&self) -> Result {
        match self.state.lock().verdict {
            None | Some(0) => Ok(()),
            Some(number) => Err(Error::from_errno(number.saturating_neg())),
        }
    }

    /// Keeps the disk, whose threads have been `started`, for as long as it lives. When nothing
    /// of it is left it does `forget`, and only then lets the writer go. The body of the keeper's
    /// thread.
    pub(super) fn keep(
        &self,
        session: &Session,
        started: Result<(), Failure>,
        forget: impl FnOnce(),
    ) {
        let result = started.and_then(|()| {
            while session.running() > 0 {
                self.attend(session);
                let _ = self.changed.wait_interruptible(Deadline::never());
            }
            // The last thread may have left something to be done.
            self.attend(session);
            session.wait_for_threads();
            session.join()
        });
        let disk = self.state.lock().disk.take();
        drop(disk);
        forget();
        let verdict = match session.conclude(result) {
            Ok(()) => 0,
            Err(error) => error.to_errno().saturating_neg(),
        };
        let mut state = self.state.lock();
        state.verdict = Some(verdict);
        state.worker = None;
        drop(state);
        self.up.complete_all();
        self.gone.complete_all();
    }

    /// Adds or removes the disk, where either is due.
    fn attend(&self, session: &Session) {
        let mut state = self.state.lock();
        let Some(disk) = state.disk.clone() else {
            return;
        };
        if disk.data().has_given_up() || (state.stopping && (state.up || state.forced)) {
            let forced = state.forced;
            state.up = false;
            drop(state);
            if forced || disk.data().has_given_up() {
                disk.mark_dead();
            }
            disk.remove();
            self.control.advance(Progress::Finished);
            // An attempt to connect need not go on.
            self.cut(&self.state.lock());
        } else if !state.up && !state.stopping {
            // Reads the partition table, so no lock is held.
            drop(state);
            match disk.add() {
                Ok(()) => {
                    let mut state = self.state.lock();
                    state.up = true;
                    state.was_up = true;
                    drop(state);
                    // Its thread says so, and lets the writer go.
                    self.control.wake();
                }
                Err(error) => {
                    // The block layer takes a disk once, whatever has become of it.
                    self.state.lock().disk = None;
                    session.abort(Failure::Kernel("adding the disk", error.to_errno()));
                }
            }
            // It may have been stopped meanwhile.
            self.changed.complete();
        }
    }
}

impl Watcher for Attachment {
    fn thread_ends(&self) {
        self.wake();
    }
}
