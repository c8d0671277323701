// SPDX-License-Identifier: GPL-2.0

//! The clients of a block server, each of which is a disk or a tap with one or more
//! connections.
//!
//! A client that has lost its connections comes back with new ones, of the next generation. It
//! sends again on them what was in flight on the old ones. The old copies must not be executed
//! after that. So before the first new connection is accepted, the old ones are ended, and the
//! device and the threads have finished all work for them.
//!
//! Lock order: the list of clients, then an `Outcome`.

#![forbid(unsafe_code)]

use super::store::ledger::{
    Account,
    Ledger,
    Seat, //
};
use crate::{
    engine::outcome::Outcome,
    kernel_ext::time::Deadline,
    logic::{
        failure::Failure,
        wire::{
            hello::Hello,
            PrivateDataError, //
        }, //
    }, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    }, //
};

/// Maximum number of clients that a server knows at a time, including those that it waits for to
/// come back.
const MOST: usize = 1024;

/// Time that a new connection waits at the server for the old ones of its client to end, in ms. It
/// is shorter than the client's timeout for an attempt; the client may then wait on its own.
const OLD_MS: u32 = 1000;

/// Record that a client has announced on one of its connections that it leaves for
/// good. Shared by the completion handlers of all its connections.
pub(crate) struct ClientClose(Atomic<u32>);

impl ClientClose {
    /// Records that the client leaves. Any context.
    pub(crate) fn say(&self) {
        self.0.store(1, Relaxed);
    }

    /// Returns true if the client has announced that it leaves. Any context.
    pub(crate) fn is_said(&self) -> bool {
        self.0.load(Relaxed) != 0
    }
}

/// The end of a connection, in its consequence for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The connection was lost, was closed after the client announced that, or was replaced by a
    /// newer one.
    Left,
    /// The client broke the protocol.
    Broken,
}

/// One client.
struct Client {
    disk: u64,
    generation: u32,
    /// Number of connections that the client makes.
    queues: u16,
    /// Bitmap of the connections that it has made in this generation.
    made: u64,
    /// Outcomes of the present connections.
    connections: KVec<Arc<Outcome>>,
    client_close: Arc<ClientClose>,
    broken: bool,
    /// True if any of its connections has ever been established.
    has_been_up: bool,
    hold_ms: u32,
    /// Deadline for it to come back, if all its connections are lost.
    lost: Option<Deadline>,
    /// Its seat in the ledger of the store.
    seat: Option<Seat>,
}

impl Client {
    fn new(hello: &Hello, ledger: Option<&Arc<Ledger>>, timeout: u32) -> Result<Self> {
        let absence_ms = absence_ms(hello.hold_ms, timeout);
        let seat = ledger
            .map(|ledger| Seat::new(ledger, hello.disk, hello.generation == 1, absence_ms))
            .transpose()?;
        Ok(Self {
            disk: hello.disk,
            generation: hello.generation,
            queues: hello.queues,
            made: 0,
            connections: KVec::new(),
            client_close: Arc::new(ClientClose(Atomic::new(0)), GFP_KERNEL)?,
            broken: false,
            has_been_up: false,
            hold_ms: hello.hold_ms,
            lost: None,
            seat,
        })
    }

    /// Drops the client for good, with its account in the ledger: it will not come back.
    fn forget(mut self) {
        if let Some(seat) = &mut self.seat {
            seat.give_up();
        }
    }

    /// Ends all its connections with `failure`.
    fn end(&self, failure: Failure) {
        for outcome in &self.connections {
            outcome.fail(failure);
        }
    }
}

/// Returns the time in ms for a lost client to come back: its own `hold_ms` plus the server's
/// `timeout`; 0 if it does not hold requests.
fn absence_ms(hold_ms: u32, timeout: u32) -> u32 {
    match hold_ms {
        0 => 0,
        hold_ms => hold_ms.saturating_add(timeout),
    }
}

