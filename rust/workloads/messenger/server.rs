// SPDX-License-Identifier: GPL-2.0

//! The server of messages: one thread listens, accepts, and is the dispatcher of all connections.
//! Where clients come over TCP, a second one listens.

#![forbid(unsafe_code)]

use super::{
    answering::Answering,
    arrivals::{
        Arrivals,
        BACKLOG, //
    },
    connection::MOST_WITH_END,
    dispatcher::{
        dispatch,
        find,
        Host,
        Member,
        Next, //
    },
    pool::Pool,
    report::Ended,
    requests::{
        ConnectionRequest,
        Heard,
        Requests, //
    }, //
};
use crate::{
    cm::{
        addr::SocketAddress,
        device_watch::DeviceWatch,
        listener::Listener, //
    },
    engine::{
        accept::Accepting,
        device_counters::{
            DeviceCounters,
            Moved, //
        },
        drive::failed,
        outcome::{
            new_wait_queue,
            Outcome,
            WaitQueue, //
        },
        polling::Polling,
        results::Report,
        server::{
            client_timeout,
            listening_address,
            say_not_served,
            MAX_CLIENTS,
            STARTING,
            WAITING, //
        },
        session::Session,
        traffic::Traffic,
        usage::metered,
        worker::Worker, //
    },
    kernel_ext::{
        socket,
        time::{
            monotonic_ns,
            Deadline, //
        }, //
    },
    logic::{
        failure::{
            Failure,
            BINDING, //
        },
        measure::{
            stats::Counters,
            usage::Usage, //
        },
        messenger::hello::Hello,
        spec::limits,
        wire::PeerRole, //
    },
    rdma::qp::DRAIN_REQUESTS, //
};
use core::net::SocketAddr;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The completions of all connections' sends that the completion queue has room for, if the device
/// has: those of a client that makes as many connections as it may.
const SENDS: u32 =
    (*limits::CONNS.end() as u32).saturating_mul(MOST_WITH_END.saturating_add(DRAIN_REQUESTS));

/// Starts the session's thread, and returns the address that it listens on.
///
/// # Errors
///
/// `EADDRINUSE`, `EADDRNOTAVAIL`, `ENODEV` or another error of binding; `ENOMEM`.
pub(super) fn start(session: &Arc<Session>) -> Result<SocketAddress, Failure> {
    let addr = listening_address(session)?;
    let starting = failed(STARTING);
    let wait_queue = new_wait_queue().map_err(&starting)?;
    let outcome = Outcome::new(&wait_queue).map_err(&starting)?;
    if !session.command.messenger.tcp {
        let listener = Listener::joint(&session.net, &addr, outcome.clone(), wait_queue.clone())?;
        let local = addr.with_port(listener.local().port());
        spawn(session, Requests::Cm(listener), outcome, wait_queue)?;
        return Ok(local);
    }
    let listener = SocketAddr::try_from(addr)
        .and_then(|addr| socket::Listener::new(&session.net, &addr, BACKLOG))
        .map_err(failed(BINDING))?;
    let port = listener.local().map_err(&starting)?.port();
    let watch = DeviceWatch::new(&session.net, &addr, outcome.clone())?;
    let arrivals = Arrivals::new(outcome.clone(), watch).map_err(&starting)?;
    // The thread that serves is the first of the command.
    let entrance = arrivals.entrance();
    spawn(session, Requests::Tcp(arrivals), outcome, wait_queue)?;
    entrance.open(session, listener)?;
    Ok(addr.with_port(port))
}

/// Starts the thread that serves the clients of `requests`.
fn spawn(
    session: &Arc<Session>,
    requests: Requests,
    outcome: Arc<Outcome>,
    wait_queue: WaitQueue,
) -> Result<(), Failure> {
    session.spawn(move |session, worker| {
        let served = worker
            .attach(&outcome)
            .map_err(failed(STARTING))
            .and_then(|()| serve(session, worker, &requests, &outcome, &wait_queue));
        if let Err(failure) = served {
            session.abort(failure);
        }
    })
}

