// SPDX-License-Identifier: GPL-2.0

//! Connecting to a server, which every client does in the same steps.

#![forbid(unsafe_code)]

use super::{
    dial::dial,
    drive::failed,
    limits::read_limits,
    management::diagnose,
    outcome::{
        Bell,
        Outcome, //
    },
    results::Report,
    session::Session,
    worker::Worker, //
};
use crate::{
    cm::{
        addr::SocketAddress,
        CmId, //
    },
    kernel_ext::time::Deadline,
    logic::{
        failure::Failure,
        wire::PrivateData, //
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

/// A client's part in the making of one connection. Methods are called in their order here, from
/// the thread that connects, and may sleep unless they are given a queue.
pub(crate) trait Initiator {
    /// The workload of the queue pair.
    type Workload: Workload;

    /// What is kept of the server's answer.
    type Answer;

    /// What is being done, for failures before there is anything.
    const STARTING: &'static str;

    /// RDMA READs that the server may have under way.
    const READS: u8;

    /// True where the cancellation of the thread ends the connection also when it is up.
    const ENDS_WITH_THREAD: bool;

    /// Sets what depends on the device, and must be set before the route is known.
    fn adapt(&self, _: &CmId, _: &Device<'_>) {}

    /// Checks what the device can do, before anything is made on it.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`] and the like, which name what is missing.
    fn check(&mut self, device: &Device<'_>) -> Result<(), Failure>;

    /// Makes the workload and its buffers, and says how large its queue pair must be.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and what registering reports.
    fn build(
        &mut self,
        device: &Device<'_>,
        memory: &mut Memory,
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

    /// Returns what the server is told.
    fn hello(&self) -> [u8; PrivateData::LEN];

    /// Judges what the server has answered, and begins.
    ///
    /// # Errors
    ///
    /// [`Failure::PrivateData`] and what else is wrong with it.
    fn answered(
        &mut self,
        connected: &Connected<Self::Workload>,
        report: &mut Report<'_>,
    ) -> Result<Self::Answer, Failure>;

    /// Tells the session of a failure. This comes before the peer notices: what that then reports
    /// is a consequence.
    fn give_up(&self, session: &Session, failure: Failure) {
        session.abort(failure);
    }

    /// Notes in the workload that it has ended.
    fn end(_: &mut Self::Workload) {}

    /// Returns until when to wait for the peer to notice a failure; `None` is not at all.
    fn patience(&self, session: &Session, failure: Failure) -> Option<Deadline>;
}

/// A queue pair and the identifier that it is connected by. Fields are in drop order.
pub(crate) struct Connected<W: Workload> {
    /// The queue pair.
    pub(crate) queue_pair: Pin<KBox<QueuePair<W>>>,
    /// The identifier.
    pub(crate) id: Arc<CmId>,
}

/// Who connects, and to where.
pub(crate) struct Attempt<'a> {
    /// The session.
    pub(crate) session: &'a Arc<Session>,
    /// The thread.
    pub(crate) worker: &'a Worker,
    /// The server.
    pub(crate) addr: &'a SocketAddress,
    /// What the connection's reports ring.
    pub(crate) bell: &'a Bell,
    /// How long each step may take, in ms.
    pub(crate) timeout: u32,
}

impl Attempt<'_> {
    /// Makes a connection. A failure has been told to the session, and the connection is down.
    /// Process context; sleeps.
    ///
    /// # Errors
    ///
    /// The first cause, with the errno that the kernel or the peer gave.
    pub(crate) fn connect<I: Initiator>(
        &self,
        initiator: &mut I,
        report: &mut Report<'_>,
    ) -> Result<(Connected<I::Workload>, I::Answer), Failure> {
        let outcome = Outcome::new(self.bell).map_err(failed(I::STARTING))?;
        self.worker.attach(&outcome).map_err(failed(I::STARTING))?;
        let result = self
            .make(initiator, outcome.clone(), report)
            .and_then(|connected| self.establish(connected, initiator, report))
            .map_err(|failure| outcome.cause_of(failure));
        if !I::ENDS_WITH_THREAD {
            self.worker.detach(&outcome);
        }
        result
    }

    /// Resolves the way to the server, and makes the queue pair.
    #[inline(never)]
    fn make<I: Initiator>(
        &self,
        initiator: &mut I,
        outcome: Arc<Outcome>,
        report: &mut Report<'_>,
    ) -> Result<Connected<I::Workload>, Failure> {
        let id = dial(
            self.session,
            self.worker,
            outcome,
            self.addr,
            self.timeout,
            report,
            |id, device| initiator.adapt(id, device),
        )?;
        let device = id.device().map_err(failed("finding the device"))?;
        initiator.check(&device)?;
        let mut memory = Memory::new(&id, self.session.command.unsafe_global_rkey)
            .map_err(failed("allocating a protection domain"))?;
        let (workload, depths) = initiator
            .build(&device, &mut memory)
            .map_err(failed("allocating and registering buffers"))?;
        let queue_pair = QueuePair::new(memory, depths, initiator.poll_mode(), workload)
            .map_err(failed("creating the queue pair"))?;
        Ok(Connected { queue_pair, id })
    }

    /// Connects the queue pair, or takes it down.
    #[inline(never)]
    fn establish<I: Initiator>(
        &self,
        connected: Connected<I::Workload>,
        initiator: &mut I,
        report: &mut Report<'_>,
    ) -> Result<(Connected<I::Workload>, I::Answer), Failure> {
        match self.say_hello(&connected, initiator, report) {
            Ok(answer) => Ok((connected, answer)),
            Err(failure) => {
                let Connected { queue_pair, id } = &connected;
                let failure = id.cause_of(failure);
                let failure = diagnose(self.session, self.worker, id, failure);
                initiator.give_up(self.session, failure);
                if let Some(mut workload) = queue_pair.stop() {
                    I::end(&mut workload);
                }
                // Where there is no connection any more, nothing is waited for.
                if id.disconnect() {
                    if let Some(deadline) = initiator.patience(self.session, failure) {
                        id.wait_disconnected(deadline);
                    }
                }
                Err(failure)
            }
        }
    }

    #[inline(never)]
    fn say_hello<I: Initiator>(
        &self,
        connected: &Connected<I::Workload>,
        initiator: &mut I,
        report: &mut Report<'_>,
    ) -> Result<I::Answer, Failure> {
        let Connected { queue_pair, id } = connected;
        queue_pair.with(I::prepare).ok_or(Failure::Interrupted)??;
        let device = id.device().map_err(failed("finding the device"))?;
        let limits = read_limits(&device, None, I::READS);
        id.connect(&initiator.hello(), limits, self.timeout)?;
        initiator.answered(connected, report)
    }
}
