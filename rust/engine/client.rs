// SPDX-License-Identifier: GPL-2.0

//! A client's thread: connect, lead, report.

#![forbid(unsafe_code)]

use super::{
    connect::Connected,
    drive::{
        drive,
        failed,
        patience,
        poll_mode, //
    },
    limits::QueueLimits,
    session::Session,
    side::{
        Lead,
        Side, //
    },
    totals::Totals,
    worker::Worker, //
};
use crate::{
    cm::addr::SocketAddress,
    engine::{
        outcome::{
            new_bell,
            Progress, //
        },
        results::{
            Measured,
            Report, //
        },
        traffic::Traffic, //
    },
    kernel_ext::time::Deadline,
    logic::{
        data::pattern::Pattern,
        failure::Failure, //
    },
    mr::Memory,
    rdma::qp::Queue, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Leads on a thread's connections, and reports. The failure of the first one to come up is
/// returned.
pub(crate) type LeadThread = fn(&Client<'_>, &mut Report<'_>) -> Result<(), Failure>;

/// Starts the session's client threads, to `addr`. Each does `lead`.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn start(
    session: &Arc<Session>,
    addr: SocketAddress,
    lead: LeadThread,
) -> Result<(), Failure> {
    for _ in 0..session.command.threads {
        session.spawn(move |session, worker| run(session, worker, &addr, lead))?;
    }
    Ok(())
}

fn run(session: &Arc<Session>, worker: &Arc<Worker>, addr: &SocketAddress, lead: LeadThread) {
    let mut report = Report::new(session.id, worker.id, "client", &session.command);
    report.peer = Some(*addr);
    let pattern = Pattern {
        kind: session.command.pattern,
        seed: session.id,
    };
    let client = Client {
        session,
        worker,
        addr,
        pattern,
    };
    if let Err(failure) = lead(&client, &mut report) {
        session.abort(failure);
        report.failure = Some(failure);
        session.report(&report);
    }
}

/// One thread's part of a client command.
pub(crate) struct Client<'a> {
    pub(crate) session: &'a Arc<Session>,
    pub(crate) worker: &'a Worker,
    pub(crate) addr: &'a SocketAddress,
    pub(crate) pattern: Pattern,
}

