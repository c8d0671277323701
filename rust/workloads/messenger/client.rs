// SPDX-License-Identifier: GPL-2.0

//! The client of messages: one thread makes all its connections, and is their dispatcher.

#![forbid(unsafe_code)]

use super::{
    asking::Asking,
    connection::{
        depths,
        sends,
        Connection,
        Part, //
    },
    dispatcher::{
        dispatch,
        find,
        Host,
        Member,
        Next, //
    },
    link::{
        check_device,
        End,
        Link, //
    },
    pool::Pool,
    report::Ended, //
};
use crate::{
    cm::{
        cause::best_cause,
        CmId, //
    },
    engine::{
        client::Client,
        connect::{
            Attempt,
            Connected,
            Initiator, //
        },
        depths::Depths,
        device_counters::DeviceCounters,
        drive::{
            disconnect_deadline,
            failed, //
        },
        limits::READS,
        outcome::{
            new_wait_queue,
            Outcome,
            WaitQueue, //
        },
        polling::Polling,
        queue::Queue,
        queue_pair::QueuePair,
        results::Report,
        session::Session,
        side::PrivateBytes,
        traffic::Traffic,
        usage::metered, //
    },
    kernel_ext::time::{
        monotonic_ns,
        Deadline, //
    },
    logic::{
        command::Command,
        failure::Failure,
        measure::schedule::{
            Schedule,
            Share, //
        },
        messenger::hello::{
            Hello,
            QueuePairAddress, //
        },
        wire::{
            PeerRole,
            PrivateDataError, //
        }, //
    },
    mr::Memory,
    rdma::{
        cq::PollMode,
        device::Device,
        qp::DRAIN_REQUESTS, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Initiator of one connection after the other.
struct Leading<'a> {
    client: &'a Client<'a>,
    wait_queue: &'a WaitQueue,
    traffic: Arc<Traffic>,
    /// Made with the first connection, on its device.
    pool: Option<Arc<Pool>>,
    index: u16,
}

impl Leading<'_> {
    /// Returns what is said to the server.
    fn hello(&self) -> Hello {
        let command = &self.client.session.command;
        let options = &command.messenger;
        Hello {
            role: PeerRole::Client,
            chunk: options.chunk,
            size: command.size,
            conns: options.conns,
            index: self.index,
            inflight: options.inflight,
            silence_ms: command.silence_ms(),
            queue_pair: QueuePairAddress::default(),
        }
    }

    fn pool(&self) -> Result<&Arc<Pool>> {
        self.pool.as_ref().ok_or(EINVAL)
    }
}

impl Initiator for Leading<'_> {
    type Workload = Connection;
    type Answer = Option<Link>;
    const STARTING: &'static str = "starting the client";
    const READS: u8 = READS;
    const ENDS_WITH_THREAD: bool = true;

    fn route(&mut self, id: &CmId) -> Result<(), Failure> {
        let session = self.client.session;
        if self.pool.is_none() {
            let conns = u32::from(session.command.messenger.conns);
            let each = sends(&self.hello(), session.command.messenger.chunk);
            let all = conns.saturating_mul(each.saturating_add(DRAIN_REQUESTS));
            let pool = Pool::new(session, id, self.wait_queue, conns, all)?;
            if session.command.rate.is_some() {
                pool.add_open_loop().map_err(failed(Self::STARTING))?;
            }
            self.pool = Some(pool);
        }
        Ok(())
    }

    fn check(&mut self, device: &Device<'_>) -> Result<(), Failure> {
        match self.client.session.command.messenger.tcp {
            true => check_device(device),
            false => Ok(()),
        }
    }

    fn new_memory(&mut self, id: &CmId, _: bool) -> Result<Memory> {
        self.pool()?.new_memory(id)
    }

    fn build(&mut self, _: &Device<'_>, _: &mut Memory) -> Result<(KBox<Connection>, Depths)> {
        let (command, hello) = (&self.client.session.command, self.hello());
        let pool = self.pool()?;
        let (traffic, number) = (self.traffic.clone(), u32::from(self.index));
        let part = Part::Asking(Asking::new(command)?);
        let connection = Connection::new(command, pool, traffic, number, &hello, part)?;
        Ok((connection, depths(sends(&hello, pool.room()))))
    }

    fn poll_mode(&self) -> PollMode {
        PollMode::Notified
    }

    fn prepare(_: &mut Connection, _: &mut Queue<'_>) -> Result<(), Failure> {
        Ok(())
    }

    fn hello(&self, _: &QueuePair<Connection>) -> PrivateBytes {
        PrivateBytes::Own(Self::hello(self).encode())
    }

    fn answered(
        &mut self,
        connected: &Connected<Connection>,
        report: &mut Report<'_>,
    ) -> Result<Option<Link>, Failure> {
        let data = connected.id.peer_data();
        let theirs = Hello::decode(data.as_slice(), PeerRole::Server);
        if matches!(theirs, Err(PrivateDataError::Missing)) {
            return Err(Failure::Unsupported(
                "the server is not this krping, and takes no messages",
            ));
        }
        let theirs = theirs
            .and_then(|theirs| theirs.repeats(&Self::hello(self)).map(|()| theirs))
            .map_err(Failure::PrivateData)?;
        meet(connected, &theirs, report).map(|()| None)
    }

    fn disconnect_deadline(&self, session: &Session, failure: Failure) -> Option<Deadline> {
        Some(disconnect_deadline(session, &Err(failure)))
    }
}

