// SPDX-License-Identifier: GPL-2.0

//! Listening: connection requests become identifiers of their own.
//!
//! A request is taken over in the CM's handler, where everything that can fail
//! comes first, and waits in a bounded queue until the server's thread takes it.

use super::{
    addr::SocketAddress,
    event::Context,
    CmId,
    PeerData,
    ReadLimits, //
};
use crate::{
    bindings,
    engine::outcome::Outcome,
    kernel_ext::{
        net::Netns,
        time::monotonic_ms, //
    },
    logic::{
        failure::{
            errno,
            Failure, //
        },
        text::ratelimit::RateLimit, //
    },
    rdma::device::{
        Device,
        Transport, //
    }, //
};
use core::ptr::NonNull;
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    ffi::c_int,
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// Requests that wait for the server's thread; more are rejected.
const BACKLOG: usize = 128;

/// A connection request that has not been answered yet. Dropping it rejects it.
pub(crate) struct Request {
    /// The identifier of the connection to be.
    pub(crate) id: CmId,
    /// What the client sent along.
    pub(crate) data: PeerData,
    /// What the client asked for, as seen from this side.
    pub(crate) limits: ReadLimits,
}

#[pin_data]
struct Shared {
    outcome: Arc<Outcome>,
    #[pin]
    queue: Mutex<KVec<Request>>,
    /// On lines about requests that there is no memory for.
    #[pin]
    limit: Mutex<RateLimit>,
}

impl Shared {
    /// Says that a request was refused for want of memory, rate limited. May sleep.
    fn say_no_memory(&self) {
        let passed = self.limit.lock().pass(monotonic_ms());
        match passed {
            None => {}
            Some(0) => pr_err!("a connection request was refused: ENOMEM (12)\n"),
            Some(suppressed) => pr_err!(
                "a connection request was refused: ENOMEM (12); so were {} before it\n",
                suppressed
            ),
        }
    }
}

/// An identifier that listens.
///
/// # Invariants
///
/// `raw` is an identifier that this object alone destroys; its context points to
/// `shared`'s contents, and its handler is [`handle_listen_event`].
pub(crate) struct Listener {
    raw: NonNull<bindings::rdma_cm_id>,
    shared: Arc<Shared>,
}

// SAFETY: As for `CmId`.
unsafe impl Send for Listener {}
// SAFETY: As for `CmId`.
unsafe impl Sync for Listener {}

impl Listener {
    /// Binds to `addr` in namespace `net` and listens. Reports to `outcome`,
    /// which is woken for each request. May sleep.
    ///
    /// # Errors
    ///
    /// As the kernel reports it: `EADDRINUSE`, `EADDRNOTAVAIL`, `ENODEV` where
    /// the address is not on an RDMA device, `ENOMEM`.
    pub(crate) fn new(
        net: &Netns,
        addr: &SocketAddress,
        outcome: Arc<Outcome>,
    ) -> Result<Self, Failure> {
        let failed = |what| move |e: Error| Failure::Kernel(what, e.to_errno());
        let shared = Arc::pin_init(
            pin_init!(Shared {
                outcome,
                queue <- new_mutex!(KVec::new(), "krping_requests"),
                limit <- new_mutex!(RateLimit::default(), "krping_request_log"),
            }),
            GFP_KERNEL,
        )
        .map_err(failed("listening"))?;
        // SAFETY: `net` is alive; the context outlives the identifier.
        let raw = from_err_ptr(unsafe {
            bindings::krping_rdma_create_id(
                net.as_ptr(),
                Some(handle_listen_event),
                Arc::as_ptr(&shared).cast_mut().cast(),
            )
        })
        .and_then(|raw| NonNull::new(raw).ok_or(ENOMEM))
        .map_err(failed("listening"))?;
        // INVARIANT: Created just now with this context and this handler. From
        // here on, its drop destroys it.
        let this = Self { raw, shared };
        this.bind(addr).map_err(failed("binding to the address"))?;
        // SAFETY: The identifier is valid and bound.
        to_result(unsafe { bindings::rdma_listen(this.raw.as_ptr(), BACKLOG as c_int) })
            .map_err(failed("listening"))?;
        Ok(this)
    }

    /// Binds to `addr`, and puts right two answers of the kernel's.
    fn bind(&self, addr: &SocketAddress) -> Result {
        match self.try_bind(addr) {
            // Said of a port too, where one of its users has the wildcard: then
            // the address alone can be bound.
            Err(error)
                if error.to_errno() == -errno::EADDRNOTAVAIL
                    && self.try_bind(&addr.with_port(0)).is_ok() =>
            {
                Err(Error::from_errno(-errno::EADDRINUSE))
            }
            // No client can resolve such an address to a device, but for iWARP
            // on the loopback interface.
            Ok(())
                if addr.ip().is_some_and(|ip| ip.is_loopback())
                    && self.transport() != Some(Transport::Iwarp) =>
            {
                Err(ENODEV)
            }
            result => result,
        }
    }

