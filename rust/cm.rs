// SPDX-License-Identifier: GPL-2.0

//! RDMA CM identifiers: resolve, connect, accept, disconnect.
//!
//! The CM's event handler is only a state machine: it reports each event to the
//! [`Outcome`] of its connection and never blocks on anything else. A [`CmId`]
//! is destroyed by its drop, which waits until no handler runs; so a `CmId` must
//! not be dropped in a handler, and nothing here does that.
//!
//! Nothing is sent over a port that is not active ([`port`]): what would have to be waits
//! for it, and an identifier whose end could not be told is destroyed later ([`departures`]).
//!
//! What is made on a device (protection domain, queue pair) keeps an `Arc` of
//! the identifier it was made through. The CM in turn keeps the device alive
//! while identifiers are bound to it, which is what makes every use of the
//! device through these types valid: its removal waits for their drop.
//!
//! C header: `include/rdma/rdma_cm.h`

pub(crate) mod addr;
pub(crate) mod departures;
mod event;
pub(crate) mod listener;
pub(crate) mod port;
mod resolve;

pub(crate) use event::{
    outcome_of,
    static_text,
    PeerData, //
};

use crate::{
    bindings,
    engine::outcome::{
        Outcome,
        Progress, //
    },
    kernel_ext::net::Netns,
    logic::{
        failure::{
            Failure,
            CONNECTING, //
        },
        wire::{
            PrivateData,
            Reject, //
        }, //
    },
    rdma::device::Device, //
};
use addr::SocketAddress;
use core::ptr::NonNull;
use departures::Departing;
use event::{
    handle_event,
    Context, //
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    ffi::c_int,
    prelude::*,
    sync::{
        atomic::{
            Full,
            Release, //
        },
        Arc, //
    }, //
};
use port::Way;

/// How often this side's requests are repeated; 7 of `rnr` is without end.
#[derive(Clone, Copy)]
pub(crate) struct Retries {
    /// When no answer comes.
    pub(crate) lost: u8,
    /// When the peer has no receive posted.
    pub(crate) rnr: u8,
}

impl Retries {
    /// As often as can be said.
    pub(crate) const MOST: Self = Self { lost: 7, rnr: 7 };
}

/// What a server does with it.
const ACCEPTING: &str = "accepting the connection";

/// 0.08 ms, in the encoding of the transport.
const SHORT_RNR_TIMER: u8 = 6;

/// The limits that both sides of a connection agree on.
#[derive(Clone, Copy)]
pub(crate) struct ReadLimits {
    /// RDMA READs that this side serves at a time.
    pub(crate) responder_resources: u8,
    /// RDMA READs that this side has under way at a time.
    pub(crate) initiator_depth: u8,
}

/// An RDMA CM identifier for one reliable connection.
///
/// # Invariants
///
/// `raw` is an identifier that this object alone destroys; its context points to
/// `context`'s contents, and its handler is [`handle_event`].
pub(crate) struct CmId {
    raw: NonNull<bindings::rdma_cm_id>,
    context: Arc<Context>,
}

// SAFETY: The CM's functions may be called from any task; they lock the
// identifier themselves. `Context` is shared by design.
unsafe impl Send for CmId {}
// SAFETY: As above.
unsafe impl Sync for CmId {}

