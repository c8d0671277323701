// SPDX-License-Identifier: GPL-2.0

//! Lifecycle of a disk on this host, from its command to its removal. A keeper thread adds the
//! disk, waits until it has to go, and removes it.
//!
//! Adding and removing a disk both wait for requests to it, which need a connection. So one
//! thread keeps the disk, and another one ([`super::client`]) its connections. The keeper does
//! not depend on the writer of the command: the disk stays when the writer exits.
//!
//! Lock order: `Attachment::state`, then a worker, then an `Outcome`.

#![forbid(unsafe_code)]

use crate::{
    block::disk::DiskData,
    engine::{
        outcome::{
            new_wait_queue,
            Outcome,
            Progress, //
            WaitQueue,
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
    /// The thread that runs the connections.
    worker: Option<Arc<Worker>>,
    /// The disk is visible.
    up: bool,
    /// The disk has been visible at some time.
    was_up: bool,
    /// The disk has to be removed.
    stopping: bool,
    /// The disk has to be removed even if requests fail.
    forced: bool,
    /// Result of the command, once it has ended: 0 or a positive errno.
    verdict: Option<i32>,
}

/// State of a disk that a command creates.
#[pin_data]
pub(crate) struct Attachment {
    /// The number in the disk's name, which `stop=` takes.
    pub(crate) number: u32,
    /// Tells the connections to end: finished once the disk is removed, failed to end without
    /// waiting.
    pub(crate) control: Arc<Outcome>,
    /// Wait queue that reports of `control` and of the connections wake.
    pub(crate) wait_queue: WaitQueue,
    #[pin]
    state: Mutex<State>,
    /// Woken when the keeper has something to do.
    #[pin]
    changed: Completion,
    /// Completed when the disk is up, or never will be.
    #[pin]
    pub(super) up: Completion,
    /// Completed when nothing of the disk is left.
    #[pin]
    pub(super) gone: Completion,
}

impl Attachment {
    /// Creates the state of disk `number`, before the disk exists. May sleep.
    pub(crate) fn new(number: u32) -> Result<Arc<Self>> {
        let wait_queue = new_wait_queue()?;
        let control = Outcome::new(&wait_queue)?;
        Arc::pin_init(
            pin_init!(Self {
                number,
                control,
                wait_queue,
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

    /// Sets the thread that runs the connections. If the disk has already been told to end, the
    /// thread is told, too.
    pub(crate) fn set_worker(&self, worker: &Arc<Worker>) {
        let mut state = self.state.lock();
        state.worker = Some(worker.clone());
        if let Some(failure) = self.control.failure() {
            worker.cancel(failure);
        }
    }

    /// Makes the keeper add `disk`, whose connections are up.
    pub(crate) fn ready(&self, disk: Arc<Disk<DiskData>>) {
        self.state.lock().disk = Some(disk);
        self.changed.complete();
    }

    /// Wakes the keeper thread to re-check the disk's state. Any context.
    pub(crate) fn wake(&self) {
        self.changed.complete();
    }

    /// Starts the removal of the disk, and returns at once. With `force`, requests under way
    /// fail. May sleep.
    ///
    /// # Errors
    ///
    /// [`Failure::Busy`] if the disk is open and `force` is not set, or if the task is killed
    /// while it checks.
    pub(crate) fn stop(&self, force: bool) -> Result<(), Failure> {
        // With force, this must not wait for a task that opens the disk, which may wait for an
        // answer.
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

    /// Returns true if the disk has been visible.
    pub(crate) fn was_up(&self) -> bool {
        self.state.lock().was_up
    }

    /// Releases a writer that only waits for the disk to be up.
    pub(crate) fn announced(&self) {
        self.up.complete_all();
    }

    /// Waits until nothing of the disk is left or, with `detach`, until the disk is up or never
    /// will be, and returns the result of the command. Returns `None` if the wait is interrupted.
    /// May sleep.
    pub(crate) fn wait(&self, detach: bool) -> Option<Result> {
        let until = if detach { &self.up } else { &self.gone };
        match until.wait_interruptible(Deadline::never()) {
            Waited::Interrupted => None,
            _ => Some(self.verdict()),
        }
    }

    /// Returns the result of the command; `Ok` as long as there is none.
    pub(super) fn verdict(&self) -> Result {
        match self.state.lock().verdict {
            None | Some(0) => Ok(()),
            Some(number) => Err(Error::from_errno(number.saturating_neg())),
        }
    }

    /// Body of the keeper thread: keeps the disk until it is gone. `started` is the result of
    /// starting the disk's threads. When nothing of the disk is left, calls `forget`, and only
    /// then releases the writer.
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
            // The last thread may have left work for the keeper.
            self.attend(session);
            session.wait_for_threads(Deadline::never());
            session.join()
        });
        let disk = self.state.lock().disk.take();
        drop(disk);
        forget();
        let verdict = match session.conclude(result) {
            Ok(()) => 0,
            Err(error) => -error.to_errno(),
        };
        let mut state = self.state.lock();
        state.verdict = Some(verdict);
        state.worker = None;
        drop(state);
        self.up.complete_all();
        self.gone.complete_all();
    }

    /// Adds or removes the disk, if either is due.
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
            // An attempt to connect is no longer needed.
            self.cut(&self.state.lock());
        } else if !state.up && !state.stopping {
            // Adding reads the partition table, so no lock is held.
            drop(state);
            match disk.add() {
                Ok(()) => {
                    let mut state = self.state.lock();
                    state.up = true;
                    state.was_up = true;
                    drop(state);
                    // The connection thread reports this, and releases the writer.
                    self.control.wake();
                }
                Err(error) => {
                    // The block layer accepts a disk only once, even if adding it failed.
                    self.state.lock().disk = None;
                    session.abort(Failure::Kernel("adding the disk", error.to_errno()));
                }
            }
            // The disk may have been stopped meanwhile.
            self.changed.complete();
        }
    }
}

impl Watcher for Attachment {
    fn thread_ends(&self) {
        self.wake();
    }
}
