// SPDX-License-Identifier: GPL-2.0

//! Connections' identifiers: resolve, connect, accept, disconnect.
//!
//! A [`CmId`] is krping's use of an identifier of [`rdma::cm`](crate::rdma::cm). The handler of
//! its events is only a state machine: it reports each to the [`Outcome`] of the connection and
//! never blocks on anything else. A `CmId` must not be dropped in a handler, and nothing here
//! does that.
//!
//! Nothing is sent over a port that is not active ([`port`]): what would have to be waits
//! for it, and an identifier whose end could not be told is destroyed later ([`departures`]).
//!
//! What is made on a device (protection domain, queue pair) keeps an `Arc` of
//! the `CmId` it was made through, and so the device.
//!
//! - [`resolve`], [`addr`] - a peer's address and the route to it; the addresses of commands
//! - [`event`], [`cause`] - what events leave behind; causes of failures
//! - [`listener`] - connection requests become identifiers
//! - [`device_watch`] - notice of a device's removal without a listener
//! - [`membership`] - the multicast group of datagrams
//! - [`own_addresses`] - the addresses that RDMA devices have
//! - [`port`], [`departures`] - whether the CM's messages can leave, and identifiers that wait for
//!   that

#![deny(unsafe_code)]

pub(crate) mod addr;
pub(crate) mod cause;
pub(crate) mod departures;
pub(crate) mod device_watch;
mod event;
pub(crate) mod listener;
mod membership;
pub(crate) mod own_addresses;
pub(crate) mod port;
mod resolve;

pub(crate) use event::PeerData;

use crate::{
    engine::outcome::{
        Outcome,
        Progress, //
    },
    kernel_ext::net::Netns,
    logic::{
        device::caps,
        failure::{
            Failure,
            CONNECTING,
            RESOLVING_ADDRESS, //
        },
        wire::Reject, //
    },
    rdma::{
        cm::{
            ConnParam,
            Id,
            PortSpace,
            SocketAddress, //
        },
        device::Device,
        qp_type::QpType, //
    }, //
};
use departures::Departing;
use event::Events;
use kernel::{
    prelude::*,
    sync::Arc, //
};
use port::Way;

/// The number of times that requests of a connection are retransmitted.
#[derive(Clone, Copy)]
pub(crate) struct Retries {
    /// This side's, after no answer has come. Of the side that connects, which tells the other.
    pub(crate) lost: u8,
    /// The peer's, after it has found no receive posted here; 7 is without end.
    pub(crate) rnr: u8,
}

impl Retries {
    /// The largest numbers that there are.
    pub(crate) const MOST: Self = Self { lost: 7, rnr: 7 };
}

/// The first step of a connection, as failures name it.
pub(crate) const CREATING: &str = "creating a CM identifier";

/// The step of a server, as failures name it.
const ACCEPTING: &str = "accepting the connection";

/// 0.08 ms, in the encoding of the transport.
pub(crate) const SHORT_RNR_TIMER: u8 = 6;

/// The limits that both sides of a connection agree on.
#[derive(Clone, Copy)]
pub(crate) struct ReadLimits {
    /// RDMA READs that this side serves at a time.
    pub(crate) responder_resources: u8,
    /// RDMA READs that this side has under way at a time.
    pub(crate) initiator_depth: u8,
}

/// The identifier of one reliable connection.
pub(crate) struct CmId {
    id: Arc<Id>,
    events: Arc<Events>,
}

impl CmId {
    /// Creates an identifier in namespace `net` that reports to `outcome`.
    pub(crate) fn new(net: &Netns, outcome: Arc<Outcome>) -> Result<Self> {
        let (id, events) = Self::unshared(net, outcome)?;
        Self::share(id, events)
    }

    /// Creates one that is bound to this side's address `own`. Sleeps.
    ///
    /// # Errors
    ///
    /// `EADDRNOTAVAIL` or `ENODEV` where `own` is not on an RDMA device; `ENOMEM`.
    pub(crate) fn new_at(
        net: &Netns,
        outcome: Arc<Outcome>,
        own: &SocketAddress,
    ) -> Result<Self, Failure> {
        let failed = |error: Error| Failure::Kernel(CREATING, error.to_errno());
        let (mut id, events) = Self::unshared(net, outcome).map_err(failed)?;
        id.bind(own)
            .map_err(|error| Failure::Kernel(RESOLVING_ADDRESS, error.to_errno()))?;
        Self::share(id, events).map_err(failed)
    }