/// Takes what the server has said.
fn meet(
    connected: &Connected<Connection>,
    theirs: &Hello,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    report.legacy = Some(false);
    let met = connected.queue_pair.with(|each, _| each.meet(theirs));
    met.ok_or(Failure::Interrupted)
}

/// Meets the server over TCP, and connects the queue pair without the CM.
fn greet(
    connected: &Connected<Connection>,
    leading: &mut Leading<'_>,
    report: &mut Report<'_>,
) -> Result<Option<Link>, Failure> {
    let client = leading.client;
    let end = End::new(&connected.queue_pair, &connected.id);
    let (link, theirs) = end.greet(client.session, client.addr, leading.hello())?;
    meet(connected, &theirs, report).map(|()| Some(link))
}

/// The connections of a client.
struct Clients<'a> {
    session: &'a Session,
    members: KVVec<Member>,
    /// The moments at which messages of the connections are due, which take turns.
    clock: Option<Clock>,
}

/// The moments at which messages of a thread are due.
struct Clock {
    schedule: Schedule,
    /// Moment after which none is due.
    last_ns: u64,
    /// The number of the connection whose turn is next.
    turn: u32,
}

impl Clock {
    /// Creates the moments from `now` on that `command` asks for, if it does.
    fn new(command: &Command, now: u64) -> Option<Self> {
        // Each connection knows its own; together they are those of one queue pair.
        let share = Share {
            queue_pairs: 1,
            ..command.share()?
        };
        let duration_ns = command.duration_ms().map(|ms| u64::from(ms) * 1_000_000);
        Some(Self {
            schedule: share.schedule(now, 0),
            last_ns: now.saturating_add(duration_ns.unwrap_or(u64::MAX)),
            turn: 0,
        })
    }
}

impl Host for Clients<'_> {
    fn member(&self, number: u32) -> Option<&Member> {
        find(&self.members, number)
    }

    fn post_due(&mut self) -> Option<u64> {
        let clock = self.clock.as_mut()?;
        let now = monotonic_ns();
        // A connection sends all that is due, so it needs but one turn.
        for _ in 0..self.members.len() {
            let next = clock.schedule.next();
            if next > now.min(clock.last_ns) {
                break;
            }
            if let Some(member) = find(&self.members, clock.turn) {
                member.with(Connection::post_due);
            }
            clock.schedule.advance();
            clock.turn = match clock.turn + 1 {
                turn if (turn as usize) < self.members.len() => turn,
                _ => 0,
            };
        }
        let next = clock.schedule.next();
        (next <= clock.last_ns).then_some(next)
    }

    fn look(&mut self) -> Result<Next, Failure> {
        let mut next = Next::End;
        for member in self.members.iter_mut().filter(|each| !each.is_finished()) {
            if let Some(failure) = member.failure() {
                return Err(failure);
            }
            next = Next::Serve;
        }
        Ok(next)
    }
}

