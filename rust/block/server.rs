// SPDX-License-Identifier: GPL-2.0

//! A server's connection to a disk or a tap: the workload of its queue pair.
//!
//! Where the store is in memory, completions do everything. The data of a read goes
//! out in the list with its answer. That of a write comes by READs into the store,
//! whose completion has it answered, or with the message. Otherwise a thread does it,
//! see [`jobs`].
//!
//! Nothing here trusts the client: it names no memory of this side, the store's
//! limits are checked for each request, and it has no more under way than it was
//! told.

#![forbid(unsafe_code)]

mod answers;
mod arena;
pub(crate) mod clients;
mod fifo;
mod job_thread;
mod jobs;
mod link;
pub(crate) mod listening;
mod making;
mod room;
mod serving;
mod shape;
mod sinks;
mod slot;
pub(crate) mod store;

use crate::{
    engine::{
        outcome::Bell,
        traffic::Traffic, //
    },
    logic::{
        block::{
            check,
            telling::Telling,
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
    mr::Memory,
    rdma::{
        cq::WorkCompletion,
        qp::{
            Depths,
            Queue,
            Workload, //
        }, //
    }, //
};
use clients::Farewell;
use jobs::Jobs;
use kernel::{
    prelude::*,
    sync::Arc, //
};
use link::Link;
use shape::Shape;
use sinks::Sinks;
use store::{
    ledger::Account,
    Backing,
    Store,
    Work, //
};

/// A connection of a client.
pub(crate) struct BlockServer {
    link: Link,
    store: Arc<Store>,
    geometry: Geometry,
    limits: Limits,
    /// Where a thread does the work.
    jobs: Option<Jobs>,
    farewell: Arc<Farewell>,
    /// The failures of the store that the client has been told of.
    account: Option<Arc<Account>>,
    /// An answer that tells it of some.
    telling: Option<Telling>,
    figures: BlockFigures,
}

/// What a connection needs to know.
pub(crate) struct ServerParams<'a> {
    /// What the client has said.
    pub(crate) hello: &'a Hello,
    /// Where it says that it leaves.
    pub(crate) farewell: Arc<Farewell>,
    /// Rung when there is something to do for a thread.
    pub(crate) bell: Bell,
    /// What it has been told of the store's failures.
    pub(crate) account: Option<Arc<Account>>,
    /// Requests that a queue of the device holds.
    pub(crate) requests: u32,
    /// Entries that a completion queue of the device has.
    pub(crate) completions: u32,
    /// The most bytes of a request that the device can take the data of.
    pub(crate) max_bytes: u32,
    /// The most bytes of data in a message.
    pub(crate) inline: u32,
    /// How long the server is silent at most, in ms.
    pub(crate) alive_ms: u32,
}

impl BlockServer {
    /// Allocates what it needs in `memory`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` for a device whose queues are too small.
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
        let before = Sinks::before(memory);
        let shape = Shape::new(hello.depth, before, params.requests, params.completions)?;
        let geometry = store.geometry(hello, shape.depth, max_bytes, inline, alive_ms);
        // What others may write to meanwhile is copied where it must not change.
        let copies = memory.checksums_in_place();
        let chunks = match store.backing() {
            Backing::Ram(ram) if !copies => Some(ram.chunks()),
            _ => None,
        };
        let link = Link::new(shape, &geometry, chunks, memory, traffic)?;
        let jobs = match copies || store.needs_thread() {
            true => Some(Jobs::new(link.depths().slots, params.bell)?),
            false => None,
        };
        Ok(KBox::new(
            Self {
                link,
                limits: geometry.limits(),
                jobs,
                farewell: params.farewell,
                account: params.account,
                telling: None,
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

    /// What to tell the client.
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// How large its queue pair must be.
    pub(crate) fn depths(&self) -> Depths {
        self.link.depths()
    }

    /// Posts the receives, before the connection is made.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn prepare(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.link.prepare(queue)
    }

    /// What has been done.
    pub(crate) fn figures(&self) -> &BlockFigures {
        &self.figures
    }

    /// Whether a thread is to do its work.
    pub(crate) fn needs_thread(&self) -> bool {
        self.jobs.is_some()
    }

    /// Whether there is something for the thread to do. Where there is not, the bell is
    /// rung when there is.
    pub(crate) fn look_for_work(&mut self) -> bool {
        let link = &self.link;
        self.jobs.as_mut().is_some_and(|jobs| jobs.look(link))
    }

    /// Takes what the thread is to do next, which it then says to have
    /// [`done`](Self::done).
    ///
    /// # Errors
    ///
    /// None that a client could cause.
    pub(crate) fn take(&mut self, queue: &Queue<'_>) -> Result<Option<Work>, Failure> {
        match &mut self.jobs {
            Some(jobs) => {
                let work = jobs.take(queue, &self.link)?;
                Ok(work.map(|work| work.of_client(self.account.as_ref())))
            }
            None => Ok(None),
        }
    }

    /// Answers what the thread has done.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn done(
        &mut self,
        queue: &mut Queue<'_>,
        work: &Work,
        status: Status,
    ) -> Result<(), Failure> {
        self.answer(queue, work.slot, status)?;
        self.go_on(queue)
    }

    /// A request has arrived.
    fn arrived(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion) -> Result<(), Failure> {
        let slot = self.link.receive(queue, wc)?;
        let request = self.link.slot(slot)?.request;
        if self.telling.is_some() {
            self.has_been_told(&request);
        }
        let status = match check(&request, &self.limits) {
            // Only a tap has seen anything.
            Ok(()) if request.action == Action::Note && self.geometry.test != Test::Tap => {
                Status::Unsupported
            }
            Ok(()) => Status::Ok,
            Err(status) => status,
        };
        match &mut self.jobs {
            // A keepalive is not to wait for what takes long.
            Some(jobs) if !matches!(request.action, Action::Ping | Action::Survey) => {
                jobs.push(slot, status)?;
                jobs.start(queue, &mut self.link)
            }
            _ => self.serve(queue, slot, &request, status),
        }
    }

    /// Does what takes no thread.
    fn serve(
        &mut self,
        queue: &mut Queue<'_>,
        slot: usize,
        request: &Request,
        status: Status,
    ) -> Result<(), Failure> {
        let status = match (status, request.action) {
            (Status::Ok, Action::Write) if !request.inline => return self.link.fetch(queue, slot),
            (Status::Ok, Action::Write) => {
                let (memory, at) = self.link.message_data(queue, slot)?;
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

    /// Notes what `request`, which has arrived, shows of the answers that the client has.
    fn has_been_told(&mut self, request: &Request) {
        let Some(telling) = &mut self.telling else {
            return;
        };
        // Its answer must follow those that are due.
        let is_keepalive =
            matches!(request.action, Action::Ping | Action::Survey) && self.link.has_sent_answers();
        if let Some(number) = telling.arrived(request.tag, is_keepalive) {
            self.telling = None;
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
        let request = self.link.slot(slot)?.request;
        if status.is_loss_of(&request) {
            // Before the answer is sent: what comes then may show that it has arrived.
            let before = self.telling;
            self.telling = self
                .account
                .as_ref()
                .map(|account| Telling::after(before, account.telling(), request.tag));
        }
        if request.action == Action::Close {
            self.farewell.say();
        }
        self.count(&request, status);
        self.link.answer(queue, slot, status)
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

    /// Goes on with what waited, now that something has completed.
    fn go_on(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.link.go_on(queue)?;
        match &mut self.jobs {
            Some(jobs) => jobs.start(queue, &mut self.link),
            None => Ok(()),
        }
    }
}

impl Workload for BlockServer {
    type Done = ();

    fn completed(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion) -> Result<(), Failure> {
        match wc.op {
            Operation::Receive => self.arrived(queue, wc),
            Operation::Read => {
                if self.link.fetched(queue, wc)? && self.jobs.is_none() {
                    self.answer(queue, wc.slot, Status::Ok)?;
                }
                self.go_on(queue)
            }
            Operation::Send | Operation::Write => {
                self.link.completed();
                self.go_on(queue)
            }
            _ => Ok(()),
        }
    }

    fn iteration(&self) -> u64 {
        self.figures.requests
    }
}