    fn unshared(net: &Netns, outcome: Arc<Outcome>) -> Result<(Id, Arc<Events>)> {
        let events = Events::new(outcome, false)?;
        let id = Id::new(net, PortSpace::Tcp, QpType::Rc, events.clone())?;
        Ok((id, events))
    }

    fn share(id: Id, events: Arc<Events>) -> Result<Self> {
        Ok(Self {
            id: Arc::new(id, GFP_KERNEL)?,
            events,
        })
    }

    /// Returns the outcome that this connection reports to.
    pub(crate) fn outcome(&self) -> &Arc<Outcome> {
        &self.events.outcome
    }

    /// The identifier as such, for what is made on it.
    pub(crate) fn rdma(&self) -> &Arc<Id> {
        &self.id
    }

    /// The device that the identifier is bound to.
    ///
    /// # Errors
    ///
    /// `ENODEV` before an address has been resolved or bound.
    pub(crate) fn device(&self) -> Result<Device<'_>> {
        self.id.device()
    }

    /// Sets the type of service, before the route is resolved.
    pub(crate) fn set_tos(&self, tos: u8) {
        self.id.set_service_type(tos);
    }

    /// Sets how long this side's queue pair waits for the peer's ACK before it
    /// repeats a request: 4.096 us times 2 to the power of `exponent`, of 31 at
    /// most. Before the connection is made.
    pub(crate) fn set_ack_timeout(&self, exponent: u8) {
        // It fails for other kinds of queue pairs only.
        let _ = self.id.set_ack_timeout(exponent);
    }

    /// Sets how long the peer waits when it finds no receive posted here, before it tries again, in
    /// the encoding of the transport, of 31 at most. Before the connection is made; the CM's
    /// default is 655 ms.
    pub(crate) fn set_min_rnr_timer(&self, code: u8) {
        // It fails for other kinds of queue pairs only.
        let _ = self.id.set_min_rnr_timer(code);
    }

    fn parameters(data: &[u8], limits: ReadLimits, retries: Retries) -> ConnParam<'_> {
        ConnParam {
            private_data: data,
            responder_resources: limits.responder_resources,
            initiator_depth: limits.initiator_depth,
            retry_count: retries.lost,
            rnr_retry_count: retries.rnr,
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
        data: &[u8],
        limits: ReadLimits,
        retries: Retries,
        timeout: u32,
    ) -> Result<(), Failure> {
        self.begin_connect(data, limits, retries, timeout)?;
        self.outcome()
            .wait_for(Progress::Established, CONNECTING, Some(timeout))
    }

    /// Lowers the path MTU of the connection that is about to be made to `bytes`.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`] where the path takes less, or has none.
    pub(crate) fn lower_path_mtu(&self, bytes: u16) -> Result<(), Failure> {
        self.id.lower_path_mtu(bytes).map_err(|error| match error {
            ERANGE => Failure::Unsupported("mtu: the path takes smaller packets only"),
            ENOENT => Failure::Unsupported(caps::NO_PATH_MTU),
            error => Failure::Kernel("lowering the path MTU", error.to_errno()),
        })
    }

    /// Sets the flow label of the connection that is about to be made.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`] where packets have none.
    pub(crate) fn set_flow_label(&self, label: u32) -> Result<(), Failure> {
        self.id.set_flow_label(label).map_err(|error| match error {
            ENOENT => Failure::Unsupported(caps::NO_FLOW_LABEL),
            error => Failure::Kernel("setting the flow label", error.to_errno()),
        })
    }

    /// Checks that a datagram of `size` bytes is no longer than a packet of the path, once the
    /// route has been resolved, or with a connection request of the peer.
    ///
    /// # Errors
    ///
    /// [`Failure::AbovePathMtu`]; [`Failure::Unsupported`] where there is no such path.
    pub(crate) fn check_datagram(&self, size: u32) -> Result<(), Failure> {
        match self.id.path_mtu() {
            None => Err(Failure::Unsupported(caps::NO_UD)),
            Some(mtu) if size > mtu => Err(Failure::AbovePathMtu(mtu)),
            Some(_) => Ok(()),
        }
    }

    /// Begins to connect the queue pair, as [`Self::connect`] does, and waits for the port only.
    ///
    /// # Errors
    ///
    /// [`Failure::PortDown`], or what the kernel says.
    pub(crate) fn begin_connect(
        &self,
        data: &[u8],
        limits: ReadLimits,
        retries: Retries,
        timeout: u32,
    ) -> Result<(), Failure> {
        let param = Self::parameters(data, limits, retries);
        self.begin(timeout, |id| id.connect(&param))
    }

    /// Asks for a connection in the name of another queue pair of this host, which has the number
    /// `qp_num` and is the caller's own: the peer is to take the connection that it has with that
    /// for stale. The identifier has none. Waits for the port only.
    ///
    /// # Errors
    ///
    /// [`Failure::PortDown`], or what the kernel says.
    pub(crate) fn begin_connect_as(
        &self,
        qp_num: u32,
        data: &[u8],
        limits: ReadLimits,
        timeout: u32,
    ) -> Result<(), Failure> {
        let param = Self::parameters(data, limits, Retries::MOST);
        self.begin(timeout, |id| id.connect_as(qp_num, &param))
    }

    fn begin(&self, timeout: u32, connect: impl FnOnce(&Id) -> Result) -> Result<(), Failure> {
        self.await_port(timeout)?;
        self.events.set_speaking(true);
        connect(&self.id)
            .inspect_err(|_| self.events.set_speaking(false))
            .map_err(|e| Failure::Kernel(CONNECTING, e.to_errno()))
    }

    /// Accepts the request that this identifier came with, once the port is active, with this
    /// side's `retries`. Where a client's request finds no receive, it is the `retries` of the
    /// other side that count. Sleeps, `timeout` ms at most; whether the connection comes up is
    /// reported later.
    ///
    /// # Errors
    ///
    /// [`Failure::PortDown`]; what has been reported meanwhile; what the kernel says, and
    /// the request is then rejected already.
    pub(crate) fn accept_with(
        &self,
        data: &[u8],
        limits: ReadLimits,
        retries: Retries,
        timeout: u32,
    ) -> Result<(), Failure> {
        self.await_port(timeout)?;
        let accepted = self.id.accept(&Self::parameters(data, limits, retries));
        if accepted == Err(EINVAL) {
            // So the CM says where the client has left, and that event waited for the handler.
            self.outcome().await_failure();
        }
        accepted
            .inspect_err(|_| self.events.set_speaking(false))
            .map_err(|e| Failure::Kernel(ACCEPTING, e.to_errno()))
    }

    /// Rejects the request that this identifier came with, with a reason. Where the port is
    /// down that is left to the drop, which gives none. May sleep.
    pub(crate) fn reject(&self, reject: &Reject) {
        if self.way() != Way::Open {
            return;
        }
        // A failure only means that the peer has gone already.
        if self.id.reject(&reject.encode()).is_ok() {
            self.events.set_speaking(false);
        }
    }

    /// Disconnects, and puts the queue pair into error. Returns whether the peer is
    /// to answer. Where the port is down all of that is left to the drops of both. May sleep.
    pub(crate) fn disconnect(&self) -> bool {
        self.way() == Way::Open && self.disconnect_regardless()
    }

    /// The private data that came with the established connection.
    pub(crate) fn peer_data(&self) -> PeerData {
        self.events.peer_data()
    }

    /// This side's address, once resolved or connected.
    pub(crate) fn local(&self) -> SocketAddress {
        self.id.source()
    }

    /// The peer's address, once resolved or connected.
    pub(crate) fn peer(&self) -> SocketAddress {
        self.id.destination()
    }

    /// Returns true where the peer's address is this side's own, once resolved or connected.
    pub(crate) fn is_loopback(&self) -> bool {
        self.local().ip() == self.peer().ip()
    }
}

impl Drop for CmId {
    fn drop(&mut self) {
        // Whatever was made through the identifier held an `Arc` of this, so is gone.
        Departing::new(self.id.clone(), self.events.clone()).leave();
    }
}
