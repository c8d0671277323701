// SPDX-License-Identifier: GPL-2.0

//! The sizes of a queue pair and its completion queue.
//!
//! C header: `include/rdma/ib_verbs.h` (`struct ib_qp_cap`)

use super::unreliable::UnreliableCaps;
use crate::{
    bindings,
    rdma::{
        cq::{
            CompletionQueue,
            PollMode, //
        },
        device::Device,
        rw,
        srq::SharedReceiveQueue, //
    }, //
};
use kernel::prelude::*;

/// Requests in each queue that drain it: one at the end, and one before that.
pub(crate) const DRAIN_REQUESTS: u32 = 2;

/// The sizes of a queue pair and its completion queue. The requests that drain the queues are
/// added to them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuePairCaps {
    /// Requests that the send queue holds.
    pub(crate) max_send_wr: u32,
    /// Requests that the receive queue holds.
    pub(crate) max_recv_wr: u32,
    /// Scatter/gather elements of a request to the send queue.
    pub(crate) max_send_sge: u32,
    /// Bytes that a request can hold itself.
    pub(crate) max_inline_data: u32,
    /// Contexts for READ and WRITE, for [transfers](crate::rdma::rw), whose requests and
    /// registrations the core adds.
    pub(crate) max_rdma_ctxs: u32,
    /// Completions that their queue holds, as many as can be posted or more; `None` for as many.
    /// Those of contexts and of shared receives are added.
    pub(crate) max_cqe: Option<u32>,
    /// True where `max_cqe` may be less, for a queue of the queue pair's own, without contexts.
    /// Where it overruns, completions are lost: the device says so by an event, and the queue pair
    /// may end undrained.
    pub(crate) overrun: bool,
    /// True where each request to the send queue completes, whether it asks for that or not. Not
    /// with contexts, of which the last request tells the end of all.
    pub(crate) signal_all: bool,
    /// The unreliable queue pair beside it, if there is to be one, which has the same of all that
    /// is not in there.
    pub(crate) unreliable: Option<UnreliableCaps>,
}

/// Returns the sizes of both queues with the requests that drain them.
fn with_drain(send: u32, receive: u32) -> Result<(u32, u32)> {
    let send = send.checked_add(DRAIN_REQUESTS);
    let receive = receive.checked_add(DRAIN_REQUESTS);
    Ok((send.ok_or(ERANGE)?, receive.ok_or(ERANGE)?))
}

impl QueuePairCaps {
    /// Returns the requests that the send queue and the receive queue hold, with those to drain
    /// them.
    fn queues(&self) -> Result<(u32, u32)> {
        with_drain(self.max_send_wr, self.max_recv_wr)
    }

    /// Checks that the sizes go together for a queue pair that finds its completions in the way of
    /// `poll`, in a queue that it `shares` or in its own.
    ///
    /// # Errors
    ///
    /// `EINVAL`.
    pub(super) fn check(&self, poll: PollMode, shares: bool) -> Result {
        let others = shares || poll == PollMode::Pool;
        let contexts = self.max_rdma_ctxs > 0;
        match (self.overrun && (others || contexts)) || (self.signal_all && contexts) {
            true => Err(EINVAL),
            false => Ok(()),
        }
    }

    /// Returns the number of entries that the completion queue is asked to hold.
    ///
    /// # Errors
    ///
    /// `EINVAL` where that is less than can be posted, and must not be; `ERANGE`.
    pub(crate) fn completions(&self) -> Result<u32> {
        let (send, receive) = self.queues()?;
        let (more_sends, more_receives) = match &self.unreliable {
            Some(caps) => with_drain(caps.max_send_wr, caps.max_recv_wr)?,
            None => (0, 0),
        };
        let all = [receive, more_sends, more_receives]
            .into_iter()
            .try_fold(send, u32::checked_add)
            .ok_or(ERANGE)?;
        match self.max_cqe {
            Some(completions) if completions < all && !self.overrun => Err(EINVAL),
            completions => Ok(completions.unwrap_or(all)),
        }
    }

    /// Returns the completions that there may be of the queue pair on `device` at a time. Its
    /// receives are its own, unless they are `shared`.
    ///
    /// # Errors
    ///
    /// `ERANGE`.
    pub(super) fn own_completions(&self, device: &Device<'_>, shared: bool) -> Result<u32> {
        let (send, receive) = self.queues()?;
        let contexts = rw::requests_of(device, self.max_rdma_ctxs);
        let sends = send.checked_add(contexts).ok_or(ERANGE)?;
        match shared {
            true => Ok(sends),
            false => sends.checked_add(receive).ok_or(ERANGE),
        }
    }

    /// Returns the number of entries of the completion queue on `device`, with those of contexts
    /// and of all receives of `srq`, as the queue pair may be the one that takes them.
    ///
    /// # Errors
    ///
    /// As for [`completions`](Self::completions).
    pub(super) fn all_completions(
        &self,
        device: &Device<'_>,
        srq: Option<&SharedReceiveQueue>,
    ) -> Result<u32> {
        let contexts = rw::requests_of(device, self.max_rdma_ctxs);
        let shared = srq.map_or(0, SharedReceiveQueue::receives);
        let all = self.completions()?.checked_add(contexts);
        all.and_then(|all| all.checked_add(shared)).ok_or(ERANGE)
    }

    /// Returns the requests that an owner may have in a send queue whose size the device says is
    /// `size`: the others are for the drain, or have no room in the completion queue.
    pub(super) fn room(&self, device: &Device<'_>, size: u32) -> u32 {
        let contexts = rw::requests_of(device, self.max_rdma_ctxs);
        let asked = self.max_send_wr.saturating_add(contexts);
        asked.min(size.saturating_sub(DRAIN_REQUESTS))
    }

    /// Checks that a queue pair that was created with `attr` holds as much inline data as was asked
    /// for. A driver that takes none says so there, and creates the queue pair all the same: it
    /// would take the address of inline data for one of the device's.
    ///
    /// # Errors
    ///
    /// `EINVAL`.
    pub(super) fn check_inline(&self, attr: &bindings::ib_qp_init_attr) -> Result {
        match attr.cap.max_inline_data < self.max_inline_data {
            true => Err(EINVAL),
            false => Ok(()),
        }
    }

    /// Returns the attributes to create the queue pair with, whose receives are those of `srq`, if
    /// any.
    pub(super) fn attributes(
        &self,
        cq: &CompletionQueue,
        srq: Option<&SharedReceiveQueue>,
        qp_type: bindings::ib_qp_type,
        port: u32,
    ) -> Result<bindings::ib_qp_init_attr> {
        let (send, receive) = self.queues()?;
        Ok(bindings::ib_qp_init_attr {
            send_cq: cq.as_ptr(),
            recv_cq: cq.as_ptr(),
            srq: srq.map_or(core::ptr::null_mut(), SharedReceiveQueue::as_ptr),
            cap: bindings::ib_qp_cap {
                max_send_wr: send,
                max_recv_wr: if srq.is_some() { 0 } else { receive },
                max_send_sge: self.max_send_sge,
                max_recv_sge: u32::from(srq.is_none()),
                max_inline_data: self.max_inline_data,
                max_rdma_ctxs: self.max_rdma_ctxs,
            },
            sq_sig_type: if self.signal_all {
                bindings::ib_sig_type_IB_SIGNAL_ALL_WR
            } else {
                bindings::ib_sig_type_IB_SIGNAL_REQ_WR
            },
            qp_type,
            port_num: port,
            ..Default::default()
        })
    }
}
