// SPDX-License-Identifier: GPL-2.0

//! The transfers of a memory, and their pieces.

#![forbid(unsafe_code)]

use super::{
    ForeignMemory,
    Memory, //
};
use crate::rdma::{
    cq::WorkCompletion,
    qp::entry::Callback,
    rw::{
        ListKind,
        Pieces,
        Shape,
        Transfer,
        TransferId, //
    }, //
};
use kernel::{
    ffi::c_void,
    prelude::*,
    sync::Arc, //
};

impl<F: ForeignMemory> Memory<F> {
    /// Adds memory in pieces, and a transfer of it. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; the error of [`Account::charge`](super::Account::charge); `EINVAL` for a shape
    /// that no memory has.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    pub(crate) fn add_transfer(
        &mut self,
        shape: &Shape,
        kind: ListKind,
    ) -> Result<(TransferId, Arc<Pieces>)> {
        let charge = self.charge(Pieces::footprint(shape)?)?;
        let pieces = Arc::new(Pieces::new(shape, charge, self.node)?, GFP_KERNEL)?;
        let place = self.owner.place(self.transfers.len()).ok_or(ERANGE)?;
        let transfer = Transfer::new(pieces.clone(), kind)?;
        self.transfers.push(Some(transfer), GFP_KERNEL)?;
        Ok((TransferId(place), pieces))
    }

    fn transfer(&mut self, id: TransferId) -> Result<&mut Option<KBox<Transfer>>> {
        let Self {
            owner, transfers, ..
        } = self;
        owner.get_mut(transfers, id.0).ok_or(EINVAL)
    }

    /// Takes a transfer out, to be worked on without a lock or beside the memory.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a transfer of another memory; `EBUSY` where another has taken it.
    pub(in crate::rdma) fn take_transfer(&mut self, id: TransferId) -> Result<KBox<Transfer>> {
        self.transfer(id)?.take().ok_or(EBUSY)
    }

    /// Puts a transfer back that [`take_transfer`](Self::take_transfer) has taken out.
    pub(in crate::rdma) fn put_transfer(&mut self, id: TransferId, transfer: KBox<Transfer>) {
        if let Ok(place) = self.transfer(id) {
            *place = Some(transfer);
        }
    }

    /// Notes that a transfer has completed, as `wc` says. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where that is of another request, or one that failed.
    pub(crate) fn transfer_completed(&mut self, id: TransferId, wc: &WorkCompletion<'_>) -> Result {
        if !wc.is_success() || wc.owner() != self.owner {
            return Err(EINVAL);
        }
        let transfer = self.transfer(id)?.as_mut().ok_or(EBUSY)?;
        transfer.completed(wc.entry())
    }

    /// Gives each transfer its completion entry, of the queue pair at `owner`.
    pub(in crate::rdma) fn attach_transfers(&mut self, callback: Callback, owner: *const c_void) {
        for (index, transfer) in (0..).zip(self.transfers.iter_mut()) {
            if let Some(transfer) = transfer {
                transfer.attach(callback, owner, index);
            }
        }
    }

    /// Returns transfer number `index`; `None` beyond the last.
    pub(in crate::rdma) fn nth_transfer(&self, index: usize) -> Option<TransferId> {
        let place = self.owner.place(index).map(TransferId);
        place.filter(|_| index < self.transfers.len())
    }
}
