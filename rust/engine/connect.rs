// SPDX-License-Identifier: GPL-2.0

//! Connects to a server, in the steps that all clients share.

#![forbid(unsafe_code)]

use super::{
    dial::dial,
    drive::failed,
    endpoint::Endpoint,
    limits::read_limits,
    management::diagnose,
    outcome::{
        Outcome, //
        WaitQueue,
    },
    results::Report,
    retransmission::retries,
    session::Session,
    side::PrivateBytes,
    worker::Worker, //
};
use crate::{
    cm::{
        addr::SocketAddress,
        CmId, //
    },
    engine::{
        depths::Depths,
        queue::Queue,
        queue_pair::QueuePair,
        workload::Workload, //
    },
    kernel_ext::time::Deadline,
    logic::{
        command::Command,
        failure::Failure, //
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

/// Client-specific steps of making a connection. The methods are called in the order in which they
/// are declared, from the connecting thread, and may sleep unless they take a queue.
pub(crate) trait Initiator {
    /// The workload of the queue pair.
    type Workload: Workload;

    /// State that the client keeps from the server's answer.
    type Answer;

    /// Name of the setup step, for failures before the CM identifier exists.
    const STARTING: &'static str;

    /// Number of RDMA READs that the server may have outstanding.
    const READS: u8;

    /// True if cancelling the thread also ends the connection once it is established.
    const ENDS_WITH_THREAD: bool;

    /// Sets device-dependent parameters that must be set before the route is resolved.
    fn adapt(&self, _: &CmId, _: &Device<'_>) {}

    /// Makes what goes along with the route, which has been resolved, as a multicast group's
    /// membership.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`] or a similar failure that names what the route has not.
    fn route(&mut self, _: &CmId) -> Result<(), Failure> {
        Ok(())
    }

    /// Checks that the device has what the client needs, before any object is created on it.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`] or a similar failure that names the missing feature.
    fn check(&mut self, device: &Device<'_>) -> Result<(), Failure>;

    /// Makes the memory of the queue pair, which is empty, with a key that opens all of this
    /// machine's to the peer where `opens_all` is true.
    ///
    /// # Errors
    ///
    /// The driver's.
    fn new_memory(&mut self, id: &CmId, opens_all: bool) -> Result<Memory> {
        new_memory(id.rdma(), opens_all)
    }

    /// Creates the workload and its buffers, and returns the queue pair size that it needs.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, or the error of the registration.
    fn build(
        &mut self,
        device: &Device<'_>,
        memory: &mut Memory,
    ) -> Result<(KBox<Self::Workload>, Depths)>;

    /// Returns the method of finding completions.
    fn poll_mode(&self) -> PollMode {
        PollMode::Event
    }

    /// Does what must be done before receives are posted, for `timeout` ms at most. Sleeps.
    ///
    /// # Errors
    ///
    /// The failure, for which there is no connection.
    fn early(_: &QueuePair<Self::Workload>, _timeout: u32) -> Result<(), Failure> {
        Ok(())
    }

    /// Posts the work requests that must be posted before the connection is made.
    fn prepare(workload: &mut Self::Workload, queue: &mut Queue<'_>) -> Result<(), Failure>;

    /// Returns the private data of the connection request of `queue_pair`.
    fn hello(&self, queue_pair: &QueuePair<Self::Workload>) -> PrivateBytes;

    /// Checks the server's answer and starts the client.
    ///
    /// # Errors
    ///
    /// [`Failure::PrivateData`] or another failure that tells what is wrong with the answer.
    fn answered(
        &mut self,
        connected: &Connected<Self::Workload>,
        report: &mut Report<'_>,
    ) -> Result<Self::Answer, Failure>;

    /// Tells the session about a failure. This is called before the peer notices, so that a failure
    /// which the peer then reports counts as a consequence.
    fn give_up(&self, session: &Session, failure: Failure) {
        session.abort(failure);
    }

    /// Marks the workload as ended.
    fn end(_: &mut Self::Workload) {}

    /// Returns the deadline for the peer to notice a failure; `None` does not wait.
    fn disconnect_deadline(&self, session: &Session, failure: Failure) -> Option<Deadline>;
}

/// A queue pair and the CM identifier that connects it. Fields are in drop order.
pub(crate) struct Connected<W: Workload> {
    /// The queue pair.
    pub(crate) queue_pair: QueuePair<W>,
    /// The CM identifier.
    pub(crate) id: Arc<CmId>,
}

/// Parameters of one attempt to connect to a server.
pub(crate) struct Attempt<'a> {
    /// The session.
    pub(crate) session: &'a Arc<Session>,
    /// The thread.
    pub(crate) worker: &'a Worker,
    /// The server.
    pub(crate) addr: &'a SocketAddress,
    /// Wait queue that the connection's reports wake.
    pub(crate) wait_queue: &'a WaitQueue,
    /// Timeout of each step, in ms.
    pub(crate) timeout: u32,
}

/// Sets what `command` says of the path of `id`, whose route has been resolved.
///
/// # Errors
///
/// [`Failure::Unsupported`] that names what the path does not have.
fn shape_path(id: &CmId, command: &Command) -> Result<(), Failure> {
    if let Some(bytes) = command.mtu {
        id.lower_path_mtu(bytes)?;
    }
    if let Some(label) = command.flow {
        id.set_flow_label(label)?;
    }
    Ok(())
}

/// The time between two tries, in ms.
const AGAIN_MS: u32 = 100;

impl Attempt<'_> {
    /// Makes a connection by the CM. On failure the session has been told and the connection is
    /// down. Process context; sleeps.
    pub(crate) fn connect<I: Initiator>(
        &self,
        initiator: &mut I,
        report: &mut Report<'_>,
    ) -> Result<(Connected<I::Workload>, I::Answer), Failure> {
        self.connect_by(initiator, report, |connected, initiator, report| {
            self.say_hello(connected, initiator, report)
        })
    }

    /// Makes a connection in the same steps, but that `greet` meets the server and connects the
    /// queue pair, which is prepared.
    pub(crate) fn connect_by<I, G>(
        &self,
        initiator: &mut I,
        report: &mut Report<'_>,
        greet: G,
    ) -> Result<(Connected<I::Workload>, I::Answer), Failure>
    where
        I: Initiator,
        G: Fn(&Connected<I::Workload>, &mut I, &mut Report<'_>) -> Result<I::Answer, Failure>,
    {
        let deadline = self.session.command.wait_ms.map(Deadline::after_ms);
        let traffics = self.worker.traffics();
        loop {
            // Both who tells the session of a failure and who tries again go by this: a deadline
            // that passes meanwhile must not keep the failure from the session.
            let is_last = deadline.is_none_or(Deadline::passed);
            match self.once(initiator, report, is_last, &greet) {
                Err(failure) if !is_last && failure.is_no_server() => {}
                result => return result,
            }
            self.worker.forget_traffics(traffics);
            self.pause(I::STARTING)?;
        }
    }

    /// Waits before it tries again, unless something has failed meanwhile.
    fn pause(&self, starting: &'static str) -> Result<(), Failure> {
        let outcome = Outcome::single().map_err(failed(starting))?;
        self.worker.attach(&outcome).map_err(failed(starting))?;
        let waited = outcome.wait_until("waiting for the server", Some(AGAIN_MS), || false);
        self.worker.detach(&outcome);
        match waited {
            Err(Failure::TimedOut(..)) => Ok(()),
            waited => waited,
        }
    }

    /// Tries once to make a connection. Where it is not the last try, the session is not told that
    /// no server was there.
    fn once<I: Initiator>(
        &self,
        initiator: &mut I,
        report: &mut Report<'_>,
        is_last: bool,
        greet: impl FnOnce(
            &Connected<I::Workload>,
            &mut I,
            &mut Report<'_>,
        ) -> Result<I::Answer, Failure>,
    ) -> Result<(Connected<I::Workload>, I::Answer), Failure> {
        let outcome = Outcome::new(self.wait_queue).map_err(failed(I::STARTING))?;
        self.worker.attach(&outcome).map_err(failed(I::STARTING))?;
        // Once there is a connection, its end has causes of its own, which come first.
        let result = self
            .make(initiator, outcome.clone(), report)
            .map_err(|failure| outcome.cause_of(failure))
            .and_then(|connected| self.establish(connected, initiator, report, is_last, greet));
        if !I::ENDS_WITH_THREAD || result.is_err() {
            self.worker.detach(&outcome);
        }
        result
    }

    /// Resolves the address and the route to the server, and creates the queue pair.
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
        shape_path(&id, &self.session.command)?;
        initiator.route(&id)?;
        let mut memory = initiator
            .new_memory(&id, self.session.command.unsafe_global_rkey)
            .map_err(failed("allocating a protection domain"))?;
        self.session.allowance.apply(&mut memory);
        let (workload, depths) = initiator
            .build(&device, &mut memory)
            .map_err(failed("allocating and registering buffers"))?;
        let queue_pair = QueuePair::new(&id, memory, depths, initiator.poll_mode(), workload, None)
            .map_err(failed("creating the queue pair"))?;
        Ok(Connected { queue_pair, id })
    }

    /// Connects the queue pair. Takes the connection down if that fails.
    #[inline(never)]
    fn establish<I: Initiator>(
        &self,
        connected: Connected<I::Workload>,
        initiator: &mut I,
        report: &mut Report<'_>,
        is_last: bool,
        greet: impl FnOnce(
            &Connected<I::Workload>,
            &mut I,
            &mut Report<'_>,
        ) -> Result<I::Answer, Failure>,
    ) -> Result<(Connected<I::Workload>, I::Answer), Failure> {
        let greeted = self
            .prepare::<I>(&connected)
            .and_then(|()| greet(&connected, initiator, report));
        match greeted {
            Ok(answer) => {
                // The path MTU may be lower than when the route was resolved.
                if let Ok(endpoint) = Endpoint::of(&connected.id) {
                    report.endpoint = Some(endpoint);
                    report.retransmission = connected.queue_pair.retransmission();
                }
                Ok((connected, answer))
            }
            Err(failure) => {
                let Connected { queue_pair, id } = &connected;
                let mut failure = id.cause_of(failure);
                if is_last || !failure.is_no_server() {
                    failure = diagnose(self.session, self.worker, id, failure);
                    initiator.give_up(self.session, failure);
                }
                if let Some(mut workload) = queue_pair.stop() {
                    I::end(&mut workload);
                }
                // There is nothing to wait for once the connection is gone.
                if id.disconnect() {
                    if let Some(deadline) = initiator.disconnect_deadline(self.session, failure) {
                        id.wait_disconnected(deadline);
                    }
                }
                Err(failure)
            }
        }
    }

    /// Does what must be done before the queue pair is connected.
    fn prepare<I: Initiator>(&self, connected: &Connected<I::Workload>) -> Result<(), Failure> {
        let queue_pair = &connected.queue_pair;
        I::early(queue_pair, self.timeout)?;
        queue_pair.with(I::prepare).ok_or(Failure::Interrupted)?
    }

    /// Connects the queue pair by the CM, with what both sides say as private data.
    #[inline(never)]
    fn say_hello<I: Initiator>(
        &self,
        connected: &Connected<I::Workload>,
        initiator: &mut I,
        report: &mut Report<'_>,
    ) -> Result<I::Answer, Failure> {
        let Connected { queue_pair, id } = connected;
        let device = id.device().map_err(failed("finding the device"))?;
        let limits = read_limits(&device, None, I::READS);
        let (hello, retries) = (initiator.hello(queue_pair), retries(&self.session.command));
        id.connect(hello.as_slice(), limits, retries, self.timeout)?;
        initiator.answered(connected, report)
    }
}
