// SPDX-License-Identifier: GPL-2.0

//! Fast registration stress: registers and invalidates memory as fast as the send queue allows.
//!
//! One or more regions cover the same buffer. One list registers and invalidates a region; when its
//! last request completes, the list is posted again with a new key. The server only keeps the
//! connection up.

#![forbid(unsafe_code)]

use super::{
    exchange::memory_failed,
    pingpong, //
};
use crate::{
    engine::{
        client as engine_client,
        client::Client,
        completion::WorkCompletion,
        depths::Depths,
        entry::{
            Client as ClientEntry,
            Entry, //
        },
        limits::RECEIVES,
        outcome::Progress,
        queue::Queue,
        results::Report,
        server,
        side::{
            Lead,
            Side,
            Summary, //
        },
        traffic::Traffic,
        workload::Workload, //
    },
    kernel_ext::time::{
        monotonic_ns,
        Deadline, //
    },
    logic::{
        command::Command,
        failure::{
            Failure,
            Operation, //
        },
        spec::tests::Family, //
    },
    mr::{
        Access,
        Memory,
        RegionId, //
    },
    rdma::{
        device::Device,
        wr::WorkRequest, //
    },
    workloads::pingpong::entry::check_read_inv, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Fast registration stress. Its server is that of the ping/pong, and receives no messages.
pub(crate) static ENTRY: Entry = Entry {
    families: &[Family::FastReg],
    client: ClientEntry::Threads(|session, addr| engine_client::start(session, addr, lead)),
    listen: Some(server::start),
    serve: Some(pingpong::entry::serve),
    depths: None,
    states: &[],
};

fn lead(client: &Client<'_>, report: &mut Report<'_>) -> Result<(), Failure> {
    let command = &client.session.command;
    let check = |device: &Device<'_>| check_read_inv(command.read_inv, device);
    client.lead(report, check, |limits, memory, traffic| {
        FastReg::new(command, limits.txdepth, memory, traffic)
    })
}

/// Most regions that are in use at a time.
const MAX_REGIONS: u32 = 32;

/// The client's workload.
pub(crate) struct FastReg {
    regions: KVec<RegionId>,
    traffic: Arc<Traffic>,
    count: u64,
    duration_ms: Option<u32>,
    /// Deadline of a run that is limited by time.
    until: Option<Deadline>,
    txdepth: u32,
    posted: u64,
    finished: u64,
    started_ns: u64,
    ended_ns: u64,
}

impl FastReg {
    /// Adds the buffer and the regions to `memory`. May sleep.
    #[inline(never)]
    pub(crate) fn new(
        command: &Command,
        txdepth: u32,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<KBox<Self>> {
        let buffer = memory.add_buffer(command.size as usize)?;
        let mut regions = KVec::new();
        for _ in 0..(txdepth / 2).clamp(1, MAX_REGIONS) {
            regions.push(memory.add_region(buffer)?, GFP_KERNEL)?;
        }
        let now = monotonic_ns();
        Ok(KBox::new(
            Self {
                regions,
                traffic,
                count: command.count,
                duration_ms: command.duration_ms(),
                until: None,
                txdepth,
                posted: 0,
                finished: 0,
                started_ns: now,
                ended_ns: now,
            },
            GFP_KERNEL,
        )?)
    }

    fn post_pair(&mut self, queue: &mut Queue<'_>, index: usize) -> Result<(), Failure> {
        if self.count != 0 && self.posted >= self.count {
            return Ok(());
        }
        let region = *self
            .regions
            .get(index)
            .ok_or_else(|| memory_failed(EINVAL))?;
        queue.post(&[
            WorkRequest::Register {
                region,
                access: Access::RemoteWrite,
                renew_key: true,
                signaled: false,
            },
            WorkRequest::Invalidate {
                region,
                fence: false,
                signaled: true,
            },
        ])?;
        self.posted += 1;
        Ok(())
    }
}

impl Side for FastReg {
    fn depths(&self) -> Depths {
        // The server sends nothing, but the receive queue has room for messages anyway.
        Depths::plain(self.txdepth.max(2 * MAX_REGIONS), RECEIVES as u32)
    }

    fn prepare(&mut self, _: &mut Queue<'_>) -> Result<(), Failure> {
        Ok(())
    }

    fn summary(&self) -> Summary<'_> {
        Summary {
            iterations: self.finished,
            times: Some((self.started_ns, self.ended_ns)),
            ..Summary::default()
        }
    }
}

impl Lead for FastReg {
    fn start(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.started_ns = monotonic_ns();
        self.ended_ns = self.started_ns;
        self.traffic.measuring(self.started_ns);
        self.until = self.duration_ms.map(Deadline::after_ms);
        for index in 0..self.regions.len() {
            self.post_pair(queue, index)?;
        }
        Ok(())
    }
}

impl Workload for FastReg {
    type Done = ();

    const OPERATIONS: &'static [Operation] = &[Operation::Register, Operation::Invalidate];

    fn completed(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        if wc.op != Operation::Invalidate {
            return Ok(());
        }
        // Pairs complete in the order in which they were posted, which is round-robin.
        let index = self
            .finished
            .checked_rem(self.regions.len() as u64)
            .unwrap_or(0) as usize;
        self.finished += 1;
        self.ended_ns = monotonic_ns();
        self.traffic.ended(self.ended_ns, 1, None);
        if self.until.is_some_and(Deadline::passed) {
            // The pairs in flight are the last ones. This is decided only once.
            self.count = self.posted;
            self.until = None;
        }
        if self.finished == self.count {
            queue.outcome.advance(Progress::Finished);
        }
        self.post_pair(queue, index)
    }

    fn iteration(&self) -> u64 {
        self.finished
    }
}