/// Accepts clients and serves them, until as many as there are to be have gone.
#[inline(never)]
fn serve(
    session: &Arc<Session>,
    worker: &Arc<Worker>,
    requests: &Requests,
    outcome: &Outcome,
    wait_queue: &WaitQueue,
) -> Result<(), Failure> {
    let command = &session.command;
    let timeout = client_timeout(session);
    let mut left = (!command.persist).then_some(command.threads);
    // One for all connections, as their number may have no end.
    let traffic = worker.add_traffic().map_err(failed(STARTING))?;
    while left != Some(0) {
        let Some(request) = requests.next(session, outcome, timeout)? else {
            continue;
        };
        let mut report = Report::new(session.id, worker.id, "server", command);
        let mut servers = Servers {
            session,
            worker,
            requests,
            outcome,
            wait_queue,
            traffic: &traffic,
            before: traffic.snapshot(),
            pool: None,
            members: KVVec::new(),
            next: 0,
            left,
            missing: 0,
            next_by: None,
            report: &mut report,
            ended: Ended::default(),
            counters: DeviceCounters::default(),
            moved: Moved::default(),
        };
        servers.take(request)?;
        let pool = servers.pool.clone();
        let mut usage = None;
        let served = metered(&mut usage, || match &pool {
            None => Ok(()),
            Some(pool) => dispatch(
                pool,
                outcome,
                Polling::of(command),
                &mut servers,
                monotonic_ns(),
            ),
        });
        left = servers.left;
        servers.end(served.err(), usage.as_ref());
        served?;
    }
    Ok(())
}

/// The connections that share a pool, which is there as long as any of them is.
struct Servers<'a, 'b> {
    session: &'a Arc<Session>,
    worker: &'a Arc<Worker>,
    requests: &'a Requests,
    /// The thread's own.
    outcome: &'a Outcome,
    wait_queue: &'a WaitQueue,
    /// The counters of all connections that the thread has had.
    traffic: &'a Arc<Traffic>,
    /// Their values before the first of these.
    before: Counters,
    pool: Option<Arc<Pool>>,
    /// In the order of their numbers.
    members: KVVec<Member>,
    next: u32,
    /// Clients still to come; `None` for a server that persists.
    left: Option<u32>,
    /// Connections still to come of clients that have begun to connect.
    missing: u32,
    /// The deadline for the next of these to come, while there is no connection.
    next_by: Option<Deadline>,
    report: &'b mut Report<'a>,
    ended: Ended,
    /// Counters of the device when the pool was made.
    counters: DeviceCounters,
    /// Counters that have moved until the last connection left.
    moved: Moved,
}

impl Servers<'_, '_> {
    /// Takes a client: accepts it, or refuses it.
    ///
    /// # Errors
    ///
    /// The failure, which ends a server that does not persist.
    #[inline(never)]
    fn take(&mut self, request: ConnectionRequest) -> Result<(), Failure> {
        if self.members.len() >= MAX_CLIENTS {
            request.refuse_as_busy();
            return Ok(());
        }
        let peer = request.peer();
        match self.accept(request) {
            Ok(()) => Ok(()),
            Err(failure) if self.session.command.persist => {
                say_not_served(self.session, failure);
                Ok(())
            }
            Err(failure) => {
                let report = Report {
                    peer: Some(peer),
                    refused: true,
                    failure: Some(failure),
                    ..*self.report
                };
                self.session.report(&report);
                Err(failure)
            }
        }
    }

    #[inline(never)]
    fn accept(&mut self, request: ConnectionRequest) -> Result<(), Failure> {
        let Heard { id, hello, reply } = request.hear()?;
        let no_memory = failed("serving a client");
        self.members
            .reserve(1, GFP_KERNEL)
            .map_err(|e| no_memory(e.into()))?;
        let outcome = id.outcome().clone();
        self.worker.attach(&outcome).map_err(&no_memory)?;
        let accepting = Accepting {
            session: self.session,
            worker: self.worker,
            id: &id,
        };
        let accepted = self.admit(&accepting, hello).and_then(|hello| {
            let queue_pair = accepting.make(&mut Answering {
                session: self.session,
                pool: self.pool.as_ref(),
                traffic: self.traffic,
                number: self.next,
                hello,
            })?;
            let answer = Hello {
                role: PeerRole::Server,
                chunk: self.session.command.messenger.chunk,
                ..hello
            };
            reply.answer(&accepting, &queue_pair, &hello, answer)?;
            Ok((queue_pair, hello))
        });
        let (queue_pair, hello) = accepted.map_err(|failure| {
            self.worker.detach(&outcome);
            // The other connections do not wait for what may still be reported of this one.
            accepting.refuse_for(outcome.known_cause(failure))
        })?;
        self.joined(&hello);
        self.report.peer = Some(id.peer());
        self.report.legacy = Some(false);
        self.report.size = hello.size;
        let timeout = self.session.allowance.timeout_of_silent(hello.silence_ms);
        let member = Member::new(queue_pair, id, reply.into_link(), self.next, timeout);
        self.next = self.next.wrapping_add(1);
        // There is room for it.
        let _ = self.members.push_within_capacity(member);
        Ok(())
    }

