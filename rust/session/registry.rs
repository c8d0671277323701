// SPDX-License-Identifier: GPL-2.0

//! What runs at present, over all sessions, for `/proc/krping`; and what has
//! run, for debugfs.

#![forbid(unsafe_code)]

use super::{attachment::Attachment, worker::Worker};
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
    /// The disks of this host's, by number.
    #[pin]
    disks: Mutex<KVec<Arc<Attachment>>>,
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
                disks <- new_mutex!(KVec::new(), "krping_disks"),
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

    /// Adds a disk, with the smallest number that is free. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn add_disk(&self) -> Result<Arc<Attachment>> {
        let mut disks = self.disks.lock();
        let number = (0..)
            .find(|number| disks.iter().all(|disk| disk.number != *number))
            .ok_or(ENOMEM)?;
        let attachment = Attachment::new(number)?;
        disks.push(attachment.clone(), GFP_KERNEL)?;
        Ok(attachment)
    }

    /// Removes the record of a disk that is gone. May sleep.
    pub(super) fn remove_disk(&self, number: u32) {
        self.disks.lock().retain(|disk| disk.number != number);
    }

    /// The disk with that number. May sleep.
    pub(super) fn disk(&self, number: u32) -> Option<Arc<Attachment>> {
        let disks = self.disks.lock();
        disks.iter().find(|disk| disk.number == number).cloned()
    }

    /// Prints a line for each running thread.
    pub(crate) fn show(&self, out: &SeqFile) {
        for worker in self.workers.lock().iter() {
            worker.show(out);
        }
    }
}
