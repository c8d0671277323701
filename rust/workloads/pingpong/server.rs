// SPDX-License-Identifier: GPL-2.0

//! The server's side of the ping/pong.
//!
//! An advertised source is read and an advertised sink is written, each with one
//! list: the RDMA operation, what its registration needs, and the go-ahead. The
//! go-ahead after a READ is fenced, so the device sends it when the data is
//! there, without another trip through the CPU. So most READs need no completion.

#![forbid(unsafe_code)]

use super::client::{
    compare,
    print_start, //
};
use crate::{
    engine::{
        limits::RECEIVES,
        side::{
            Follow,
            Side,
            Summary, //
        },
        traffic::Traffic, //
    },
    logic::{
        command::MemMode,
        data::pattern::{
            Data,
            Pattern, //
        },
        failure::{
            Failure,
            Operation, //
        },
        pingpong::{
            Server,
            ServerStep, //
        },
        wire::Advertisement, //
    },
    mr::{
        Access,
        BufferId,
        Memory,
        RegionId, //
    },
    rdma::{
        cq::WorkCompletion,
        qp::{
            Depths,
            Queue,
            Workload, //
        },
        wr::{
            List,
            Local,
            WorkRequest, //
        }, //
    },
    workloads::exchange::Exchange, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    time::{
        Instant,
        Monotonic, //
    }, //
};

/// What a server does for one client: its own command, as far as the client does
/// not decide.
#[derive(Clone, Copy)]
pub(crate) struct Service {
    /// The size of the buffer.
    pub(crate) size: u32,
    /// Iterations that the client announced; 0 where it did not.
    pub(crate) count: u64,
    /// How the local side of RDMA is registered.
    pub(crate) mem_mode: MemMode,
    /// Invalidate the client's key with the go-ahead.
    pub(crate) server_inv: bool,
    /// READ with READ_WITH_INV.
    pub(crate) read_inv: bool,
    /// WRITE from the local DMA lkey in `reg` mode too.
    pub(crate) local_dma_lkey: bool,
    /// What the client sends, where it is known and to be checked.
    pub(crate) check: Option<Pattern>,
    /// Log the data.
    pub(crate) verbose: bool,
    /// The client sends nothing: it registers memory.
    pub(crate) silent: bool,
}

/// How often a READ whose data nobody looks at asks for a completion, in iterations: the
/// send queue's room is only known to be free again by a completion.
const SIGNAL_EVERY: u64 = 4;

/// Requests that the send queue must hold: the lists of the iterations between two
/// completions, and of the one that is under way.
const SEND_DEPTH: u32 = 8 * (SIGNAL_EVERY as u32 + 1);

/// The server's workload.
pub(crate) struct PingPongServer {
    exchange: Exchange,
    service: Service,
    txdepth: u32,
    machine: Server,
    buffer: BufferId,
    /// `None` where the local DMA lkey is enough for everything.
    region: Option<RegionId>,
    /// What the sink of a READ is registered for.
    sink_access: Access,
    iteration: u64,
    /// Whether this iteration's WRITE has been posted: the next begins with the
    /// next source.
    written: bool,
    started: Instant<Monotonic>,
    ended: Instant<Monotonic>,
}

