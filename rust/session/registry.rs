// SPDX-License-Identifier: GPL-2.0

//! What runs at present, over all sessions, for `/proc/krping`; and what has
//! run, for debugfs.

#![forbid(unsafe_code)]

use super::worker::Worker;
use crate::results::Results;
use kernel::{
    new_mutex,
    prelude::*,
    seq_file::SeqFile,
    sync::{
        atomic::{Atomic, Relaxed},
        Arc, Mutex,
    },
};

/// The running threads and the finished runs.
#[pin_data]
pub(crate) struct Registry {
    #[pin]
    workers: Mutex<KVec<Arc<Worker>>>,
    ids: Atomic<u32>,
    results: Arc<Results>,
}

impl Registry {
    /// Creates the registry of a module that runs nothing yet.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let results = Results::new()?;
        Arc::pin_init(
            pin_init!(Self {
                workers <- new_mutex!(KVec::new(), "krping_workers"),
                ids: Atomic::new(0),
                results,
            }),
            GFP_KERNEL,
        )
    }

    /// A number that no other session or thread has, from 1.
    pub(crate) fn next_id(&self) -> u32 {
        self.ids.fetch_add(1, Relaxed).wrapping_add(1)
    }

    /// The finished runs.
    pub(crate) fn results(&self) -> &Arc<Results> {
        &self.results
    }

    /// Adds the record of a new thread. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn add_worker(&self) -> Result<Arc<Worker>> {
        let worker = Worker::new(self.next_id())?;
        self.workers.lock().push(worker.clone(), GFP_KERNEL)?;
        Ok(worker)
    }

    /// Removes the record of a thread that ends. May sleep.
    pub(crate) fn remove_worker(&self, id: u32) {
        let mut workers = self.workers.lock();
        if let Some(index) = workers.iter().position(|worker| worker.id == id) {
            // The index was found under the same lock.
            let _ = workers.remove(index);
        }
    }

    /// Prints a line for each running thread.
    pub(crate) fn show(&self, out: &SeqFile) {
        for worker in self.workers.lock().iter() {
            worker.show(out);
        }
    }
}
