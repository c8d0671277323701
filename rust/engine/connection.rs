// SPDX-License-Identifier: GPL-2.0

//! One of the connections that a client's thread makes and leads on.

#![forbid(unsafe_code)]

use super::{
    client::Client,
    dial::dial,
    drive::{
        failed,
        patience,
        poll_mode, //
    },
    limits::{
        adapt_ack_timeout,
        check_load,
        check_size,
        queue_limits,
        read_limits,
        QueueLimits,
        READS, //
    },
    management::diagnose,
    side::Lead, //
};
use crate::{
    cm::CmId,
    engine::{
        outcome::{
            Bell,
            Outcome, //
        },
        results::Report,
        traffic::Traffic, //
    },
    kernel_ext::time::Deadline,
    logic::{
        command::{
            Command,
            PatternKind, //
        },
        device::caps,
        failure::Failure,
        pingpong::check_answer,
        wire::{
            PeerRole,
            PrivateData, //
        }, //
    },
    mr::Memory,
    rdma::qp::QueuePair, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A connection that is up. Fields are in drop order.
pub(crate) struct Connection<W: Lead> {
    /// What is done on it.
    pub(crate) queue_pair: Pin<KBox<QueuePair<W>>>,
    pub(crate) id: Arc<CmId>,
}

impl<W: Lead> Connection<W> {
    /// Makes the client's connection number `index`. May sleep.
    ///
    /// # Errors
    ///
    /// The failure, with the errno that the kernel or the peer gave.
    pub(crate) fn open(
        client: &Client<'_>,
        bell: &Bell,
        index: u16,
        report: &mut Report<'_>,
        build: impl Fn(&QueueLimits, &mut Memory, Arc<Traffic>) -> Result<KBox<W>>,
    ) -> Result<Self, Failure> {
        let outcome = Outcome::new(bell).map_err(failed("starting the client"))?;
        client
            .worker
            .attach(&outcome)
            .map_err(failed("starting the client"))?;
        Self::connect(client, outcome.clone(), index, report, build)
            .map_err(|failure| outcome.cause_of(failure))
    }

    #[inline(never)]
    fn connect(
        client: &Client<'_>,
        outcome: Arc<Outcome>,
        index: u16,
        report: &mut Report<'_>,
        build: impl Fn(&QueueLimits, &mut Memory, Arc<Traffic>) -> Result<KBox<W>>,
    ) -> Result<Self, Failure> {
        let session = client.session;
        let command = &session.command;
        let id = dial(
            session,
            client.worker,
            outcome,
            client.addr,
            session.timeout(),
            report,
            |id, device| adapt_ack_timeout(id, device, command.mem_mode),
        )?;
        let device = id.device().map_err(failed("finding the device"))?;
        check_size(&device, command.size)?;
        check_load(&device, command.test, &command.load)?;
        if command.read_inv && !device.can_read_with_invalidate() {
            return Err(Failure::Unsupported(caps::NO_READ_INV));
        }

        let mut memory = Memory::new(&id, command.unsafe_global_rkey)
            .map_err(failed("allocating a protection domain"))?;
        let room = queue_limits(session, &device);
        let lead = client
            .worker
            .add_traffic()
            .and_then(|traffic| build(&room, &mut memory, traffic))
            .map_err(failed("allocating and registering buffers"))?;
        let depths = lead.depths();
        let queue_pair = QueuePair::new(memory, depths, poll_mode(command), lead)
            .map_err(failed("creating the queue pair"))?;
        let this = Self { queue_pair, id };
        match this.establish(client, &room, index, report) {
            Ok(()) => Ok(this),
            Err(failure) => {
                let failure = this.id.cause_of(failure);
                let failure = diagnose(session, client.worker, &this.id, failure);
                // Before the peer notices: what it then reports is a consequence.
                session.abort(failure);
                this.stop();
                this.wait_disconnected(patience(session, &Err(failure)));
                Err(failure)
            }
        }
    }

    #[inline(never)]
    fn establish(
        &self,
        client: &Client<'_>,
        room: &QueueLimits,
        index: u16,
        report: &mut Report<'_>,
    ) -> Result<(), Failure> {
        let session = client.session;
        let command = &session.command;
        self.queue_pair
            .with(|lead, queue| lead.prepare(queue))
            .ok_or(Failure::Interrupted)??;
        let device = self.id.device().map_err(failed("finding the device"))?;
        let data = PrivateData {
            role: PeerRole::Client,
            test: command.test,
            mem_mode: command.mem_mode,
            server_inv: command.server_inv,
            read_inv: command.read_inv,
            validate: command.validate,
            pattern: command.pattern,
            size: command.size,
            count: announced_count(command),
            seed: client.pattern.seed,
            max_size: command.size,
            load: command.load,
            index,
            txdepth: room.txdepth,
            duration_ms: command.duration_ms().unwrap_or(0),
            alive_ms: session.alive(),
        };
        self.id.connect(
            &data.encode(),
            read_limits(&device, None, READS),
            session.timeout(),
        )?;
        match PrivateData::decode(self.id.peer_data().as_slice()).map_err(Failure::PrivateData)? {
            Some(answer) => {
                report.legacy = Some(false);
                check_answer(&data, &answer).map_err(|violation| Failure::Protocol(violation, 0))
            }
            None => {
                report.legacy = Some(true);
                if command.test.is_microbench() {
                    return Err(Failure::Unsupported(
                        "the server is not this krping, and does no microbenchmark",
                    ));
                }
                if command.pattern == PatternKind::Binary {
                    return Err(Failure::Unsupported(
                        "pattern=binary: the server is not this krping, and returns text only",
                    ));
                }
                Ok(())
            }
        }
    }

    /// Ends the workload and the connection, and hands the workload back. May
    /// sleep.
    pub(crate) fn stop(&self) -> Option<KBox<W>> {
        let mut lead = self.queue_pair.stop();
        lead.iter_mut().for_each(|lead| lead.end());
        // Where there is no connection any more, nothing is waited for.
        if !self.id.disconnect() {
            self.id.outcome().disconnected();
        }
        lead
    }

    /// Waits until the peer knows of the end, or the deadline. Sleeps.
    pub(crate) fn wait_disconnected(&self, deadline: Deadline) {
        self.id.wait_disconnected(deadline);
    }
}

/// How many iterations to announce: for a ping/pong that the time may end before,
/// none, as its server would miss the rest.
fn announced_count(command: &Command) -> u64 {
    if command.duration_s.is_some() && !command.test.is_microbench() {
        0
    } else {
        command.count
    }
}
