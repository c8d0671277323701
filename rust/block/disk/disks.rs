// SPDX-License-Identifier: GPL-2.0

//! Table of this host's disks by number.

#![forbid(unsafe_code)]

use super::attachment::Attachment;
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// Table of this host's disks.
#[pin_data]
pub(crate) struct Disks {
    #[pin]
    all: Mutex<KVec<Arc<Attachment>>>,
}

impl Disks {
    /// Creates an empty table. May sleep.
    pub(super) fn new() -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                all <- new_mutex!(KVec::new(), "krping_disks"),
            }),
            GFP_KERNEL,
        )
    }

    /// Adds a disk with the smallest free number. May sleep.
    pub(super) fn add(&self) -> Result<Arc<Attachment>> {
        let mut all = self.all.lock();
        let number = (0..)
            .find(|number| all.iter().all(|disk| disk.number != *number))
            .ok_or(ENOMEM)?;
        let attachment = Attachment::new(number)?;
        all.push(attachment.clone(), GFP_KERNEL)?;
        Ok(attachment)
    }

    /// Removes a disk that is gone from the table. May sleep.
    pub(super) fn remove(&self, number: u32) {
        self.all.lock().retain(|disk| disk.number != number);
    }

    /// Returns the disk with this number. May sleep.
    pub(super) fn find(&self, number: u32) -> Option<Arc<Attachment>> {
        let all = self.all.lock();
        all.iter().find(|disk| disk.number == number).cloned()
    }
}
