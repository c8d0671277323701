// SPDX-License-Identifier: GPL-2.0

//! Identifiers of connections.
//!
//! C header: `include/rdma/rdma_cm.h`

use super::{
    event::{
        handle_event,
        Handler, //
    },
    param::raw_data,
    raw::RawId,
    ConnParam,
    PortSpace,
    SocketAddress, //
};
use crate::{
    bindings,
    kernel_ext::net::Netns,
    rdma::{
        device::Device,
        qp_type::QpType, //
    }, //
};
use core::ptr::NonNull;
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    ffi::c_int,
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Full,
            Release, //
        },
        Arc, //
    }, //
};

/// One side of a connection. Its drop sleeps, and tells the peer of the end where there is one
/// that was not told; it must not be in a handler of the identifier.
///
/// # Invariants
///
/// - The context of `raw` points to the contents of `_handler`, and its handler is
///   [`handle_event`] for their type.
/// - While `begun` is 1, the identifier has one of the transport's, which it keeps.
pub(crate) struct Id {
    /// Destroyed before its handler goes.
    raw: RawId,
    _handler: Arc<dyn Handler>,
    /// 1 while a task begins to resolve the address.
    resolving: Atomic<u32>,
    /// 1 once the connection has been asked for, by this side or by the peer.
    begun: Atomic<u32>,
    /// 1 while somebody has the place of its queue pair.
    has_queue_pair: Atomic<u32>,
}

/// The lock under which the handler of an identifier runs, held.
pub(super) struct HandlerLock<'a>(&'a RawId);

impl<'a> HandlerLock<'a> {
    /// Takes it. Sleeps, and must not be in the handler itself.
    pub(super) fn new(id: &'a Id) -> Self {
        // SAFETY: The identifier is valid. The guard gives the lock back.
        unsafe { bindings::rdma_lock_handler(id.as_ptr()) };
        Self(&id.raw)
    }
}

impl Drop for HandlerLock<'_> {
    fn drop(&mut self) {
        // SAFETY: The identifier is valid, and `new` took the lock.
        unsafe { bindings::rdma_unlock_handler(self.0.as_ptr()) };
    }
}

