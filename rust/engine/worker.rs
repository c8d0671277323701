// SPDX-License-Identifier: GPL-2.0

//! Record of one thread of a session: its line in `/proc/krping`, its counters, and its
//! cancellation.

#![forbid(unsafe_code)]

use crate::{
    engine::{
        outcome::{
            Outcome,
            Progress, //
        },
        series::ThreadSeries,
        traffic::Traffic, //
    },
    logic::{
        command::Command,
        failure::Failure,
        measure::{
            series::Series,
            stats::Counters, //
        }, //
    },
    rdma::device::DeviceName, //
};
use kernel::{
    fmt,
    new_mutex,
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// Name of the kernel thread with a number.
pub(crate) struct ThreadName(pub(crate) u32);

impl fmt::Display for ThreadName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "krping/{}", self.0)
    }
}

/// Workload-specific part of a thread's line in `/proc/krping`.
pub(crate) trait Detail: Send + Sync {
    /// Prints the part, beginning with a space. Process context; may sleep.
    fn show(&self, out: &SeqFile);
}

struct State {
    /// Outcomes that the thread waits on, one per connection.
    outcomes: KVec<Arc<Outcome>>,
    /// Traffic counters of its connections.
    traffic: KVec<Arc<Traffic>>,
    /// Series that its connections record, if any.
    series: Option<Arc<ThreadSeries>>,
    device: Option<DeviceName>,
    /// CPU that the thread is bound to (`None`: any CPU).
    cpu: Option<u32>,
    /// Workload-specific part of the line.
    detail: Option<Arc<dyn Detail>>,
    /// Failure that the thread was cancelled with, if it was.
    cancelled: Option<Failure>,
    finished: bool,
}

/// Numbers of connections.
#[derive(Clone, Copy, Default)]
pub(crate) struct Connections {
    /// Connections that go on.
    pub(crate) up: usize,
    /// Connections that have ended, and are to be taken down.
    pub(crate) ended: usize,
}

/// One thread of a session.
#[pin_data]
pub(crate) struct Worker {
    /// Number of the thread, as in its name `krping/ID`.
    pub(crate) id: u32,
    #[pin]
    state: Mutex<State>,
}

impl Worker {
    /// Creates the record of thread `id`.
    pub(crate) fn new(id: u32) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                id,
                state <- new_mutex!(
                    State {
                        outcomes: KVec::new(),
                        traffic: KVec::new(),
                        series: None,
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

    /// Attaches an outcome that the thread waits on, so that [`cancel`](Self::cancel) reaches it.
    pub(crate) fn attach(&self, outcome: &Arc<Outcome>) -> Result {
        let mut state = self.state.lock();
        if let Some(failure) = state.cancelled {
            outcome.fail(failure);
        }
        state.outcomes.push(outcome.clone(), GFP_KERNEL)?;
        Ok(())
    }

    /// Detaches an outcome that the thread does not wait on any more.
    pub(crate) fn detach(&self, outcome: &Arc<Outcome>) {
        self.state
            .lock()
            .outcomes
            .retain(|attached| !Arc::ptr_eq(attached, outcome));
    }

    /// Has all connections that are made from now on record the series that `command` asks for, if
    /// it does. May sleep.
    pub(crate) fn add_series(&self, command: &Command) -> Result {
        if let Some(interval_ms) = command.interval_ms {
            let series = ThreadSeries::new(interval_ms, command.size)?;
            self.state.lock().series = Some(series);
        }
        Ok(())
    }

    /// Takes the series, if the thread has one that has begun. Nothing is recorded from then on.
    pub(crate) fn take_series(&self) -> Option<KVBox<Series>> {
        self.state.lock().series.as_ref()?.take()
    }

    /// Adds and returns the counters of another connection of the thread.
    pub(crate) fn add_traffic(&self) -> Result<Arc<Traffic>> {
        let mut state = self.state.lock();
        let traffic = Arc::new(Traffic::new(state.series.clone()), GFP_KERNEL)?;
        state.traffic.push(traffic.clone(), GFP_KERNEL)?;
        Ok(traffic)
    }

    /// Returns the number of connections that have counters.
    pub(crate) fn traffics(&self) -> usize {
        self.state.lock().traffic.len()
    }

    /// Forgets the counters of all connections but the first `count`, which have moved nothing.
    pub(crate) fn forget_traffics(&self, count: usize) {
        self.state.lock().traffic.truncate(count);
    }

    /// Returns the sum of the counters of the thread's connections.
    pub(crate) fn counters(&self) -> Counters {
        let state = self.state.lock();
        state
            .traffic
            .iter()
            .fold(Counters::default(), |sum, traffic| sum + traffic.snapshot())
    }

    /// Sets the device that the thread works on.
    pub(crate) fn set_device(&self, name: DeviceName) {
        self.state.lock().device = Some(name);
    }

    /// Sets the CPU that the thread is bound to (`None`: any CPU).
    pub(crate) fn set_cpu(&self, cpu: Option<u32>) {
        self.state.lock().cpu = cpu;
    }

    /// Returns the CPU that the thread is bound to (`None`: any CPU).
    pub(crate) fn cpu(&self) -> Option<u32> {
        self.state.lock().cpu
    }

    /// Sets the workload-specific part of the thread's line.
    pub(crate) fn set_detail(&self, detail: Arc<dyn Detail>) {
        self.state.lock().detail = Some(detail);
    }

    /// Cancels what the thread does, now or later, with `failure`, or with the failure that it was
    /// cancelled with before.
    pub(crate) fn cancel(&self, failure: Failure) {
        let mut state = self.state.lock();
        let failure = *state.cancelled.get_or_insert(failure);
        for outcome in &state.outcomes {
            outcome.fail(failure);
        }
    }

    /// Counts the connections of the thread.
    pub(crate) fn connections(&self) -> Connections {
        let state = self.state.lock();
        let mut found = Connections::default();
        for outcome in &state.outcomes {
            match (outcome.reached(Progress::Established), outcome.ended()) {
                (true, false) => found.up += 1,
                (true, true) => found.ended += 1,
                (false, _) => {}
            }
        }
        found
    }

    /// Marks the thread as about to return.
    pub(crate) fn finish(&self) {
        let mut state = self.state.lock();
        state.outcomes.clear();
        state.finished = true;
    }

    /// Returns true if the thread is about to return, or has returned.
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