impl CmId {
    /// Creates an identifier in namespace `net` that reports to `outcome`.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(net: &Netns, outcome: Arc<Outcome>) -> Result<Self> {
        let context = Context::new(outcome, false)?;
        // SAFETY: `net` is alive, and the CM takes a reference of its own. The
        // context outlives the identifier, whose owner holds it.
        let raw = from_err_ptr(unsafe {
            bindings::krping_rdma_create_id(
                net.as_ptr(),
                Some(handle_event),
                Arc::as_ptr(&context).cast_mut().cast(),
            )
        })?;
        // INVARIANT: Created just now with this context and this handler.
        Ok(Self {
            raw: NonNull::new(raw).ok_or(ENOMEM)?,
            context,
        })
    }

    /// Takes over the identifier of a connection request.
    ///
    /// # Safety
    ///
    /// Called in the handler of that event, which then returns 0, and nothing
    /// else destroys the identifier.
    unsafe fn adopt(raw: NonNull<bindings::rdma_cm_id>, context: Arc<Context>) -> Self {
        // SAFETY: The CM calls no handler of this identifier until the present
        // one returns, so nobody reads the fields meanwhile.
        // INVARIANT: Both are set here.
        unsafe {
            (*raw.as_ptr()).context = Arc::as_ptr(&context).cast_mut().cast();
            (*raw.as_ptr()).event_handler = Some(handle_event);
        }
        Self { raw, context }
    }

    /// Where this connection reports to.
    pub(crate) fn outcome(&self) -> &Arc<Outcome> {
        &self.context.outcome
    }

    /// The raw identifier, valid while `self` lives.
    pub(crate) fn as_ptr(&self) -> *mut bindings::rdma_cm_id {
        self.raw.as_ptr()
    }

    /// The device that the identifier is bound to.
    ///
    /// # Errors
    ///
    /// `ENODEV` before an address has been resolved or bound.
    pub(crate) fn device(&self) -> Result<Device<'_>> {
        // SAFETY: By the type invariant the identifier is valid; the CM sets the
        // device before it reports the resolved address or the request, and
        // keeps it until the identifier is destroyed.
        // Another task may resolve the address meanwhile, hence the volatile reads.
        let (device, port) = unsafe {
            let id = self.as_ptr();
            (
                (&raw const (*id).device).read_volatile(),
                (&raw const (*id).port_num).read_volatile(),
            )
        };
        let device = NonNull::new(device).ok_or(ENODEV)?;
        // SAFETY: A device is alive while an identifier is bound to it.
        Ok(unsafe { Device::from_raw(device, port) })
    }

    /// Sets the type of service, before the route is resolved.
    pub(crate) fn set_tos(&self, tos: u8) {
        // SAFETY: By the type invariant the identifier is valid.
        unsafe { bindings::rdma_set_service_type(self.as_ptr(), c_int::from(tos)) }
    }

    /// Sets how long this side's queue pair waits for the peer's ACK before it
    /// repeats a request: 4.096 us times 2 to the power of `exponent`, of 31 at
    /// most. Before the connection is made.
    pub(crate) fn set_ack_timeout(&self, exponent: u8) {
        // SAFETY: The identifier is valid. It fails for other kinds of queue
        // pairs only.
        let _ = unsafe { bindings::rdma_set_ack_timeout(self.as_ptr(), exponent) };
    }

    /// Has the peer wait but a moment when it finds no receive posted here, before
    /// it tries again. Before the connection is made; the CM's default is 655 ms.
    pub(crate) fn set_short_rnr_timer(&self) {
        // SAFETY: The identifier is valid. It fails for other kinds of queue
        // pairs only.
        let _ = unsafe { bindings::rdma_set_min_rnr_timer(self.as_ptr(), SHORT_RNR_TIMER) };
    }

    fn parameters(data: &[u8], limits: ReadLimits, retries: Retries) -> bindings::rdma_conn_param {
        bindings::rdma_conn_param {
            private_data: data.as_ptr().cast(),
            private_data_len: data.len() as u8,
            responder_resources: limits.responder_resources,
            initiator_depth: limits.initiator_depth,
            retry_count: retries.lost,
            rnr_retry_count: retries.rnr,
            ..Default::default()
        }
    }

    /// Connects the queue pair of this identifier. Sleeps until the port is active, and
    /// then until the connection is established, at most `timeout` ms each.
    ///
    /// # Errors
    ///
    /// [`Failure::PortDown`], [`Failure::Rejected`], [`Failure::Unreachable`], or what the
    /// kernel says.
    pub(crate) fn connect(
        &self,
        data: &[u8; PrivateData::LEN],
        limits: ReadLimits,
        timeout: u32,
    ) -> Result<(), Failure> {
        self.begin_connect(data, limits, Retries::MOST, timeout)?;
        self.outcome()
            .wait_for(Progress::Established, CONNECTING, Some(timeout))
    }

    /// As [`Self::connect`], but waits for the port only.
    ///
    /// # Errors
    ///
    /// [`Failure::PortDown`], or what the kernel says.
    pub(crate) fn begin_connect(
        &self,
        data: &[u8; PrivateData::LEN],
        limits: ReadLimits,
        retries: Retries,
        timeout: u32,
    ) -> Result<(), Failure> {
        self.await_port(timeout)?;
        let mut param = Self::parameters(data, limits, retries);
        self.context.set_speaking(true);
        // SAFETY: The identifier is valid; the data is copied before the call
        // returns.
        to_result(unsafe { bindings::rdma_connect(self.as_ptr(), &mut param) })
            .inspect_err(|_| self.context.set_speaking(false))
            .map_err(|e| Failure::Kernel(CONNECTING, e.to_errno()))
    }

    /// Accepts the request that this identifier came with, once the port is active. Sleeps,
    /// `timeout` ms at most; whether the connection comes up is reported later.
    ///
    /// # Errors
    ///
    /// [`Failure::PortDown`]; what has been reported meanwhile; what the kernel says, and
    /// the request is then rejected already.
    pub(crate) fn accept(
        &self,
        data: &[u8],
        limits: ReadLimits,
        timeout: u32,
    ) -> Result<(), Failure> {
        self.accept_with(data, limits, Retries::MOST, timeout)
    }

    /// As [`Self::accept`]. Of a client's requests to a peer without a receive, it is
    /// the peer's `retries` that count.
    ///
    /// # Errors
    ///
    /// Those of [`Self::accept`].
    pub(crate) fn accept_with(
        &self,
        data: &[u8],
        limits: ReadLimits,
        retries: Retries,
        timeout: u32,
    ) -> Result<(), Failure> {
        self.await_port(timeout)?;
        let mut param = Self::parameters(data, limits, retries);
        // SAFETY: The identifier is valid, and its handler is locked around the
        // call, as `rdma_accept()` demands; the data is copied.
        let accepted = to_result(unsafe {
            bindings::rdma_lock_handler(self.as_ptr());
            let ret = bindings::rdma_accept(self.as_ptr(), &mut param);
            bindings::rdma_unlock_handler(self.as_ptr());
            ret
        });
        if accepted == Err(EINVAL) {
            // So the CM says where the client has left, and that event waited for the handler.
            self.outcome().await_failure();
        }
        accepted
            .inspect_err(|_| self.context.set_speaking(false))
            .map_err(|e| Failure::Kernel(ACCEPTING, e.to_errno()))
    }

    /// Rejects the request that this identifier came with, with a reason. Where the port is
    /// down that is left to the drop, which gives none. May sleep.
    pub(crate) fn reject(&self, reject: &Reject) {
        if self.way() != Way::Open {
            return;
        }
        let data = reject.encode();
        // SAFETY: The identifier is valid; the data is copied. A failure only
        // means that the peer has gone already.
        let ret = unsafe {
            bindings::rdma_reject(
                self.as_ptr(),
                data.as_ptr().cast(),
                data.len() as u8,
                bindings::ib_cm_rej_reason_IB_CM_REJ_CONSUMER_DEFINED as u8,
            )
        };
        if ret == 0 {
            self.context.set_speaking(false);
        }
    }

    /// Disconnects, and puts the queue pair into error. Returns whether the peer is
    /// to answer. Where the port is down all of that is left to the drops of both. May sleep.
    pub(crate) fn disconnect(&self) -> bool {
        self.way() == Way::Open && self.disconnect_regardless()
    }

    /// Reserves the place of this identifier's only queue pair.
    ///
    /// # Errors
    ///
    /// `EBUSY` where it has one.
    pub(crate) fn claim_queue_pair(self: &Arc<Self>) -> Result<QueuePairPlace> {
        match self.context.has_queue_pair.xchg(1, Full) {
            0 => Ok(QueuePairPlace(self.clone())),
            _ => Err(EBUSY),
        }
    }

    /// The private data that came with the established connection.
    pub(crate) fn peer_data(&self) -> PeerData {
        *self.context.peer_data.lock()
    }

    /// This side's address, once resolved or connected.
    pub(crate) fn local(&self) -> SocketAddress {
        // SAFETY: The identifier is valid, and its addresses are set before the
        // events after which this is called.
        unsafe { SocketAddress::from_raw(&(*self.as_ptr()).route.addr.src_addr) }
    }

    /// The peer's address, once resolved or connected.
    pub(crate) fn peer(&self) -> SocketAddress {
        // SAFETY: The identifier is valid, and its addresses are set before the
        // events after which this is called.
        unsafe { SocketAddress::from_raw(&(*self.as_ptr()).route.addr.dst_addr) }
    }

    /// Whether the peer's address is this side's own, once resolved or connected.
    pub(crate) fn is_loopback(&self) -> bool {
        // SAFETY: As for `peer`.
        let own = unsafe { SocketAddress::from_raw(&(*self.as_ptr()).route.addr.src_addr) };
        own.ip() == self.peer().ip()
    }
}

/// The right to make a queue pair on an identifier, which has room for one.
pub(crate) struct QueuePairPlace(Arc<CmId>);

impl QueuePairPlace {
    /// The identifier.
    pub(crate) fn id(&self) -> &Arc<CmId> {
        &self.0
    }
}

impl Drop for QueuePairPlace {
    fn drop(&mut self) {
        self.0.context.has_queue_pair.store(0, Release);
    }
}

impl Drop for CmId {
    fn drop(&mut self) {
        // SAFETY: By the type invariant this object alone destroys it, which it leaves to
        // the new one, and the context is its. Whatever was made through the identifier held
        // an `Arc` of it, so is gone.
        unsafe { Departing::new(self.raw, self.context.clone()) }.leave();
    }
}
