// SPDX-License-Identifier: GPL-2.0

//! Listening: connection requests become identifiers of their own.
//!
//! A request is taken over in the CM's handler, where everything that can fail
//! comes first, and waits in a bounded queue until the server's thread takes it.

#![forbid(unsafe_code)]

use super::{
    event::Events,
    CmId,
    PeerData,
    ReadLimits, //
};
use crate::{
    engine::outcome::{
        Outcome,
        WaitQueue, //
    },
    kernel_ext::{
        net::Netns,
        time::monotonic_ms, //
    },
    logic::{
        failure::{
            errno,
            Failure,
            BINDING,
            LISTENING, //
        },
        text::ratelimit::RateLimit, //
    },
    rdma::{
        cm::{
            self,
            ListenHandler,
            PortSpace,
            SocketAddress, //
        },
        device::Transport,
        qp_type::QpType, //
    }, //
};
use kernel::{
    ffi::c_int,
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex,
        UniqueArc, //
    }, //
};

/// Requests that wait for the server's thread; more are rejected.
const BACKLOG: usize = 128;

/// A connection request that has not been answered yet. Dropping it rejects it.
pub(crate) struct Request {
    /// The identifier of the connection to be.
    pub(crate) id: CmId,
    /// The private data of the client.
    pub(crate) data: PeerData,
    /// The READ limits that the client asked for, as seen from this side.
    pub(crate) limits: ReadLimits,
}

#[pin_data]
struct Shared {
    outcome: Arc<Outcome>,
    /// Woken by the reports of connections, where one thread waits for all of them.
    joint: Option<WaitQueue>,
    #[pin]
    queue: Mutex<KVec<Request>>,
    /// On lines about requests that there is no memory for.
    #[pin]
    limit: Mutex<RateLimit>,
}

impl Shared {
    /// Takes over a connection request.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, or `EBUSY` where too many wait; the request is then the CM's.
    fn enqueue(&self, request: cm::Request<'_>) -> Result {
        let outcome = match &self.joint {
            Some(wait_queue) => Outcome::new(wait_queue)?,
            None => Outcome::single()?,
        };
        let events = Events::new(outcome, true)?;
        let room = UniqueArc::new_uninit(GFP_KERNEL)?;
        let mut queue = self.queue.lock();
        if queue.len() >= BACKLOG {
            return Err(EBUSY);
        }
        queue.reserve(1, GFP_KERNEL)?;
        let data = PeerData::copy(request.private_data());
        let limits = ReadLimits {
            responder_resources: request.responder_resources(),
            initiator_depth: request.initiator_depth(),
        };
        // Nothing below fails.
        let id = CmId {
            id: room.write(request.adopt(events.clone())).into(),
            events,
        };
        if let Err(full) = queue.push_within_capacity(Request { id, data, limits }) {
            // Room was reserved above, under the same lock. Were it not there, the
            // identifier must not be destroyed here, in its own handler.
            core::mem::forget(full);
        }
        drop(queue);
        self.outcome.wake();
        Ok(())
    }

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

impl ListenHandler for Shared {
    fn request(&self, request: cm::Request<'_>) -> Result {
        self.enqueue(request).inspect_err(|error| {
            // Beyond the backlog it is the peers' number that is too large.
            if *error == ENOMEM {
                self.say_no_memory();
            }
        })
    }

    fn device_removed(&self) {
        self.outcome.fail(Failure::DeviceRemoved);
    }
}

/// An identifier that listens. The requests that nobody took go with it.
pub(crate) struct Listener(cm::Listener<Shared>);

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
        Self::with_queue(net, addr, outcome, None)
    }

    /// Does the same for a thread that waits for all connections itself: their reports wake
    /// `wait_queue`.
    ///
    /// # Errors
    ///
    /// As there.
    pub(crate) fn joint(
        net: &Netns,
        addr: &SocketAddress,
        outcome: Arc<Outcome>,
        wait_queue: WaitQueue,
    ) -> Result<Self, Failure> {
        Self::with_queue(net, addr, outcome, Some(wait_queue))
    }

    fn with_queue(
        net: &Netns,
        addr: &SocketAddress,
        outcome: Arc<Outcome>,
        joint: Option<WaitQueue>,
    ) -> Result<Self, Failure> {
        let failed = |what| move |e: Error| Failure::Kernel(what, e.to_errno());
        let shared = Arc::pin_init(
            pin_init!(Shared {
                outcome,
                joint,
                queue <- new_mutex!(KVec::new(), "krping_requests"),
                limit <- new_mutex!(RateLimit::default(), "krping_request_log"),
            }),
            GFP_KERNEL,
        )
        .map_err(failed(LISTENING))?;
        let mut listener = cm::Listener::new(net, PortSpace::Tcp, QpType::Rc, shared)
            .map_err(failed(LISTENING))?;
        bind(&mut listener, addr).map_err(failed(BINDING))?;
        listener
            .listen(BACKLOG as c_int)
            .map_err(failed(LISTENING))?;
        Ok(Self(listener))
    }

    /// Returns the outcome that the listener reports to.
    pub(crate) fn outcome(&self) -> &Arc<Outcome> {
        &self.0.handler().outcome
    }

    /// The address listened on, with the port that the kernel chose for port 0.
    pub(crate) fn local(&self) -> SocketAddress {
        self.0.local()
    }

    /// Takes the oldest request, if there is one. May sleep.
    pub(crate) fn take(&self) -> Option<Request> {
        self.0.handler().queue.lock().remove(0).ok()
    }

    /// Returns true where a request waits. May sleep.
    pub(crate) fn has_request(&self) -> bool {
        !self.0.handler().queue.lock().is_empty()
    }
}

/// Binds to `addr`, and puts right two answers of the kernel's.
pub(super) fn bind<L: ListenHandler>(
    listener: &mut cm::Listener<L>,
    addr: &SocketAddress,
) -> Result {
    match listener.bind(addr) {
        // Said of a port too, where one of its users has the wildcard: then
        // the address alone can be bound.
        Err(error)
            if error.to_errno() == -errno::EADDRNOTAVAIL
                && listener.bind(&addr.with_port(0)).is_ok() =>
        {
            Err(Error::from_errno(-errno::EADDRINUSE))
        }
        // No client can resolve such an address to a device, but for iWARP
        // on the loopback interface.
        Ok(())
            if addr.ip().is_some_and(|ip| ip.is_loopback())
                && !listener
                    .device()
                    .is_ok_and(|device| device.transport() == Transport::Iwarp) =>
        {
            Err(ENODEV)
        }
        result => result,
    }
}
