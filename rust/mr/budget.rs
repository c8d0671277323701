// SPDX-License-Identifier: GPL-2.0

//! A limit for the buffers of several memories together.

#![forbid(unsafe_code)]

use crate::{
    logic::failure::errno,
    rdma::memory::Account, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// The bytes that buffers may still take.
pub(crate) struct Budget {
    left: Atomic<u64>,
    /// A buffer takes half of what is left at most, so those that take all they can leave some to
    /// small ones.
    halves: bool,
}

impl Budget {
    /// Creates a budget of `bytes`, of which each buffer takes half of what is left at most if
    /// `halves` is true. May sleep.
    pub(crate) fn new(bytes: u64, halves: bool) -> Result<Arc<Self>> {
        let left = Atomic::new(bytes);
        Ok(Arc::new(Self { left, halves }, GFP_KERNEL)?)
    }
}

/// Returns what a buffer of `bytes` takes: whole pages.
fn price(bytes: usize) -> Option<u64> {
    Some(bytes.checked_next_multiple_of(PAGE_SIZE)? as u64)
}

impl Account for Budget {
    /// Charges whole pages; `EDQUOT` where less is left than a buffer may take. Any context.
    fn charge(&self, bytes: usize) -> Result {
        let spent = || Error::from_errno(-errno::EDQUOT);
        let bytes = price(bytes).ok_or_else(spent)?;
        let mut left = self.left.load(Relaxed);
        loop {
            let rest = left.checked_sub(bytes).ok_or_else(spent)?;
            if self.halves && rest < bytes {
                return Err(spent());
            }
            match self.left.cmpxchg(left, rest, Relaxed) {
                Ok(_) => return Ok(()),
                Err(other) => left = other,
            }
        }
    }

    fn uncharge(&self, bytes: usize) {
        // It has been charged, so it has a price.
        self.left.fetch_add(price(bytes).unwrap_or(0), Relaxed);
    }
}
