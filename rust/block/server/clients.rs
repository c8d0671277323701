// SPDX-License-Identifier: GPL-2.0

//! The clients of a block server, each of which is a disk or a tap with one or more
//! connections.
//!
//! A client that has lost its connections comes back with new ones, of the next
//! generation. What was under way on the old ones is sent again on the new ones, and
//! must not be done after that once more: so the old ones are ended, and gone with
//! all that the device and the threads did for them, before the first new one is
//! accepted.
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

/// The most clients that a server knows at a time, those that it waits for to come
/// back among them.
const MOST: usize = 1024;

/// How long a connection waits for the old ones of its client at the server, in ms. It is less
/// than the client takes an attempt for, which may then wait on its own.
const OLD_MS: u32 = 1000;

/// Whether a client has said on any connection that it leaves for good. Shared by
/// what completes on all of them.
pub(crate) struct Farewell(Atomic<u32>);

impl Farewell {
    /// Notes that it has. Any context.
    pub(crate) fn say(&self) {
        self.0.store(1, Relaxed);
    }

    /// Whether it has. Any context.
    pub(crate) fn is_said(&self) -> bool {
        self.0.load(Relaxed) != 0
    }
}

/// How a connection ended, for its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It was lost, or left after a farewell, or another one took its place.
    Left,
    /// The client broke the protocol.
    Broken,
}

/// One client.
struct Client {
    disk: u64,
    generation: u32,
    /// How many connections it makes.
    queues: u16,
    /// Which of them it has made in this generation, a bit for each.
    made: u64,
    /// Those that there are: what they wait on.
    connections: KVec<Arc<Outcome>>,
    farewell: Arc<Farewell>,
    broken: bool,
    /// Whether any of its connections has come up.
    has_been_up: bool,
    hold_ms: u32,
    /// Until when it may come back, where all are lost.
    lost: Option<Deadline>,
    /// Its place in the ledger of the store.
    seat: Option<Seat>,
}

impl Client {
    fn new(hello: &Hello, ledger: Option<&Arc<Ledger>>, timeout: u32) -> Result<Self> {
        let patience = patience(hello.hold_ms, timeout);
        let seat = ledger
            .map(|ledger| Seat::new(ledger, hello.disk, hello.generation == 1, patience))
            .transpose()?;
        Ok(Self {
            disk: hello.disk,
            generation: hello.generation,
            queues: hello.queues,
            made: 0,
            connections: KVec::new(),
            farewell: Arc::new(Farewell(Atomic::new(0)), GFP_KERNEL)?,
            broken: false,
            has_been_up: false,
            hold_ms: hello.hold_ms,
            lost: None,
            seat,
        })
    }

    /// Forgets it, as it does not come back.
    fn forget(mut self) {
        if let Some(seat) = &mut self.seat {
            seat.give_up();
        }
    }

    /// Ends all connections because of `failure`.
    fn end(&self, failure: Failure) {
        for outcome in &self.connections {
            outcome.fail(failure);
        }
    }
}

/// For how many ms a client that holds requests for `hold_ms` ms may come back.
fn patience(hold_ms: u32, timeout: u32) -> u32 {
    match hold_ms {
        0 => 0,
        hold_ms => hold_ms.saturating_add(timeout),
    }
}

struct State {
    clients: KVec<Client>,
    /// Whether there has been any.
    begun: bool,
    /// How many have come and gone for good.
    gone: u32,
    /// Connections that wait for others to be gone.
    waiting: KVec<Arc<Outcome>>,
}

/// The clients of one server.
#[pin_data]
pub(crate) struct Clients {
    #[pin]
    state: Mutex<State>,
    /// How many there are to be, where there is an end.
    most: Option<u32>,
    /// How long a client may take beyond what it says, in ms.
    timeout: u32,
    /// What the listening thread waits on.
    listener: Arc<Outcome>,
    /// The record of the store's failures, for a store that can have some.
    ledger: Option<Arc<Ledger>>,
}

impl Clients {
    /// Those of a server that is to serve `most` or goes on for ever, whose `listener` is
    /// woken when one is gone, and whose store has a `ledger`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
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

    /// Adds the connection of `outcome` to the client that says `hello`, once those
    /// that it takes the place of are gone. Process context of the connection's
    /// thread; sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::Busy`] where there are enough clients already; [`Failure::OldWork`] where
    /// the old connections take longer; [`Failure::Replaced`] where there are newer ones;
    /// [`Failure::PrivateData`] for one that does not fit the others; what the outcome
    /// reports meanwhile.
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

