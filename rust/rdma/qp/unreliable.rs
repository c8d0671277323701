// SPDX-License-Identifier: GPL-2.0

//! Queue pairs whose messages nobody acknowledges, each beside that of a connection.
//!
//! The queue pair of a connection is reliable. The CM knows the path to the peer, along which an
//! unreliable connected one (UC), or one for unreliable datagrams (UD), is brought up by hand once
//! the two sides have told each other its number. It is in the protection domain of the first and
//! completes into the same queue, so it can name the same memory and the same completion entries.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_create_qp()`, `ib_modify_qp()`, `rdma_create_ah()`)

use super::{
    caps::QueuePairCaps,
    drain::{
        Drain,
        Last, //
    },
    entry::Callback,
    multicast::Group, //
};
use crate::{
    bindings,
    rdma::{
        cm::Id,
        cq::CompletionQueue,
        event::{
            handle_qp_event,
            EventContext, //
        },
        pd::ProtectionDomain,
        qp_type::QpType, //
    }, //
};
use core::ptr::NonNull;
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    ffi::c_void,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        SetOnce, //
    }, //
};

/// Bytes before the data of a datagram in the buffer of a receive: the place of a global routing
/// header, which a device fills where the packet has one (InfiniBand specification, section
/// 11.4.1.2).
#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) const GRH_BYTES: u32 = 40;

/// The first packet sequence number in both directions. A connection has a random one, so that
/// packets of an earlier connection are not taken for its own; here an earlier one lost its number
/// of the queue pair.
#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) const FIRST_PSN: u32 = 0;

/// The Q_Key that datagrams must have: that of the CM for its port space of datagrams.
const QKEY: u32 = bindings::RDMA_UDP_QKEY;

/// The largest number of a queue pair.
pub(super) const LAST_QUEUE_PAIR: u32 = (1 << 24) - 1;

/// The sizes of an unreliable queue pair. The requests that drain its queues are added.
#[derive(Clone, Copy, Debug)]
#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) struct UnreliableCaps {
    /// [`QpType::Uc`] or [`QpType::Ud`].
    pub(crate) qp_type: QpType,
    /// Requests that the send queue holds.
    pub(crate) max_send_wr: u32,
    /// Requests that the receive queue holds.
    pub(crate) max_recv_wr: u32,
}

/// The destination of datagrams.
#[derive(Clone, Copy)]
pub(in crate::rdma) struct Datagram {
    /// The address handle, of the domain of the queue pair.
    pub(in crate::rdma) ah: NonNull<bindings::ib_ah>,
    /// The number of the peer's queue pair.
    pub(in crate::rdma) queue_pair: u32,
    /// The Q_Key of the peer's queue pair.
    pub(in crate::rdma) qkey: u32,
}

impl Datagram {
    /// Writes the destination to `request`, which is posted to the same queue pair.
    pub(in crate::rdma) fn address(&self, request: &mut bindings::ib_ud_wr) {
        request.ah = self.ah.as_ptr();
        request.remote_qpn = self.queue_pair;
        request.remote_qkey = self.qkey;
    }
}

// SAFETY: An address handle does not change, and may be named and destroyed by any task.
unsafe impl Send for Datagram {}
// SAFETY: As above, by several at once.
unsafe impl Sync for Datagram {}

/// An unreliable queue pair.
///
/// # Invariants
///
/// `raw` was created in the domain `_pd` and is destroyed by this object alone, once, and after it
/// the address handles of `peer`, `astray` and `group`, if there are any. Before that it is
/// detached from the multicast group, if `group` says that it is attached.
pub(in crate::rdma) struct Unreliable {
    raw: NonNull<bindings::ib_qp>,
    qp_type: QpType,
    drain: Drain,
    /// The peer's queue pair; its address for UD.
    peer: SetOnce<Option<Datagram>>,
    /// An address that nobody has, where later datagrams are to go.
    astray: SetOnce<Datagram>,
    /// The multicast group that it sends to or receives from.
    pub(super) group: SetOnce<KBox<Group>>,
    /// 1 once it has been destroyed.
    destroyed: Atomic<u32>,
    /// The context of its events.
    events: Arc<EventContext>,
    _pd: Arc<ProtectionDomain>,
}

