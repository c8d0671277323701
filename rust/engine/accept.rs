// SPDX-License-Identifier: GPL-2.0

//! Accepting a client, which every server does in the same steps.

#![forbid(unsafe_code)]

use super::{
    drive::{
        failed,
        note_device, //
    },
    limits::{
        queue_limits,
        read_limits,
        QueueLimits, //
    },
    outcome::Progress,
    results::Report,
    session::Session,
    traffic::Traffic,
    worker::Worker, //
};
use crate::{
    cm::{
        CmId,
        ReadLimits, //
    },
    logic::{
        failure::Failure,
        pingpong::Violation, //
    },
    mr::Memory,
    rdma::{
        cq::PollMode,
        device::Device,
        qp::{
            Depths,
            Queue,
            QueuePair,
            Workload, //
        }, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A server's part in the making of one connection. Methods are called in their order here, from
/// the thread that accepts, and may sleep unless they are given a queue.
pub(crate) trait Responder {
    /// The workload of the queue pair.
    type Workload: Workload;

    /// Returns true where all memory is opened to the client.
    fn opens_all_memory(&self) -> bool {
        false
    }

    /// Makes the workload and its buffers, and says how large its queue pair must be.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and what registering reports.
    fn build(
        &mut self,
        device: &Device<'_>,
        room: &QueueLimits,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<(KBox<Self::Workload>, Depths)>;

    /// Returns how completions are found.
    fn poll_mode(&self) -> PollMode {
        PollMode::Event
    }

    /// Posts what must be posted before the connection is made.
    ///
    /// # Errors
    ///
    /// What the device says.
    fn prepare(workload: &mut Self::Workload, queue: &mut Queue<'_>) -> Result<(), Failure>;
}

/// A client that is being accepted.
pub(crate) struct Accepting<'a> {
    /// The session.
    pub(crate) session: &'a Arc<Session>,
    /// The thread.
    pub(crate) worker: &'a Worker,
    /// The identifier that the client's request came with.
    pub(crate) id: &'a Arc<CmId>,
}

impl Accepting<'_> {
    /// Returns the device of the connection.
    ///
    /// # Errors
    ///
    /// `ENODEV` where it is gone.
    pub(crate) fn device(&self) -> Result<Device<'_>, Failure> {
        self.id.device().map_err(failed("finding the device"))
    }

    /// Returns the device of the connection, and notes it in the thread's line and the result.
    ///
    /// # Errors
    ///
    /// `ENODEV` where it is gone.
    pub(crate) fn show_device(&self, report: &mut Report<'_>) -> Result<Device<'_>, Failure> {
        let device = self.device()?;
        note_device(self.worker, &device);
        report.device = Some((device.name(), device.transport()));
        Ok(device)
    }

    /// Returns the READs that both sides can do, where the client offers `offered` and the server
    /// wants `most` at most.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`] and [`Violation::NoReads`] where there would be none.
    pub(crate) fn agree_on_reads(
        &self,
        offered: ReadLimits,
        most: u8,
    ) -> Result<ReadLimits, Failure> {
        let device = self.device()?;
        if device.max_reads_started() == 0 {
            return Err(Failure::Unsupported("the device starts no RDMA READ"));
        }
        let limits = read_limits(&device, Some(offered), most);
        if limits.initiator_depth == 0 {
            return Err(Failure::Protocol(Violation::NoReads, 0));
        }
        Ok(limits)
    }

    /// Makes the queue pair, with all posted that must be. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::Kernel`] with the step; that the session's budget has no room.
    #[inline(never)]
    pub(crate) fn make<R: Responder>(
        &self,
        responder: &mut R,
    ) -> Result<Pin<KBox<QueuePair<R::Workload>>>, Failure> {
        let device = self.device()?;
        self.id.set_short_rnr_timer();
        let mut memory = Memory::new(self.id, responder.opens_all_memory())
            .map_err(failed("allocating a protection domain"))?;
        memory.charge_to(self.session.budget.clone());
        let room = queue_limits(self.session, &device);
        let (workload, depths) = self
            .worker
            .add_traffic()
            .and_then(|traffic| responder.build(&device, &room, &mut memory, traffic))
            .map_err(|error| self.session.no_buffers(error))?;
        let queue_pair = QueuePair::new(memory, depths, responder.poll_mode(), workload)
            .map_err(failed("creating the queue pair"))?;
        queue_pair.with(R::prepare).ok_or(Failure::Interrupted)??;
        Ok(queue_pair)
    }

    /// Accepts the client with `answer` as private data, and waits until the connection is up.
    /// Process context; sleeps.
    ///
    /// # Errors
    ///
    /// What the kernel says; what has been reported; [`Failure::TimedOut`].
    pub(crate) fn accept(&self, answer: &[u8], limits: ReadLimits) -> Result<(), Failure> {
        let timeout = self.session.timeout();
        self.id.accept(answer, limits, timeout)?;
        let outcome = self.id.outcome();
        outcome.wait_for(Progress::Established, "accepting", Some(timeout))
    }
}