impl PingPongServer {
    /// Adds the buffers to `memory`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    #[inline(never)]
    pub(crate) fn new(
        service: Service,
        txdepth: u32,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<KBox<Self>> {
        let exchange = Exchange::new(memory, traffic)?;
        let buffer = memory.add_buffer(service.size as usize)?;
        let region = if service.mem_mode == MemMode::Reg || memory.sink_needs_region() {
            Some(memory.add_region(buffer)?)
        } else {
            None
        };
        let now = Instant::now();
        Ok(KBox::new(
            Self {
                exchange,
                service,
                txdepth,
                machine: Server::new(service.size, service.count),
                buffer,
                region,
                sink_access: memory.sink_access(),
                iteration: 0,
                written: false,
                started: now,
                ended: now,
            },
            GFP_KERNEL,
        )?)
    }

    fn local(&self, len: u32, region: Option<RegionId>) -> Local {
        Local {
            offset: 0,
            buffer: self.buffer,
            len,
            region,
        }
    }

    /// Invalidates the region if it is still valid from the list before.
    fn invalidate_stale(&self, queue: &Queue<'_>, list: &mut List) {
        if let Some(region) = self
            .region
            .filter(|region| queue.memory().is_valid(*region))
        {
            list.push(WorkRequest::Invalidate {
                region,
                fence: false,
                signaled: false,
            });
        }
    }

    fn register(&self, list: &mut List, access: Access) {
        if let Some(region) = self.region {
            list.push(WorkRequest::Register {
                region,
                access,
                renew_key: true,
            });
        }
    }

    /// Whether this iteration's READ asks for a completion. Without one, what the client
    /// sends next says as well that it is done. A client that does not wait for that
    /// harms nobody, as what is posted then waits for the READ; and it gets no further
    /// than to the next READ that does ask, before whose end nothing may come.
    fn awaits_read(&self) -> bool {
        let service = &self.service;
        service.check.is_some() || service.verbose || self.iteration % SIGNAL_EVERY == 0
    }

    fn read(&mut self, queue: &mut Queue<'_>, from: Advertisement) -> Result<(), Failure> {
        let awaited = self.awaits_read();
        if !awaited {
            self.machine.read_done();
        }
        let mut list = List::new();
        self.invalidate_stale(queue, &mut list);
        self.register(&mut list, self.sink_access);
        list.push(WorkRequest::Read {
            local: self.local(from.size, self.region),
            remote: from,
            invalidate_local: self.service.read_inv,
            signaled: awaited,
        });
        if let Some(region) = self.region.filter(|_| !self.service.read_inv) {
            list.push(WorkRequest::Invalidate {
                region,
                fence: true,
                signaled: false,
            });
        }
        self.go_ahead(queue, list, from.rkey, true)
    }

    fn write(&mut self, queue: &mut Queue<'_>, to: Advertisement) -> Result<(), Failure> {
        if !self.awaits_read() {
            // As many bytes as the source had.
            self.exchange.traffic().read(to.size);
        }
        let mut list = List::new();
        let reg = self.service.mem_mode == MemMode::Reg && !self.service.local_dma_lkey;
        let region = self.region.filter(|_| reg);
        if region.is_some() {
            self.register(&mut list, Access::Local);
        }
        list.push(WorkRequest::Write {
            local: self.local(to.size, region),
            remote: to,
            signaled: false,
        });
        self.go_ahead(queue, list, to.rkey, false)?;
        self.exchange.traffic().written(to.size);
        self.written = true;
        self.ended = Instant::now();
        Ok(())
    }

    fn go_ahead(
        &self,
        queue: &mut Queue<'_>,
        mut list: List,
        rkey: u32,
        fence: bool,
    ) -> Result<(), Failure> {
        let invalidate = self.service.server_inv.then_some(rkey);
        list.push(self.exchange.send(invalidate, fence, false));
        queue.post(list.as_slice())?;
        self.exchange.count_sent();
        Ok(())
    }

    fn read_done(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let size = self.machine.read_done();
        self.exchange.traffic().read(size);
        if let Some(pattern) = self.service.check {
            let data = Data::new(pattern, self.iteration, size as usize);
            compare(queue, self.buffer, &data)?;
        }
        if self.service.verbose {
            print_start(queue, self.buffer, size as usize, "server ping data");
        }
        Ok(())
    }
}

impl Side for PingPongServer {
    fn depths(&self) -> Depths {
        Depths::plain(self.txdepth.max(SEND_DEPTH), RECEIVES as u32)
    }

    fn prepare(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.exchange.prepare(queue)
    }

    /// Writes nothing to a client that sends nothing, for its device to acknowledge.
    fn beat(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if !self.service.silent {
            return Ok(());
        }
        queue.post(&[WorkRequest::Write {
            local: self.local(0, None),
            remote: Advertisement::nowhere(0),
            signaled: true,
        }])
    }

    /// From the first advertisement to the last.
    fn summary(&self) -> Summary<'_> {
        Summary {
            iterations: self.iteration.wrapping_add(u64::from(self.written)),
            times: Some((self.started, self.ended)),
            stretch: None,
            histogram: None,
            figures: None,
        }
    }
}

impl Follow for PingPongServer {
    fn may_end(&self) -> bool {
        self.machine.may_end()
    }

    fn served_all(&self) -> bool {
        self.machine.served_all()
    }
}

impl Workload for PingPongServer {
    type Done = ();

    fn completed(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion) -> Result<(), Failure> {
        match wc.op {
            Operation::Read => self.read_done(queue),
            Operation::Receive => {
                let message = self.exchange.receive(queue, wc)?;
                let step = self
                    .machine
                    .advertisement(&message)
                    .map_err(|violation| Failure::Protocol(violation, self.iteration))?;
                match step {
                    ServerStep::Read(from) => {
                        if self.written {
                            self.written = false;
                            self.iteration = self.iteration.wrapping_add(1);
                        } else {
                            self.started = Instant::now();
                        }
                        self.read(queue, from)
                    }
                    ServerStep::Write(to) => self.write(queue, to),
                }
            }
            _ => Ok(()),
        }
    }

    fn iteration(&self) -> u64 {
        self.iteration
    }
}
