// SPDX-License-Identifier: GPL-2.0

//! A server's connection to a disk or a tap: the workload of its queue pair.
//!
//! For a store in memory, completion handlers do all the work. The data of a read is posted in the
//! same list as its answer. The data of a write either arrives with the message, or is fetched by
//! RDMA READs into the store, and the completion of the READs triggers the answer. For any other
//! store, a thread does the work; see [`jobs`].
//!
//! The client is not trusted. It cannot name memory of the server, every request is checked against
//! the limits of the store, and a client that sends more requests at a time than it was allowed
//! breaks the protocol.
//!
//! - [`listening`], [`serving`], [`making`] - the threads of a server, and the queue pair of a
//!   connection
//! - [`export`], [`clients`] - the store with its clients; who is connected, with generations
//! - [`store`] - the blocks
//! - [`transport`], [`pending`], [`answers`], [`room`] - receiving requests and posting what they
//!   need
//! - [`jobs`], [`job_thread`], [`arena`] - work on files, and the memory that its data passes
//!   through
//! - [`read_regions`] - regions of READs on iWARP
//! - [`shape`], [`fifo`] - sizes, and queues that do not allocate

#![forbid(unsafe_code)]

mod answers;
mod arena;
pub(crate) mod clients;
pub(crate) mod export;
mod fifo;
mod job_thread;
mod jobs;
pub(crate) mod listening;
mod making;
mod pending;
mod read_regions;
mod room;
mod serving;
mod shape;
pub(crate) mod store;
mod transport;

use crate::{
    engine::{
        completion::WorkCompletion,
        depths::Depths,
        outcome::WaitQueue,
        queue::Queue,
        quirks::checksums_in_place,
        traffic::Traffic,
        workload::Workload, //
    },
    logic::{
        block::{
            answer_receipt::AnswerReceipt,
            check,
            Action,
            Limits,
            Request,
            Status, //
        },
        command::Test,
        failure::{
            Failure,
            Operation, //
        },
        measure::stats::BlockFigures,
        wire::hello::{
            Geometry,
            Hello, //
        }, //
    },
    mr::Memory, //
};
use clients::ClientClose;
use jobs::Jobs;
use kernel::{
    prelude::*,
    sync::Arc, //
};
use read_regions::ReadRegions;
use shape::Shape;
use store::{
    ledger::Account,
    Backing,
    Store,
    Work, //
};
use transport::ServerTransport;

/// One connection of a client.
pub(crate) struct BlockServer {
    transport: ServerTransport,
    store: Arc<Store>,
    geometry: Geometry,
    limits: Limits,
    /// Requests for the thread; `None` if completion handlers do all the work.
    jobs: Option<Jobs>,
    client_close: Arc<ClientClose>,
    /// The failures of the store that the client has been told of.
    account: Option<Arc<Account>>,
    /// An answer that reports such failures, until the client is known to have received it.
    receipt: Option<AnswerReceipt>,
    figures: BlockFigures,
}

/// Parameters of a connection.
pub(crate) struct ServerParams<'a> {
    /// Private data of the client.
    pub(crate) hello: &'a Hello,
    /// Record of the client's close, shared by all its connections.
    pub(crate) client_close: Arc<ClientClose>,
    /// Woken when there is work for the thread.
    pub(crate) wait_queue: WaitQueue,
    /// The failures of the store that the client has been told of.
    pub(crate) account: Option<Arc<Account>>,
    /// Maximum number of work requests in one queue of the device.
    pub(crate) requests: u32,
    /// Maximum number of entries in a completion queue of the device.
    pub(crate) completions: u32,
    /// Maximum number of data bytes per request that the device supports.
    pub(crate) max_bytes: u32,
    /// Maximum number of data bytes in a message.
    pub(crate) inline: u32,
    /// Keepalive interval of the server: the longest that it is silent, in ms.
    pub(crate) alive_ms: u32,
}

