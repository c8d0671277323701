// SPDX-License-Identifier: GPL-2.0

//! Listening, and the requests that come.
//!
//! C header: `include/rdma/rdma_cm.h`

use super::{
    event::{
        private_data,
        Handler, //
    },
    raw::RawId,
    Id,
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
use core::{
    cell::Cell,
    ptr::NonNull, //
};
use kernel::{
    error::to_result,
    ffi::c_int,
    prelude::*,
    sync::Arc, //
};

/// The one that is shown what comes to a listener.
pub(crate) trait ListenHandler: Send + Sync + 'static {
    /// Takes a request, by [`Request::adopt`], or refuses it, by anything else.
    ///
    /// The peer is not told the error. With InfiniBand and RoCE it is told nothing at all of
    /// `ENOMEM`, and asks again.
    ///
    /// Called by a worker of the CM's, with locks of the listener and of the request's identifier
    /// held. May sleep, but shortly. A listener on all addresses listens on each device by itself,
    /// so several requests may be shown at once.
    ///
    /// An identifier that has been adopted must not be dropped in here, so all that can fail comes
    /// before that. Nor may the listener be dropped in here.
    fn request(&self, request: Request<'_>) -> Result;

    /// Takes note that the device of a listener that is bound to one is being removed, which waits
    /// until the listener is dropped. Called by a worker of the CM's, with a lock of the listener
    /// held: must not drop it.
    fn device_removed(&self);
}

/// A connection request, while it is shown.
pub(crate) struct Request<'a> {
    raw: NonNull<bindings::rdma_cm_id>,
    adopted: &'a Cell<bool>,
    private_data: &'a [u8],
    responder_resources: u8,
    initiator_depth: u8,
}

impl<'a> Request<'a> {
    /// Takes a request from the event that reports it.
    ///
    /// # Safety
    ///
    /// Both are those of an `RDMA_CM_EVENT_CONNECT_REQUEST` that the CM reports, for `'a`.
    /// Where `adopted` is set, the handler of the event returns 0; otherwise not 0.
    unsafe fn from_raw(
        raw: NonNull<bindings::rdma_cm_id>,
        event: *mut bindings::rdma_cm_event,
        adopted: &'a Cell<bool>,
    ) -> Self {
        // SAFETY: By the function's requirements. This event has such parameters, or, for
        // datagrams, others that begin alike; all of it is initialised. The data is valid as long
        // as the event is being reported.
        let (param, data) = unsafe {
            let param = (*event).param.conn.as_ref();
            (
                param,
                private_data(param.private_data, param.private_data_len),
            )
        };
        // SAFETY: The identifier is valid, and its type does not change.
        let connects = unsafe { (*raw.as_ptr()).qp_type } != QpType::Ud.as_raw();
        Self {
            raw,
            adopted,
            private_data: data.unwrap_or(&[]),
            responder_resources: if connects {
                param.responder_resources
            } else {
                0
            },
            initiator_depth: if connects { param.initiator_depth } else { 0 },
        }
    }

    /// Returns the bytes that the peer sent along. May be followed by zeroes, as the transport does
    /// not tell how many they were.
    pub(crate) fn private_data(&self) -> &[u8] {
        self.private_data
    }

    /// Returns how many RDMA READs and atomic operations of the peer's this side is asked to serve
    /// at a time.
    pub(crate) fn responder_resources(&self) -> u8 {
        self.responder_resources
    }

    /// Returns how many RDMA READs and atomic operations of this side's the peer serves at a time.
    pub(crate) fn initiator_depth(&self) -> u8 {
        self.initiator_depth
    }

    /// Takes the request, as an identifier that reports to `handler`, and that is to accept or to
    /// reject it; destroying it rejects it, too.
    pub(crate) fn adopt<H: Handler>(self, handler: Arc<H>) -> Id {
        self.adopted.set(true);
        // SAFETY: In the handler of the event, as `self` lives no longer and stays with its task.
        // It returns 0, as the flag is set, so that the CM does not destroy the identifier; and a
        // request is adopted once, as that takes it.
        unsafe { Id::adopt(self.raw, handler) }
    }
}

