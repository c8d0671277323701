// SPDX-License-Identifier: GPL-2.0

//! One thread of a session as others see it: its line in `/proc/krping`, its
//! counters, and the handle by which it is stopped.

#![forbid(unsafe_code)]

use crate::{
    engine::{
        outcome::Outcome,
        traffic::Traffic, //
    },
    logic::{
        failure::Failure,
        measure::stats::Counters, //
    },
    rdma::device::DeviceName, //
};
use kernel::{
    new_mutex,
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// What the line of a thread shows besides its counters.
pub(crate) trait Detail: Send + Sync {
    /// Prints it, beginning with a space. Process context; may sleep.
    fn show(&self, out: &SeqFile);
}

struct State {
    /// What the thread waits on, one for each connection.
    outcomes: KVec<Arc<Outcome>>,
    /// What its connections have moved.
    traffic: KVec<Arc<Traffic>>,
    device: Option<DeviceName>,
    /// On which CPU the thread runs, if not on any.
    cpu: Option<u32>,
    /// What the line says besides.
    detail: Option<Arc<dyn Detail>>,
    /// Why it is to end, if it is.
    cancelled: Option<Failure>,
    finished: bool,
}

/// One thread of a session.
#[pin_data]
pub(crate) struct Worker {
    /// The number in its name, `krping/ID`.
    pub(crate) id: u32,
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
        Arc::pin_init(
            pin_init!(Self {
                id,
                state <- new_mutex!(
                    State {
                        outcomes: KVec::new(),
                        traffic: KVec::new(),
                        device: None,
                        cpu: None,
                        detail: None,
                        cancelled: None,
                        finished: false,
                    },
                    "krping_worker"
                ),
            }),
            GFP_KERNEL,
        )
    }

    /// Says what the thread also waits on from now on, so that it can be cancelled.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn attach(&self, outcome: &Arc<Outcome>) -> Result {
        let mut state = self.state.lock();
        if let Some(failure) = state.cancelled {
            outcome.fail(failure);
        }
        state.outcomes.push(outcome.clone(), GFP_KERNEL)?;
        Ok(())
    }

    /// Says that the thread does not wait on `outcome` any more.
    pub(crate) fn detach(&self, outcome: &Arc<Outcome>) {
        self.state
            .lock()
            .outcomes
            .retain(|attached| !Arc::ptr_eq(attached, outcome));
    }

    /// The counters of another connection of the thread's.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn add_traffic(&self) -> Result<Arc<Traffic>> {
        let traffic = Arc::new(Traffic::default(), GFP_KERNEL)?;
        self.state
            .lock()
            .traffic
            .push(traffic.clone(), GFP_KERNEL)?;
        Ok(traffic)
    }

    /// What all connections of the thread have moved.
    pub(crate) fn counters(&self) -> Counters {
        let state = self.state.lock();
        state
            .traffic
            .iter()
            .fold(Counters::default(), |sum, traffic| sum + traffic.snapshot())
    }

    /// Says on which device the thread works.
    pub(crate) fn set_device(&self, name: DeviceName) {
        self.state.lock().device = Some(name);
    }

    /// Says on which CPU the thread runs, if not on any.
    pub(crate) fn set_cpu(&self, cpu: Option<u32>) {
        self.state.lock().cpu = cpu;
    }

    /// On which CPU the thread runs, if not on any.
    pub(crate) fn cpu(&self) -> Option<u32> {
        self.state.lock().cpu
    }

    /// Says what else its line is to show.
    pub(crate) fn set_detail(&self, detail: Arc<dyn Detail>) {
        self.state.lock().detail = Some(detail);
    }

    /// Ends whatever the thread does, now or next, because of `failure`, or of what it
    /// is to end for already.
    pub(crate) fn cancel(&self, failure: Failure) {
        let mut state = self.state.lock();
        let failure = *state.cancelled.get_or_insert(failure);
        for outcome in &state.outcomes {
            outcome.fail(failure);
        }
    }

    /// Says that the thread is about to return.
    pub(crate) fn finish(&self) {
        let mut state = self.state.lock();
        state.outcomes.clear();
        state.finished = true;
    }

    /// Whether the thread is about to return, or has.
    pub(crate) fn finished(&self) -> bool {
        self.state.lock().finished
    }

    /// Prints the thread's line of `/proc/krping`.
    pub(crate) fn show(&self, out: &SeqFile) {
        let (device, detail) = {
            let state = self.state.lock();
            (state.device, state.detail.clone())
        };
        match device {
            Some(name) => {
                seq_print!(out, "{}-{} {}", self.id, name.as_str(), self.counters());
                if let Some(detail) = detail {
                    detail.show(out);
                }
                seq_print!(out, "\n")
            }
            None => seq_print!(out, "{} listen\n", self.id),
        }
    }
}
