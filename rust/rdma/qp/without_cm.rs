// SPDX-License-Identifier: GPL-2.0

//! Connecting a queue pair without the CM's handshake.
//!
//! The two sides tell each other the numbers of their queue pairs out of band, over a TCP
//! connection for example, and each connects its own by the verbs alone. The identifier of the
//! queue pair has resolved its route to the peer, along which the queue pair is connected, and is
//! never asked to connect or accept. Each side does the same:
//!
//! 1. resolve address and route ([`Id::resolve_addr`], [`Id::resolve_route`]), and create the queue
//!    pair;
//! 2. exchange [`QueuePair::number`], a random first sequence number, [`Id::path_mtu`], and
//!    [`Id::lid_and_gid`] by which the peer can check that it has the right route, and take the
//!    smaller path MTU of the two ([`Id::lower_path_mtu`]);
//! 3. [`QueuePair::connect_without_cm`];
//! 4. tell the peer, and wait to be told, that this is done, before anything is sent.
//!
//! What the CM does for its connections is up to the user here:
//!
//! - A queue pair that is not connected yet drops what it receives. A sender that does not wait in
//!   step 4 repeats its requests after a timeout each, as often as
//!   [`ConnectionAttributes::retry_cnt`] says, and then fails.
//! - Nobody reports that the connection is there, or that the peer has ended it: [`Id::disconnect`]
//!   fails, and the end of this side is [`QueuePair::modify_to_error`], or the drop. The peer
//!   learns of it when a request of its own fails.
//! - The number of a queue pair may be in use again at once, as there is no state in which it waits
//!   for stray packets to be gone. The first sequence numbers should be random for that reason.
//!
//! Events that are not about a connection still come to the handler of the identifier: the removal
//! of the device, and [`Unreachable`](crate::rdma::cm::Event::Unreachable) where the peer gets
//! another Ethernet address.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_modify_qp()`)
//!
//! [`Id::disconnect`]: crate::rdma::cm::Id::disconnect
//! [`Id::lid_and_gid`]: crate::rdma::cm::Id::lid_and_gid
//! [`Id::lower_path_mtu`]: crate::rdma::cm::Id::lower_path_mtu
//! [`Id::path_mtu`]: crate::rdma::cm::Id::path_mtu
//! [`Id::resolve_addr`]: crate::rdma::cm::Id::resolve_addr
//! [`Id::resolve_route`]: crate::rdma::cm::Id::resolve_route

use super::{
    unreliable::LAST_QUEUE_PAIR,
    Completions,
    QueuePair, //
};
use crate::{
    bindings,
    rdma::qp_type::QpType, //
};
use kernel::prelude::*;

/// The largest packet sequence number.
pub(crate) const LAST_PSN: u32 = (1 << 24) - 1;

/// The largest value of a field of three bits.
const MAX_3_BITS: u8 = 7;

/// The largest value of a field of five bits.
const MAX_5_BITS: u8 = 31;

/// The peer's queue pair, as the peer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerQueuePair {
    number: u32,
    psn: u32,
}

impl PeerQueuePair {
    /// Returns the queue pair number `number` that begins to send with the packet sequence number
    /// `psn`. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a number of more than 24 bits, and for 0 and 1, which are the queue pairs of
    /// management.
    pub(crate) fn new(number: u32, psn: u32) -> Result<Self> {
        match (2..=LAST_QUEUE_PAIR).contains(&number) && psn <= LAST_PSN {
            true => Ok(Self { number, psn }),
            false => Err(EINVAL),
        }
    }
}

/// The attributes of a connection that the CM would have negotiated, by the names that
/// `struct ib_qp_attr` has for them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionAttributes {
    /// RDMA READs and atomic operations that this side has under way at a time. At most the peer's
    /// [`max_dest_rd_atomic`](Self::max_dest_rd_atomic).
    pub(crate) max_rd_atomic: u8,
    /// RDMA READs and atomic operations of the peer's that this side serves at a time. With 0 they
    /// are not allowed.
    pub(crate) max_dest_rd_atomic: u8,
    /// Time that the peer is to wait when it finds no receive posted here, in the encoding of the
    /// transport, of 31 at most.
    pub(crate) min_rnr_timer: u8,
    /// Time that this side waits for an acknowledgment before it repeats a request: 4.096 us times
    /// 2 to the power of this, of 31 at most, or without end for 0. `None` for twice the time that
    /// the route says a packet may take.
    pub(crate) timeout: Option<u8>,
    /// Repetitions of a request that is not acknowledged, 7 at most.
    pub(crate) retry_cnt: u8,
    /// Repetitions of a request that finds no receive posted; 7 is without end.
    pub(crate) rnr_retry: u8,
}

