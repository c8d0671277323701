// SPDX-License-Identifier: GPL-2.0

//! Accounting for buffers.

#![forbid(unsafe_code)]

use kernel::{
    prelude::*,
    sync::Arc, //
};

/// An account that buffers are charged to, such as a limit of what a peer can have allocated.
pub(crate) trait Account: Send + Sync + 'static {
    /// Charges a buffer of `bytes` bytes. May sleep.
    ///
    /// # Errors
    ///
    /// The error that the owner of the buffer gets, such as `EDQUOT`.
    fn charge(&self, bytes: usize) -> Result;

    /// Ends the charge of a buffer of `bytes` bytes. Any context.
    fn uncharge(&self, bytes: usize);
}

/// The charge for one buffer, which its drop ends.
pub(in crate::rdma) struct Charge {
    account: Arc<dyn Account>,
    bytes: usize,
}

impl Charge {
    /// Charges `bytes` to `account`. May sleep.
    ///
    /// # Errors
    ///
    /// The error of [`Account::charge`].
    pub(super) fn new(account: &Arc<dyn Account>, bytes: usize) -> Result<Self> {
        account.charge(bytes)?;
        Ok(Self {
            account: account.clone(),
            bytes,
        })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.uncharge(self.bytes);
    }
}