impl BlockServer {
    /// Creates the workload, with its buffers in `memory`. May sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the queues of the device are too small; `ENOMEM`.
    #[inline(never)]
    pub(crate) fn new(
        params: ServerParams<'_>,
        store: Arc<Store>,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<KBox<Self>> {
        let ServerParams {
            hello,
            max_bytes,
            inline,
            alive_ms,
            ..
        } = params;
        let before = ReadRegions::before(memory);
        let shape = Shape::new(hello.depth, before, params.requests, params.completions)?;
        let geometry = store.geometry(hello, shape.depth, max_bytes, inline, alive_ms);
        // Data that must not change while it is sent is copied, because others may write to the
        // store.
        let copies = memory
            .id()
            .device()
            .is_ok_and(|device| checksums_in_place(&device));
        let chunks = match store.backing() {
            Backing::Ram(ram) if !copies => Some(ram.chunks()),
            Backing::Ram(_) | Backing::File(_) | Backing::Nothing => None,
        };
        let transport = ServerTransport::new(shape, &geometry, chunks, memory, traffic)?;
        let jobs = match copies || store.needs_thread() {
            true => Some(Jobs::new(transport.depths().slots, params.wait_queue)?),
            false => None,
        };
        Ok(KBox::new(
            Self {
                transport,
                limits: geometry.limits(),
                jobs,
                client_close: params.client_close,
                account: params.account,
                receipt: None,
                figures: BlockFigures {
                    size: store.size(),
                    ..Default::default()
                },
                geometry,
                store,
            },
            GFP_KERNEL,
        )?)
    }

    /// Returns the geometry to report to the client.
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Returns the queue depths that the queue pair needs.
    pub(crate) fn depths(&self) -> Depths {
        self.transport.depths()
    }

    /// Posts all receives. Called before the connection is established.
    pub(crate) fn prepare(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.transport.prepare(queue)
    }

    /// Returns the counts of requests, bytes and errors so far.
    pub(crate) fn figures(&self) -> &BlockFigures {
        &self.figures
    }

    /// Returns true if a thread must work on the requests.
    pub(crate) fn needs_thread(&self) -> bool {
        self.jobs.is_some()
    }

    /// Returns true if there is work for the thread. Otherwise the wait queue is woken once there
    /// is.
    pub(crate) fn look_for_work(&mut self) -> bool {
        let transport = &self.transport;
        self.jobs.as_mut().is_some_and(|jobs| jobs.look(transport))
    }

    /// Takes the next request for the thread to work on. The thread reports its result to
    /// [`done`](Self::done).
    pub(crate) fn take(&mut self, queue: &Queue<'_>) -> Result<Option<Work>, Failure> {
        match &mut self.jobs {
            Some(jobs) => {
                let work = jobs.take(queue, &self.transport)?;
                Ok(work.map(|work| work.of_client(self.account.as_ref())))
            }
            None => Ok(None),
        }
    }

    /// Answers a request that the thread has worked on.
    pub(crate) fn done(
        &mut self,
        queue: &mut Queue<'_>,
        work: &Work,
        status: Status,
    ) -> Result<(), Failure> {
        self.answer(queue, work.slot, status)?;
        self.go_on(queue)
    }

    /// Handles the arrival of a request.
    fn arrived(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        let slot = self.transport.receive(queue, wc)?;
        let request = self.transport.slot(slot)?.request;
        if self.receipt.is_some() {
            self.has_been_told(&request);
        }
        let status = match check(&request, &self.limits) {
            // Only a tap sends notes.
            Ok(()) if request.action == Action::Note && self.geometry.test != Test::Tap => {
                Status::Unsupported
            }
            Ok(()) => Status::Ok,
            Err(status) => status,
        };
        match &mut self.jobs {
            // A keepalive must not wait for slow requests.
            Some(jobs) if !matches!(request.action, Action::Ping | Action::Survey) => {
                jobs.push(slot, status)?;
                jobs.start(queue, &mut self.transport)
            }
            _ => self.serve(queue, slot, &request, status),
        }
    }

    /// Executes a request that needs no thread, and answers it, or starts to fetch its data.
    fn serve(
        &mut self,
        queue: &mut Queue<'_>,
        slot: usize,
        request: &Request,
        status: Status,
    ) -> Result<(), Failure> {
        let status = match (status, request.action) {
            (Status::Ok, Action::Write) if !request.inline => {
                return self.transport.fetch(queue, slot)
            }
            (Status::Ok, Action::Write) => {
                let (memory, at) = self.transport.message_data(queue, slot)?;
                self.store
                    .execute(request, Some((memory, at)), None, || true)
            }
            (Status::Ok, Action::Discard | Action::WriteZeroes) => {
                self.store.execute(request, None, None, || true)
            }
            (status, _) => status,
        };
        self.answer(queue, slot, status)
    }

    /// Checks whether the arrival of `request` shows that the client has received the answer that
    /// told it of failures.
    fn has_been_told(&mut self, request: &Request) {
        let Some(receipt) = &mut self.receipt else {
            return;
        };
        // The answer of the keepalive must follow all answers that are due.
        let is_keepalive = matches!(request.action, Action::Ping | Action::Survey)
            && self.transport.has_sent_answers();
        if let Some(number) = receipt.arrived(request.tag, is_keepalive) {
            self.receipt = None;
            if let Some(account) = &self.account {
                account.tell(number);
            }
        }
    }

    fn answer(
        &mut self,
        queue: &mut Queue<'_>,
        slot: usize,
        status: Status,
    ) -> Result<(), Failure> {
        let request = self.transport.slot(slot)?.request;
        if status.is_loss_of(&request) {
            // Before the answer is sent, because any later request may show that the client has it.
            let before = self.receipt;
            self.receipt = self
                .account
                .as_ref()
                .map(|account| AnswerReceipt::after(before, account.telling(), request.tag));
        }
        if request.action == Action::Close {
            self.client_close.say();
        }
        self.count(&request, status);
        self.transport.answer(queue, slot, status)
    }

    fn count(&mut self, request: &Request, status: Status) {
        let figures = &mut self.figures;
        let bytes = u64::from(request.bytes());
        match request.action {
            action if action.is_control() => return,
            _ if status != Status::Ok => figures.errors = figures.errors.wrapping_add(1),
            Action::Read => {
                figures.reads = figures.reads.wrapping_add(1);
                figures.read_bytes = figures.read_bytes.wrapping_add(bytes);
            }
            Action::Write => {
                figures.writes = figures.writes.wrapping_add(1);
                figures.write_bytes = figures.write_bytes.wrapping_add(bytes);
            }
            _ => figures.others = figures.others.wrapping_add(1),
        }
        figures.requests = figures.requests.wrapping_add(1);
    }

    /// Posts requests and starts jobs that were waiting, after a completion.
    fn go_on(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.transport.go_on(queue)?;
        match &mut self.jobs {
            Some(jobs) => jobs.start(queue, &mut self.transport),
            None => Ok(()),
        }
    }
}

impl Workload for BlockServer {
    type Done = ();

    const OPERATIONS: &'static [Operation] = &[
        Operation::Send,
        Operation::Read,
        Operation::Write,
        Operation::Register,
        Operation::Receive,
    ];

    fn completed(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        match wc.op {
            Operation::Receive => self.arrived(queue, wc),
            Operation::Read => {
                if self.transport.fetched(queue, wc)? && self.jobs.is_none() {
                    self.answer(queue, wc.slot, Status::Ok)?;
                }
                self.go_on(queue)
            }
            Operation::Send | Operation::Write => {
                self.transport.completed();
                self.go_on(queue)
            }
            _ => Ok(()),
        }
    }

    fn iteration(&self) -> u64 {
        self.figures.requests
    }
}
