// SPDX-License-Identifier: GPL-2.0

//! Thread of the conformance tests. Each case gets a new connection within this host; after it,
//! another new connection must work.

#![forbid(unsafe_code)]

mod calls;
mod connection;
mod group;
mod needs;
mod port;

use crate::{
    cm::{
        addr::SocketAddress,
        listener::Listener,
        CmId, //
    },
    engine::{
        dial::dial,
        drive::failed,
        entry::{
            Client,
            Entry, //
        },
        limits::check_size,
        management::diagnose,
        outcome::{
            new_wait_queue,
            Outcome,
            WaitQueue, //
        },
        results::Report,
        session::Session,
        worker::Worker, //
    },
    kernel_ext::time::{
        monotonic_ns,
        Deadline, //
    },
    logic::{
        conformance::{
            observation::Seen,
            row::Act,
            rule::Fabric,
            special::Special,
            trial::{
                Total,
                Trial,
                Tried, //
            },
            Case, //
        },
        failure::Failure,
        spec::tests::Family, //
    },
    rdma::{
        device::{
            Device,
            Transport, //
        },
        pd::{
            GlobalKeys,
            ProtectionDomain, //
        }, //
    },
    workloads::conformance::{
        cases::{
            self,
            Beside, //
        },
        Setup, //
    }, //
};
use connection::TestConnection;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Conformance tests. They connect this host with itself.
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
/// `EADDRINUSE`, `EADDRNOTAVAIL` or `ENODEV`, or another error of binding the address.
fn start(session: &Arc<Session>, addr: SocketAddress) -> Result<(), Failure> {
    let no_memory = failed("starting the tests");
    let wait_queue = new_wait_queue().map_err(&no_memory)?;
    let reports = Outcome::new(&wait_queue).map_err(&no_memory)?;
    let listener = Listener::new(&session.net, &addr, reports)?;
    let addr = addr.with_port(listener.local().port());
    session.spawn(move |session, worker| run(session, worker, &listener, addr, wait_queue))
}

/// Runs the tests, and reports the results. The body of the thread.
fn run(
    session: &Arc<Session>,
    worker: &Worker,
    listener: &Listener,
    addr: SocketAddress,
    wait_queue: WaitQueue,
) {
    let mut report = Report::new(session.id, worker.id, "loopback", &session.command);
    report.peer = Some(addr);
    report.size = 0;
    let mut trials: KVec<Trial> = KVec::new();
    let started_ns = monotonic_ns();
    let result = attach(worker, listener.outcome())
        .and_then(|()| CaseRunner::new(session, worker, listener, addr, wait_queue, &mut report))
        .and_then(|runner| runner.run(&mut trials, &mut report));
    let elapsed_ns = monotonic_ns().saturating_sub(started_ns);
    let ran = trials.iter().filter(|trial| !trial.skipped()).count() as u32;
    let result = match trials.iter().filter(|trial| trial.failed()).count() as u32 {
        0 => result,
        failed => result.and(Err(Failure::Deviates(failed, ran))),
    };
    if let Err(failure) = result {
        session.abort(failure);
    }
    // In place, as a copy of it is large for a stack.
    report.iterations = u64::from(ran);
    report.elapsed_ns = elapsed_ns;
    report.trials = Some(&trials);
    report.failure = result.err();
    session.report(&report);
}

fn attach(worker: &Worker, outcome: &Arc<Outcome>) -> Result<(), Failure> {
    worker.attach(outcome).map_err(failed("starting the tests"))
}

/// Objects that all cases share. Fields are in drop order.
struct CaseRunner<'a> {
    session: &'a Arc<Session>,
    worker: &'a Worker,
    listener: &'a Listener,
    addr: SocketAddress,
    wait_queue: WaitQueue,
    fabric: Fabric,
    /// Protection domain of the connections under test.
    pd: Arc<ProtectionDomain>,
    /// Another protection domain of the same device, for cases that need one.
    other_pd: Arc<ProtectionDomain>,
    /// Identifier that is bound to the device and keeps it. Its outcome fails when the device is
    /// removed or the command is cancelled.
    anchor: Arc<CmId>,
}

impl<'a> CaseRunner<'a> {
    #[inline(never)]
    fn new(
        session: &'a Arc<Session>,
        worker: &'a Worker,
        listener: &'a Listener,
        addr: SocketAddress,
        wait_queue: WaitQueue,
        report: &mut Report<'_>,
    ) -> Result<Self, Failure> {
        let control = Outcome::new(&wait_queue).map_err(failed("starting the tests"))?;
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
        let domain = || ProtectionDomain::new(anchor.rdma(), GlobalKeys::Local);
        Ok(Self {
            session,
            worker,
            listener,
            addr,
            wait_queue,
            fabric,
            pd: domain().map_err(&no_domain)?,
            other_pd: domain().map_err(&no_domain)?,
            anchor,
        })
    }

