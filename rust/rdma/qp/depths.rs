// SPDX-License-Identifier: GPL-2.0

//! How large a queue pair and its completion queue are.

use super::DRAINS;
use crate::{
    bindings,
    rdma::cq::CompletionQueue, //
};
use kernel::prelude::*;

/// How large a queue pair is.
#[derive(Clone, Copy)]
pub(crate) struct Depths {
    /// Requests that the send queue holds.
    pub(crate) send: u32,
    /// Requests that the receive queue holds.
    pub(crate) receive: u32,
    /// Receives, and requests to the send queue, that completions tell apart.
    pub(crate) slots: usize,
    /// Requests in a list of the batch; 0 for a workload without one.
    pub(crate) batch: usize,
    /// Scatter/gather elements of a request of the batch.
    pub(crate) pieces: u8,
    /// Bytes that a request can hold itself.
    pub(crate) inline: u32,
    /// Completions that their queue holds, where it is not to hold all that can be posted.
    pub(crate) completions: Option<u32>,
}

impl Depths {
    /// Those of a workload that has no batch.
    pub(crate) const fn plain(send: u32, receive: u32) -> Self {
        Self {
            send,
            receive,
            slots: SLOTS,
            batch: 0,
            pieces: 1,
            inline: 0,
            completions: None,
        }
    }

    /// Requests that the send queue and the receive queue hold, with those to drain them.
    fn queues(&self) -> Result<(u32, u32)> {
        let send = self.send.checked_add(DRAINS).ok_or(ERANGE)?;
        let receive = self.receive.checked_add(DRAINS).ok_or(ERANGE)?;
        Ok((send, receive))
    }

    /// Entries that the completion queue is asked to hold.
    ///
    /// # Errors
    ///
    /// `ERANGE`.
    pub(crate) fn entries(&self) -> Result<u32> {
        let (send, receive) = self.queues()?;
        match self.completions {
            Some(completions) => Ok(completions),
            None => send.checked_add(receive).ok_or(ERANGE),
        }
    }

    /// What to ask the device for.
    pub(super) fn attributes(&self, cq: &CompletionQueue) -> Result<bindings::ib_qp_init_attr> {
        let (send, receive) = self.queues()?;
        Ok(bindings::ib_qp_init_attr {
            send_cq: cq.as_ptr(),
            recv_cq: cq.as_ptr(),
            cap: bindings::ib_qp_cap {
                max_send_wr: send,
                max_recv_wr: receive,
                max_send_sge: u32::from(self.pieces),
                max_recv_sge: 1,
                max_inline_data: self.inline,
                ..Default::default()
            },
            sq_sig_type: bindings::ib_sig_type_IB_SIGNAL_REQ_WR,
            qp_type: bindings::ib_qp_type_IB_QPT_RC,
            ..Default::default()
        })
    }

    /// With that many slots.
    pub(crate) const fn with_slots(self, slots: usize) -> Self {
        Self { slots, ..self }
    }
}

/// Slots of a workload that does not say.
const SLOTS: usize = 4;