// SAFETY: What changes is atomic, and the verbs may be called from any task.
unsafe impl Send for Unreliable {}
// SAFETY: The verbs may be called from several tasks at once.
unsafe impl Sync for Unreliable {}

impl Unreliable {
    /// Creates the queue pair of `caps.unreliable` beside that of `owner`, in state INIT, in which
    /// receives can be posted. It completes into `cq`, and its last requests call `callback`. May
    /// sleep.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` on iWARP; `EINVAL` for a type that is not unreliable; `ENOMEM`; the driver's.
    pub(super) fn new(
        caps: &QueuePairCaps,
        unreliable: &UnreliableCaps,
        pd: &Arc<ProtectionDomain>,
        cq: &CompletionQueue,
        events: &Arc<EventContext>,
        (owner, callback): (*const c_void, Callback),
    ) -> Result<Self> {
        let qp_type = unreliable.qp_type;
        if qp_type == QpType::Rc {
            return Err(EINVAL);
        }
        let port = events.id.device()?.port();
        let caps = QueuePairCaps {
            max_send_wr: unreliable.max_send_wr,
            max_recv_wr: unreliable.max_recv_wr,
            max_rdma_ctxs: 0,
            ..*caps
        };
        let mut attr = bindings::ib_qp_init_attr {
            event_handler: Some(handle_qp_event),
            qp_context: Arc::as_ptr(events).cast_mut().cast(),
            ..caps.attributes(cq, None, qp_type.as_raw(), port)?
        };
        let drain = Drain::new(owner, callback)?;
        // SAFETY: The domain and the completion queue are alive, and on one device. The context is
        // held until the queue pair has been destroyed, after which no event comes.
        let raw = from_err_ptr(unsafe {
            bindings::rust_helper_create_qp(pd.as_ptr(), &mut attr) //
        })?;
        // INVARIANT: Created just now; without an address handle.
        let this = Self {
            raw: NonNull::new(raw).ok_or(ENOMEM)?,
            qp_type,
            drain,
            peer: SetOnce::new(),
            astray: SetOnce::new(),
            group: SetOnce::new(),
            destroyed: Atomic::new(0),
            events: events.clone(),
            _pd: pd.clone(),
        };
        caps.check_inline(&attr)?;
        this.initialize()?;
        Ok(this)
    }

    pub(super) fn id(&self) -> &Id {
        &self.events.id
    }

    /// Returns the type of the queue pair.
    pub(super) fn qp_type(&self) -> QpType {
        self.qp_type
    }

    /// Returns the raw queue pair, alive as long as it is not destroyed.
    pub(super) fn as_ptr(&self) -> *mut bindings::ib_qp {
        self.raw.as_ptr()
    }

    /// Returns the number of the queue pair, which the peer needs.
    pub(super) fn number(&self) -> u32 {
        // SAFETY: By the type invariant the queue pair is alive; its number does not change.
        unsafe { (*self.as_ptr()).qp_num }
    }

    fn modify(&self, attr: &mut bindings::ib_qp_attr, mask: bindings::ib_qp_attr_mask) -> Result {
        let mask = (mask | bindings::ib_qp_attr_mask_IB_QP_STATE) as i32;
        // SAFETY: By the type invariant the queue pair is alive.
        to_result(unsafe { bindings::ib_modify_qp(self.as_ptr(), attr, mask) })
    }

    fn initialize(&self) -> Result {
        let init = bindings::ib_qp_state_IB_QPS_INIT;
        self.id().with_path(init, |attr| {
            attr.qp_access_flags = bindings::ib_access_flags_IB_ACCESS_REMOTE_WRITE as i32;
            attr.qkey = QKEY;
            let by_type = match self.qp_type {
                QpType::Ud => bindings::ib_qp_attr_mask_IB_QP_QKEY,
                QpType::Rc | QpType::Uc => bindings::ib_qp_attr_mask_IB_QP_ACCESS_FLAGS,
            };
            let common =
                bindings::ib_qp_attr_mask_IB_QP_PKEY_INDEX | bindings::ib_qp_attr_mask_IB_QP_PORT;
            self.modify(attr, common | by_type)
        })
    }