    /// Runs the command's cases, and appends their results to `trials`. Logs each result at once.
    ///
    /// # Errors
    ///
    /// The command was cancelled, the device removed, or its connection management does not answer.
    #[inline(never)]
    fn run(&self, trials: &mut KVec<Trial>, report: &mut Report<'_>) -> Result<(), Failure> {
        let command = &self.session.command;
        let end = command.duration_ms().map(Deadline::after_ms);
        for case in command.cases.iter() {
            let mut total = Total::default();
            // The last line of a case that takes the machine down with it.
            pr_info!("{}: neg {} begins\n", self.session.id, case.as_str());
            let trial = Trial {
                case,
                fabric: self.fabric,
                tried: self.attempt(case, &mut total, report)?,
                total,
            };
            self.say(&trial);
            if command.verbose {
                let (id, name) = (self.session.id, case.as_str());
                pr_info!("{}: neg {}: expected: {}\n", id, name, trial.rule().text);
            }
            trials
                .push(trial, GFP_KERNEL)
                .map_err(|e| failed("keeping the results")(e.into()))?;
        }
        match end {
            Some(end) => self.repeat(trials, end, report),
            None => Ok(()),
        }
    }

    /// Runs the cases of `trials` that pass again and again until `end`. Logs those that fail.
    fn repeat(
        &self,
        trials: &mut KVec<Trial>,
        end: Deadline,
        report: &mut Report<'_>,
    ) -> Result<(), Failure> {
        while trials.iter().any(Trial::passed) {
            for trial in trials.iter_mut().filter(|trial| trial.passed()) {
                if end.passed() {
                    return Ok(());
                }
                trial.tried = self.attempt(trial.case, &mut trial.total, report)?;
                if !trial.passed() {
                    self.say(trial);
                }
            }
        }
        Ok(())
    }

    /// Logs a result.
    fn say(&self, trial: &Trial) {
        let id = self.session.id;
        if trial.failed() {
            pr_err!("{}: {}\n", id, trial);
        } else {
            pr_info!("{}: {}\n", id, trial);
        }
    }

    /// Runs one case, adds what was seen to `total`, then checks a new connection with a round of
    /// operations.
    #[inline(never)]
    fn attempt(
        &self,
        case: Case,
        total: &mut Total,
        report: &mut Report<'_>,
    ) -> Result<Tried, Failure> {
        if let Some(why) = self.unfit(case)? {
            return Ok(Tried::Skipped(why));
        }
        let seen = match self.provoke_all(case, total, report) {
            Ok(seen) => seen,
            Err(failure) => {
                self.check_control()?;
                // No other case would connect either.
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
        let recovery = self.connect(&Setup::PLAIN, &self.pd, report);
        let recovery = recovery.and_then(|mut connection| {
            let result = connection.pair.round();
            result.and(self.close(connection))
        });
        let recovery = recovery
            .err()
            .map(|failure| diagnose(self.session, self.worker, &self.anchor, failure));
        self.check_control()?;
        Ok(Tried::Done(seen, recovery))
    }

    /// Runs one case as many times as its row says, or until the device deviates from the rule.
    fn provoke_all(
        &self,
        case: Case,
        total: &mut Total,
        report: &mut Report<'_>,
    ) -> Result<Seen, Failure> {
        let mut left = case.row().wants.times;
        loop {
            let seen = self.provoke(case, total.times, report)?;
            total.add(&seen);
            left = left.saturating_sub(1);
            if left == 0 || !case.rule(self.fabric).judge(&seen, true).is_empty() {
                return Ok(seen);
            }
        }
    }

    /// Runs one case, which has been run `round` times before.
    #[inline(never)]
    fn provoke(&self, case: Case, round: u32, report: &mut Report<'_>) -> Result<Seen, Failure> {
        let setup = Setup::of(case, self.fabric);
        let mut third_party = match setup.needs_third_party {
            true => Some(self.connect(&setup.third_party(), &self.other_pd, report)?),
            false => None,
        };
        let (caller, _ends) = match setup.calls {
            Some(calls) => self
                .caller(calls, report)
                .map(|(caller, ends)| (Some(caller), Some(ends)))?,
            None => (None, None),
        };
        // A failure to join is that of the connection whose identifier it is.
        let group = match &third_party {
            Some(connection) if setup.needs_group => self.group(&connection.ids[0]).map(Some),
            _ => Ok(None),
        };
        let result = group.and_then(|group| {
            let mut connection = self.connect(&setup, &self.pd, report)?;
            let rule = case.rule(self.fabric);
            let TestConnection {
                pair, ids: [id, _], ..
            } = &mut *connection;
            let third_party = third_party.as_mut();
            let beside = Beside {
                third_party: third_party.map(|connection| &mut connection.pair),
                caller,
                group,
                round,
            };
            let run = || cases::run(case, rule, pair, beside);
            let seen = if matches!(case.row().act, Act::Special(Special::PortDown)) {
                self.without_port(case, id, run)
            } else {
                run()
            };
            let destroyed = self.close(connection).is_ok();
            seen.map(|seen| Seen { destroyed, ..seen })
        });
        if let Some(connection) = third_party {
            self.close(connection)?;
        }
        result
    }

    /// Returns an error if the command was cancelled or the device removed.
    fn check_control(&self) -> Result<(), Failure> {
        self.anchor.outcome().failure().map_or(Ok(()), Err)
    }

    fn device(&self) -> Result<Device<'_>, Failure> {
        self.anchor.device().map_err(failed("finding the device"))
    }
}
