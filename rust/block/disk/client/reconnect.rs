// SPDX-License-Identifier: GPL-2.0

//! How the connections of a disk are taken down together, and made anew.

#![forbid(unsafe_code)]

use super::{
    Link,
    ATTEMPT_MS, //
};
use crate::{
    block::disk::queue::{
        action_of,
        DiskQueue, //
    },
    engine::{
        outcome::Progress,
        results::Report, //
    },
    kernel_ext::time::{
        monotonic_ns,
        Deadline, //
    },
    logic::{
        block::{
            backoff::Backoff,
            Action, //
        },
        failure::{
            Failure,
            Operation, //
        },
        wire::RejectReason, //
    },
    rdma::qp::QueuePair, //
};
use kernel::prelude::*;

impl Link<'_> {
    /// Why the first connection that has failed did so.
    pub(super) fn lost(&self) -> Option<Failure> {
        self.connections
            .iter()
            .filter_map(|connection| {
                let outcome = connection.id.outcome();
                Some(connection.id.cause_of(outcome.failure()?))
            })
            .max_by_key(Failure::rank)
    }

    /// Takes the connections down, with the block layer held back, and keeps each request
    /// that was not answered.
    pub(super) fn take_down(&mut self) {
        if !core::mem::replace(&mut self.held, true) {
            self.disk.quiesce();
        }
        // All of them first: none may go on while another one is waited for.
        for connection in &self.connections {
            connection.id.disconnect();
        }
        for queue in self.disk.data().queues() {
            let Some(pair) = queue.replace(None) else {
                continue;
            };
            // Drained and destroyed here: nothing works on requests' memory any more.
            if let Some(mut lead) = QueuePair::end(pair, DiskQueue::take_back) {
                for request in lead.take_requests() {
                    self.waiting.push(request);
                }
                self.stages.merge(lead.stages());
            }
        }
        // The identifiers: a device that is being removed waits for them.
        self.connections.clear();
    }

    /// Makes new connections in place of those that failed because of `failure`.
    ///
    /// # Errors
    ///
    /// Why the disk cannot come back, or what told it to end.
    #[inline(never)]
    pub(super) fn come_back(
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
        let patience = || Deadline::after_ms(reconnect_s.saturating_mul(1000));
        let mut deadline = patience();
        let mut told = false;
        self.take_down();
        self.sift();
        let held = self.waiting.count();
        pr_warn!(
            "{}: {}: connection lost: {}; {} request(s) held for {} s at most\n",
            id,
            name,
            failure,
            held,
            reconnect_s
        );
        let control = &self.attachment.control;
        let mut backoff = Backoff::new();
        let mut last = failure;
        loop {
            if control.reached(Progress::Finished) {
                return Ok(());
            }
            if let Some(failure) = control.failure() {
                return Err(failure);
            }
            if deadline.passed() {
                return Err(last);
            }
            self.sift();
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
                    pr_info!(
                        "{}: {}: connected again after {} ms\n",
                        id,
                        name,
                        monotonic_ns().saturating_sub(started) / 1_000_000
                    );
                    return Ok(());
                }
                Err(failure) if is_final(&failure) => return Err(failure),
                Err(failure) => {
                    let silent = matches!(last, Failure::ManagementDead);
                    last = failure;
                    if let (Failure::ManagementDead, false) = (failure, silent) {
                        pr_err!("{}: {}: {}\n", id, name, failure);
                    }
                    if is_alive(&failure) {
                        deadline = patience();
                        if !core::mem::replace(&mut told, true) {
                            pr_info!(
                                "{}: {}: the server is there, and still works on a request of \
                                 the old connection; waiting for that\n",
                                id,
                                name
                            );
                        }
                    }
                }
            }
            let pause = Deadline::after_ms(backoff.next_ms()).sooner(deadline);
            while !pause.passed() && !control.ended() {
                control.pause(pause);
            }
        }
    }

    /// Notes in which start of its host the server runs that the disk has come back to.
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
                .is_ok_and(|device| device.repeats_local_operations())
        })
    }

    /// Ends the requests that are not to be repeated any more.
    fn sift(&mut self) {
        let (session, name) = (self.session.id, self.name());
        let failed = self.waiting.sift(|request, losses| {
            pr_err!(
                "{}: {}: a {} of {} bytes at {} was sent {} times and never answered: it fails\n",
                session,
                name,
                action_of(request.op()).map_or("request", Action::as_str),
                request.bytes(),
                request.offset(),
                losses
            );
        });
        if let Some(queue) = self.disk.data().queues().next() {
            // No connection of it counts meanwhile.
            queue.live.failed(failed);
        }
        self.disk.data().hold(self.waiting.count());
    }

    /// Lets requests come again.
    pub(super) fn resume(&mut self) {
        self.waiting.requeue();
        if core::mem::replace(&mut self.held, false) {
            self.disk.data().hold(0);
            self.disk.resume();
        }
    }
}

/// Whether the server has said that it is there, and works on what the disk had asked for.
fn is_alive(failure: &Failure) -> bool {
    let Failure::Rejected(_, _, Some(reject)) = failure else {
        return false;
    };
    reject.reason == RejectReason::OldWork
}

/// Whether no further attempt will go better.
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
