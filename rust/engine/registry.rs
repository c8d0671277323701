// SPDX-License-Identifier: GPL-2.0

//! What runs at present, over all sessions, for `/proc/krping`; and what has
//! run, for debugfs.

#![forbid(unsafe_code)]

use super::{
    detached::DetachedServer,
    entry::{
        Entry,
        State, //
    },
    worker::Worker, //
};
use crate::{
    engine::results::Results,
    kernel_ext::net::Netns,
    logic::spec::tests::Family, //
};
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

/// The running threads and the finished runs.
#[pin_data]
pub(crate) struct Registry {
    #[pin]
    workers: Mutex<KVec<Arc<Worker>>>,
    /// The servers that go on without their writers.
    #[pin]
    servers: Mutex<KVec<Arc<DetachedServer>>>,
    ids: Atomic<u32>,
    results: Arc<Results>,
    /// What workloads keep.
    states: KVec<State>,
    workloads: &'static [&'static Entry],
}

impl Registry {
    /// Creates the registry of a module that runs nothing yet, but knows `workloads`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(workloads: &'static [&'static Entry]) -> Result<Arc<Self>> {
        let results = Results::new()?;
        let mut states = KVec::new();
        for make in workloads.iter().flat_map(|workload| workload.states) {
            states.push(make()?, GFP_KERNEL)?;
        }
        Arc::pin_init(
            pin_init!(Self {
                workers <- new_mutex!(KVec::new(), "krping_workers"),
                servers <- new_mutex!(KVec::new(), "krping_servers"),
                ids: Atomic::new(0),
                results,
                states,
                workloads,
            }),
            GFP_KERNEL,
        )
    }

    /// Returns the workload of `family`.
    ///
    /// # Errors
    ///
    /// `EINVAL` where none is known.
    pub(crate) fn workload(&self, family: Family) -> Result<&'static Entry> {
        let mut workloads = self.workloads.iter();
        let found = workloads.find(|entry| entry.families.contains(&family));
        found.copied().ok_or(EINVAL)
    }

    /// A number that no other session or thread has, from 1.
    pub(crate) fn next_id(&self) -> u32 {
        self.ids.fetch_add(1, Relaxed).wrapping_add(1)
    }

    /// Returns what a workload keeps, by its type.
    pub(crate) fn state<T: 'static>(&self) -> Option<&T> {
        self.states.iter().find_map(|state| state.downcast_ref())
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

    /// Adds a server that goes on without its writer. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn add_server(&self, server: &Arc<DetachedServer>) -> Result {
        Ok(self.servers.lock().push(server.clone(), GFP_KERNEL)?)
    }

    /// Removes the record of such a server. May sleep.
    pub(crate) fn remove_server(&self, server: &DetachedServer) {
        let mut servers = self.servers.lock();
        servers.retain(|each| !core::ptr::eq(&raw const **each, server));
    }

    /// Such servers on `port` of `net`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn servers(&self, port: u16, net: &Netns) -> Result<KVec<Arc<DetachedServer>>> {
        let mut found = KVec::new();
        for server in self.servers.lock().iter() {
            if server.is_at(port, net) {
                found.push(server.clone(), GFP_KERNEL)?;
            }
        }
        Ok(found)
    }

    /// Prints a line for each running thread.
    pub(crate) fn show(&self, out: &SeqFile) {
        for worker in self.workers.lock().iter() {
            worker.show(out);
        }
    }
}
