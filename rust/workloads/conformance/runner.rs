// SPDX-License-Identifier: GPL-2.0

//! The thread of conformance tests: a fresh connection within this host for each case,
//! and another one after it that must work.

#![forbid(unsafe_code)]

mod link;
mod port;

use crate::{
    cm::{
        addr::SocketAddress,
        listener::{
            Listener,
            Request, //
        },
        CmId, //
    },
    engine::{
        dial::dial,
        drive::failed,
        entry::{
            Client,
            Entry, //
        },
        limits::{
            adapt_ack_timeout,
            check_size,
            read_limits,
            READS, //
        },
        management::{
            diagnose,
            OVER_TCP, //
        },
        outcome::{
            new_bell,
            Bell,
            Outcome,
            Progress, //
        },
        results::Report,
        session::Session,
        worker::Worker, //
    },
    kernel_ext::{
        random::random,
        time::Deadline, //
    },
    logic::{
        command::MemMode,
        conformance::{
            expectation::{
                Fabric,
                Rule, //
            },
            observation::Seen,
            trial::{
                Trial,
                Tried, //
            },
            Case, //
        },
        failure::{
            Failure,
            CONNECTING, //
        },
        spec::tests::Family,
        wire::PrivateData, //
    },
    mr::{
        Domain,
        Memory, //
    },
    rdma::device::{
        Device,
        Transport, //
    },
    workloads::conformance::{
        cases,
        End,
        Pair,
        Patience,
        Setup, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    time::{
        Instant,
        Monotonic, //
    }, //
};
use link::{
    Ends,
    Link, //
};

/// How long the end of a connection waits for its own answer, in ms.
const FAREWELL_MS: u32 = 500;

/// Begins the private data by which a connection knows its own request.
const MAGIC: &[u8; 8] = b"krpneg\0\x01";

/// The conformance tests, which connect to themselves.
pub(crate) static ENTRY: Entry = Entry {
    families: &[Family::Conformance],
    client: Client::Threads(start),
    listen: None,
    serve: None,
    depths: None,
    states: &[],
};

/// Listens on `addr`, and starts the thread.
///
/// # Errors
///
/// `EADDRINUSE`, `EADDRNOTAVAIL`, `ENODEV` and what else binding reports; `ENOMEM`.
fn start(session: &Arc<Session>, addr: SocketAddress) -> Result<(), Failure> {
    let no_memory = failed("starting the tests");
    let bell = new_bell().map_err(&no_memory)?;
    let ear = Outcome::new(&bell).map_err(&no_memory)?;
    let listener = Listener::new(&session.net, &addr, ear)?;
    let addr = addr.with_port(listener.local().port());
    session.spawn(move |session, worker| run(session, worker, &listener, addr, bell))
}

/// Runs the tests, and reports. The body of the thread.
fn run(
    session: &Arc<Session>,
    worker: &Worker,
    listener: &Listener,
    addr: SocketAddress,
    bell: Bell,
) {
    let mut report = Report::new(session.id, worker.id, "loopback", &session.command);
    report.peer = Some(addr);
    report.size = 0;
    let mut trials: KVec<Trial> = KVec::new();
    let started = Instant::<Monotonic>::now();
    let result = attach(worker, listener.outcome())
        .and_then(|()| Bench::new(session, worker, listener, addr, bell, &mut report))
        .and_then(|bench| bench.run(&mut trials, &mut report));
    let elapsed = (Instant::<Monotonic>::now() - started).as_nanos();
    let ran = trials.iter().filter(|trial| !trial.skipped()).count() as u32;
    let result = match trials.iter().filter(|trial| trial.failed()).count() as u32 {
        0 => result,
        failed => result.and(Err(Failure::Deviates(failed, ran))),
    };
    if let Err(failure) = result {
        session.abort(failure);
    }
    session.report(&Report {
        iterations: u64::from(ran),
        elapsed_ns: u64::try_from(elapsed).unwrap_or(0),
        trials: Some(&trials),
        failure: result.err(),
        ..report
    });
}

fn attach(worker: &Worker, outcome: &Arc<Outcome>) -> Result<(), Failure> {
    worker.attach(outcome).map_err(failed("starting the tests"))
}

/// What all cases have in common. Fields are in drop order.
struct Bench<'a> {
    session: &'a Arc<Session>,
    worker: &'a Worker,
    listener: &'a Listener,
    addr: SocketAddress,
    bell: Bell,
    fabric: Fabric,
    /// What the connections are made in.
    home: Domain,
    /// Another protection domain of the same device.
    abroad: Domain,
    /// Keeps the device, and fails when it is removed or the command is cancelled.
    anchor: Arc<CmId>,
}

