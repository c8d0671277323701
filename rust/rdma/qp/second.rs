// SPDX-License-Identifier: GPL-2.0

//! The unreliable queue pair beside another, as the owner of both uses it.

use super::{
    entry::target,
    unreliable::Unreliable,
    Completions,
    QueuePair, //
};
use crate::bindings;
use kernel::prelude::*;

impl<C: Completions> QueuePair<C> {
    /// Returns the number of the unreliable queue pair beside it, which the peer needs; `None`
    /// where there is none.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    pub(crate) fn unreliable_number(&self) -> Option<u32> {
        self.unreliable.as_ref().map(Unreliable::number)
    }

    /// Connects the unreliable queue pair beside it to the peer's number `peer`, once, along the
    /// path of the connection, which the peer must have asked for or accepted. Process context;
    /// sleeps. Not in a handler of the identifier.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is none, for a number that no queue pair has, or where the connection
    /// is not that far, or not there any more; `EBUSY` where that was done before; `ENOMEM`; the
    /// driver's.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    pub(crate) fn connect_unreliable(&self, peer: u32) -> Result {
        self.unreliable.as_ref().ok_or(EINVAL)?.connect(peer)
    }

    /// Gives the queue pair for datagrams beside it, which is connected, another Q_Key: those with
    /// the former do not arrive any more. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is none, or it is not connected; the driver's.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    pub(crate) fn set_datagram_qkey(&self, qkey: u32) -> Result {
        self.unreliable.as_ref().ok_or(EINVAL)?.set_qkey(qkey)
    }

    /// Has the datagrams of lists that are filled from now on go to an address that nobody has, one
    /// for documentation. Once. Process context; may sleep. Not in a handler of the identifier.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is no queue pair for datagrams with a peer, or they do not go by IPv4;
    /// `EBUSY` where that was done before; `ENOMEM`; the driver's.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    pub(crate) fn misdirect_datagrams(&self) -> Result {
        self.unreliable.as_ref().ok_or(EINVAL)?.misdirect()
    }
}

/// The callback of the requests that drain the unreliable queue pair beside another.
///
/// # Safety
///
/// As for [`handle_drained`](super::callbacks::handle_drained).
pub(super) unsafe extern "C" fn handle_unreliable_drained<C: Completions>(
    _cq: *mut bindings::ib_cq,
    wc: *mut bindings::ib_wc,
) {
    // SAFETY: As for `handle_drained`.
    unsafe {
        let (queue_pair, entry) = target::<QueuePair<C>, ()>(&*wc);
        if let Some(unreliable) = &queue_pair.unreliable {
            unreliable.drained(entry.index);
        }
    }
}