    /// [`join`](Self::join), unless others must be gone before: then `outcome` is
    /// woken when one of them is.
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
                state.clients.len().saturating_sub(1)
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
            farewell: client.farewell.clone(),
            account: client.seat.as_ref().map(|seat| seat.account().clone()),
            ending: Ending::Left,
        }))
    }

    /// Adds a connection to client `index`, and returns whether it could be.
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

    /// Whether further clients are to come.
    fn expects_more(&self, state: &State) -> bool {
        let known = u32::try_from(state.clients.len()).unwrap_or(u32::MAX);
        self.most
            .is_none_or(|most| known.saturating_add(state.gone) < most)
    }

    /// Whether further clients are to come.
    pub(crate) fn has_room(&self) -> bool {
        self.expects_more(&self.state.lock())
    }

    /// Whether there is room for another client. One that is lost makes room where
    /// the server would forget it anyway.
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

    /// Notes that the connection of `outcome` is gone, with all that was done for it.
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
            if client.broken || client.farewell.is_said() || !client.has_been_up {
                let is_known = !client.broken && !client.farewell.is_said();
                match state.clients.remove(index) {
                    // It may have been a client of a server before this one.
                    Ok(client) if is_known => drop(client),
                    Ok(client) => client.forget(),
                    Err(_) => {}
                }
                state.gone = state.gone.saturating_add(1);
            } else {
                client.lost = Some(Deadline::after_ms(patience(client.hold_ms, self.timeout)));
            }
        }
        for waiting in &state.waiting {
            waiting.wake();
        }
        state.waiting.clear();
        self.listener.wake();
    }

    /// Notes that a connection of client `disk` has come up.
    fn came_up(&self, disk: u64) {
        let mut state = self.state.lock();
        let client = state.clients.iter_mut().find(|client| client.disk == disk);
        if let Some(client) = client {
            client.has_been_up = true;
        }
    }

    /// Whether a connection of client `disk` has come up, now or before.
    fn has_been_up(&self, disk: u64) -> bool {
        let state = self.state.lock();
        let client = state.clients.iter().find(|client| client.disk == disk);
        client.is_some_and(|client| client.has_been_up)
    }

    /// Counts a client that was refused, so that a server which is to serve so many
    /// does not wait for it.
    pub(crate) fn refused(&self) {
        let mut state = self.state.lock();
        state.begun = true;
        state.gone = state.gone.saturating_add(1);
        self.listener.wake();
    }

    /// Forgets a client that has not come back in time, and returns its number.
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

    /// Until when the next client may come back that is lost at present.
    pub(crate) fn patience(&self) -> Deadline {
        let state = self.state.lock();
        let lost = state.clients.iter().filter_map(|client| client.lost);
        lost.fold(Deadline::never(), Deadline::sooner)
    }

    /// Whether there has been no client yet.
    pub(crate) fn is_idle(&self) -> bool {
        !self.state.lock().begun
    }

    /// Whether all that were to be served have gone.
    pub(crate) fn all_gone(&self) -> bool {
        let state = self.state.lock();
        self.most
            .is_some_and(|most| state.clients.is_empty() && state.gone >= most)
    }
}

/// A connection's place among those of its client, until it is dropped: after the
/// queue pair, and when nothing is done any more for it.
pub(crate) struct Membership {
    clients: Arc<Clients>,
    disk: u64,
    outcome: Arc<Outcome>,
    farewell: Arc<Farewell>,
    account: Option<Arc<Account>>,
    ending: Ending,
}

impl Membership {
    /// Where the client says that it leaves.
    pub(crate) fn farewell(&self) -> &Arc<Farewell> {
        &self.farewell
    }

    /// The failures of the store that the client has been told of.
    pub(crate) fn account(&self) -> Option<&Arc<Account>> {
        self.account.as_ref()
    }

    /// Says that the connection has come up.
    pub(crate) fn established(&mut self) {
        self.clients.came_up(self.disk);
    }

    /// Whether the client has had a connection, so that it may come back.
    pub(crate) fn is_up(&self) -> bool {
        self.clients.has_been_up(self.disk)
    }

    /// Says how the connection has ended.
    pub(crate) fn ended(&mut self, ending: Ending) {
        self.ending = ending;
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.clients.leave(self.disk, &self.outcome, self.ending);
    }
}
