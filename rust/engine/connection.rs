// SPDX-License-Identifier: GPL-2.0

//! The connections that a client's thread makes and leads on.

#![forbid(unsafe_code)]

use super::{
    client::Client,
    connect::{
        Attempt,
        Connected,
        Initiator, //
    },
    drive::{
        patience,
        poll_mode, //
    },
    limits::{
        adapt_ack_timeout,
        check_load,
        check_size,
        queue_limits,
        QueueLimits,
        READS, //
    },
    outcome::Bell,
    results::Report,
    session::Session,
    side::Lead,
    traffic::Traffic, //
};
use crate::{
    cm::CmId,
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
    rdma::{
        cq::PollMode,
        device::Device,
        qp::{
            Depths,
            Queue, //
        }, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A client that makes its connection number `index`, with the workload that `build` makes.
struct Leading<'a, B> {
    client: &'a Client<'a>,
    index: u16,
    build: B,
    txdepth: u32,
}

impl<W, B> Initiator for Leading<'_, B>
where
    W: Lead,
    B: Fn(&QueueLimits, &mut Memory, Arc<Traffic>) -> Result<KBox<W>>,
{
    type Workload = W;
    type Answer = ();
    const STARTING: &'static str = "starting the client";
    const READS: u8 = READS;
    const ENDS_WITH_THREAD: bool = true;

    fn adapt(&self, id: &CmId, device: &Device<'_>) {
        adapt_ack_timeout(id, device, self.command().mem_mode);
    }

    fn check(&mut self, device: &Device<'_>) -> Result<(), Failure> {
        let command = self.command();
        check_size(device, command.size)?;
        check_load(device, command.test, &command.load)?;
        if command.read_inv && !device.can_read_with_invalidate() {
            return Err(Failure::Unsupported(caps::NO_READ_INV));
        }
        Ok(())
    }

    fn build(&mut self, device: &Device<'_>, memory: &mut Memory) -> Result<(KBox<W>, Depths)> {
        let room = queue_limits(self.client.session, device);
        self.txdepth = room.txdepth;
        let traffic = self.client.worker.add_traffic()?;
        let lead = (self.build)(&room, memory, traffic)?;
        let depths = lead.depths();
        Ok((lead, depths))
    }

    fn poll_mode(&self) -> PollMode {
        poll_mode(self.command())
    }

    fn prepare(lead: &mut W, queue: &mut Queue<'_>) -> Result<(), Failure> {
        lead.prepare(queue)
    }

    fn hello(&self) -> [u8; PrivateData::LEN] {
        self.request().encode()
    }

    fn answered(
        &mut self,
        connected: &Connected<W>,
        report: &mut Report<'_>,
    ) -> Result<(), Failure> {
        let command = self.command();
        let answer = PrivateData::decode(connected.id.peer_data().as_slice())
            .map_err(Failure::PrivateData)?;
        report.legacy = Some(answer.is_none());
        if let Some(answer) = answer {
            return check_answer(&self.request(), &answer)
                .map_err(|violation| Failure::Protocol(violation, 0));
        }
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

    fn end(lead: &mut W) {
        lead.end();
    }

    fn patience(&self, session: &Session, failure: Failure) -> Option<Deadline> {
        Some(patience(session, &Err(failure)))
    }
}

impl<B> Leading<'_, B> {
    fn command(&self) -> &Command {
        &self.client.session.command
    }

    /// Returns what the server is asked for.
    fn request(&self) -> PrivateData {
        let command = self.command();
        PrivateData {
            role: PeerRole::Client,
            test: command.test,
            mem_mode: command.mem_mode,
            server_inv: command.server_inv,
            read_inv: command.read_inv,
            validate: command.validate,
            pattern: command.pattern,
            size: command.size,
            count: announced_count(command),
            seed: self.client.pattern.seed,
            max_size: command.size,
            load: command.load,
            index: self.index,
            txdepth: self.txdepth,
            duration_ms: command.duration_ms().unwrap_or(0),
            alive_ms: self.client.session.alive(),
        }
    }
}

impl<W: Lead> Connected<W> {
    /// Makes the client's connection number `index`. Sleeps.
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
        let attempt = Attempt {
            session: client.session,
            worker: client.worker,
            addr: client.addr,
            bell,
            timeout: client.session.timeout(),
        };
        let mut leading = Leading {
            client,
            index,
            build,
            txdepth: 0,
        };
        attempt
            .connect(&mut leading, report)
            .map(|(connected, ())| connected)
    }

    /// Ends the workload and the connection, and hands the workload back. Sleeps.
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
