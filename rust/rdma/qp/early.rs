// SPDX-License-Identifier: GPL-2.0

//! Requests that complete before there is a connection.
//!
//! Memory is registered by a request, and requests are posted to a queue pair that is ready to
//! send. A peer that learns of a key while the connection is made, from private data, may use it at
//! once. So each side makes its queue pair ready before it asks for the connection or accepts it,
//! posts requests that send nothing, and resets it when they have completed. What was registered
//! stays so.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_modify_qp()`)

use super::{
    Completions,
    QueuePair, //
};
use crate::bindings;
use kernel::prelude::*;

/// The side of the connection that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) enum Opening {
    /// The peer has asked for it.
    Asked,
    /// This side is to ask for it.
    Asks,
}

/// The ACK timeout of a queue pair that sends nothing: any is valid.
const ACK_TIMEOUT: u8 = 14;

impl<C: Completions> QueuePair<C> {
    /// Makes the queue pair ready to send, along the path of a connection that the peer has asked
    /// for and that has not been accepted, or where this side is to ask, along the route that has
    /// been resolved. Only requests that send nothing may be posted, and no receives. Process
    /// context; may sleep. Not in a handler of the identifier.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` on iWARP; `EINVAL` where the connection is not that far, or not there any more;
    /// the driver's.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    pub(crate) fn open_early(&self, opening: Opening) -> Result {
        let id = &self.events.id;
        match opening {
            Opening::Asked => {
                id.with_path(bindings::ib_qp_state_IB_QPS_RTR, |attr| {
                    self.ready_to_receive(attr, 0)
                })?;
                id.with_path(bindings::ib_qp_state_IB_QPS_RTS, |attr| {
                    self.ready_to_send(attr)
                })
            }
            Opening::Asks => {
                id.with_route(|attr| {
                    // It has no peer yet, and is its own: nothing is sent.
                    // SAFETY: By the type invariant the queue pair is alive; its number does not
                    // change.
                    attr.dest_qp_num = unsafe { (*self.raw.as_ptr()).qp_num };
                    attr.max_dest_rd_atomic = 1;
                    self.ready_to_receive(attr, 0)
                })?;
                self.ready_to_send(&mut bindings::ib_qp_attr {
                    timeout: ACK_TIMEOUT,
                    max_rd_atomic: 1,
                    ..Default::default()
                })
            }
        }
    }

    /// Makes the queue pair as it was created again, once all that was posted has completed.
    /// Process context; may sleep. Not in a handler of the identifier.
    ///
    /// # Errors
    ///
    /// The driver's, after which there can be no connection.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    pub(crate) fn close_early(&self) -> Result {
        self.modify_to_reset()?;
        let id = &self.events.id;
        id.with_path(bindings::ib_qp_state_IB_QPS_INIT, |attr| {
            let mask = bindings::ib_qp_attr_mask_IB_QP_PKEY_INDEX
                | bindings::ib_qp_attr_mask_IB_QP_PORT
                | bindings::ib_qp_attr_mask_IB_QP_ACCESS_FLAGS;
            self.modify(attr, mask)
        })
    }
}
