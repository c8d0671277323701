// SPDX-License-Identifier: GPL-2.0

//! The state of the queue pair of a connection, and changes of it that the CM does not make.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_modify_qp()`, `ib_query_qp()`)

use super::{
    Completions,
    QueuePair, //
};
use crate::{
    bindings,
    rdma::{
        device::Transport,
        mr::Access, //
    }, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// The attributes by which a queue pair repeats requests, by the names that `struct ib_qp_attr` has
/// for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RetransmissionAttributes {
    /// Time that this side waits for an acknowledgment before it repeats a request: 4.096 us times
    /// 2 to the power of this, or without end for 0.
    pub(crate) timeout: u8,
    /// Repetitions of a request that is not acknowledged.
    pub(crate) retry_cnt: u8,
    /// Repetitions of a request that finds no receive posted; 7 is without end.
    pub(crate) rnr_retry: u8,
    /// Time that the peer is to wait when it finds no receive posted here, in the encoding of the
    /// transport.
    pub(crate) min_rnr_timer: u8,
}

impl<C: Completions> QueuePair<C> {
    /// Returns the state that the device says the queue pair is in: `enum ib_qp_state`. Process
    /// context; may sleep.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub(crate) fn query_state(&self) -> Result<u32> {
        let attr = self.query(bindings::ib_qp_attr_mask_IB_QP_STATE)?;
        Ok(attr.qp_state)
    }

    /// Returns the attributes by which the device repeats requests, as it tells them. Process
    /// context; may sleep.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` where the transport has none, as iWARP; the driver's.
    pub(crate) fn query_retransmission(&self) -> Result<RetransmissionAttributes> {
        if self.place.id().device()?.transport() == Transport::Iwarp {
            return Err(EOPNOTSUPP);
        }
        let mask = bindings::ib_qp_attr_mask_IB_QP_TIMEOUT
            | bindings::ib_qp_attr_mask_IB_QP_RETRY_CNT
            | bindings::ib_qp_attr_mask_IB_QP_RNR_RETRY
            | bindings::ib_qp_attr_mask_IB_QP_MIN_RNR_TIMER;
        let attr = self.query(mask)?;
        Ok(RetransmissionAttributes {
            timeout: attr.timeout,
            retry_cnt: attr.retry_cnt,
            rnr_retry: attr.rnr_retry,
            min_rnr_timer: attr.min_rnr_timer,
        })
    }

    /// Returns what the device says of the queue pair; at least the attributes of `mask` are there.
    fn query(&self, mask: bindings::ib_qp_attr_mask) -> Result<bindings::ib_qp_attr> {
        let mut attr = bindings::ib_qp_attr::default();
        let mut init = bindings::ib_qp_init_attr::default();
        // SAFETY: By the type invariant the queue pair is alive; both are valid for writes.
        to_result(unsafe {
            bindings::ib_query_qp(self.raw.as_ptr(), &mut attr, mask as i32, &mut init)
        })?;
        Ok(attr)
    }

    /// Puts the queue pair into the error state, without a message to the peer. Process context;
    /// may sleep.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub(crate) fn modify_to_error(&self) -> Result {
        self.drain.modify_to_error(self.raw)
    }

    /// Resets the queue pair: the device uses none of its memory any more, and does not complete
    /// what was posted. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub(super) fn modify_to_reset(&self) -> Result {
        let mut attr = bindings::ib_qp_attr {
            qp_state: bindings::ib_qp_state_IB_QPS_RESET,
            ..Default::default()
        };
        self.modify(&mut attr, 0)
    }

    /// Lets the peer do the operations of `permitted`, and no others, whatever its keys permit. The
    /// queue pair must be ready to send. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// The driver's: `EINVAL` in another state.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    pub(crate) fn permit(&self, permitted: &[Access]) -> Result {
        let flags = permitted.iter().fold(0, |flags, each| flags | each.flags());
        let mut attr = bindings::ib_qp_attr {
            qp_state: bindings::ib_qp_state_IB_QPS_RTS,
            qp_access_flags: flags as i32,
            ..Default::default()
        };
        let mask = bindings::ib_qp_attr_mask_IB_QP_ACCESS_FLAGS;
        self.modify(&mut attr, mask)
    }

    /// Puts a queue pair in state INIT into the state ready to receive (RTR), with the attributes
    /// that this takes, and with those of `more`. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// The driver's: `EINVAL` in another state.
    pub(super) fn ready_to_receive(
        &self,
        attr: &mut bindings::ib_qp_attr,
        more: bindings::ib_qp_attr_mask,
    ) -> Result {
        let mask = bindings::ib_qp_attr_mask_IB_QP_AV
            | bindings::ib_qp_attr_mask_IB_QP_PATH_MTU
            | bindings::ib_qp_attr_mask_IB_QP_DEST_QPN
            | bindings::ib_qp_attr_mask_IB_QP_RQ_PSN
            | bindings::ib_qp_attr_mask_IB_QP_MAX_DEST_RD_ATOMIC
            | bindings::ib_qp_attr_mask_IB_QP_MIN_RNR_TIMER;
        attr.qp_state = bindings::ib_qp_state_IB_QPS_RTR;
        self.modify(attr, mask | more)
    }

    /// Puts a queue pair that is ready to receive into the state ready to send (RTS), with the
    /// attributes that this takes. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// The driver's: `EINVAL` in another state.
    pub(super) fn ready_to_send(&self, attr: &mut bindings::ib_qp_attr) -> Result {
        let mask = bindings::ib_qp_attr_mask_IB_QP_TIMEOUT
            | bindings::ib_qp_attr_mask_IB_QP_RETRY_CNT
            | bindings::ib_qp_attr_mask_IB_QP_RNR_RETRY
            | bindings::ib_qp_attr_mask_IB_QP_SQ_PSN
            | bindings::ib_qp_attr_mask_IB_QP_MAX_QP_RD_ATOMIC;
        attr.qp_state = bindings::ib_qp_state_IB_QPS_RTS;
        self.modify(attr, mask)
    }

    /// Puts the queue pair into the state that `attr` says, with the attributes of `mask`. Process
    /// context; may sleep.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub(super) fn modify(
        &self,
        attr: &mut bindings::ib_qp_attr,
        mask: bindings::ib_qp_attr_mask,
    ) -> Result {
        let mask = (mask | bindings::ib_qp_attr_mask_IB_QP_STATE) as i32;
        // SAFETY: By the type invariant the queue pair is alive.
        to_result(unsafe { bindings::ib_modify_qp(self.raw.as_ptr(), attr, mask) })
    }
}
