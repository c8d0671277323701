// SPDX-License-Identifier: GPL-2.0

//! One thread of a session as others see it: its line in `/proc/krping`, its
//! counters, and the handle by which it is stopped.

#![forbid(unsafe_code)]

use crate::{device::DeviceName, logic::failure::Failure, outcome::Outcome, traffic::Traffic};
use kernel::{
    new_mutex,
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    sync::{Arc, Mutex},
};

struct State {
    /// What the thread waits on at present.
    outcome: Option<Arc<Outcome>>,
    device: Option<DeviceName>,
    /// Why it is to end, if it is.
    cancelled: Option<Failure>,
    finished: bool,
}

/// One thread of a session.
#[pin_data]
pub(crate) struct Worker {
    /// The number in its name, `krping/ID`.
    pub(crate) id: u32,
    /// What its connection has moved.
    pub(crate) traffic: Arc<Traffic>,
    #[pin]
    state: Mutex<State>,
}

impl Worker {
    /// Creates the record of thread `id`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(id: u32) -> Result<Arc<Self>> {
        let traffic = Arc::new(Traffic::default(), GFP_KERNEL)?;
        Arc::pin_init(
            pin_init!(Self {
                id,
                traffic,
                state <- new_mutex!(
                    State {
                        outcome: None,
                        device: None,
                        cancelled: None,
                        finished: false,
                    },
                    "krping_worker"
                ),
            }),
            GFP_KERNEL,
        )
    }

    /// Says what the thread waits on from now on, so that it can be cancelled.
    pub(crate) fn attach(&self, outcome: &Arc<Outcome>) {
        let mut state = self.state.lock();
        if let Some(failure) = state.cancelled {
            outcome.fail(failure);
        }
        state.outcome = Some(outcome.clone());
    }

    /// Says on which device the thread works.
    pub(crate) fn set_device(&self, name: DeviceName) {
        self.state.lock().device = Some(name);
    }

    /// Ends whatever the thread does, now or next, because of `failure`.
    pub(crate) fn cancel(&self, failure: Failure) {
        let mut state = self.state.lock();
        state.cancelled = Some(failure);
        if let Some(outcome) = &state.outcome {
            outcome.fail(failure);
        }
    }

    /// Says that the thread is about to return.
    pub(crate) fn finish(&self) {
        let mut state = self.state.lock();
        state.outcome = None;
        state.finished = true;
    }

    /// Whether the thread is about to return, or has.
    pub(crate) fn finished(&self) -> bool {
        self.state.lock().finished
    }

    /// Prints the thread's line of `/proc/krping`.
    pub(crate) fn show(&self, out: &SeqFile) {
        match self.state.lock().device {
            Some(name) => {
                seq_print!(
                    out,
                    "{}-{} {}\n",
                    self.id,
                    name.as_str(),
                    self.traffic.snapshot()
                )
            }
            None => seq_print!(out, "{} listen\n", self.id),
        }
    }
}
