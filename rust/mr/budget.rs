// SPDX-License-Identifier: GPL-2.0

//! A limit of what the buffers of several memories take together.

#![forbid(unsafe_code)]

use crate::logic::failure::errno;
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

/// What buffers may still take, in bytes.
pub(crate) struct Budget {
    left: Atomic<u64>,
}

impl Budget {
    /// Creates one of `bytes`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(bytes: u64) -> Result<Arc<Self>> {
        let left = Atomic::new(bytes);
        Ok(Arc::new(Self { left }, GFP_KERNEL)?)
    }

    /// Takes what a buffer of `bytes` takes, in whole pages, until the charge is dropped. Any
    /// context.
    ///
    /// # Errors
    ///
    /// `EDQUOT` where less is left.
    pub(super) fn charge(self: &Arc<Self>, bytes: usize) -> Result<Charge> {
        let spent = || Error::from_errno(-errno::EDQUOT);
        let bytes = bytes
            .checked_next_multiple_of(PAGE_SIZE)
            .ok_or_else(spent)? as u64;
        let mut left = self.left.load(Relaxed);
        loop {
            let rest = left.checked_sub(bytes).ok_or_else(spent)?;
            match self.left.cmpxchg(left, rest, Relaxed) {
                Ok(_) => break,
                Err(other) => left = other,
            }
        }
        Ok(Charge {
            budget: self.clone(),
            bytes,
        })
    }
}

/// What one buffer has taken of a budget.
pub(super) struct Charge {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.left.fetch_add(self.bytes, Relaxed);
    }
}
