// SPDX-License-Identifier: GPL-2.0

//! Registry of the running threads of all sessions, for `/proc/krping`, of finished runs and failed
//! commands, for debugfs, and of the state that others keep for as long as the module is loaded.

#![forbid(unsafe_code)]

use super::{
    errors::Errors,
    results::Results,
    worker::Worker, //
};
use core::any::Any;
use kernel::{
    new_mutex,
    prelude::*,
    seq_file::SeqFile,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    }, //
};

/// State that is kept for as long as the module is loaded, found by its type.
pub(crate) type State = KBox<dyn Any + Send + Sync>;

/// The running threads, the finished runs, and the state of others.
#[pin_data]
pub(crate) struct Registry {
    #[pin]
    workers: Mutex<KVec<Arc<Worker>>>,
    ids: Atomic<u32>,
    results: Arc<Results>,
    errors: Arc<Errors>,
    states: KVec<State>,
    module: &'static ThisModule,
}

impl Registry {
    /// Creates the registry of `module`, with nothing running, which keeps `states`. May sleep.
    pub(crate) fn new(states: KVec<State>, module: &'static ThisModule) -> Result<Arc<Self>> {
        let results = Results::new()?;
        let errors = Errors::new()?;
        Arc::pin_init(
            pin_init!(Self {
                workers <- new_mutex!(KVec::new(), "krping_workers"),
                ids: Atomic::new(0),
                results,
                errors,
                states,
                module,
            }),
            GFP_KERNEL,
        )
    }

    /// Returns a number that no other session or thread has. The first is 1.
    pub(crate) fn next_id(&self) -> u32 {
        self.ids.fetch_add(1, Relaxed).wrapping_add(1)
    }

    /// Returns the state of a type.
    pub(crate) fn state<T: 'static>(&self) -> Option<&T> {
        self.states.iter().find_map(|state| state.downcast_ref())
    }

    /// Returns the module.
    pub(crate) fn module(&self) -> &'static ThisModule {
        self.module
    }

    /// Returns the finished runs.
    pub(crate) fn results(&self) -> &Arc<Results> {
        &self.results
    }

    /// Returns the failed commands.
    pub(crate) fn errors(&self) -> &Arc<Errors> {
        &self.errors
    }

    /// Adds the record of a new thread. May sleep.
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

    /// Prints a line for each running thread. Returns true if there are any.
    pub(crate) fn show(&self, out: &SeqFile) -> bool {
        let workers = self.workers.lock();
        for worker in workers.iter() {
            worker.show(out);
        }
        !workers.is_empty()
    }
}
