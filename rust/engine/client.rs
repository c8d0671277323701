// SPDX-License-Identifier: GPL-2.0

//! Thread of a client: connects, drives its connections, and reports the result.

#![forbid(unsafe_code)]

use super::{
    connect::Connected,
    device_counters::DeviceCounters,
    drive::{
        disconnect_deadline,
        drive,
        failed, //
    },
    limits::QueueLimits,
    session::Session,
    side::{
        Lead,
        Side, //
    },
    start_time::await_start,
    totals::Totals,
    usage::metered,
    worker::Worker, //
};
use crate::{
    cm::{
        addr::SocketAddress,
        cause::best_cause, //
    },
    engine::{
        outcome::{
            new_wait_queue,
            Progress, //
        },
        polling::Polling,
        queue::Queue,
        results::{
            Measured,
            Report, //
        },
        traffic::Traffic, //
    },
    kernel_ext::time::Deadline,
    logic::{
        command::Command,
        data::pattern::Pattern,
        failure::Failure, //
    },
    mr::Memory,
    rdma::device::Device, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Drives a thread's connections and reports the result. Returns an error if the first connection
/// could not be made.
pub(crate) type LeadThread = fn(&Client<'_>, &mut Report<'_>) -> Result<(), Failure>;

/// Starts the session's client threads, which connect to `addr` and call `lead`.
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
    let added = worker
        .add_series(&session.command)
        .map_err(failed("starting the client"));
    if let Err(failure) = added.and_then(|()| lead(&client, &mut report)) {
        session.abort(failure);
        report.failure = Some(failure);
        session.report(&report);
    }
}

/// One thread of a client command.
pub(crate) struct Client<'a> {
    pub(crate) session: &'a Arc<Session>,
    pub(crate) worker: &'a Worker,
    pub(crate) addr: &'a SocketAddress,
    pub(crate) pattern: Pattern,
}