impl Id {
    /// Creates an identifier in namespace `net` that reports to `handler`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new<H: Handler>(
        net: &Netns,
        space: PortSpace,
        qp_type: QpType,
        handler: Arc<H>,
    ) -> Result<Self> {
        let context = Arc::as_ptr(&handler).cast();
        // SAFETY: The object holds the context until the identifier is destroyed. It does not
        // listen, so no requests make identifiers of it.
        let raw = unsafe { RawId::new(net, space, qp_type, handle_event::<H>, context) }?;
        // INVARIANT: Created just now with this context and this handler.
        Ok(Self::with(raw, handler, 0))
    }

    /// Takes over the identifier of a connection request.
    ///
    /// # Safety
    ///
    /// Called in the handler of that event, which then returns 0; `raw` is the identifier that
    /// the request made, and nothing else destroys it.
    pub(super) unsafe fn adopt<H: Handler>(
        raw: NonNull<bindings::rdma_cm_id>,
        handler: Arc<H>,
    ) -> Self {
        // SAFETY: The CM calls no handler of this identifier until the present one returns, so
        // nobody reads the fields meanwhile.
        unsafe {
            (*raw.as_ptr()).context = Arc::as_ptr(&handler).cast_mut().cast();
            (*raw.as_ptr()).event_handler = Some(handle_event::<H>);
        }
        // SAFETY: By the function's requirements.
        let raw = unsafe { RawId::from_raw(raw) };
        // INVARIANT: Both were set above. The transport's identifier is what the request came
        // with; the CM keeps it, as the handler returns 0.
        Self::with(raw, handler, 1)
    }

    fn with(raw: RawId, handler: Arc<dyn Handler>, begun: u32) -> Self {
        Self {
            raw,
            _handler: handler,
            resolving: Atomic::new(0),
            begun: Atomic::new(begun),
            has_queue_pair: Atomic::new(0),
        }
    }

    /// Returns the raw identifier, valid while `self` lives.
    pub(in crate::rdma) fn as_ptr(&self) -> *mut bindings::rdma_cm_id {
        self.raw.as_ptr()
    }

    /// Binds it to this side's address `src`, and to the device that has the address, where it is
    /// not that of all. The kernel chooses a port for port 0. Process context; may sleep.
    ///
    /// Nobody else has the identifier meanwhile: where the port is in use, the CM lets go of the
    /// device that it has just found.
    ///
    /// # Errors
    ///
    /// `EADDRINUSE`; `EADDRNOTAVAIL`; `ENODEV` where the address is not on an RDMA device;
    /// `EAFNOSUPPORT` for an address of no family; `EINVAL` where it is bound or resolved; what
    /// else the CM says. It is not bound then.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    pub(crate) fn bind(&mut self, src: &SocketAddress) -> Result {
        // SAFETY: The identifier is valid, and nobody else uses it; the address is copied, although
        // the function's type does not say so.
        to_result(unsafe { bindings::rdma_bind_addr(self.as_ptr(), src.as_ptr().cast_mut()) })
    }

    /// Begins to resolve the peer's address `dst` to a device, for `timeout_ms` at most, from the
    /// address that the identifier is [bound](Self::bind) to, or from the one that leads there. The
    /// end is an event, [`AddrResolved`](super::Event::AddrResolved) or
    /// [`AddrError`](super::Event::AddrError). Process context; may sleep.
    ///
    /// # Errors
    ///
    /// `EBUSY` where another task is in here; `EINVAL` where it is being resolved or is already,
    /// or is bound to an address of another family; `EAFNOSUPPORT` for an address of no family;
    /// what the CM says.
    pub(crate) fn resolve_addr(&self, dst: &SocketAddress, timeout_ms: u32) -> Result {
        if self.resolving.xchg(1, Full) != 0 {
            return Err(EBUSY);
        }
        // SAFETY: The identifier is valid; the address is copied, and not written to. The flag
        // keeps others out of here, whose attempts the CM would mix up with this one. One that is
        // not bound yet is bound to the address of all, which no device has to be let go for.
        let result = to_result(unsafe {
            bindings::rdma_resolve_addr(
                self.as_ptr(),
                core::ptr::null_mut(),
                dst.as_ptr(),
                timeout_ms as usize,
            )
        });
        self.resolving.store(0, Release);
        result
    }

    /// Begins to resolve the route to the peer, whose address has been resolved, for
    /// `timeout_ms` at most. The end is an event,
    /// [`RouteResolved`](super::Event::RouteResolved) or
    /// [`RouteError`](super::Event::RouteError). Process context; may sleep. Not in a handler of
    /// the identifier.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the address is not resolved, or the route is being resolved or is already,
    /// and for no time at all; what the CM says.
    pub(crate) fn resolve_route(&self, timeout_ms: u32) -> Result {
        // While the address is being reported, the CM takes it as resolved before there is a
        // device.
        let _lock = HandlerLock::new(self);
        // SAFETY: The identifier is valid, and no handler of it is at work: where its address
        // is resolved, it has a device.
        to_result(unsafe { bindings::rdma_resolve_route(self.as_ptr(), timeout_ms as usize) })
    }

    /// Asks the peer for a connection, to which the route has been resolved. Its answer is an
    /// event. Process context; may sleep. Not in a handler of the identifier.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the route is not resolved, or a connection has been asked for already, and
    /// for more private data than the transport takes; what the CM or the device says.
    pub(crate) fn connect(&self, param: &ConnParam<'_>) -> Result {
        self.request(param.as_raw()?)
    }

    /// Asks the peer for a connection, with parameters whose data is valid.
    pub(super) fn request(&self, mut param: bindings::rdma_conn_param) -> Result {
        let _lock = HandlerLock::new(self);
        // SAFETY: The identifier is valid, and its handler is locked, as this demands; the data
        // is copied before the call returns.
        to_result(unsafe { bindings::rdma_connect_locked(self.as_ptr(), &mut param) })?;
        // INVARIANT: The CM has made the transport's identifier, and takes it back only where
        // this fails, which it does not any more: it does not come here a second time.
        self.begun.store(1, Release);
        Ok(())
    }

    /// Accepts the request that the identifier came with. Whether the connection comes up is an
    /// event. Process context; may sleep. Not in a handler of the identifier.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is no request, or not any more, and for more private data than the
    /// transport takes; what the CM or the device says. A request that there is, is rejected
    /// then, but where the data is longer than its length can say.
    pub(crate) fn accept(&self, param: &ConnParam<'_>) -> Result {
        let mut param = param.as_raw()?;
        let _lock = HandlerLock::new(self);
        // SAFETY: The identifier is valid, and its handler is locked, as this demands; the data
        // is copied before the call returns.
        to_result(unsafe { bindings::rdma_accept(self.as_ptr(), &mut param) })
    }

    /// Rejects the request that the identifier came with, with a reason of this side's own.
    /// Process context; may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is no request, or not any more, and for more private data than the
    /// transport takes; what the CM says.
    pub(crate) fn reject(&self, private_data: &[u8]) -> Result {
        let (data, len) = raw_data(private_data)?;
        self.check_begun()?;
        // SAFETY: The identifier is valid, and keeps that of the transport, as was checked. The
        // data is copied before the call returns.
        to_result(unsafe {
            bindings::rdma_reject(
                self.as_ptr(),
                data,
                len,
                bindings::ib_cm_rej_reason_IB_CM_REJ_CONSUMER_DEFINED as u8,
            )
        })
    }

    /// Puts the queue pair into error, and tells the peer of the end of the connection, or
    /// answers where the peer has told. Process context; may sleep. With iWARP it waits until a
    /// connection that has been asked for is there or refused.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is no connection; what the CM or the device says.
    pub(crate) fn disconnect(&self) -> Result {
        self.check_begun()?;
        // SAFETY: The identifier is valid, and keeps that of the transport, as was checked.
        to_result(unsafe { bindings::rdma_disconnect(self.as_ptr()) })
    }

    /// Tells the CM of `event`, an asynchronous one of the queue pair's: `enum ib_event_type`.
    /// Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is no connection, or where the CM has no use for the event or knows
    /// already; `ENOMEM`.
    pub(crate) fn notify(&self, event: u32) -> Result {
        self.check_begun()?;
        // SAFETY: The identifier is valid, and keeps that of the transport, as was checked.
        to_result(unsafe { bindings::rdma_notify(self.as_ptr(), event) })
    }

    /// Fails where the transport has no identifier yet, or may take it back: several of the CM's
    /// functions use it without a lock.
    fn check_begun(&self) -> Result {
        match self.begun.load(Acquire) {
            0 => Err(EINVAL),
            _ => Ok(()),
        }
    }

    /// Returns true where the connection has been asked for, by this side or by the peer. Any
    /// context; with the handler locked, this side does not begin meanwhile.
    pub(in crate::rdma) fn has_begun(&self) -> bool {
        self.begun.load(Acquire) != 0
    }

    /// Sets the type of service, before the route is resolved. Process context; may sleep.
    pub(crate) fn set_service_type(&self, tos: u8) {
        // SAFETY: The identifier is valid.
        unsafe { bindings::rdma_set_service_type(self.as_ptr(), c_int::from(tos)) }
    }

    /// Sets how long this side's queue pair waits for an acknowledgment before it repeats a
    /// request: 4.096 us times 2 to the power of `timeout`, of 31 at most, or without end for 0.
    /// Before the connection is made. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` for more, and for queue pairs that are not reliable.
    pub(crate) fn set_ack_timeout(&self, timeout: u8) -> Result {
        if timeout > MAX_EXPONENT {
            return Err(EINVAL);
        }
        // SAFETY: The identifier is valid.
        to_result(unsafe { bindings::rdma_set_ack_timeout(self.as_ptr(), timeout) })
    }

    /// Sets how long the peer is to wait when it finds no receive posted here, before it tries
    /// again, in the encoding of the transport, of 31 at most. Before the connection is made;
    /// the CM's default is 655 ms. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` for more, and for queue pairs that are not reliable.
    pub(crate) fn set_min_rnr_timer(&self, min_rnr_timer: u8) -> Result {
        if self.qp_type() != QpType::Rc.as_raw() {
            // The CM would warn.
            return Err(EINVAL);
        }
        // SAFETY: The identifier is valid.
        to_result(unsafe { bindings::rdma_set_min_rnr_timer(self.as_ptr(), min_rnr_timer) })
    }

    /// Returns the device that the identifier is bound to, with its port. Any context.
    ///
    /// # Errors
    ///
    /// `ENODEV` before the address has been resolved.
    pub(crate) fn device(&self) -> Result<Device<'_>> {
        self.raw.device()
    }

    /// Returns this side's address, once resolved or requested. Any context.
    pub(crate) fn source(&self) -> SocketAddress {
        self.raw.source()
    }

    /// Returns the peer's address, once resolved or requested. Any context.
    pub(crate) fn destination(&self) -> SocketAddress {
        self.raw.destination()
    }

    /// Returns true where the device's table of addresses has lost the entry that the identifier
    /// sends from, or has another there by now. Process context; may sleep.
    pub(crate) fn source_is_gone(&self) -> bool {
        let Ok(device) = self.device() else {
            return false;
        };
        let id = self.as_ptr();
        // SAFETY: The identifier is valid. The CM sets both when it binds it to the device, and
        // gives the entry back when it lets go of that.
        let (own, port) = unsafe {
            let own = (&raw const (*id).route.addr.dev_addr.sgid_attr).read_volatile();
            (own, (&raw const (*id).port_num).read_volatile())
        };
        if own.is_null() {
            // It was bound without one, by an address that is every device's.
            return false;
        }
        // SAFETY: The identifier holds the entry, whose index does not change; the device is
        // alive. The call takes a reference on what it finds.
        let found = from_err_ptr(unsafe {
            let index = c_int::from((*own).index);
            bindings::rdma_get_gid_attr(device.as_ptr(), port, index).cast_mut()
        });
        let Ok(found) = found else {
            return true;
        };
        // SAFETY: That reference.
        unsafe { bindings::rdma_put_gid_attr(found) };
        !core::ptr::eq(found, own)
    }

    /// Returns the type of the queue pair that the identifier is for: `enum ib_qp_type`.
    pub(in crate::rdma) fn qp_type(&self) -> bindings::ib_qp_type {
        // SAFETY: The identifier is valid; its type does not change.
        unsafe { (*self.as_ptr()).qp_type }
    }

    /// Reserves the place of the identifier's only queue pair.
    ///
    /// # Errors
    ///
    /// `EBUSY` where somebody has it.
    pub(crate) fn claim_queue_pair(self: &Arc<Self>) -> Result<QueuePairPlace> {
        match self.has_queue_pair.xchg(1, Full) {
            0 => Ok(QueuePairPlace(self.clone())),
            _ => Err(EBUSY),
        }
    }
}

/// The largest exponent of an ACK timeout, which has five bits.
const MAX_EXPONENT: u8 = 31;

/// The right to make a queue pair on an identifier, which has room for one.
pub(crate) struct QueuePairPlace(Arc<Id>);

impl QueuePairPlace {
    /// Returns the identifier.
    pub(crate) fn id(&self) -> &Arc<Id> {
        &self.0
    }
}

impl Drop for QueuePairPlace {
    fn drop(&mut self) {
        self.0.has_queue_pair.store(0, Release);
    }
}
