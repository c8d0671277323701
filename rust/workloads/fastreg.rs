// SPDX-License-Identifier: GPL-2.0

//! The stress of fast registration: register and invalidate, as fast as the send
//! queue takes it.
//!
//! A few regions over one buffer are each registered and invalidated by one
//! list, whose last completion posts it again with a new key. The server only
//! keeps the connection up.

#![forbid(unsafe_code)]

use super::{
    exchange::memory_failed,
    pingpong, //
};
use crate::{
    engine::{
        client as engine_client,
        client::Client,
        entry::{
            Client as ClientEntry,
            Entry, //
        },
        limits::RECEIVES,
        outcome::Progress,
        results::Report,
        server,
        side::{
            Lead,
            Side,
            Summary, //
        }, //
    },
    kernel_ext::time::Deadline,
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
        cq::WorkCompletion,
        qp::{
            Depths,
            Queue,
            Workload, //
        },
        wr::WorkRequest, //
    }, //
};
use kernel::{
    prelude::*,
    time::{
        Instant,
        Monotonic, //
    }, //
};

/// The stress of registrations. Its server is the ping/pong's, which nothing is sent to.
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
    client.lead(report, |limits, memory, _| {
        FastReg::new(command, limits.txdepth, memory)
    })
}

/// The most regions that are worked on at a time.
const MAX_REGIONS: u32 = 32;

/// The client's workload.
pub(crate) struct FastReg {
    regions: KVec<RegionId>,
    count: u64,
    duration_ms: Option<u32>,
    /// When to stop.
    until: Option<Deadline>,
    txdepth: u32,
    posted: u64,
    finished: u64,
    started: Instant<Monotonic>,
    ended: Instant<Monotonic>,
}

impl FastReg {
    /// Adds the buffer and the regions to `memory`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    #[inline(never)]
    pub(crate) fn new(command: &Command, txdepth: u32, memory: &mut Memory) -> Result<KBox<Self>> {
        let buffer = memory.add_buffer(command.size as usize)?;
        let mut regions = KVec::new();
        for _ in 0..(txdepth / 2).clamp(1, MAX_REGIONS) {
            regions.push(memory.add_region(buffer)?, GFP_KERNEL)?;
        }
        let now = Instant::now();
        Ok(KBox::new(
            Self {
                regions,
                count: command.count,
                duration_ms: command.duration_ms(),
                until: None,
                txdepth,
                posted: 0,
                finished: 0,
                started: now,
                ended: now,
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
            },
            WorkRequest::Invalidate {
                region,
                fence: false,
                signaled: true,
            },
        ])?;
        self.posted = self.posted.wrapping_add(1);
        Ok(())
    }
}

impl Side for FastReg {
    fn depths(&self) -> Depths {
        // The server says nothing; the queue pair has room for a message all the same.
        Depths::plain(self.txdepth.max(2 * MAX_REGIONS), RECEIVES as u32)
    }

    fn prepare(&mut self, _: &mut Queue<'_>) -> Result<(), Failure> {
        Ok(())
    }

    fn summary(&self) -> Summary<'_> {
        Summary {
            iterations: self.finished,
            times: Some((self.started, self.ended)),
            stretch: None,
            histogram: None,
            figures: None,
        }
    }
}

impl Lead for FastReg {
    fn start(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.started = Instant::now();
        self.ended = self.started;
        self.until = self.duration_ms.map(Deadline::after_ms);
        for index in 0..self.regions.len() {
            self.post_pair(queue, index)?;
        }
        Ok(())
    }
}

impl Workload for FastReg {
    type Done = ();

    fn completed(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion) -> Result<(), Failure> {
        if wc.op != Operation::Invalidate {
            return Ok(());
        }
        // Pairs complete in the order of their posts, which goes round.
        let index = self
            .finished
            .checked_rem(self.regions.len() as u64)
            .unwrap_or(0) as usize;
        self.finished = self.finished.wrapping_add(1);
        self.ended = Instant::now();
        if self.until.is_some_and(Deadline::passed) {
            // What is under way is the last, once.
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