    fn transport(&self) -> Option<Transport> {
        // SAFETY: The identifier is valid, and bound.
        let (device, port) =
            unsafe { ((*self.raw.as_ptr()).device, (*self.raw.as_ptr()).port_num) };
        let device = NonNull::new(device)?;
        // SAFETY: A device is alive while an identifier is bound to it.
        Some(unsafe { Device::from_raw(device, port) }.transport())
    }

    fn try_bind(&self, addr: &SocketAddress) -> Result {
        // SAFETY: The identifier is valid; the address is copied, although the
        // function's type does not say so.
        to_result(unsafe { bindings::rdma_bind_addr(self.raw.as_ptr(), addr.as_ptr().cast_mut()) })
    }

    /// Where it reports to.
    pub(crate) fn outcome(&self) -> &Arc<Outcome> {
        &self.shared.outcome
    }

    /// The address listened on, with the port that the kernel chose for port 0.
    pub(crate) fn local(&self) -> SocketAddress {
        // SAFETY: The identifier is valid, and bound for good.
        unsafe { SocketAddress::from_raw(&(*self.raw.as_ptr()).route.addr.src_addr) }
    }

    /// Takes the oldest request, if there is one. May sleep.
    pub(crate) fn take(&self) -> Option<Request> {
        self.shared.queue.lock().remove(0).ok()
    }

    /// Whether a request waits. May sleep.
    pub(crate) fn has_request(&self) -> bool {
        !self.shared.queue.lock().is_empty()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // SAFETY: By the type invariant this object alone destroys it, and not
        // in a handler. No handler runs when the call returns, so the queue,
        // with the requests that nobody took, may go after it.
        unsafe { bindings::rdma_destroy_id(self.raw.as_ptr()) }
    }
}

/// The handler of listeners.
///
/// A non-zero return makes the CM destroy `id`, and so reject the request.
///
/// # Safety
///
/// Called by the CM for the identifier of a [`Listener`], or with a new
/// identifier that inherited its context and handler.
unsafe extern "C" fn handle_listen_event(
    id: *mut bindings::rdma_cm_id,
    event: *mut bindings::rdma_cm_event,
) -> c_int {
    // SAFETY: By `Listener`'s invariant the context is a `Shared` that lives
    // until the listening identifier is destroyed, which waits for this call.
    let shared = unsafe { &*(*id).context.cast::<Shared>() };
    // SAFETY: The CM hands a valid event for the duration of the call.
    match unsafe { (*event).event } {
        bindings::rdma_cm_event_type_RDMA_CM_EVENT_CONNECT_REQUEST => {
            // SAFETY: `id` is the new identifier and `event` its request.
            match unsafe { enqueue(shared, id, event) } {
                Ok(()) => 0,
                Err(error) => {
                    // Beyond the backlog it is the peers' number that is too large.
                    if error == ENOMEM {
                        shared.say_no_memory();
                    }
                    error.to_errno()
                }
            }
        }
        bindings::rdma_cm_event_type_RDMA_CM_EVENT_DEVICE_REMOVAL => {
            shared.outcome.fail(Failure::DeviceRemoved);
            0
        }
        _ => 0,
    }
}

/// Takes over a connection request.
///
/// # Errors
///
/// `ENOMEM`, or `EBUSY` where too many wait; the identifier is then the CM's.
///
/// # Safety
///
/// Called in the handler of `event`, an RDMA_CM_EVENT_CONNECT_REQUEST for the
/// new identifier `id`, which returns 0 if and only if this succeeds.
unsafe fn enqueue(
    shared: &Shared,
    id: *mut bindings::rdma_cm_id,
    event: *mut bindings::rdma_cm_event,
) -> Result {
    let raw = NonNull::new(id).ok_or(EINVAL)?;
    let outcome = Outcome::single()?;
    let context = Context::new(outcome, true)?;
    let mut queue = shared.queue.lock();
    if queue.len() >= BACKLOG {
        return Err(EBUSY);
    }
    queue.reserve(1, GFP_KERNEL)?;
    // SAFETY: This event carries connection parameters, whose private data is
    // valid during the call.
    let (data, limits) = unsafe {
        let conn = (*event).param.conn.as_ref();
        (
            PeerData::copy(conn.private_data, conn.private_data_len),
            ReadLimits {
                responder_resources: conn.responder_resources,
                initiator_depth: conn.initiator_depth,
            },
        )
    };
    // SAFETY: In its handler, and nothing below fails, so 0 is returned.
    let id = unsafe { CmId::adopt(raw, context) };
    let request = Request { id, data, limits };
    if let Err(full) = queue.push_within_capacity(request) {
        // Room was reserved above, under the same lock. Were it not there, the
        // identifier must not be destroyed here, in its own handler.
        core::mem::forget(full);
    }
    drop(queue);
    shared.outcome.wake();
    Ok(())
}
