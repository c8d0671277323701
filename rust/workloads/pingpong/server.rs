// SPDX-License-Identifier: GPL-2.0

//! The server's side of the ping/pong.
//!
//! An advertised source is read and an advertised sink is written, each with one list: the RDMA
//! operation, its registration requests, and the go-ahead. The go-ahead after a READ is fenced, so
//! the device sends it once the data has arrived, without involving the CPU again. Most READs
//! therefore need no completion.

#![forbid(unsafe_code)]

use super::client::{
    compare,
    print_start, //
};
use crate::{
    engine::{
        completion::WorkCompletion,
        depths::Depths,
        limits::RECEIVES,
        queue::Queue,
        side::{
            Follow,
            Side,
            Summary, //
        },
        traffic::Traffic,
        workload::Workload, //
    },
    kernel_ext::time::monotonic_ns,
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
    rdma::wr::{
        List,
        Local,
        WorkRequest, //
    },
    workloads::exchange::Exchange, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Parameters of the service for one client. Those that the client does not decide come from the
/// server's command.
#[derive(Clone, Copy)]
pub(crate) struct Service {
    /// Size of the buffer in bytes.
    pub(crate) size: u32,
    /// Number of iterations that the client announced; 0 if it announced none.
    pub(crate) count: u64,
    /// Registration mode of the local buffer of RDMA operations.
    pub(crate) mem_mode: MemMode,
    /// Invalidate the client's key with the go-ahead.
    pub(crate) server_inv: bool,
    /// READ with READ_WITH_INV.
    pub(crate) read_inv: bool,
    /// WRITE from the local DMA lkey in `reg` mode too.
    pub(crate) local_dma_lkey: bool,
    /// Pattern of the data from the client; `None` if it is unknown or must not be checked.
    pub(crate) check: Option<Pattern>,
    /// Log the data.
    pub(crate) verbose: bool,
    /// The client sends no messages: it only registers memory.
    pub(crate) silent: bool,
}

/// Interval, in iterations, at which a READ whose data is not inspected asks for a completion. Only
/// a completion shows that the send queue has room again.
const SIGNAL_EVERY: u64 = 7;

/// Number of requests that the send queue must hold: the lists of the iterations between two
/// completions, and of the current iteration.
const SEND_DEPTH: u32 = 8 * (SIGNAL_EVERY as u32 + 1);

/// The server's workload.
pub(crate) struct PingPongServer {
    exchange: Exchange,
    service: Service,
    txdepth: u32,
    machine: Server,
    buffer: BufferId,
    /// `None` if the local DMA lkey is enough for everything.
    region: Option<RegionId>,
    /// Access that the sink of a READ is registered with.
    sink_access: Access,
    iteration: u64,
    /// The WRITE of this iteration has been posted: the next source advertisement begins a new
    /// iteration.
    written: bool,
    started_ns: u64,
    ended_ns: u64,
}

impl PingPongServer {
    /// Adds the buffers to `memory`. May sleep.
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
        let now = monotonic_ns();
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
                started_ns: now,
                ended_ns: now,
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
                signaled: false,
            });
        }
    }

    /// Returns true if this iteration's READ asks for a completion. Otherwise the client's next
    /// message implies that the READ is done. A client that sends it too early does no harm:
    /// everything that is posted in answer waits for the READ. It cannot get further than the next
    /// READ that asks for a completion, since no message may arrive before that one completes.
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
            remote: from.into(),
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
            // The source had as many bytes as the sink.
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
            remote: to.into(),
            signaled: false,
        });
        self.go_ahead(queue, list, to.rkey, false)?;
        self.exchange.traffic().written(to.size);
        self.written = true;
        self.ended_ns = monotonic_ns();
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
            compare(queue, self.buffer, 0, &data)?;
            self.exchange.traffic().validated(size);
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

    /// Posts a WRITE of no bytes to a client that sends no messages, so that its device
    /// acknowledges it. Does nothing for other clients.
    fn keepalive(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if !self.service.silent {
            return Ok(());
        }
        queue.post(&[WorkRequest::Write {
            local: self.local(0, None),
            remote: Advertisement::nowhere(0).into(),
            signaled: true,
        }])
    }

    /// Returns the result; its time is that from the first advertisement to the last.
    fn summary(&self) -> Summary<'_> {
        Summary {
            iterations: self.iteration + u64::from(self.written),
            times: Some((self.started_ns, self.ended_ns)),
            ..Summary::default()
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
                            self.iteration += 1;
                        } else {
                            self.started_ns = monotonic_ns();
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
