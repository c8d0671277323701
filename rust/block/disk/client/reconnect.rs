// SPDX-License-Identifier: GPL-2.0

//! Takes down all connections of a disk together, and connects anew.

#![forbid(unsafe_code)]

use super::{
    DiskConnections,
    ATTEMPT_MS, //
};
use crate::{
    block::disk::queue::{
        action_of,
        DiskQueue, //
    },
    cm::cause::best_cause,
    engine::{
        outcome::{
            Outcome,
            Progress, //
        },
        peer_log::Level,
        queue_pair::QueuePair,
        quirks::repeats_local_operations,
        results::Report, //
    },
    kernel_ext::{
        random::random,
        time::{
            monotonic_ns,
            Deadline, //
        }, //
    },
    logic::{
        block::Action,
        failure::{
            Failure,
            Operation, //
        },
        wire::RejectReason, //
    }, //
};
use kernel::{
    fmt::Arguments,
    prelude::*, //
};

impl DiskConnections<'_> {
    /// Returns the failure that explains best why connections were lost; `None` while all are up.
    pub(super) fn lost(&self) -> Option<Failure> {
        let ids = self.connections.iter().map(|connection| &*connection.id);
        let failure = ids.clone().find_map(|id| id.outcome().failure())?;
        Some(best_cause(ids, Outcome::failure, failure))
    }

    /// Holds the block layer back, takes all connections down, and keeps each request that was
    /// not answered.
    pub(super) fn take_down(&mut self) {
        if !core::mem::replace(&mut self.held, true) {
            self.disk.quiesce();
        }
        // Disconnect all first, so that none goes on while another one is waited for.
        for connection in &self.connections {
            connection.id.disconnect();
        }
        for queue in self.disk.data().queues() {
            let Some(pair) = queue.replace(None) else {
                continue;
            };
            // Drained and destroyed here: nothing accesses the memory of requests any more.
            if let Some(mut lead) = QueuePair::end(pair, DiskQueue::take_back) {
                for request in lead.take_requests() {
                    self.waiting.push(request);
                }
                self.stages.merge(lead.stages());
            }
        }
        // Drops the connection identifiers: the removal of a device waits for them.
        self.connections.clear();
    }

    /// Makes new connections in place of those that were lost because of `failure`. Returns
    /// early, with `Ok`, once the disk has been removed. Sleeps.
    ///
    /// # Errors
    ///
    /// The reason why the disk cannot come back, or the failure that told it to end.
    #[inline(never)]
    pub(super) fn reconnect(
        &mut self,
        failure: Failure,
        report: &mut Report<'_>,
    ) -> Result<(), Failure> {
        let reconnect_s = self.session.command.block.reconnect_s;
        let (id, name) = (self.session.id, self.name());
        if let Failure::Completion {
            op: Operation::Register,
            ..
        } = failure
        {
            if self.repeats_registrations() && !self.params.bounce {
                pr_warn!(
                    "{}: {}: a packet was lost, and this device repeats registrations with it; \
                     data is copied through buffers that are registered once from now on\n",
                    id,
                    name
                );
                self.params.bounce = true;
            }
        }
        let started = monotonic_ns();
        let new_deadline = || Deadline::after_ms(reconnect_s.saturating_mul(1000));
        let mut deadline = new_deadline();
        let mut told = false;
        self.take_down();
        self.end_expired();
        let held = self.waiting.count();
        self.say(
            Level::Warning,
            fmt!(
                "{}: connection lost: {}; {} request(s) held for {} s at most",
                name,
                failure,
                held,
                reconnect_s
            ),
        );
        let control = &self.attachment.control;
        self.backoff
            .lost_after(started.saturating_sub(self.up_ns) / 1_000_000);
        let mut last = failure;
        loop {
            // At least half of the time is left for an attempt.
            let pause_ms = self
                .backoff
                .next_ms(random())
                .min(reconnect_s.saturating_mul(500));
            let pause = Deadline::after_ms(pause_ms).sooner(deadline);
            while !pause.passed() && !control.ended() {
                control.pause(pause);
            }
            if control.reached(Progress::Finished) {
                return Ok(());
            }
            if let Some(failure) = control.failure() {
                return Err(failure);
            }
            if deadline.passed() {
                return Err(last);
            }
            self.end_expired();
            let timeout = self.session.timeout().min(ATTEMPT_MS);
            match Self::connect(&mut self.params, self.disk.data(), timeout, report) {
                Ok(mut made) => {
                    for (queue, connection) in self.disk.data().queues().zip(&mut made) {
                        queue.replace(connection.pair.take());
                    }
                    let boot = made
                        .first()
                        .map_or(0, |connection| connection.geometry.extras.boot);
                    self.note_boot(boot);
                    self.connections = made;
                    self.disk.data().came_back();
                    self.resume();
                    self.up_ns = monotonic_ns();
                    let took_ms = self.up_ns.saturating_sub(started) / 1_000_000;
                    self.say(
                        Level::Info,
                        fmt!("{}: connected again after {} ms", name, took_ms),
                    );
                    return Ok(());
                }
                Err(failure) if is_final(&failure) => return Err(failure),
                Err(failure) => {
                    let silent = matches!(last, Failure::ManagementDead);
                    last = failure;
                    if let (Failure::ManagementDead, false) = (failure, silent) {
                        self.say(Level::Error, fmt!("{}: {}", name, failure));
                    }
                    if is_alive(&failure) {
                        deadline = new_deadline();
                        if !core::mem::replace(&mut told, true) {
                            self.say(
                                Level::Info,
                                fmt!(
                                    "{}: the server is there, and still works on a request of the \
                                     old connection; waiting for that",
                                    name
                                ),
                            );
                        }
                    }
                }
            }
        }
    }

    /// Logs `line`, as a server can bring it about. May sleep.
    fn say(&self, level: Level, line: Arguments<'_>) {
        self.session.peer_log.say(level, line);
    }

    /// Records the boot id of the server's host. If the host has restarted, writes that were not
    /// flushed may be lost.
    fn note_boot(&mut self, boot: u64) {
        let before = core::mem::replace(&mut self.geometry.extras.boot, boot);
        if before != boot && before != 0 && boot != 0 && self.geometry.extras.volatile {
            let uses = self.disk.uses();
            self.disk.data().stability().host_restarted(uses);
        }
    }

    fn repeats_registrations(&self) -> bool {
        self.connections.first().is_some_and(|connection| {
            connection
                .id
                .device()
                .is_ok_and(|device| repeats_local_operations(&device))
        })
    }

    /// Ends the requests that must not be repeated any more.
    fn end_expired(&mut self) {
        let (log, name) = (&self.session.peer_log, self.name());
        let failed = self.waiting.end_expired(|request, losses| {
            log.say(
                Level::Error,
                fmt!(
                    "{}: a {} of {} bytes at {} was sent {} times and never answered: it fails",
                    name,
                    action_of(request.op()).map_or("request", Action::as_str),
                    request.bytes(),
                    request.offset(),
                    losses
                ),
            );
        });
        if let Some(queue) = self.disk.data().queues().next() {
            // There is no connection now, so nothing else counts in this queue.
            queue.live.failed(failed);
        }
        self.disk.data().hold(self.waiting.count());
    }

    /// Requeues the held requests, and lets the block layer send requests again.
    pub(super) fn resume(&mut self) {
        self.waiting.requeue();
        if core::mem::replace(&mut self.held, false) {
            self.disk.data().hold(0);
            // It is held back.
            let _ = self.disk.resume();
        }
    }
}

/// Returns true if the server rejected the connection because it still works on earlier requests
/// of this disk.
fn is_alive(failure: &Failure) -> bool {
    let Failure::Rejected(_, _, Some(reject)) = failure else {
        return false;
    };
    reject.reason == RejectReason::OldWork
}

/// Returns true if further attempts cannot succeed.
fn is_final(failure: &Failure) -> bool {
    match failure {
        Failure::OtherStore(_) | Failure::PrivateData(_) | Failure::Interrupted => true,
        Failure::Rejected(_, _, Some(reject)) => matches!(
            reject.reason,
            RejectReason::Version
                | RejectReason::Test
                | RejectReason::TooLarge
                | RejectReason::NotAllowed
        ),
        _ => false,
    }
}
