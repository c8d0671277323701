// SPDX-License-Identifier: GPL-2.0

//! The sizes that a workload needs of its queue pair.

#![forbid(unsafe_code)]

use crate::rdma::qp::{
    QueuePairCaps,
    UnreliableCaps, //
};
use kernel::prelude::*;

/// The sizes that a workload needs of its queue pair.
#[derive(Clone, Copy)]
pub(crate) struct Depths {
    /// Requests that the send queue holds.
    pub(crate) send: u32,
    /// Requests that the receive queue holds.
    pub(crate) receive: u32,
    /// Receives, and requests to the send queue, that completions tell apart.
    pub(crate) slots: usize,
    /// Scatter/gather elements of a request to the send queue.
    pub(crate) pieces: u8,
    /// Bytes that a request can hold itself.
    pub(crate) inline: u32,
    /// Contexts for READ and WRITE, whose requests the core adds to the send queue.
    pub(crate) contexts: u32,
    /// Completions that their queue holds; `None` for as many as can be posted.
    pub(crate) completions: Option<u32>,
    /// True where these may be less.
    pub(crate) overrun: bool,
    /// True where each request to the send queue completes, whether it asks for that or not.
    pub(crate) signal_all: bool,
    /// The unreliable queue pair that data is moved by, if there is one.
    pub(crate) unreliable: Option<UnreliableCaps>,
}

/// Slots of a workload that does not say.
const SLOTS: usize = 4;

impl Depths {
    /// Makes the sizes of a workload whose requests have one scatter/gather element.
    pub(crate) const fn plain(send: u32, receive: u32) -> Self {
        Self {
            send,
            receive,
            slots: SLOTS,
            pieces: 1,
            inline: 0,
            contexts: 0,
            completions: None,
            overrun: false,
            signal_all: false,
            unreliable: None,
        }
    }

    /// Returns the same sizes with `slots` slots.
    pub(crate) const fn with_slots(self, slots: usize) -> Self {
        Self { slots, ..self }
    }

    /// Returns the sizes as the device is asked for them.
    pub(crate) fn caps(&self) -> QueuePairCaps {
        QueuePairCaps {
            max_send_wr: self.send,
            max_recv_wr: self.receive,
            max_send_sge: u32::from(self.pieces),
            max_inline_data: self.inline,
            max_rdma_ctxs: self.contexts,
            max_cqe: self.completions,
            overrun: self.overrun,
            signal_all: self.signal_all,
            unreliable: self.unreliable,
        }
    }

    /// Returns the number of entries that the completion queue is asked to hold.
    pub(crate) fn entries(&self) -> Result<u32> {
        self.caps().completions()
    }
}