    /// Connects it to the peer's queue pair number `peer`, along the path of the connection, which
    /// the peer must have asked for or accepted, or along the route that was resolved where nobody
    /// has asked for one. Once. Process context; sleeps. Not in a handler of the identifier.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a number that no queue pair has, or where the connection is not that far or not
    /// there any more; `EBUSY` where that was done before; `ENOMEM`; the driver's.
    pub(super) fn connect(&self, peer: u32) -> Result {
        // Those below are the special ones, of management.
        if !(2..=LAST_QUEUE_PAIR).contains(&peer) {
            return Err(EINVAL);
        }
        let connect = |path: &mut bindings::ib_qp_attr| match self.qp_type {
            QpType::Ud => self.begin_datagrams(path, peer).map(Some),
            QpType::Rc | QpType::Uc => {
                path.dest_qp_num = peer;
                path.rq_psn = FIRST_PSN;
                let mask = bindings::ib_qp_attr_mask_IB_QP_AV
                    | bindings::ib_qp_attr_mask_IB_QP_PATH_MTU
                    | bindings::ib_qp_attr_mask_IB_QP_DEST_QPN
                    | bindings::ib_qp_attr_mask_IB_QP_RQ_PSN;
                self.modify(path, mask).map(|()| None)
            }
        };
        let rtr = bindings::ib_qp_state_IB_QPS_RTR;
        let datagram = match self.id().has_begun() {
            true => self.id().with_path(rtr, connect)?,
            false => self.id().with_route(connect)?,
        };
        // INVARIANT: The handle was created for this queue pair.
        if !self.peer.populate(datagram) {
            if let Some(datagram) = datagram {
                // SAFETY: Nobody has seen it.
                unsafe { destroy_handle(datagram.ah) };
            }
            return Err(EBUSY);
        }
        let mut attr = bindings::ib_qp_attr {
            qp_state: bindings::ib_qp_state_IB_QPS_RTS,
            sq_psn: FIRST_PSN,
            ..Default::default()
        };
        self.modify(&mut attr, bindings::ib_qp_attr_mask_IB_QP_SQ_PSN)
    }

    /// Gives a queue pair for datagrams, which is connected, another Q_Key: those with the former
    /// do not arrive any more. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` for another type or before it is connected; the driver's.
    pub(super) fn set_qkey(&self, qkey: u32) -> Result {
        let mut attr = bindings::ib_qp_attr {
            qp_state: bindings::ib_qp_state_IB_QPS_RTS,
            qkey,
            ..Default::default()
        };
        self.modify(&mut attr, bindings::ib_qp_attr_mask_IB_QP_QKEY)
    }

    /// Has the datagrams of lists that are filled from now on go to an address that nobody has, one
    /// for documentation (RFC 5737). Once. Process context; may sleep. Not in a handler of the
    /// identifier.
    ///
    /// # Errors
    ///
    /// `EINVAL` where it has no peer, or datagrams do not go by IPv4; `EBUSY` where that was done
    /// before; `ENOMEM`; the driver's.
    pub(super) fn misdirect(&self) -> Result {
        const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
        let peer = self.peer.copy().flatten().ok_or(EINVAL)?;
        let rtr = bindings::ib_qp_state_IB_QPS_RTR;
        let datagram = self.id().with_path(rtr, |path| {
            // SAFETY: Every bit pattern is valid for either member of this union.
            let [prefix @ .., a, b, c, d] = unsafe { path.ah_attr.grh.dgid.raw.as_mut() };
            if *prefix != MAPPED {
                return Err(EINVAL);
            }
            (*a, *b, *c, *d) = (203, 0, 113, 1);
            Ok(Datagram {
                ah: self.create_handle(&mut path.ah_attr)?,
                ..peer
            })
        })?;
        // INVARIANT: The handle was created for this queue pair.
        if self.astray.populate(datagram) {
            Ok(())
        } else {
            // SAFETY: Nobody has seen it.
            unsafe { destroy_handle(datagram.ah) };
            Err(EBUSY)
        }
    }