    /// Counts a connection among those to come.
    fn joined(&mut self, hello: &Hello) {
        self.next_by = None;
        if hello.index == 0 {
            self.left = self.left.map(|left| left.saturating_sub(1));
            let more = u32::from(hello.conns).saturating_sub(1);
            self.missing = self.missing.saturating_add(more);
        } else {
            self.missing = self.missing.saturating_sub(1);
        }
        // A client makes all its connections before it sends.
        for member in &self.members {
            let is_fresh = member.queue_pair.with(|each, _| each.is_fresh());
            if is_fresh == Some(true) {
                member.id.outcome().touch();
            }
        }
    }

    /// Checks what a client says, and makes the pool where there is none.
    fn admit(
        &mut self,
        accepting: &Accepting<'_>,
        hello: Result<Hello, Failure>,
    ) -> Result<Hello, Failure> {
        accepting.show_device(self.report)?;
        let hello = hello?;
        self.session.allowance.check_silence(hello.silence_ms)?;
        if self.pool.is_none() {
            let device = accepting.device()?;
            let receives = self.session.command.messenger.chunks;
            let room = device.max_cqe().saturating_sub(receives);
            let most = MAX_CLIENTS as u32;
            let pool = Pool::new(
                self.session,
                accepting.id,
                self.wait_queue,
                most,
                room.min(SENDS),
            )?;
            self.pool = Some(pool);
            self.counters = DeviceCounters::begin(accepting.id);
        }
        Ok(hello)
    }

    /// Returns true where connections are still to come of clients that have begun to connect.
    ///
    /// # Errors
    ///
    /// [`Failure::TimedOut`] where there was none for too long.
    fn awaits_more(&mut self) -> Result<bool, Failure> {
        if self.missing == 0 || self.session.command.persist {
            return Ok(false);
        }
        let timeout = self.session.timeout();
        let next_by = *self
            .next_by
            .get_or_insert_with(|| Deadline::after_ms(timeout));
        match next_by.passed() {
            true => Err(Failure::TimedOut(WAITING, timeout)),
            false => Ok(true),
        }
    }

    /// Parts from the connections that have ended, well or with a failure.
    ///
    /// # Errors
    ///
    /// The failure, which ends a server that does not persist.
    #[inline(never)]
    fn part(&mut self) -> Result<(), Failure> {
        let timeout = self.session.timeout();
        for member in self.members.iter_mut().filter(|each| !each.has_parted) {
            let failure = match member.is_finished() {
                true if member.has_left(timeout) => None,
                true => continue,
                false => match member.failure() {
                    // Its cause has been waited for.
                    Some(failure) => Some(member.id.or_port_down(failure)),
                    None => continue,
                },
            };
            if let Some(failure) = failure {
                self.report.failure = self.report.failure.or(Some(failure));
                if !self.session.command.persist {
                    self.session.abort(failure);
                    return Err(failure);
                }
                say_not_served(self.session, failure);
            }
            member.part();
        }
        Ok(())
    }

    /// Takes one connection down that this side has parted from, and returns true where there was
    /// one.
    #[inline(never)]
    fn take_down(&mut self) -> bool {
        let parted = self.members.iter().position(|each| each.has_parted);
        let Some(Ok(member)) = parted.map(|index| self.members.remove(index)) else {
            return false;
        };
        self.worker.detach(member.id.outcome());
        if self.members.is_empty() {
            self.moved = self.counters.moved(&member.id);
        }
        self.ended.add(member);
        true
    }

    /// Takes all connections down, because of `failure` if any are left, and reports the result of
    /// the thread, which has used `usage`.
    #[inline(never)]
    fn end(&mut self, failure: Option<Failure>, usage: Option<&Usage>) {
        if let Some(member) = self.members.first() {
            self.moved = self.counters.moved(&member.id);
        }
        for member in &mut self.members {
            member.part();
            self.worker.detach(member.id.outcome());
        }
        self.ended.add_all(&mut self.members);
        let Some(pool) = self.pool.take() else {
            return;
        };
        self.report.failure = self.report.failure.or(failure);
        self.report.counters = self.traffic.snapshot() - self.before;
        let report = Report {
            usage,
            device_counters: Some(&self.moved),
            ..*self.report
        };
        self.ended.conclude(self.session, &pool, &report);
    }
}

impl Host for Servers<'_, '_> {
    fn member(&self, number: u32) -> Option<&Member> {
        find(&self.members, number).filter(|member| !member.has_parted)
    }

    fn look(&mut self) -> Result<Next, Failure> {
        if let Some(failure) = self.outcome.failure() {
            return Err(failure);
        }
        let mut next = Next::Serve;
        if self.left != Some(0) || self.missing > 0 {
            if let Some(request) = self.requests.take(self.session) {
                self.take(request)?;
                next = Next::Look;
            }
        }
        self.part()?;
        if self.take_down() {
            next = Next::Look;
        }
        match self.members.is_empty() && !self.awaits_more()? {
            true => Ok(Next::End),
            false => Ok(next),
        }
    }
}
