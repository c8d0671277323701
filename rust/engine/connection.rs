// SPDX-License-Identifier: GPL-2.0

//! Connections that a client's thread makes and drives.

#![forbid(unsafe_code)]

use super::{
    client::Client,
    connect::{
        Attempt,
        Connected,
        Initiator, //
    },
    drive::disconnect_deadline,
    endpoint::Endpoint,
    limits::{
        adapt_ack_timeout,
        check_size,
        queue_limits,
        QueueLimits,
        READS, //
    },
    outcome::WaitQueue,
    polling::Polling,
    results::Report,
    session::Session,
    side::{
        Lead,
        PrivateBytes, //
    },
    traffic::Traffic, //
};
use crate::{
    cm::CmId,
    engine::{
        depths::Depths,
        queue::Queue,
        queue_pair::QueuePair, //
    },
    kernel_ext::time::Deadline,
    logic::{
        command::{
            Command,
            PatternKind, //
        },
        failure::Failure,
        pingpong::check_answer,
        spec::service::Service,
        wire::{
            server_port::ServerPort,
            PeerRole,
            PrivateData, //
        }, //
    },
    mr::Memory,
    rdma::{
        cm::Membership,
        cq::PollMode,
        device::Device,
        qp::Opening, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Initiator of the client's connection number `index`, on a device that passes `check`, with a
/// workload created by `build`.
struct Leading<'a, C, B> {
    client: &'a Client<'a>,
    index: u16,
    check: C,
    build: B,
    txdepth: u32,
    /// Until the queue pair has it.
    group: Option<Arc<Membership>>,
}

impl<W, C, B> Initiator for Leading<'_, C, B>
where
    W: Lead,
    C: Fn(&Device<'_>) -> Result<(), Failure>,
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

    fn route(&mut self, id: &CmId) -> Result<(), Failure> {
        let session = self.client.session;
        let command = &session.command;
        match command.load.service {
            Service::Ud => id.check_datagram(command.size)?,
            Service::Rc | Service::Uc => (),
        }
        if let Some(group) = &command.mcast {
            self.group = Some(id.join(&session.net, group, session.timeout())?);
        }
        Ok(())
    }

    fn check(&mut self, device: &Device<'_>) -> Result<(), Failure> {
        check_size(device, self.command().largest_buffer())?;
        (self.check)(device)
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
        let command = self.command();
        Polling::of_load(command, &command.load).mode()
    }

    fn early(queue_pair: &QueuePair<W>, timeout: u32) -> Result<(), Failure> {
        W::early(queue_pair, Opening::Asks, timeout)
    }

    fn prepare(lead: &mut W, queue: &mut Queue<'_>) -> Result<(), Failure> {
        lead.prepare(queue)
    }

    fn hello(&self, queue_pair: &QueuePair<W>) -> PrivateBytes {
        if let Some(hello) = queue_pair.with(|lead, _| lead.hello()).flatten() {
            return hello;
        }
        let number = queue_pair.unreliable_number();
        let request = PrivateData {
            data_queue_pair: number.unwrap_or(0),
            ..self.request()
        };
        PrivateBytes::Own(request.encode())
    }

    fn answered(
        &mut self,
        connected: &Connected<W>,
        report: &mut Report<'_>,
    ) -> Result<(), Failure> {
        let command = self.command();
        let data = connected.id.peer_data();
        let is_other = connected
            .queue_pair
            .with(|lead, _| lead.answered(data.as_slice()))
            .ok_or(Failure::Interrupted)??;
        if is_other {
            return Ok(());
        }
        let answer = PrivateData::decode(data.as_slice()).map_err(Failure::PrivateData)?;
        report.legacy = Some(answer.is_none());
        if let Some(answer) = answer {
            report.server_port = ServerPort::decode(data.as_slice());
            if let Ok(here) = Endpoint::of(&connected.id) {
                let session = self.client.session;
                session.check_packets(&here, report.server_port.as_ref());
            }
            check_answer(&self.request(), &answer)
                .map_err(|violation| Failure::Protocol(violation, 0))?;
            let Connected { queue_pair, .. } = connected;
            queue_pair.connect_unreliable(answer.data_queue_pair)?;
            return match self.group.take() {
                Some(group) => queue_pair.send_to_group(group),
                None => Ok(()),
            };
        }
        if command.test.is_microbench() {
            return Err(Failure::Unsupported(
                "the server is not this krping, and does no microbenchmark",
            ));
        }
        if command.test.is_rw() {
            return Err(Failure::Unsupported(
                "the server is not this krping, and has no transfers of rdma_rw contexts",
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

    fn disconnect_deadline(&self, session: &Session, failure: Failure) -> Option<Deadline> {
        Some(disconnect_deadline(session, &Err(failure)))
    }
}

impl<C, B> Leading<'_, C, B> {
    fn command(&self) -> &Command {
        &self.client.session.command
    }

    /// Returns the request that is sent to the server as private data.
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
            group: command.mcast.map(|group| group.number()),
            load: command.load,
            index: self.index,
            // It has its number once it is made.
            data_queue_pair: 0,
            txdepth: self.txdepth,
            duration_ms: command.duration_ms().unwrap_or(0),
            alive_ms: self.client.session.keepalive_ms().max(command.silence_ms()),
        }
    }
}

impl<W: Lead> Connected<W> {
    /// Makes the client's connection number `index`. Sleeps.
    pub(crate) fn open(
        client: &Client<'_>,
        wait_queue: &WaitQueue,
        index: u16,
        report: &mut Report<'_>,
        check: impl Fn(&Device<'_>) -> Result<(), Failure>,
        build: impl Fn(&QueueLimits, &mut Memory, Arc<Traffic>) -> Result<KBox<W>>,
    ) -> Result<Self, Failure> {
        let attempt = Attempt {
            session: client.session,
            worker: client.worker,
            addr: client.addr,
            wait_queue,
            timeout: client.session.timeout(),
        };
        let mut leading = Leading {
            client,
            index,
            check,
            build,
            txdepth: 0,
            group: None,
        };
        attempt
            .connect(&mut leading, report)
            .map(|(connected, ())| connected)
    }

    /// Stops the workload, disconnects, and returns the workload. Sleeps.
    pub(crate) fn stop(&self) -> Option<KBox<W>> {
        let mut lead = self.queue_pair.stop();
        lead.iter_mut().for_each(|lead| lead.end());
        // There is nothing to wait for once the connection is gone.
        if !self.id.disconnect() {
            self.id.outcome().disconnected();
        }
        lead
    }

    /// Waits until the peer knows of the end, at most until `deadline`. Sleeps.
    pub(crate) fn wait_disconnected(&self, deadline: Deadline) {
        self.id.wait_disconnected(deadline);
    }
}

/// Returns the iteration count to announce to the server: 0 for a ping/pong with a time limit,
/// because it may end early and its server would report the rest as missing.
fn announced_count(command: &Command) -> u64 {
    if command.duration_s.is_some() && !command.test.is_microbench() {
        0
    } else {
        command.count
    }
}
