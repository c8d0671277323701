// SPDX-License-Identifier: GPL-2.0

//! The buffers of one side of a microbenchmark: what is sent, where the peer's
//! data comes, and which of the two is opened to the peer.

#![forbid(unsafe_code)]

use super::plan::Plan;
use crate::{
    logic::{
        data::pattern::{
            Data,
            Mismatch, //
        },
        failure::{
            Failure,
            Operation, //
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
        qp::Queue,
        wr::{
            List,
            WorkRequest, //
        }, //
    },
    workloads::{
        exchange::memory_failed,
        pingpong::client::compare, //
    }, //
};
use kernel::prelude::*;

/// The buffers of one side.
pub(super) struct Buffers {
    /// Holds the data, to be sent or read from; `None` where nothing is.
    pub(super) source: Option<BufferId>,
    /// Where data comes by WRITEs and READs; `None` where none does.
    pub(super) sink: Option<BufferId>,
    /// The one that is opened to the peer, and for what.
    exposed: Option<(BufferId, Access)>,
    /// `None` where nothing is opened, or the unsafe global rkey opens it.
    region: Option<RegionId>,
    /// The key through which READs write to `sink`; `None` for the local DMA lkey.
    read_region: Option<RegionId>,
}

impl Buffers {
    /// Adds them to `memory`, as `plan` needs them. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(plan: &Plan, memory: &mut Memory) -> Result<Self> {
        let size = plan.size as usize;
        let reads = plan.operation() == Operation::Read;
        let writes = plan.operation() == Operation::Write;
        // A READ takes from the target what other operations take to it.
        let (gives, takes) = if reads {
            (plan.is_target(), plan.posts())
        } else {
            (plan.posts(), plan.is_target() && writes)
        };
        let mut add = |needed: bool| needed.then(|| memory.add_buffer(size)).transpose();
        let (source, sink) = (add(gives)?, add(takes)?);
        if let Some(source) = source {
            memory.fill(source, size, |words| data(plan).fill(words))?;
        }
        let exposed = match (plan.is_target(), reads) {
            (false, _) => None,
            (true, true) => source.map(|source| (source, Access::RemoteRead)),
            (true, false) => sink.map(|sink| (sink, Access::RemoteWrite)),
        };
        let region = match exposed {
            Some((buffer, _)) if !plan.unsafe_global_rkey => Some(memory.add_region(buffer)?),
            _ => None,
        };
        let read_region = sink
            .filter(|_| reads && memory.sink_needs_region())
            .map(|sink| memory.add_region(sink))
            .transpose()?;
        Ok(Self {
            source,
            sink,
            exposed,
            region,
            read_region,
        })
    }

    /// What to tell the peer.
    ///
    /// # Errors
    ///
    /// None that a caller could cause.
    pub(super) fn advertisement(&self, memory: &Memory) -> Result<Advertisement, Failure> {
        match (self.exposed, self.region) {
            // A peer that needs no buffer here.
            (None, _) => Ok(Advertisement::nowhere(0)),
            (Some((buffer, _)), None) => memory.advertise_global(buffer).map_err(memory_failed),
            (Some(_), Some(region)) => memory.advertise(region).map_err(memory_failed),
        }
    }

    /// The requests that make the keys valid, before the peer is told of any.
    pub(super) fn register(&self, list: &mut List) {
        let opened = self.exposed.zip(self.region);
        let opened = opened.map(|((_, access), region)| (region, access));
        let read = self.read_region.map(|region| (region, Access::RemoteWrite));
        for (region, access) in [opened, read].into_iter().flatten() {
            list.push(WorkRequest::Register {
                region,
                access,
                renew_key: false,
            });
        }
    }

    /// The key through which operations of this side use their buffer: that of its
    /// region, or the local DMA lkey.
    pub(super) fn local_region(&self) -> Option<RegionId> {
        self.read_region
    }
}

/// The data of `plan`, the same in each operation.
fn data(plan: &Plan) -> Data {
    Data::new(plan.pattern, 0, plan.size as usize)
}

/// What is wrong in `buffer` with data that came from the peer.
///
/// # Errors
///
/// None that a caller could cause.
pub(super) fn check(
    queue: &Queue<'_>,
    buffer: BufferId,
    plan: &Plan,
) -> Result<Option<Mismatch>, Failure> {
    match compare(queue, buffer, &data(plan)) {
        Ok(()) => Ok(None),
        Err(Failure::Mismatch(mismatch)) => Ok(Some(mismatch)),
        Err(failure) => Err(failure),
    }
}
