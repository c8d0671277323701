// SPDX-License-Identifier: GPL-2.0

//! Clients that arrive over TCP: a thread of the server accepts them, hears what they say and
//! resolves the route to them, and the dispatcher does the rest.

#![forbid(unsafe_code)]

use super::link::{
    check_device,
    unmapped,
    Hearing,
    Link,
    SLICE_MS, //
};
use crate::{
    cm::{
        addr::SocketAddress,
        CmId, //
    },
    engine::{
        dial::dial_from,
        drive::failed,
        outcome::Outcome,
        results::Report,
        server::{
            allows,
            STARTING, //
        },
        session::Session,
        worker::Worker, //
    },
    kernel_ext::socket::Listener,
    logic::{
        failure::Failure,
        messenger::hello::Hello,
        wire::PeerRole, //
    }, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// Clients that wait for the dispatcher, and connections that wait for the thread; more are closed.
pub(super) const BACKLOG: u16 = 128;

/// The time between two looks at clients that have not said everything, in ms.
const BRIEFLY_MS: u32 = 5;

/// A client that the dispatcher can connect to. Fields are in drop order.
pub(super) struct Met {
    pub(super) link: Link,
    /// The route to the client has been resolved.
    pub(super) id: Arc<CmId>,
    pub(super) hello: Hello,
}

/// A client that has arrived, or has failed to.
pub(super) struct Arrival {
    pub(super) peer: SocketAddress,
    pub(super) met: Result<Met, Failure>,
}

struct State {
    /// Has room for [`BACKLOG`].
    waiting: KVec<Arrival>,
    is_closed: bool,
}

/// The clients that wait for the dispatcher.
#[pin_data]
struct Shared {
    /// The dispatcher's.
    outcome: Arc<Outcome>,
    #[pin]
    state: Mutex<State>,
}

impl Shared {
    /// Returns how many more clients may wait; `None` where none is to any more.
    fn room(&self) -> Option<usize> {
        let state = self.state.lock();
        (!state.is_closed).then(|| usize::from(BACKLOG).saturating_sub(state.waiting.len()))
    }

    /// Has a client wait. Only one thread does that.
    fn push(&self, arrival: Arrival) {
        let mut state = self.state.lock();
        let left = match state.is_closed {
            true => Some(arrival),
            // There is room, as was seen.
            false => {
                drop(state.waiting.push_within_capacity(arrival));
                None
            }
        };
        drop(state);
        // An identifier is destroyed with no lock held.
        drop(left);
        self.outcome.wake();
    }
}

/// The dispatcher's end of the list of clients. Its drop ends the thread.
pub(super) struct Arrivals(Arc<Shared>);

impl Arrivals {
    /// Creates the list. Each client that arrives wakes whoever waits for `outcome`. May sleep.
    pub(super) fn new(outcome: Arc<Outcome>) -> Result<Self> {
        let waiting = KVec::with_capacity(BACKLOG.into(), GFP_KERNEL)?;
        let state = State {
            waiting,
            is_closed: false,
        };
        let shared = Arc::pin_init(
            pin_init!(Shared {
                outcome,
                state <- new_mutex!(state, "krping_arrivals"),
            }),
            GFP_KERNEL,
        )?;
        Ok(Self(shared))
    }

    /// Takes the client that has waited longest, if there is one. May sleep.
    pub(super) fn take(&self) -> Option<Arrival> {
        self.0.state.lock().waiting.remove(0).ok()
    }

    /// Returns the other end of the list.
    pub(super) fn entrance(&self) -> Entrance {
        Entrance(self.0.clone())
    }
}

impl Drop for Arrivals {
    fn drop(&mut self) {
        let waiting = {
            let mut state = self.0.state.lock();
            state.is_closed = true;
            core::mem::replace(&mut state.waiting, KVec::new())
        };
        // Identifiers are destroyed with no lock held.
        drop(waiting);
    }
}

/// The end of the list at which clients arrive.
pub(super) struct Entrance(Arc<Shared>);

impl Entrance {
    /// Starts a thread of the session that fills the list from `listener`, until the dispatcher's
    /// end is dropped or the thread is cancelled. May sleep.
    ///
    /// # Errors
    ///
    /// The error of [`Session::spawn`].
    pub(super) fn open(self, session: &Arc<Session>, listener: Listener) -> Result<(), Failure> {
        session.spawn(move |session, worker| {
            if let Err(failure) = accept(session, worker, &listener, &self.0) {
                session.abort(failure);
            }
        })
    }
}

/// A client that has connected, and has not said everything yet.
struct Pending {
    link: Link,
    peer: SocketAddress,
    hearing: Hearing,
}

/// Accepts clients until there are to be no more. A client that is slow to say what it wants does
/// not keep the others waiting.
fn accept(
    session: &Session,
    worker: &Worker,
    listener: &Listener,
    shared: &Shared,
) -> Result<(), Failure> {
    let outcome = Outcome::single().map_err(failed(STARTING))?;
    worker.attach(&outcome).map_err(failed(STARTING))?;
    let pending = KVec::with_capacity(BACKLOG.into(), GFP_KERNEL);
    let mut pending = pending.map_err(|e| failed(STARTING)(e.into()))?;
    while let (Some(room), None) = (shared.room(), outcome.failure()) {
        let wait = match pending.is_empty() {
            true => SLICE_MS,
            false => BRIEFLY_MS,
        };
        let accepted = listener.accept(wait);
        if let Some((stream, peer)) = accepted.map_err(failed("accepting over TCP"))? {
            let peer = unmapped(peer);
            // Each of them is to find room in the list.
            if pending.len() < room && allows(session, peer.ip()) {
                let _ = pending.push_within_capacity(Pending {
                    link: Link::new(stream),
                    peer,
                    hearing: Hearing::new(session.timeout()),
                });
            }
        }
        hear(session, worker, &mut pending, shared);
    }
    Ok(())
}

/// Hears what clients say that have connected, and passes on those that have said everything, or
/// have failed to.
fn hear(session: &Session, worker: &Worker, pending: &mut KVec<Pending>, shared: &Shared) {
    let mut index = 0;
    while let Some(Pending { link, hearing, .. }) = pending.get_mut(index) {
        let heard = hearing.receive(link, 0, PeerRole::Client).transpose();
        let Some(heard) = heard else {
            index += 1;
            continue;
        };
        if let Ok(Pending { link, peer, .. }) = pending.remove(index) {
            let met = heard.and_then(|hello| meet(session, worker, link, &peer, hello));
            shared.push(Arrival { peer, met });
        }
    }
}

/// Resolves the route to a client that has said `hello`.
fn meet(
    session: &Session,
    worker: &Worker,
    link: Link,
    peer: &SocketAddress,
    hello: Hello,
) -> Result<Met, Failure> {
    // It has a wait queue of its own: this thread waits for it, and the dispatcher after that.
    let outcome = Outcome::single().map_err(failed("serving a client"))?;
    worker
        .attach(&outcome)
        .map_err(failed("serving a client"))?;
    let id = resolve(session, worker, &link, peer, &outcome);
    worker.detach(&outcome);
    let id = id.map_err(|failure| outcome.cause_of(failure))?;
    Ok(Met { link, id, hello })
}

#[inline(never)]
fn resolve(
    session: &Session,
    worker: &Worker,
    link: &Link,
    peer: &SocketAddress,
    outcome: &Arc<Outcome>,
) -> Result<Arc<CmId>, Failure> {
    let timeout = session.timeout();
    // The client's route leads to the address that it has connected to.
    let local = link.local()?.with_port(0);
    let ends = (Some(&local), peer);
    let mut report = Report::new(session.id, worker.id, "server", &session.command);
    let id = dial_from(
        session,
        worker,
        outcome.clone(),
        ends,
        timeout,
        &mut report,
        |_, _| {},
    )?;
    check_device(&id.device().map_err(failed("finding the device"))?)?;
    Ok(id)
}
