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
        device_watch::DeviceWatch,
        CmId, //
    },
    engine::{
        dial::dial_from,
        drive::failed,
        outcome::Outcome,
        peer_log::Level,
        print::Plain,
        results::Report,
        server::{
            allows,
            say_not_served,
            STARTING, //
        },
        session::Session,
        worker::Worker, //
    },
    kernel_ext::{
        socket::{
            Listener,
            Stream, //
        },
        time::Deadline, //
    },
    logic::{
        failure::Failure,
        messenger::hello::Hello,
        wire::{
            PeerRole,
            PrivateDataError, //
        }, //
    }, //
};
use core::net::Ipv4Addr;
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

/// Name of the step, for failures.
const ACCEPTING: &str = "accepting over TCP";

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
pub(super) struct Arrivals {
    shared: Arc<Shared>,
    /// Tells the dispatcher of the removal of the device that it listens on, if it is one.
    _watch: Option<DeviceWatch>,
}

impl Arrivals {
    /// Creates the list. Each client that arrives wakes whoever waits for `outcome`. May sleep.
    pub(super) fn new(outcome: Arc<Outcome>, watch: Option<DeviceWatch>) -> Result<Self> {
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
        Ok(Self {
            shared,
            _watch: watch,
        })
    }

    /// Takes the client that has waited longest, if there is one. May sleep.
    pub(super) fn take(&self) -> Option<Arrival> {
        self.shared.state.lock().waiting.remove(0).ok()
    }

    /// Returns the other end of the list.
    pub(super) fn entrance(&self) -> Entrance {
        Entrance(self.shared.clone())
    }
}

impl Drop for Arrivals {
    fn drop(&mut self) {
        let waiting = {
            let mut state = self.shared.state.lock();
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
/// not keep the others waiting, and nobody who connects ends the server by that.
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
        match listener.accept(wait) {
            Ok(None) => {}
            Ok(Some((stream, peer))) => {
                arrive(session, &mut pending, room, stream, unmapped(peer));
            }
            // The socket does not listen any more.
            Err(EINVAL) => return Err(failed(ACCEPTING)(EINVAL)),
            // One connection's error, or want of memory, which passes.
            Err(error) => {
                say_not_served(session, failed(ACCEPTING)(error));
                outcome.pause(Deadline::after_ms(SLICE_MS));
            }
        }
        hear(session, worker, &mut pending, shared);
    }
    Ok(())
}

/// Takes a connection, if `room` for clients that wait is not used up by those that have said what
/// they want. Where others use it up, the oldest of them makes room.
fn arrive(
    session: &Session,
    pending: &mut KVec<Pending>,
    room: usize,
    stream: Stream,
    peer: SocketAddress,
) {
    if !allows(session, peer.ip()) {
        return;
    }
    if pending.len() >= room {
        let Ok(oldest) = pending.remove(0) else {
            return;
        };
        session.peer_log.say(
            Level::Warning,
            fmt!(
                "a client at {} was not served: it has said nothing for longest, and others wait",
                Plain(oldest.peer.ip().unwrap_or(Ipv4Addr::UNSPECIFIED.into()))
            ),
        );
    }
    // There is room, as was seen.
    let _ = pending.push_within_capacity(Pending {
        link: Link::new(stream),
        peer,
        hearing: Hearing::new(session.timeout()),
    });
}

/// Returns true for the failure to hear somebody who is no client: all are but those who have said
/// that they are, wrongly.
fn is_strangers(failure: &Failure) -> bool {
    match failure {
        Failure::PrivateData(error) => matches!(error, PrivateDataError::Missing),
        _ => true,
    }
}

/// Hears what clients say that have connected, and passes on those that have said everything, right
/// or wrong. Strangers are let go.
fn hear(session: &Session, worker: &Worker, pending: &mut KVec<Pending>, shared: &Shared) {
    let mut index = 0;
    while let Some(Pending { link, hearing, .. }) = pending.get_mut(index) {
        let heard = hearing.receive(link, 0, PeerRole::Client).transpose();
        let Some(heard) = heard else {
            index += 1;
            continue;
        };
        let Ok(Pending { link, peer, .. }) = pending.remove(index) else {
            return;
        };
        let met = match heard {
            Ok(hello) => meet(session, worker, link, &peer, hello),
            Err(failure) if is_strangers(&failure) => {
                say_not_served(session, failure);
                continue;
            }
            Err(failure) => Err(failure),
        };
        shared.push(Arrival { peer, met });
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