impl<'a> Bench<'a> {
    #[inline(never)]
    fn new(
        session: &'a Arc<Session>,
        worker: &'a Worker,
        listener: &'a Listener,
        addr: SocketAddress,
        bell: Bell,
        report: &mut Report<'_>,
    ) -> Result<Self, Failure> {
        let control = Outcome::new(&bell).map_err(failed("starting the tests"))?;
        attach(worker, &control)?;
        let timeout = session.timeout();
        let anchor = dial(session, worker, control, &addr, timeout, report, |_, _| ())?;
        let device = anchor.device().map_err(failed("finding the device"))?;
        check_size(&device, 1)?;
        let fabric = match device.transport() {
            Transport::InfiniBand | Transport::Roce => Fabric::InfiniBand,
            Transport::Iwarp => Fabric::Iwarp,
            Transport::Other => {
                return Err(Failure::Unsupported(
                    "neg: what to expect of this device's transport is not known",
                ))
            }
        };
        let no_domain = failed("allocating a protection domain");
        Ok(Self {
            session,
            worker,
            listener,
            addr,
            bell,
            fabric,
            home: Domain::new(&anchor).map_err(&no_domain)?,
            abroad: Domain::new(&anchor).map_err(&no_domain)?,
            anchor,
        })
    }

    /// Runs the command's cases, and adds what each came to. The log has it at once.
    ///
    /// # Errors
    ///
    /// The command was cancelled, or the device removed.
    #[inline(never)]
    fn run(&self, trials: &mut KVec<Trial>, report: &mut Report<'_>) -> Result<(), Failure> {
        let command = &self.session.command;
        for case in command.cases.iter() {
            let trial = Trial {
                case,
                fabric: self.fabric,
                tried: self.attempt(case, report)?,
            };
            let id = self.session.id;
            if trial.failed() {
                pr_err!("{}: {}\n", id, trial);
            } else {
                pr_info!("{}: {}\n", id, trial);
            }
            if command.verbose {
                let name = case.as_str();
                pr_info!("{}: neg {}: expected: {}\n", id, name, trial.rule().text);
            }
            trials
                .push(trial, GFP_KERNEL)
                .map_err(|e| failed("keeping the results")(e.into()))?;
        }
        Ok(())
    }

    /// Tries one case, and whether all is well after it.
    ///
    /// # Errors
    ///
    /// As [`Self::run`].
    #[inline(never)]
    fn attempt(&self, case: Case, report: &mut Report<'_>) -> Result<Tried, Failure> {
        let unfit = match case {
            Case::UnsupportedOpcode if self.device()?.has_masked_atomics() => {
                Some("the device claims the masked atomic operations, which are tried")
            }
            Case::PortDown if self.fabric == Fabric::Iwarp => Some(OVER_TCP),
            _ => None,
        };
        if let Some(why) = unfit {
            return Ok(Tried::Skipped(why));
        }
        let seen = match self.provoke(case, report) {
            Ok(seen) => seen,
            Err(failure) => {
                self.check_control()?;
                // Then no case connects.
                let failure = diagnose(self.session, self.worker, &self.anchor, failure);
                if let Failure::ManagementDead = failure {
                    return Err(failure);
                }
                return Ok(match failure {
                    Failure::Unsupported(why) => Tried::Skipped(why),
                    other => Tried::Broken(other),
                });
            }
        };
        let recovery = self.connect(&Setup::PLAIN, &self.home, report);
        let recovery = recovery.and_then(|mut link| {
            let result = link.pair.round();
            self.close(link);
            result
        });
        let recovery = recovery
            .err()
            .map(|failure| diagnose(self.session, self.worker, &self.anchor, failure));
        self.check_control()?;
        Ok(Tried::Done(seen, recovery))
    }

    #[inline(never)]
    fn provoke(&self, case: Case, report: &mut Report<'_>) -> Result<Seen, Failure> {
        let setup = Setup::of(case, self.fabric);
        let mut stranger = match setup.needs_stranger {
            true => Some(self.connect(&Setup::PLAIN, &self.abroad, report)?),
            false => None,
        };
        let result = self
            .connect(&setup, &self.home, report)
            .and_then(|mut link| {
                let rule = Rule::of(case, self.fabric);
                let other = stranger.as_mut().map(|link| &mut link.pair);
                let Link {
                    pair, ids: [id, _], ..
                } = &mut link;
                let run = || cases::run(case, &rule, pair, other);
                let seen = match case {
                    Case::PortDown => self.without_port(id, run),
                    _ => run(),
                };
                self.close(link);
                seen
            });
        if let Some(link) = stranger {
            self.close(link);
        }
        result
    }