    /// Makes an address handle of the destination `attr`.
    pub(super) fn create_handle(
        &self,
        attr: &mut bindings::rdma_ah_attr,
    ) -> Result<NonNull<bindings::ib_ah>> {
        // SAFETY: The domain is alive. What the address refers to is, too, during this call; the
        // handle takes its own reference.
        let ah = from_err_ptr(unsafe {
            bindings::rdma_create_ah(
                self._pd.as_ptr(),
                attr,
                bindings::rdma_create_ah_flags_RDMA_CREATE_AH_SLEEPABLE,
            )
        })?;
        NonNull::new(ah).ok_or(ENOMEM)
    }

    /// Has it receive datagrams, and makes the address handle of the peer.
    fn begin_datagrams(&self, path: &mut bindings::ib_qp_attr, peer: u32) -> Result<Datagram> {
        let mut attr = bindings::ib_qp_attr {
            qp_state: bindings::ib_qp_state_IB_QPS_RTR,
            ..Default::default()
        };
        self.modify(&mut attr, 0)?;
        Ok(Datagram {
            ah: self.create_handle(&mut path.ah_attr)?,
            queue_pair: peer,
            qkey: QKEY,
        })
    }

    /// Returns the destination of its requests; `None` where they have none of their own.
    ///
    /// # Errors
    ///
    /// `EINVAL` before it is connected.
    pub(super) fn datagram(&self) -> Result<Option<Datagram>> {
        let peer = self.peer.copy().ok_or(EINVAL)?;
        let group = self.group.as_ref().and_then(|group| group.destination());
        Ok(self.astray.copy().or(group).or(peer))
    }

    /// Returns the number of the peer's queue pair for datagrams; `None` of another type.
    ///
    /// # Errors
    ///
    /// `EINVAL` before it is connected.
    pub(super) fn peer(&self) -> Result<Option<u32>> {
        let peer = self.peer.copy().ok_or(EINVAL)?;
        Ok(peer.map(|peer| peer.queue_pair))
    }

    /// Notes that the request of the drain with entry `index` has completed. In the context of
    /// completions.
    pub(super) fn drained(&self, index: u32) {
        self.drain.done(index);
    }

    /// Puts it into error, and waits until all requests have completed, at most `timeout_ms`.
    /// Nothing is posted to it any more. Process context; sleeps, or gives the CPU away where `cq`
    /// is polled.
    ///
    /// # Errors
    ///
    /// The driver's; `ETIMEDOUT` where it does not flush its queues.
    pub(super) fn flush(&self, cq: &CompletionQueue, timeout_ms: u32) -> Result {
        let last = match (self.qp_type, self.peer.copy().flatten()) {
            (QpType::Rc | QpType::Uc, _) => Last::Write,
            (QpType::Ud, Some(datagram)) => Last::Datagram(datagram),
            // No request can have been posted.
            (QpType::Ud, None) => Last::None,
        };
        self.drain.flush(self.raw, cq, None, last, timeout_ms)
    }

    /// Destroys it, once. Nothing is posted to it any more. Process context; sleeps.
    pub(super) fn destroy(&self) {
        if self.destroyed.xchg(1, Relaxed) != 0 {
            return;
        }
        self.detach();
        // SAFETY: By the type invariant; it fails for queue pairs that are attached to a group
        // only. The address handles go after the requests that name them.
        unsafe {
            bindings::ib_destroy_qp_user(self.as_ptr(), core::ptr::null_mut());
            let peer = self.peer.copy().flatten();
            let group = self.group.as_ref().and_then(|group| group.destination());
            for datagram in [peer, self.astray.copy(), group].into_iter().flatten() {
                destroy_handle(datagram.ah);
            }
        }
    }
}

/// Destroys an address handle.
///
/// # Safety
///
/// No request that names it is under way or is posted any more.
pub(super) unsafe fn destroy_handle(ah: NonNull<bindings::ib_ah>) {
    // SAFETY: By the function's requirements. In process context.
    unsafe {
        bindings::rdma_destroy_ah_user(
            ah.as_ptr(),
            bindings::rdma_destroy_ah_flags_RDMA_DESTROY_AH_SLEEPABLE,
            core::ptr::null_mut(),
        );
    }
}

impl Drop for Unreliable {
    fn drop(&mut self) {
        self.destroy();
    }
}
