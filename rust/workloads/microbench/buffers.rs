// SPDX-License-Identifier: GPL-2.0

//! Buffers of one side of a microbenchmark: the source and the sink of the data, and the one of
//! them that is opened to the peer.

#![forbid(unsafe_code)]

use super::{
    plan::Plan,
    verb, //
};
use crate::{
    logic::{
        failure::Failure,
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
        WorkRequest, //
    },
    workloads::exchange::memory_failed, //
};
use kernel::prelude::*;

/// Buffers of one side.
pub(super) struct Buffers {
    /// Buffer that data is sent or read from; `None` if there is none.
    pub(super) source: Option<BufferId>,
    /// Buffer that WRITEs and READs put data into; `None` if there is none.
    pub(super) sink: Option<BufferId>,
    /// Buffer that is opened to the peer, and the access that the peer has.
    exposed: Option<(BufferId, Access)>,
    /// Region of the buffer that is opened to the peer; `None` if there is none, or the unsafe
    /// global rkey opens it.
    region: Option<RegionId>,
    /// Region whose key READs use to write to `sink`; `None` for the local DMA lkey.
    read_region: Option<RegionId>,
}

impl Buffers {
    /// Adds the buffers and regions that `plan` needs to `memory`. May sleep.
    pub(super) fn new(plan: &Plan, memory: &mut Memory) -> Result<Self> {
        let size = plan.room_for_data();
        let fetches = plan.fetches();
        // A READ moves data from the target, the other operations move data to it.
        let (gives, takes) = if fetches {
            (plan.is_target(), plan.posts())
        } else {
            (plan.posts(), plan.is_target() && !plan.is_received())
        };
        let mut add = |needed: bool| needed.then(|| memory.add_buffer(size)).transpose();
        let (source, sink) = (add(gives)?, add(takes)?);
        if let Some(source) = source {
            match plan.numbered() {
                Some(numbered) => numbered.fill_all(memory, source)?,
                None => verb::fill(plan.verb, &plan.data(), memory, source)?,
            }
        }
        let target = if fetches { source } else { sink };
        let exposed = target
            .filter(|_| plan.is_target())
            .zip(verb::access(plan.verb));
        let region = match exposed {
            Some((buffer, _)) if !plan.unsafe_global_rkey => Some(memory.add_region(buffer)?),
            _ => None,
        };
        let read_region = sink
            .filter(|_| fetches && memory.sink_needs_region())
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

    /// Returns the advertisement for the peer.
    pub(super) fn advertisement(&self, memory: &Memory) -> Result<Advertisement, Failure> {
        match (self.exposed, self.region) {
            // The peer needs no buffer here.
            (None, _) => Ok(Advertisement::nowhere(0)),
            (Some((buffer, _)), None) => memory
                .remote_global(buffer)
                .map(Advertisement::from)
                .map_err(memory_failed),
            (Some(_), Some(region)) => memory
                .remote(region)
                .map(Advertisement::from)
                .map_err(memory_failed),
        }
    }

    /// Appends to `list` the registrations that make the keys valid. They must be posted before the
    /// peer learns of any key.
    pub(super) fn register(&self, list: &mut List) {
        let opened = self.exposed.zip(self.region);
        let opened = opened.map(|((_, access), region)| (region, access));
        let read = self.read_region.map(|region| (region, Access::RemoteWrite));
        for (region, access) in [opened, read].into_iter().flatten() {
            list.push(WorkRequest::Register {
                region,
                access,
                renew_key: false,
                signaled: false,
            });
        }
    }

    /// Returns the region whose key this side's operations use for their buffer; `None` for the
    /// local DMA lkey.
    pub(super) fn local_region(&self) -> Option<RegionId> {
        self.read_region
    }
}