    /// Whether the command goes on.
    ///
    /// # Errors
    ///
    /// It was cancelled, or the device removed.
    fn check_control(&self) -> Result<(), Failure> {
        self.anchor.outcome().failure().map_or(Ok(()), Err)
    }

    fn device(&self) -> Result<Device<'_>, Failure> {
        self.anchor.device().map_err(failed("finding the device"))
    }

    /// Connects this host with itself, in `domain`. Sleeps.
    ///
    /// # Errors
    ///
    /// What did not work; the command was cancelled.
    #[inline(never)]
    fn connect(
        &'a self,
        setup: &Setup,
        domain: &Domain,
        report: &mut Report<'_>,
    ) -> Result<Link<'a>, Failure> {
        let outcome = Outcome::new(&self.bell).map_err(failed(CONNECTING))?;
        attach(self.worker, &outcome)?;
        let mut ends = Ends {
            worker: self.worker,
            outcomes: [Some(outcome.clone()), None],
        };
        let timeout = self.session.timeout();
        let id = dial(
            self.session,
            self.worker,
            outcome.clone(),
            &self.addr,
            timeout,
            report,
            |id, device| match setup.ack_timeout {
                Some(exponent) => id.set_ack_timeout(exponent),
                None => adapt_ack_timeout(id, device, MemMode::Reg),
            },
        )?;
        let limits = read_limits(&self.device()?, None, READS);
        let requester = self.end(&id, setup, domain, true)?;
        let hello = hello();
        id.begin_connect(&hello, limits, setup.retries, timeout)?;

        let Request {
            id: peer, limits, ..
        } = self.request(&hello)?;
        attach(self.worker, peer.outcome())?;
        ends.outcomes[1] = Some(peer.outcome().clone());
        let peer = Arc::new(peer, GFP_KERNEL).map_err(|e| failed(CONNECTING)(e.into()))?;
        peer.set_short_rnr_timer();
        let responder = self.end(&peer, setup, domain, false)?;
        let limits = read_limits(&self.device()?, Some(limits), READS);
        peer.accept_with(&[], limits, setup.retries, timeout)?;
        for outcome in [peer.outcome(), &outcome] {
            outcome.wait_for(Progress::Established, CONNECTING, Some(timeout))?;
        }
        let patience = Patience {
            control: self.anchor.outcome(),
            timeout_ms: timeout,
        };
        Ok(Link {
            pair: Pair::new(requester, responder, self.fabric, patience),
            ids: [id, peer],
            _ends: ends,
        })
    }

    /// Makes one end of a connection.
    fn end(
        &self,
        id: &Arc<CmId>,
        setup: &Setup,
        domain: &Domain,
        requests: bool,
    ) -> Result<End, Failure> {
        Memory::within(domain, id)
            .and_then(|memory| End::new(memory, setup, requests))
            .map_err(failed("creating the queue pair"))
    }

    /// Waits for the request that carries `hello`; those of others are refused.
    fn request(&self, hello: &[u8]) -> Result<Request, Failure> {
        let timeout = Some(self.session.timeout());
        loop {
            let ear = self.listener.outcome();
            ear.wait_until(CONNECTING, timeout, || self.listener.has_request())?;
            match self.listener.take() {
                Some(request) if request.data.as_slice() == hello => return Ok(request),
                // Dropping a request rejects it.
                _ => {}
            }
        }
    }

    /// Takes a connection down. Sleeps.
    fn close(&self, link: Link<'_>) {
        let deadline = Deadline::after_ms(FAREWELL_MS.min(self.session.timeout()));
        for id in &link.ids {
            if !id.disconnect() {
                id.outcome().disconnected();
            }
        }
        for id in &link.ids {
            id.wait_disconnected(deadline);
        }
    }
}

/// Private data that no other connection request has.
fn hello() -> [u8; PrivateData::LEN] {
    let mut data = [0; PrivateData::LEN];
    let (magic, rest) = data.split_at_mut(MAGIC.len());
    magic.copy_from_slice(MAGIC);
    for (byte, random) in rest.iter_mut().zip(random().to_ne_bytes()) {
        *byte = random;
    }
    data
}