impl Client<'_> {
    /// Makes the thread's connections on a device that passes `check`, with workloads that `build`
    /// creates, drives them to the end, takes them down, and reports the result.
    ///
    /// # Errors
    ///
    /// The failure to make the first connection. A later failure is in the report.
    #[inline(never)]
    pub(crate) fn lead<W: Lead>(
        &self,
        report: &mut Report<'_>,
        check: impl Fn(&Device<'_>) -> Result<(), Failure>,
        build: impl Fn(&QueueLimits, &mut Memory, Arc<Traffic>) -> Result<KBox<W>>,
    ) -> Result<(), Failure> {
        let load = &self.session.command.load;
        let no_memory = failed("starting the client");
        let wait_queue = new_wait_queue().map_err(&no_memory)?;
        let mut totals = Totals::new(load.paced).map_err(&no_memory)?;
        let mut connections = KVec::with_capacity(usize::from(load.qps), GFP_KERNEL)
            .map_err(|e| no_memory(e.into()))?;
        let mut result = Ok(());
        let mut next_keepalive = Deadline::after_ms(self.session.keepalive_ms());
        for index in 0..load.qps {
            if next_keepalive.passed() {
                // Connections that are up wait for the others.
                result = send_keepalives(&connections);
                next_keepalive = Deadline::after_ms(self.session.keepalive_ms());
            }
            if result.is_err() {
                break;
            }
            match Connected::open(self, &wait_queue, index, report, &check, &build) {
                // Room for all connections was reserved above.
                Ok(connection) => drop(connections.push_within_capacity(connection)),
                Err(failure) if connections.is_empty() => return Err(failure),
                Err(failure) => result = Err(failure),
            }
        }
        let counters = connections
            .first()
            .map(|first| DeviceCounters::begin(&first.id));
        let started = result.and_then(|()| self.await_start(&connections));
        report.late_ns = started.ok().flatten();
        let mut usage = None;
        let result = started.and_then(|_| metered(&mut usage, || self.converse(&connections)));
        let result = result
            .or_else(|failure| end(&connections, failure))
            .map_err(|failure| match failure {
                Failure::Disconnected if report.legacy == Some(true) => Failure::LegacyDisconnected,
                failure => failure,
            });
        match result {
            Ok(()) => self.session.led(),
            // Abort before the peer notices: a failure that the peer then reports is a consequence.
            Err(failure) => self.session.abort(failure),
        }
        if result.is_ok() && W::LINGER_MS > 0 {
            let deadline = Deadline::after_ms(W::LINGER_MS);
            for connection in &connections {
                connection.wait_disconnected(deadline);
            }
        }
        for connection in &connections {
            if let Some(lead) = connection.stop() {
                totals.add(&lead.summary());
            }
        }
        let deadline = disconnect_deadline(self.session, &result);
        for connection in &connections {
            connection.wait_disconnected(deadline);
        }
        let moved = counters
            .zip(connections.first())
            .map(|(counters, first)| counters.moved(&first.id))
            .unwrap_or_default();
        let polling = Polling::of_load(&self.session.command, load);
        report.events = polling.events(connections.iter().map(|each| &each.queue_pair));
        drop(connections);
        let report = Report {
            usage: usage.as_ref(),
            device_counters: Some(&moved),
            ..*report
        };
        self.conclude(&report, &totals, result);
        Ok(())
    }

    /// Waits for the time at which the command is to start, and returns by how many nanoseconds
    /// that has passed; `None` for one that starts at once.
    fn await_start<W: Lead>(&self, connections: &[Connected<W>]) -> Result<Option<u64>, Failure> {
        let Some(start_ns) = self.session.command.start_at_ns else {
            return Ok(None);
        };
        await_start(
            start_ns,
            connections
                .iter()
                .map(|connection| &**connection.queue_pair.outcome()),
            self.session.timeout(),
            self.session.keepalive_ms(),
            || send_keepalives(connections),
        )
        .map(Some)
    }

    /// Drives all connections until all are done.
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

    /// Drives all connections until they reach `goal`. A workload that has reached it waits for the
    /// others, but must not wait until its peer times out: `impatient` is called for all workloads
    /// whenever a keepalive is due.
    fn drive<W: Lead>(
        &self,
        connections: &[Connected<W>],
        goal: Progress,
        impatient: fn(&mut W, &mut Queue<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let command = &self.session.command;
        // Other workloads are silent only while nothing is due.
        let has_keepalives = command.test.is_microbench() || command.load.paced;
        let interval = has_keepalives.then(|| self.session.keepalive_ms());
        drive(
            connections.iter().map(|connection| &connection.queue_pair),
            goal,
            Polling::of_load(command, &command.load),
            Some(self.session.timeout()),
            interval,
            || send_keepalives(connections).and_then(|()| each(connections, impatient)),
        )
    }

    /// Checks the results against the command's limits, and reports them.
    fn conclude(&self, report: &Report<'_>, totals: &Totals, result: Result<(), Failure>) {
        let command = &self.session.command;
        let series = self.worker.take_series();
        let mut report = Report {
            iterations: totals.iterations,
            elapsed_ns: totals.elapsed_ns(),
            histogram: Some(totals.histogram()),
            open_loop: totals.open_loop(),
            series: series.as_deref(),
            measured: totals.figures.map(|figures| Measured {
                poll: command.poll,
                figures,
            }),
            stream: totals.stream.as_ref(),
            counters: self.worker.counters(),
            ..*report
        };
        let result = result.and_then(|()| hold(command, &report));
        if let Err(failure) = result {
            self.session.record(failure);
            report.failure = Some(failure);
        }
        if command.test.is_microbench() && report.iterations > 0 {
            // Scripts for C krping look for this format.
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

/// Checks the limits that `command` sets to its result, and to each interval of it.
fn hold(command: &Command, report: &Report<'_>) -> Result<(), Failure> {
    let p99 = report
        .histogram
        .map_or(0, |latency| latency.percentile(99_000));
    match (command.max_p99_ns, command.min_bw) {
        (Some(limit), _) if p99 > limit => return Err(Failure::AboveP99(p99, limit)),
        (_, Some(limit)) if report.bandwidth() < limit => {
            return Err(Failure::BelowBandwidth(report.bandwidth(), limit))
        }
        _ => (),
    }
    let Some(series) = report.series.filter(|_| command.every) else {
        return Ok(());
    };
    let highest = series.highest_p99();
    let lowest = series.lowest_bandwidth();
    match (command.max_p99_ns.zip(highest), command.min_bw.zip(lowest)) {
        (Some((limit, highest)), _) if highest.value > limit => Err(Failure::IntervalAboveP99(
            highest.value,
            limit,
            highest.start_ms(),
        )),
        (_, Some((limit, lowest))) if lowest.value < limit => Err(Failure::IntervalBelowBandwidth(
            lowest.value,
            limit,
            lowest.start_ms(),
        )),
        _ => Ok(()),
    }
}

/// Calls `step` on each workload.
fn each<W: Lead>(
    connections: &[Connected<W>],
    step: fn(&mut W, &mut Queue<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    connections
        .iter()
        .try_for_each(|connection| connection.queue_pair.with(step).unwrap_or(Ok(())))
}

/// Name of the step that a timeout reports where all is done but for the peer's end.
const ENDING: &str = "waiting for the peer to end, which may expect more data";

/// Returns how connections have ended of which one has seen `failure`: well, or with the cause.
/// Sleeps.
#[inline(never)]
fn end<W: Lead>(connections: &[Connected<W>], failure: Failure) -> Result<(), Failure> {
    let ids = connections.iter().map(|connection| &*connection.id);
    let cause = best_cause(ids, |outcome| outcome.failure().map(|_| failure), failure);
    let may_end =
        |each: &Connected<W>| each.queue_pair.with(|lead, _| lead.may_end()) == Some(true);
    match cause {
        Failure::Disconnected if connections.iter().all(may_end) => Ok(()),
        Failure::TimedOut(_, ms) if connections.iter().all(may_end) => {
            Err(Failure::TimedOut(ENDING, ms))
        }
        _ => Err(cause),
    }
}

/// Sends a keepalive to each server.
fn send_keepalives<W: Lead>(connections: &[Connected<W>]) -> Result<(), Failure> {
    each(connections, Side::keepalive)
}
