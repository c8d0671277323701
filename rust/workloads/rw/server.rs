// SPDX-License-Identifier: GPL-2.0

//! The server's side: transfers through contexts of the core's.
//!
//! A completion only notes what has happened and wakes the connection's thread. That makes and ends
//! the contexts, which may sleep, and fills and compares their memory, without the queue pair's
//! lock.

#![forbid(unsafe_code)]

use super::{
    messages::Messages,
    transfers::{
        First,
        Job,
        Request,
        Task,
        Transfers, //
    },
    MOST_REQUESTS, //
};
use crate::{
    engine::{
        completion::WorkCompletion,
        depths::Depths,
        limits::QueueLimits,
        queue::Queue,
        queue_pair::QueuePair,
        side::{
            Follow,
            Side,
            Summary, //
        },
        traffic::Traffic,
        workload::Workload, //
    },
    kernel_ext::{
        pages::Contiguous,
        time::monotonic_ns, //
    },
    logic::{
        data::pattern::{
            Data,
            Pattern, //
        },
        failure::{
            Failure,
            Operation, //
        },
        rw,
        wire::Advertisement, //
    },
    mr::{
        fill_pages,
        inspect_pages,
        Memory, //
    },
    rdma::{
        memory::DmaDirection,
        rw::{
            ListKind,
            Pieces,
            Shape,
            TransferId, //
        }, //
    },
    workloads::exchange::memory_failed, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Most transfers, so that the client does not decide how much memory its server uses.
const MOST_TRANSFERS: u32 = 256;

/// Most bytes of memory of all transfers, unless one alone takes more.
const MOST_BYTES: u32 = 32 << 20;

/// Most contexts that a queue pair is made for: registrations are dear. Transfers beyond wait.
const MOST_CONTEXTS: u32 = 64;

/// Requests that a context may add to the send queue: REG_MR, LOCAL_INV, and the one that moves.
const PER_CONTEXT: u32 = 3;

/// Parameters of the service for one client.
#[derive(Clone, Copy)]
pub(super) struct Service {
    /// The direction in which the data moves.
    pub(super) direction: DmaDirection,
    /// Number of transfers that the client announced; 0 if it announced none.
    pub(super) count: u64,
    /// Requests that the client has under way.
    pub(super) txdepth: u32,
    /// The memory of a transfer.
    pub(super) shape: Shape,
    /// The form of its list.
    pub(super) kind: ListKind,
    /// Scatter/gather elements of a request.
    pub(super) elements: u8,
    /// Contexts that the core takes for each transfer.
    pub(super) contexts: u32,
    /// Pattern of the data.
    pub(super) pattern: Pattern,
}

/// The sizes that follow from a service and the device's limits.
#[derive(Clone, Copy)]
struct Sizes {
    transfers: u32,
    receives: u32,
    contexts: u32,
}

impl Sizes {
    fn new(service: &Service, room: &QueueLimits) -> Result<Self> {
        let each = service.contexts.max(1);
        let bytes = u32::try_from(Pieces::footprint(&service.shape)?).map_err(|_| ERANGE)?;
        // Half of either queue is for the sends.
        let half = room.requests.min(room.completions) / 2;
        let transfers = service
            .txdepth
            .min(MOST_TRANSFERS)
            .min(MOST_BYTES / bytes)
            .min(half / (PER_CONTEXT * each + 1))
            .max(1);
        Ok(Self {
            transfers,
            receives: service.txdepth.min(MOST_REQUESTS).min(half).max(1),
            contexts: transfers.min(MOST_CONTEXTS) * each,
        })
    }
}

/// The server's workload.
pub(super) struct RwServer {
    service: Service,
    sizes: Sizes,
    messages: Messages,
    counts: rw::Server,
    transfers: Transfers,
    /// One piece of memory in which data is made and compared.
    scratch: Arc<Contiguous>,
    times: Option<(u64, u64)>,
}

impl RwServer {
    /// Adds the buffers and transfers to `memory`. May sleep.
    #[inline(never)]
    pub(super) fn new(
        service: Service,
        room: &QueueLimits,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<KBox<Self>> {
        let sizes = Sizes::new(&service, room)?;
        let Service { shape, kind, .. } = &service;
        let size = u32::try_from(shape.size).map_err(|_| ERANGE)?;
        let this = Self {
            service,
            sizes,
            messages: Messages::new(memory, sizes.transfers, sizes.receives, traffic)?,
            counts: rw::Server::new(size, service.count),
            transfers: Transfers::new(memory, sizes.transfers, sizes.receives, shape, *kind)?,
            scratch: memory.add_shared(shape.size)?.1,
            times: None,
        };
        Ok(KBox::new(this, GFP_KERNEL)?)
    }

    fn writes(&self) -> bool {
        self.service.direction == DmaDirection::ToDevice
    }

    /// Takes a request.
    fn requested(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        let message = self.messages.read(queue, wc)?;
        let memory = self
            .counts
            .request(&message)
            .map_err(|violation| Failure::Protocol(violation, self.counts.arrived()))?;
        if self.times.is_none() {
            let now = monotonic_ns();
            self.times = Some((now, now));
        }
        self.transfers.push(Request {
            receive: wc.slot,
            memory,
        })
    }

    /// Posts the transfer for the first request that waits, which has a context of `requests`
    /// requests, if the send queue of `room` has room for that.
    fn begin(
        &mut self,
        queue: &mut Queue<'_>,
        index: usize,
        requests: u32,
        room: u32,
    ) -> Result<(), Failure> {
        self.transfers.note(First::Made(requests));
        if !self.transfers.has_room(requests, room) {
            return if self.transfers.is_busy() {
                Ok(())
            } else {
                Err(Failure::Unsupported(
                    "the send queue has no room for one transfer",
                ))
            };
        }
        let request = self.transfers.begin(index, requests)?;
        let (id, asked) = self.transfers.get(index)?;
        // Before the answer, after which the client's next request may come.
        self.messages.post_receive(queue, request.receive)?;
        if self.writes() {
            let answer = self.messages.send(queue, index, &asked)?;
            queue.post_transfer(index, id, Some(answer))?;
            self.messages.traffic().written(asked.size);
            self.count_answer();
        } else {
            queue.post_transfer(index, id, None)?;
        }
        Ok(())
    }

    /// Answers the READ of transfer `index`, whose data is right. The answer of a WRITE has left
    /// with it.
    fn end(&mut self, queue: &mut Queue<'_>, index: usize) -> Result<(), Failure> {
        let (_, asked) = self.transfers.get(index)?;
        self.transfers.ended(index, !self.writes());
        if !self.writes() {
            self.messages
                .traffic()
                .validated(self.service.shape.size as u32);
            let answer = self.messages.send(queue, index, &asked)?;
            queue.post_for(index, &[answer])?;
            self.count_answer();
        }
        Ok(())
    }

    fn count_answer(&mut self) {
        self.counts.answer();
        if let Some((_, last)) = &mut self.times {
            *last = monotonic_ns();
        }
    }

    /// Notes that the data of transfer `index` has been moved, as `wc` says.
    fn moved(
        &mut self,
        queue: &mut Queue<'_>,
        index: usize,
        wc: &WorkCompletion<'_>,
    ) -> Result<(), Failure> {
        let (id, _) = self.transfers.get(index)?;
        queue.transfer_completed(id, wc).map_err(memory_failed)?;
        self.transfers.moved(index);
        Ok(())
    }
}

/// Parts of a job that are done without the lock.
struct Work {
    service: Service,
    scratch: Arc<Contiguous>,
    job: Job,
}

impl Work {
    fn data(&self) -> Data {
        Data::new(
            self.service.pattern,
            self.job.number,
            self.service.shape.size,
        )
    }

    /// Writes the data to the memory of the transfer.
    fn fill(&self) -> Result<(), Failure> {
        let data = self.data();
        fill_pages(&self.scratch, data.size(), |words| data.fill(words))
            .and_then(|()| self.job.pieces.scatter(&self.scratch))
            .map_err(memory_failed)
    }

    /// Compares the memory of the transfer with the data.
    fn compare(&self) -> Result<(), Failure> {
        let data = self.data();
        self.job
            .pieces
            .gather(&self.scratch)
            .and_then(|()| inspect_pages(&self.scratch, data.size(), |found| data.check(found)))
            .map_err(memory_failed)?
            .map_err(Failure::Mismatch)
    }

    /// Makes the context of transfer `id`, and returns what has come of it.
    fn make(
        &self,
        queue_pair: &QueuePair<RwServer>,
        id: TransferId,
        memory: Advertisement,
    ) -> Result<First, Failure> {
        match queue_pair.make_transfer(id, memory, self.service.direction) {
            Ok(requests) => Ok(First::Made(requests)),
            Err(error) if error == EAGAIN => Ok(First::Starved),
            Err(error) => Err(making(error)),
        }
    }
}

fn making(error: Error) -> Failure {
    Failure::Kernel("making an rdma_rw context", error.to_errno())
}

impl Side for RwServer {
    fn depths(&self) -> Depths {
        let Sizes {
            transfers,
            receives,
            contexts,
        } = self.sizes;
        Depths {
            pieces: self.service.elements,
            contexts,
            ..Depths::plain(transfers, receives).with_slots(transfers.max(receives) as usize)
        }
    }

    fn prepare(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.messages.prepare(queue)
    }

    fn attend(queue_pair: &QueuePair<Self>) -> Result<bool, Failure> {
        let room = queue_pair.send_room();
        let work = queue_pair.with(|server, _| {
            Some(Work {
                service: server.service,
                scratch: server.scratch.clone(),
                job: server.transfers.next(room)?,
            })
        });
        let Some(work) = work.flatten() else {
            return Ok(false);
        };
        let Job {
            index, id, task, ..
        } = &work.job;
        let result = match task {
            Task::End => {
                queue_pair.end_transfer(*id).map_err(memory_failed)?;
                if work.service.direction == DmaDirection::FromDevice {
                    work.compare()?;
                }
                queue_pair.with(|server, queue| server.end(queue, *index))
            }
            Task::Begin(memory, first) => {
                if *first == First::New && work.service.direction == DmaDirection::ToDevice {
                    work.fill()?;
                }
                let first = match first {
                    First::Made(_) => *first,
                    First::New | First::Filled | First::Starved => {
                        work.make(queue_pair, *id, *memory)?
                    }
                };
                queue_pair.with(|server, queue| match first {
                    First::Made(requests) => server.begin(queue, *index, requests, room),
                    _ if server.transfers.are_under_way() => {
                        server.transfers.note(first);
                        Ok(())
                    }
                    _ => Err(making(EAGAIN)),
                })
            }
        };
        result.unwrap_or(Ok(())).map(|()| true)
    }

    fn summary(&self) -> Summary<'_> {
        Summary {
            iterations: self.counts.answered(),
            times: self.times,
            ..Summary::default()
        }
    }
}

impl Follow for RwServer {
    fn may_end(&self) -> bool {
        self.counts.may_end()
    }

    fn served_all(&self) -> bool {
        self.counts.served_all()
    }
}

impl Workload for RwServer {
    type Done = ();

    const OPERATIONS: &'static [Operation] = &[
        Operation::Send,
        Operation::Read,
        Operation::Write,
        Operation::Register,
        Operation::Invalidate,
        Operation::Receive,
    ];

    fn completed(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        match wc.op {
            Operation::Receive => self.requested(queue, wc)?,
            Operation::Read => {
                self.moved(queue, wc.slot, wc)?;
                self.messages.traffic().read(self.service.shape.size as u32);
            }
            // It was posted behind the WRITE.
            Operation::Send if self.writes() => self.moved(queue, wc.slot, wc)?,
            Operation::Send => self.transfers.answered(wc.slot),
            _ => return Ok(()),
        }
        queue.ask_for_attention();
        Ok(())
    }

    fn iteration(&self) -> u64 {
        self.transfers.oldest()
    }
}