impl ConnectionAttributes {
    /// Returns attributes for a peer that may be ready a little later: requests are repeated as
    /// often as the transport lets them. One RDMA READ or atomic operation is under way at a time,
    /// which all devices can do.
    pub(crate) const fn new() -> Self {
        Self {
            max_rd_atomic: 1,
            max_dest_rd_atomic: 1,
            // 0.64 ms: long enough to post receives, and short beside the timeout.
            min_rnr_timer: 12,
            timeout: None,
            retry_cnt: MAX_3_BITS,
            rnr_retry: MAX_3_BITS,
        }
    }

    /// Fails with `EINVAL` for a value that its field cannot hold.
    fn check(&self) -> Result {
        let timeout = self.timeout.unwrap_or(0);
        match self.retry_cnt.max(self.rnr_retry) <= MAX_3_BITS
            && self.min_rnr_timer.max(timeout) <= MAX_5_BITS
        {
            true => Ok(()),
            false => Err(EINVAL),
        }
    }

    /// Returns what the peer may do with memory whose key it has: `enum ib_access_flags`. The same
    /// as the CM would allow.
    fn access_flags(&self) -> i32 {
        let reads = match self.max_dest_rd_atomic {
            0 => 0,
            _ => {
                bindings::ib_access_flags_IB_ACCESS_REMOTE_READ
                    | bindings::ib_access_flags_IB_ACCESS_REMOTE_ATOMIC
            }
        };
        (bindings::ib_access_flags_IB_ACCESS_REMOTE_WRITE | reads) as i32
    }
}

impl<C: Completions> QueuePair<C> {
    /// Connects the queue pair, which is reliable, to `peer` along the route that its identifier
    /// has resolved, without a message to the peer. The first packet that it sends has the sequence
    /// number `own_psn`. Once; receives may be posted before, other requests after it. Process
    /// context; may sleep. Not in a handler of the identifier.
    ///
    /// The path MTU is that of the route: both sides need the same.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` on iWARP, which has no connection without a handshake; `EINVAL` for numbers
    /// that are too large, for another type of queue pair, where no route has been resolved, and
    /// where it is connected already; `EISCONN` where the CM has been asked for the connection; the
    /// driver's, such as `EINVAL` for more RDMA READs at a time than the device can do. After an
    /// error of the driver's it may be half connected, and must be dropped.
    pub(crate) fn connect_without_cm(
        &self,
        own_psn: u32,
        peer: PeerQueuePair,
        attributes: &ConnectionAttributes,
    ) -> Result {
        let id = &self.events.id;
        attributes.check()?;
        if own_psn > LAST_PSN || id.qp_type() != QpType::Rc.as_raw() {
            return Err(EINVAL);
        }
        id.with_route(|attr| {
            // The CM begins under the lock that is held here, and would connect it a second time.
            if id.has_begun() {
                return Err(Error::from_errno(-(bindings::EISCONN as i32)));
            }
            attr.dest_qp_num = peer.number;
            attr.rq_psn = peer.psn;
            attr.max_dest_rd_atomic = attributes.max_dest_rd_atomic;
            attr.min_rnr_timer = attributes.min_rnr_timer;
            // The CM leaves a queue pair whose identifier has not begun without any.
            attr.qp_access_flags = attributes.access_flags();
            self.ready_to_receive(attr, bindings::ib_qp_attr_mask_IB_QP_ACCESS_FLAGS)?;
            attr.sq_psn = own_psn;
            attr.max_rd_atomic = attributes.max_rd_atomic;
            attr.timeout = attributes.timeout.unwrap_or(attr.timeout);
            attr.retry_cnt = attributes.retry_cnt;
            attr.rnr_retry = attributes.rnr_retry;
            self.ready_to_send(attr)
        })
    }
}
