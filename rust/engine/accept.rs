// SPDX-License-Identifier: GPL-2.0

//! Accepts a client, in the steps that all servers share.

#![forbid(unsafe_code)]

use super::{
    claims,
    drive::{
        failed,
        note_device, //
    },
    endpoint::Endpoint,
    limits::{
        queue_limits,
        read_limits,
        QueueLimits, //
    },
    outcome::Progress,
    results::Report,
    retransmission::{
        retries,
        set_timers, //
    },
    session::Session,
    sharing::Share,
    traffic::Traffic,
    worker::Worker, //
};
use crate::{
    cm::{
        CmId,
        ReadLimits, //
    },
    engine::{
        depths::Depths,
        queue::Queue,
        queue_pair::QueuePair,
        workload::Workload, //
    },
    logic::{
        failure::Failure,
        pingpong::Violation, //
    },
    mr::{
        new_memory,
        Memory, //
    },
    rdma::{
        cq::PollMode,
        device::Device, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Server-specific steps of making a connection. The methods are called in the order in which they
/// are declared, from the accepting thread, and may sleep unless they take a queue.
pub(crate) trait Responder {
    /// The workload of the queue pair.
    type Workload: Workload;

    /// Returns true if an rkey for all memory may be given to the client.
    fn opens_all_memory(&self) -> bool {
        false
    }

    /// Returns the bytes that each receive needs room for, for a workload that takes the receives
    /// of the session's shared queue, if there is one.
    fn shares(&self) -> Option<u32> {
        None
    }

    /// Makes the memory of the queue pair, which is empty, where it takes no shared receives of the
    /// session's.
    ///
    /// # Errors
    ///
    /// The driver's.
    fn new_memory(&self, id: &CmId) -> Result<Memory> {
        new_memory(id.rdma(), self.opens_all_memory())
    }

    /// Returns the counters of the connection: others of the thread's, where it has none that
    /// several connections share.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    fn traffic(&self, worker: &Worker) -> Result<Arc<Traffic>> {
        worker.add_traffic()
    }

    /// Creates the workload and its buffers, and returns the queue pair size that it needs.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, or the error of the registration.
    fn build(
        &mut self,
        device: &Device<'_>,
        room: &QueueLimits,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<(KBox<Self::Workload>, Depths)>;

    /// Returns the method of finding completions.
    fn poll_mode(&self) -> PollMode {
        PollMode::Event
    }

    /// Does what must be done before receives are posted. Sleeps.
    fn early(&self, _: &QueuePair<Self::Workload>) -> Result<(), Failure> {
        Ok(())
    }

    /// Posts the work requests that must be posted before the connection is made.
    fn prepare(workload: &mut Self::Workload, queue: &mut Queue<'_>) -> Result<(), Failure>;
}

/// A client that is being accepted.
pub(crate) struct Accepting<'a> {
    /// The session.
    pub(crate) session: &'a Arc<Session>,
    /// The thread.
    pub(crate) worker: &'a Worker,
    /// CM identifier of the client's connection request.
    pub(crate) id: &'a Arc<CmId>,
}

impl Accepting<'_> {
    /// Returns the device of the connection.
    ///
    /// # Errors
    ///
    /// `ENODEV` if it is gone.
    pub(crate) fn device(&self) -> Result<Device<'_>, Failure> {
        self.id.device().map_err(failed("finding the device"))
    }

    /// Returns the cause of `failure`, for which the client is to be rejected. Sleeps.
    pub(crate) fn cause_of(&self, failure: Failure) -> Failure {
        self.id.outcome().cause_of(failure)
    }

    /// Returns how a connection has ended that ended with `result`: well if `is_good` says so of
    /// the failure, otherwise with the cause. Sleeps.
    pub(crate) fn end(
        &self,
        result: Result<(), Failure>,
        is_good: impl FnOnce(&Failure) -> bool,
    ) -> Result<(), Failure> {
        result.or_else(|failure| match is_good(&failure) {
            true => Ok(()),
            false => Err(self.id.cause_of(failure)),
        })
    }

    /// Returns the device of the connection, records it and its port in the thread's line and the
    /// result, and notes where the port does not take the client's packets. May sleep.
    ///
    /// # Errors
    ///
    /// `ENODEV` if it is gone.
    pub(crate) fn show_device(&self, report: &mut Report<'_>) -> Result<Device<'_>, Failure> {
        let device = self.device()?;
        note_device(self.worker, &device);
        let endpoint = Endpoint::of(self.id)?;
        report.endpoint = Some(endpoint);
        report.server_port = claims::server_port(&device).ok();
        self.session
            .check_packets(&endpoint, report.server_port.as_ref());
        Ok(device)
    }

    /// Returns the READ limits that both sides support, given the limits that the client offers in
    /// `offered`. Neither limit exceeds `most`.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`] or [`Violation::NoReads`] if no READ would be possible.
    pub(crate) fn agree_on_reads(
        &self,
        offered: ReadLimits,
        most: u8,
    ) -> Result<ReadLimits, Failure> {
        let device = self.device()?;
        if device.max_qp_init_rd_atom() == 0 {
            return Err(Failure::Unsupported("the device starts no RDMA READ"));
        }
        let limits = read_limits(&device, Some(offered), most);
        if limits.initiator_depth == 0 {
            return Err(Failure::Protocol(Violation::NoReads, 0));
        }
        Ok(limits)
    }

    /// Creates the queue pair and posts its first work requests. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::Kernel`] with the step that failed; [`Failure::OverMemory`] if the session's
    /// budget has no room; that of [`set_timers`] and of [`Share::new`].
    #[inline(never)]
    pub(crate) fn make<R: Responder>(
        &self,
        responder: &mut R,
    ) -> Result<QueuePair<R::Workload>, Failure> {
        let device = self.device()?;
        set_timers(self.id, &device, &self.session.command)?;
        let share = match responder.shares() {
            Some(room) => Share::new(self.session, self.id, &device, room)?,
            None => None,
        };
        let memory = match &share {
            Some(share) => share.new_memory(self.id),
            None => responder.new_memory(self.id),
        };
        let mut memory = memory.map_err(failed("allocating a protection domain"))?;
        self.session.allowance.apply(&mut memory);
        let room = queue_limits(self.session, &device);
        let (workload, depths) = responder
            .traffic(self.worker)
            .and_then(|traffic| responder.build(&device, &room, &mut memory, traffic))
            .map_err(|error| self.session.allowance.no_buffers(error))?;
        let mode = responder.poll_mode();
        let queue_pair = QueuePair::new(self.id, memory, depths, mode, workload, share)
            .map_err(failed("creating the queue pair"))?;
        responder.early(&queue_pair)?;
        queue_pair.with(R::prepare).ok_or(Failure::Interrupted)??;
        Ok(queue_pair)
    }

    /// Accepts the client with `answer` as private data, and waits until the connection is up.
    /// Process context; sleeps.
    ///
    /// # Errors
    ///
    /// The error of the kernel; a failure that was reported; [`Failure::TimedOut`].
    pub(crate) fn accept(&self, answer: &[u8], limits: ReadLimits) -> Result<(), Failure> {
        let timeout = self.session.timeout();
        let retries = retries(&self.session.command);
        self.id.accept_with(answer, limits, retries, timeout)?;
        let outcome = self.id.outcome();
        outcome.wait_for(Progress::Established, "accepting", Some(timeout))
    }
}
