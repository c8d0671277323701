// SPDX-License-Identifier: GPL-2.0

//! Making and ending the contexts of rdma_rw that move a transfer's data.
//!
//! Both may sleep, so the transfer is taken out of the queue pair's memory meanwhile, and the lock
//! is not held.

use super::{
    Completions,
    QueuePair, //
};
use crate::rdma::{
    memory::DmaDirection,
    mr::Remote,
    rw::{
        Transfer,
        TransferId, //
    }, //
};
use kernel::prelude::*;

impl<C: Completions> QueuePair<C> {
    /// Makes the context of transfer `id`, which moves all its bytes to or from `remote`, and
    /// returns the number of its requests. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// `EAGAIN` where all registrations of the queue pair are in use; `EINVAL` where there is a
    /// context already, `remote` has another size, or the device cannot register the memory;
    /// `EBUSY` where another thread works on it; `ENOMEM`.
    pub(crate) fn make_transfer(
        &self,
        id: TransferId,
        remote: &Remote,
        direction: DmaDirection,
    ) -> Result<u32> {
        self.with_transfer(id, |transfer| {
            // SAFETY: The queue pair is alive, as it is destroyed by those only who have this
            // object alone, and the transfer is of its memory.
            unsafe { transfer.make(self.target(), remote, direction) }
        })
    }

    /// Ends the context of transfer `id`: its memory is the CPU's again. Process context; may
    /// sleep.
    ///
    /// # Errors
    ///
    /// `EBUSY` where the transfer has not completed, or another thread works on it; `EINVAL` for
    /// one of another queue pair.
    pub(crate) fn end_transfer(&self, id: TransferId) -> Result {
        self.with_transfer(id, |transfer| {
            if transfer.is_posted() {
                return Err(EBUSY);
            }
            // SAFETY: As for `make_transfer`; the device has completed all requests, or has not
            // seen them.
            unsafe { transfer.end(self.target()) };
            Ok(())
        })
    }

    /// Runs `f`, which may sleep, on transfer `id`, without the lock.
    pub(super) fn with_transfer<R>(
        &self,
        id: TransferId,
        f: impl FnOnce(&mut Transfer) -> Result<R>,
    ) -> Result<R> {
        let mut transfer = self.inner.lock().memory.take_transfer(id)?;
        let result = f(&mut transfer);
        self.inner.lock().memory.put_transfer(id, transfer);
        result
    }
}