impl Client<'_> {
    /// Makes the thread's connections, leads on them to the end, takes them down,
    /// and reports.
    ///
    /// # Errors
    ///
    /// The failure of the first connection to come up; a later one is in the report.
    #[inline(never)]
    pub(crate) fn lead<W: Lead>(
        &self,
        report: &mut Report<'_>,
        build: impl Fn(&QueueLimits, &mut Memory, Arc<Traffic>) -> Result<KBox<W>>,
    ) -> Result<(), Failure> {
        let load = &self.session.command.load;
        let no_memory = failed("starting the client");
        let bell = new_bell().map_err(&no_memory)?;
        let mut totals = Totals::new().map_err(&no_memory)?;
        let mut connections = KVec::with_capacity(usize::from(load.qps), GFP_KERNEL)
            .map_err(|e| no_memory(e.into()))?;
        let mut result = Ok(());
        let mut beat = Deadline::after_ms(self.session.alive());
        for index in 0..load.qps {
            if beat.passed() {
                // Those that are up wait for the others.
                result = sign_of_life(&connections);
                beat = Deadline::after_ms(self.session.alive());
            }
            if result.is_err() {
                break;
            }
            match Connected::open(self, &bell, index, report, &build) {
                // QueueLimits for all was made above.
                Ok(connection) => drop(connections.push_within_capacity(connection)),
                Err(failure) if connections.is_empty() => return Err(failure),
                Err(failure) => result = Err(failure),
            }
        }
        let result = result
            .and_then(|()| self.converse(&connections))
            .map_err(|failure| cause(&connections, failure));
        match result {
            Ok(()) => self.session.led(),
            // Before the peer notices: what it then reports is a consequence.
            Err(failure) => self.session.abort(failure),
        }
        for connection in &connections {
            if let Some(lead) = connection.stop() {
                totals.add(&lead.summary());
            }
        }
        let deadline = patience(self.session, &result);
        for connection in &connections {
            connection.wait_disconnected(deadline);
        }
        drop(connections);
        self.conclude(report, &totals, result);
        Ok(())
    }

    /// Leads on all connections until all are done.
    fn converse<W: Lead>(&self, connections: &[Connected<W>]) -> Result<(), Failure> {
        let command = &self.session.command;
        for connection in connections {
            connection
                .queue_pair
                .with(|lead, queue| lead.start(queue))
                .ok_or(Failure::Interrupted)??;
        }
        if command.test.is_microbench() {
            self.drive(connections, Progress::Warm, Lead::go)?;
            each(connections, Lead::go)?;
            self.drive(connections, Progress::Measured, Lead::finish)?;
            each(connections, Lead::finish)?;
        }
        self.drive(connections, Progress::Finished, |_, _| Ok(()))
    }

    /// Drives all connections as far as `goal`. A workload that has come there waits for
    /// the others, but not for so long that its peer would give it up: all get
    /// `impatient`, whenever a sign of life is due.
    fn drive<W: Lead>(
        &self,
        connections: &[Connected<W>],
        goal: Progress,
        impatient: fn(&mut W, &mut Queue<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let command = &self.session.command;
        let beat = command.test.is_microbench().then(|| self.session.alive());
        drive(
            connections.iter().map(|connection| &*connection.queue_pair),
            goal,
            poll_mode(command),
            Some(self.session.timeout()),
            beat,
            || sign_of_life(connections).and_then(|()| each(connections, impatient)),
        )
    }

    /// Judges what has been measured, and reports it.
    fn conclude(&self, report: &Report<'_>, totals: &Totals, result: Result<(), Failure>) {
        let command = &self.session.command;
        let mut report = Report {
            iterations: totals.iterations,
            elapsed_ns: totals.elapsed_ns(),
            histogram: Some(totals.histogram()),
            measured: totals.figures.map(|figures| Measured {
                poll: command.poll,
                figures,
            }),
            counters: self.worker.counters(),
            ..*report
        };
        let result = result.and_then(|()| {
            let p99 = report
                .histogram
                .map_or(0, |latency| latency.percentile(99_000));
            match (command.max_p99_ns, command.min_bw) {
                (Some(limit), _) if p99 > limit => Err(Failure::AboveP99(p99, limit)),
                (_, Some(limit)) if report.bandwidth() < limit => {
                    Err(Failure::BelowBandwidth(report.bandwidth(), limit))
                }
                _ => Ok(()),
            }
        });
        if let Err(failure) = result {
            self.session.record(failure);
            report.failure = Some(failure);
        }
        if command.test.is_microbench() && report.iterations > 0 {
            // The form that scripts for C krping look for.
            pr_info!(
                "{}: delta nsec {} iter {} size {}\n",
                report.session,
                report.elapsed_ns,
                report.iterations,
                report.size
            );
        }
        self.session.report(&report);
    }
}

/// Has each workload do what `step` says.
///
/// # Errors
///
/// What the device says.
fn each<W: Lead>(
    connections: &[Connected<W>],
    step: fn(&mut W, &mut Queue<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    connections
        .iter()
        .try_for_each(|connection| connection.queue_pair.with(step).unwrap_or(Ok(())))
}

/// Gives each server a sign of life.
///
/// # Errors
///
/// What the device says.
fn sign_of_life<W: Lead>(connections: &[Connected<W>]) -> Result<(), Failure> {
    each(connections, Side::beat)
}

/// The cause of `failure`, which one of `connections` has met: what follows from it
/// may have come to another one first.
fn cause<W: Lead>(connections: &[Connected<W>], failure: Failure) -> Failure {
    let outcomes = connections
        .iter()
        .map(|connection| connection.queue_pair.outcome());
    let cause = outcomes
        .filter_map(|outcome| outcome.failure().map(|_| outcome.cause_of(failure)))
        .max_by_key(Failure::rank)
        .unwrap_or(failure);
    connections
        .first()
        .map_or(cause, |connection| connection.id.or_port_down(cause))
}