/// An identifier that listens. Its drop sleeps, and must not be in its handler.
///
/// # Invariants
///
/// The context of `raw` points to the contents of `handler`, and its handler is
/// [`handle_listen_event`] for their type.
pub(crate) struct Listener<L: ListenHandler> {
    /// Destroyed before its handler goes.
    raw: RawId,
    handler: Arc<L>,
}

impl<L: ListenHandler> Listener<L> {
    /// Creates an identifier in namespace `net`, to be bound and to listen. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        net: &Netns,
        space: PortSpace,
        qp_type: QpType,
        handler: Arc<L>,
    ) -> Result<Self> {
        let context = Arc::as_ptr(&handler).cast();
        // SAFETY: The object holds the context until the identifier is destroyed. The identifiers
        // of requests have it until they are adopted or refused, within a call for which that
        // waits.
        let raw = unsafe { RawId::new(net, space, qp_type, handle_listen_event::<L>, context) }?;
        // INVARIANT: Created just now with this context and this handler.
        Ok(Self { raw, handler })
    }

    /// Binds it to `addr`, and to the device that has the address, where it is not that of all.
    /// The kernel chooses a port for port 0. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// `EADDRINUSE`; `EADDRNOTAVAIL`; `ENODEV` where the address is not on an RDMA device;
    /// `EINVAL` where it is bound; what else the CM says. It is not bound then.
    pub(crate) fn bind(&mut self, addr: &SocketAddress) -> Result {
        // SAFETY: The identifier is valid, and nobody else uses it; the address is copied, although
        // the function's type does not say so.
        to_result(unsafe { bindings::rdma_bind_addr(self.raw.as_ptr(), addr.as_ptr().cast_mut()) })
    }

    /// Begins to listen, on all addresses of IPv4 where it is not bound. No more than `backlog`
    /// connections wait, where the transport counts them. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// `EADDRINUSE`; `EINVAL` where it listens; what else the CM or the device says.
    pub(crate) fn listen(&mut self, backlog: c_int) -> Result {
        // SAFETY: The identifier is valid, and nobody else uses it.
        to_result(unsafe { bindings::rdma_listen(self.raw.as_ptr(), backlog) })
    }

    /// Returns the device that it is bound to, with its port. Any context.
    ///
    /// # Errors
    ///
    /// `ENODEV` where it is bound to none.
    pub(crate) fn device(&self) -> Result<Device<'_>> {
        self.raw.device()
    }

    /// Returns the address that it is bound to, with its port. Any context.
    pub(crate) fn local(&self) -> SocketAddress {
        self.raw.source()
    }

    /// Returns the handler.
    pub(crate) fn handler(&self) -> &Arc<L> {
        &self.handler
    }
}

/// The callback of a listener's events.
///
/// Of a request it returns 0 where that was adopted. Anything else has the CM destroy the request's
/// identifier, and so reject it.
///
/// # Safety
///
/// Called by the CM for an identifier whose context is an `L` that lives until it is destroyed, or
/// with a new identifier that inherited both.
unsafe extern "C" fn handle_listen_event<L: ListenHandler>(
    id: *mut bindings::rdma_cm_id,
    event: *mut bindings::rdma_cm_event,
) -> c_int {
    // SAFETY: By the function's requirements. Destroying the listener waits for this call, also
    // where it is another identifier's: the CM has the listener's lock then, or that of the one
    // which listens on its behalf on a device, and which is destroyed before it.
    let handler = unsafe { &*(*id).context.cast::<L>() };
    // SAFETY: The CM hands a valid event for the duration of the call.
    match unsafe { (*event).event } {
        bindings::rdma_cm_event_type_RDMA_CM_EVENT_CONNECT_REQUEST => {
            let Some(raw) = NonNull::new(id) else {
                return EINVAL.to_errno();
            };
            let adopted = Cell::new(false);
            // SAFETY: `id` is the new identifier and `event` its request. What is returned is what
            // the flag says.
            let request = unsafe { Request::from_raw(raw, event, &adopted) };
            let result = handler.request(request);
            if adopted.get() {
                // Whatever the result: the identifier has an owner.
                return 0;
            }
            result.err().unwrap_or(EINVAL).to_errno()
        }
        bindings::rdma_cm_event_type_RDMA_CM_EVENT_DEVICE_REMOVAL => {
            handler.device_removed();
            0
        }
        _ => 0,
    }
}