/// Makes the connections, sends all messages, takes the connections down, and reports the result.
///
/// # Errors
///
/// The failure to make the first connection. A later failure is in the report.
pub(super) fn lead(client: &Client<'_>, report: &mut Report<'_>) -> Result<(), Failure> {
    let session = client.session;
    let no_memory = failed(Leading::STARTING);
    let wait_queue = new_wait_queue().map_err(&no_memory)?;
    let outcome = Outcome::new(&wait_queue).map_err(&no_memory)?;
    let traffic = client.worker.add_traffic().map_err(&no_memory)?;
    let conns = session.command.messenger.conns;
    let mut clients = Clients {
        session,
        members: KVVec::with_capacity(conns.into(), GFP_KERNEL).map_err(|e| no_memory(e.into()))?,
        clock: None,
    };
    let mut leading = Leading {
        client,
        wait_queue: &wait_queue,
        traffic,
        pool: None,
        index: 0,
    };
    let mut result = Ok(());
    while leading.index < conns && result.is_ok() {
        result = connect(&mut leading, &mut clients.members, report);
        leading.index += 1;
    }
    let Some(pool) = leading.pool.filter(|_| !clients.members.is_empty()) else {
        return result;
    };
    let counters = clients
        .members
        .first()
        .map(|each| DeviceCounters::begin(&each.id));
    let mut usage = None;
    let result = result
        .and_then(|()| metered(&mut usage, || converse(&pool, &outcome, &mut clients)))
        .map_err(|failure| {
            let ids = clients.members.iter().map(|each| &*each.id);
            best_cause(ids, |outcome| outcome.failure().map(|_| failure), failure)
        });
    match result {
        Ok(()) => session.led(),
        // Abort before the peer notices: a failure that the peer then reports is a consequence.
        Err(failure) => session.abort(failure),
    }
    disconnect(session, &mut clients.members, &result);
    let moved = counters
        .zip(clients.members.first())
        .map(|(counters, first)| counters.moved(&first.id))
        .unwrap_or_default();
    let mut ended = Ended::default();
    ended.add_all(&mut clients.members);
    report.failure = result.err();
    report.counters = client.worker.counters();
    let series = client.worker.take_series();
    let report = Report {
        usage: usage.as_ref(),
        device_counters: Some(&moved),
        series: series.as_deref(),
        ..*report
    };
    ended.conclude(session, &pool, &report);
    Ok(())
}

/// Disconnects, and waits until the server knows of the end.
fn disconnect(session: &Session, members: &mut [Member], result: &Result<(), Failure>) {
    for member in &mut *members {
        if result.is_err() {
            // The server learns of the end by this.
            member.link = None;
        }
        // There is nothing to wait for once the connection is gone.
        if !member.id.disconnect() && member.link.is_none() {
            member.id.outcome().disconnected();
        }
    }
    let deadline = disconnect_deadline(session, result);
    for member in members {
        match &member.link {
            // The server ends it when this side's device has acknowledged the server's end.
            Some(link) => link.await_end(member.id.outcome(), deadline),
            None => member.id.wait_disconnected(deadline),
        }
    }
}

/// Makes the next connection.
fn connect(
    leading: &mut Leading<'_>,
    members: &mut KVVec<Member>,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let attempt = Attempt {
        session: leading.client.session,
        worker: leading.client.worker,
        addr: leading.client.addr,
        wait_queue: leading.wait_queue,
        timeout: leading.client.session.timeout(),
    };
    let connected = match attempt.session.command.messenger.tcp {
        true => attempt.connect_by(leading, report, greet),
        false => attempt.connect(leading, report),
    };
    let (Connected { queue_pair, id }, link) = connected?;
    let timeout = attempt.timeout;
    let member = Member::new(queue_pair, id, link, leading.index.into(), timeout);
    // Room for all connections was reserved.
    members
        .push_within_capacity(member)
        .map_err(|_| failed(Leading::STARTING)(ENOMEM))
}

/// Has all connections send, and serves them to their ends.
fn converse(pool: &Pool, outcome: &Outcome, clients: &mut Clients<'_>) -> Result<(), Failure> {
    let begun = monotonic_ns();
    for member in &clients.members {
        member.id.outcome().touch();
    }
    clients.clock = Clock::new(&clients.session.command, begun);
    for member in &clients.members {
        member
            .queue_pair
            .with(|connection, queue| connection.start(queue, begun))
            .ok_or(Failure::Interrupted)??;
        // The first ones need not wait for the others.
        pool.poll();
        pool.refill().map_err(failed("posting receives"))?;
    }
    let polling = Polling::of(&clients.session.command);
    dispatch(pool, outcome, polling, clients, begun)
}