struct State {
    clients: KVec<Client>,
    /// True once any client has been admitted or refused.
    begun: bool,
    /// Number of clients that are gone for good, including refused ones.
    gone: u32,
    /// Outcomes of new connections that wait for old ones to be gone.
    waiting: KVec<Arc<Outcome>>,
}

/// The clients of one server.
#[pin_data]
pub(crate) struct Clients {
    #[pin]
    state: Mutex<State>,
    /// Number of clients to serve; `None` if unlimited.
    most: Option<u32>,
    /// Time that a client may take to come back beyond its own hold time, in ms.
    timeout: u32,
    /// Outcome that the listening thread waits on.
    listener: Arc<Outcome>,
    /// Ledger of the store's failures; `None` for a store that cannot fail.
    ledger: Option<Arc<Ledger>>,
}

impl Clients {
    /// Creates an empty table. `most` limits the clients served (`None`: unlimited). `listener` is
    /// woken when a connection is gone. `ledger` is that of the store. May sleep.
    pub(crate) fn new(
        most: Option<u32>,
        timeout: u32,
        listener: Arc<Outcome>,
        ledger: Option<Arc<Ledger>>,
    ) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                state <- new_mutex!(
                    State {
                        clients: KVec::new(),
                        begun: false,
                        gone: 0,
                        waiting: KVec::new(),
                    },
                    "krping_clients"
                ),
                most,
                timeout,
                listener,
                ledger,
            }),
            GFP_KERNEL,
        )
    }

    /// Adds the connection of `outcome` to the client that sent `hello`, once the client's older
    /// connections are gone. Process context of the connection's thread; sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::Busy`] if the server has all its clients; [`Failure::OldWork`] if the old
    /// connections take too long to end; [`Failure::Replaced`] if the client has newer connections,
    /// or broke the protocol; [`Failure::PrivateData`] if `hello` does not match the client's other
    /// connections; a failure that the outcome reports meanwhile.
    pub(crate) fn join(
        self: &Arc<Self>,
        hello: &Hello,
        outcome: &Arc<Outcome>,
    ) -> Result<Membership, Failure> {
        let mut result = Ok(None);
        let waited = outcome.wait_until(
            "waiting for the client's old connections",
            Some(OLD_MS.min(hello.alive_ms)),
            || {
                result = self.try_join(hello, outcome);
                !matches!(result, Ok(None))
            },
        );
        if !matches!(result, Ok(Some(_))) {
            let mut state = self.state.lock();
            state
                .waiting
                .retain(|waiting| !Arc::ptr_eq(waiting, outcome));
        }
        match (waited, result?) {
            (_, Some(membership)) => Ok(membership),
            (Err(Failure::TimedOut(..)) | Ok(()), None) => Err(Failure::OldWork),
            (Err(failure), None) => Err(failure),
        }
    }

    /// Like [`join`](Self::join), but does not wait. Returns `None` if older connections must end
    /// first; then `outcome` is woken when one of them is gone.
    fn try_join(
        self: &Arc<Self>,
        hello: &Hello,
        outcome: &Arc<Outcome>,
    ) -> Result<Option<Membership>, Failure> {
        let failed = |e: Error| Failure::Kernel("admitting a client", e.to_errno());
        let mut state = self.state.lock();
        let state = &mut *state;
        let known = state
            .clients
            .iter_mut()
            .position(|client| client.disk == hello.disk);
        let index = match known {
            Some(index) => index,
            None => {
                self.check_room(state)?;
                let client = Client::new(hello, self.ledger.as_ref(), self.timeout);
                let client = client.map_err(failed)?;
                state
                    .clients
                    .push(client, GFP_KERNEL)
                    .map_err(|e| failed(e.into()))?;
                state.clients.len() - 1
            }
        };
        let result = Self::admit(state, index, hello, outcome);
        let joined = matches!(result, Ok(true));
        if known.is_none() && !joined {
            let _ = state.clients.pop();
        }
        state.begun |= joined;
        let client = state.clients.get(index).filter(|_| joined);
        Ok(result?.then_some(()).and(client).map(|client| Membership {
            clients: self.clone(),
            disk: hello.disk,
            outcome: outcome.clone(),
            client_close: client.client_close.clone(),
            account: client.seat.as_ref().map(|seat| seat.account().clone()),
            ending: Ending::Left,
        }))
    }

    /// Adds a connection to client `index`. Returns false if older connections must end first.
    fn admit(
        state: &mut State,
        index: usize,
        hello: &Hello,
        outcome: &Arc<Outcome>,
    ) -> Result<bool, Failure> {
        let failed = |e: Error| Failure::Kernel("admitting a client", e.to_errno());
        let invalid = |field| Failure::PrivateData(PrivateDataError::Range(field));
        let client = state.clients.get_mut(index).ok_or(failed(EINVAL))?;
        if hello.generation < client.generation || client.broken {
            return Err(Failure::Replaced);
        }
        if hello.generation > client.generation {
            client.end(Failure::Replaced);
            if !client.connections.is_empty() {
                let known = |waiting: &Arc<Outcome>| Arc::ptr_eq(waiting, outcome);
                if !state.waiting.iter().any(known) {
                    let added = state.waiting.push(outcome.clone(), GFP_KERNEL);
                    added.map_err(|e| failed(e.into()))?;
                }
                return Ok(false);
            }
            client.generation = hello.generation;
            client.queues = hello.queues;
            client.hold_ms = hello.hold_ms;
            client.made = 0;
        }
        if hello.queues != client.queues {
            return Err(invalid("queues"));
        }
        let bit = 1u64.checked_shl(u32::from(hello.index));
        let bit = bit.ok_or(invalid("index"))?;
        if client.made & bit != 0 {
            return Err(invalid("index"));
        }
        let added = client.connections.push(outcome.clone(), GFP_KERNEL);
        added.map_err(|e| failed(e.into()))?;
        client.made |= bit;
        client.lost = None;
        Ok(true)
    }

    /// Returns true if the server may serve further clients, by its limit on their number.
    fn expects_more(&self, state: &State) -> bool {
        let known = u32::try_from(state.clients.len()).unwrap_or(u32::MAX);
        self.most
            .is_none_or(|most| known.saturating_add(state.gone) < most)
    }

    /// Like [`expects_more`](Self::expects_more), for callers that do not hold the lock.
    pub(crate) fn has_room(&self) -> bool {
        self.expects_more(&self.state.lock())
    }

    /// Checks that there is room for another client. If the table is full, forgets one lost client
    /// to make room.
    fn check_room(&self, state: &mut State) -> Result<(), Failure> {
        if !self.expects_more(state) {
            return Err(Failure::Busy(
                "the server has all the clients that it serves",
            ));
        }
        if state.clients.len() < MOST {
            return Ok(());
        }
        let lost = |client: &Client| client.lost.is_some();
        match state.clients.iter().position(lost) {
            Some(index) => {
                if let Ok(client) = state.clients.remove(index) {
                    client.forget();
                }
                Ok(())
            }
            None => Err(Failure::Busy("the server has too many clients")),
        }
    }

    /// Removes the connection of `outcome`. Called when all work for it has ended.
    fn leave(&self, disk: u64, outcome: &Arc<Outcome>, ending: Ending) {
        let mut state = self.state.lock();
        let state = &mut *state;
        let Some(index) = state.clients.iter().position(|client| client.disk == disk) else {
            return;
        };
        let Some(client) = state.clients.get_mut(index) else {
            return;
        };
        client
            .connections
            .retain(|connection| !Arc::ptr_eq(connection, outcome));
        if ending == Ending::Broken {
            client.broken = true;
            client.end(Failure::Cancelled);
        }
        if client.connections.is_empty() {
            if client.broken || client.client_close.is_said() || !client.has_been_up {
                let is_known = !client.broken && !client.client_close.is_said();
                match state.clients.remove(index) {
                    // It may have been a client of an earlier server, so its account is kept.
                    Ok(client) if is_known => drop(client),
                    Ok(client) => client.forget(),
                    Err(_) => {}
                }
                state.gone = state.gone.saturating_add(1);
            } else {
                client.lost = Some(Deadline::after_ms(absence_ms(client.hold_ms, self.timeout)));
            }
        }
        for waiting in &state.waiting {
            waiting.wake();
        }
        state.waiting.clear();
        self.listener.wake();
    }

    /// Records that a connection of client `disk` is established.
    fn came_up(&self, disk: u64) {
        let mut state = self.state.lock();
        let client = state.clients.iter_mut().find(|client| client.disk == disk);
        if let Some(client) = client {
            client.has_been_up = true;
        }
    }

    /// Returns true if any connection of client `disk` has ever been established.
    fn has_been_up(&self, disk: u64) -> bool {
        let state = self.state.lock();
        let client = state.clients.iter().find(|client| client.disk == disk);
        client.is_some_and(|client| client.has_been_up)
    }

    /// Counts a refused client as gone, so that a server with a limited number of clients does not
    /// wait for it.
    pub(crate) fn refused(&self) {
        let mut state = self.state.lock();
        state.begun = true;
        state.gone = state.gone.saturating_add(1);
        self.listener.wake();
    }

    /// Forgets one lost client whose time to come back has passed. Returns its identity.
    pub(crate) fn take_lost(&self) -> Option<u64> {
        let mut state = self.state.lock();
        let late = |client: &Client| client.lost.is_some_and(Deadline::passed);
        let index = state.clients.iter().position(late)?;
        let client = state.clients.remove(index).ok()?;
        state.gone = state.gone.saturating_add(1);
        let disk = client.disk;
        client.forget();
        Some(disk)
    }

    /// Returns the earliest deadline for a lost client to come back.
    pub(crate) fn next_deadline(&self) -> Deadline {
        let state = self.state.lock();
        let lost = state.clients.iter().filter_map(|client| client.lost);
        lost.fold(Deadline::never(), Deadline::sooner)
    }

    /// Returns true if no client has been admitted or refused yet.
    pub(crate) fn is_idle(&self) -> bool {
        !self.state.lock().begun
    }

    /// Returns true if as many clients as the limit allows have been served and are gone.
    pub(crate) fn all_gone(&self) -> bool {
        let state = self.state.lock();
        self.most
            .is_some_and(|most| state.clients.is_empty() && state.gone >= most)
    }
}

/// Membership of a connection in its client. Dropping it removes the connection. It must be dropped
/// after the queue pair, and when no more work is done for the connection.
pub(crate) struct Membership {
    clients: Arc<Clients>,
    disk: u64,
    outcome: Arc<Outcome>,
    client_close: Arc<ClientClose>,
    account: Option<Arc<Account>>,
    ending: Ending,
}

impl Membership {
    /// Returns the record of whether the client has announced that it leaves.
    pub(crate) fn client_close(&self) -> &Arc<ClientClose> {
        &self.client_close
    }

    /// Returns the client's account: the failures of the store that it has been told of.
    pub(crate) fn account(&self) -> Option<&Arc<Account>> {
        self.account.as_ref()
    }

    /// Records that the connection is established.
    pub(crate) fn established(&mut self) {
        self.clients.came_up(self.disk);
    }

    /// Returns true if the client has ever had an established connection, so that it may come back.
    pub(crate) fn is_up(&self) -> bool {
        self.clients.has_been_up(self.disk)
    }

    /// Records the way in which the connection has ended.
    pub(crate) fn ended(&mut self, ending: Ending) {
        self.ending = ending;
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.clients.leave(self.disk, &self.outcome, self.ending);
    }
}
