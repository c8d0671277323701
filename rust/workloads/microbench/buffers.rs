// SPDX-License-Identifier: GPL-2.0

//! Buffers of one side of a microbenchmark: the source and the sink of the data, and the one of
//! them that is opened to the peer.
//!
//! With `buffers=` each of them has several places. They are in as many pieces of memory as `mrs=`
//! says, each under a region of its own. If there are several regions, the advertisement is of a
//! table of their advertisements, which the peer reads before it posts anything else.

#![forbid(unsafe_code)]

use super::{
    plan::Plan,
    verb, //
};
use crate::{
    engine::queue::Queue,
    logic::{
        failure::Failure,
        measure::places::Place,
        wire::Advertisement, //
    },
    mr::{
        Access,
        BufferId,
        Memory,
        RegionId, //
    },
    rdma::{
        mr::Remote,
        wr::{
            List,
            Local,
            WorkRequest,
            MAX_CHAIN, //
        }, //
    },
    workloads::exchange::memory_failed, //
};
use kernel::prelude::*;

/// Memory in as many pieces as there are regions.
type Parts = KVVec<BufferId>;

/// A table of advertisements.
#[derive(Clone, Copy)]
struct Table {
    buffer: BufferId,
    region: Option<RegionId>,
}

/// Buffers of one side.
pub(super) struct Buffers {
    /// Memory that data is sent or read from, if there is any.
    source: Parts,
    /// Memory that WRITEs and READs put data into, if there is any.
    sink: Parts,
    /// Memory that is opened to the peer is the source.
    opens_source: bool,
    /// The access that the peer has to memory, if it has any.
    access: Option<Access>,
    /// Regions of the memory that is opened to the peer; none if there is none, or the unsafe
    /// global rkey opens it.
    opened: KVVec<RegionId>,
    /// Regions whose keys this side's operations use for their own memory; none for the local DMA
    /// lkey.
    own: KVVec<RegionId>,
    /// The table of the regions that are opened, if there are several.
    table: Option<Table>,
    /// The table of the peer, if it has one that is read.
    of_peer: Option<Table>,
    /// Regions of the peer's memory, as many as this side has.
    peers: KVVec<Remote>,
    /// All regions but that of the peer's table, and what each is registered for.
    registrations: KVVec<(RegionId, Access)>,
}

impl Buffers {
    /// Adds the buffers and regions that `plan` needs to `memory`. May sleep.
    #[inline(never)]
    pub(super) fn new(plan: &Plan, memory: &mut Memory) -> Result<KBox<Self>> {
        let fetches = plan.fetches();
        // A READ moves data from the target, the other operations move data to it.
        let (gives, takes) = if fetches {
            (plan.is_target(), plan.posts())
        } else {
            (plan.posts(), plan.is_target() && !plan.is_received())
        };
        let source = add_parts(plan, memory, gives)?;
        let sink = add_parts(plan, memory, takes)?;
        fill(plan, memory, &source)?;
        let access = verb::access(plan.verb).filter(|_| plan.is_target());
        let is_opened = access.is_some() && !plan.unsafe_global_rkey;
        let opened = add_regions(memory, if fetches { &source } else { &sink }, is_opened)?;
        let has_keys = plan.has_regions() || fetches && memory.sink_needs_region();
        let own_parts = if fetches { &sink } else { &source };
        let own = add_regions(memory, own_parts, plan.posts() && has_keys)?;
        let table = (plan.has_regions() && is_opened)
            .then(|| add_table(plan, memory, true))
            .transpose()?;
        let needs_region = memory.sink_needs_region();
        let of_peer = plan
            .reads_table()
            .then(|| add_table(plan, memory, needs_region))
            .transpose()?;
        let mut peers = KVVec::with_capacity(plan.regions(), GFP_KERNEL)?;
        for _ in 0..plan.regions() {
            peers.push(Remote::from(Advertisement::nowhere(0)), GFP_KERNEL)?;
        }
        let own_access = match fetches {
            true => memory.sink_access(),
            false => Access::Local,
        };
        let mut registrations = KVVec::new();
        for region in opened.iter() {
            registrations.push((*region, access.ok_or(EINVAL)?), GFP_KERNEL)?;
        }
        for region in own.iter() {
            registrations.push((*region, own_access), GFP_KERNEL)?;
        }
        if let Some(region) = table.and_then(|table| table.region) {
            registrations.push((region, Access::RemoteRead), GFP_KERNEL)?;
        }
        let buffers = Self {
            source,
            sink,
            opens_source: fetches,
            access,
            opened,
            own,
            table,
            of_peer,
            peers,
            registrations,
        };
        Ok(KBox::new(buffers, GFP_KERNEL)?)
    }

    /// Returns the first piece of the source, which is all of it where it has one place.
    pub(super) fn source(&self) -> Option<BufferId> {
        self.source.first().copied()
    }

    /// Returns the first piece of the sink, which is all of it where it has one place.
    pub(super) fn sink(&self) -> Option<BufferId> {
        self.sink.first().copied()
    }

    /// Returns the buffer and the offset of a place of the sink.
    pub(super) fn in_sink(&self, place: Place) -> Option<(BufferId, usize)> {
        let buffer = self.sink.get(place.region as usize)?;
        Some((*buffer, place.offset as usize))
    }

    /// Returns the local operand of an operation whose `len` bytes of data have this place.
    pub(super) fn local(&self, place: Place, len: u32) -> Option<Local> {
        let parts = if self.opens_source {
            &self.sink
        } else {
            &self.source
        };
        Some(Local {
            buffer: *parts.get(place.region as usize)?,
            offset: place.offset,
            len,
            region: self.own.get(place.region as usize).copied(),
        })
    }

    /// Returns the advertisement for the peer, and writes what it is of, if that is a table.
    pub(super) fn advertise(&self, queue: &mut Queue<'_>) -> Result<Advertisement, Failure> {
        let parts = if self.opens_source {
            &self.source
        } else {
            &self.sink
        };
        let opened = parts.first().filter(|_| self.access.is_some());
        let advertised = match (self.table, opened, self.opened.first()) {
            // The peer needs no buffer here.
            (_, None, _) => return Ok(Advertisement::nowhere(0)),
            (Some(table), ..) => self.write_table(queue, table),
            (None, _, Some(region)) => queue.memory().remote(*region),
            (None, Some(buffer), None) => queue.memory().remote_global(*buffer),
        };
        advertised.map(Advertisement::from).map_err(memory_failed)
    }

    fn write_table(&self, queue: &mut Queue<'_>, table: Table) -> Result<Remote> {
        let ends = (0..).step_by(Advertisement::LEN);
        for (offset, region) in ends.zip(self.opened.iter()) {
            let entry = Advertisement::from(queue.memory().remote(*region)?);
            queue.write(table.buffer, offset, &entry.encode())?;
        }
        queue.memory().remote(table.region.ok_or(EINVAL)?)
    }

    /// Posts the registrations that make the keys valid, but for the last, which are returned. They
    /// must be posted before the peer learns of any key.
    pub(super) fn register(&self, queue: &mut Queue<'_>) -> Result<List, Failure> {
        let mut list = List::new();
        for &(region, access) in &self.registrations {
            // One more request goes with the last ones.
            if list.as_slice().len() == MAX_CHAIN - 1 {
                queue.post_control(list.as_slice())?;
                list = List::new();
            }
            list.push(registration(region, access));
        }
        Ok(list)
    }

    /// Returns the READ of the peer's table, which `remote` advertises, after the registration that
    /// it needs; `None` where that is not as large as it must be.
    pub(super) fn read_table(&self, remote: Advertisement) -> Option<List> {
        let table = self.of_peer?;
        let len = u32::try_from(table_bytes(self.peers.len())).ok()?;
        if remote.size != len {
            return None;
        }
        let mut list = List::new();
        if let Some(region) = table.region {
            list.push(registration(region, Access::RemoteWrite));
        }
        list.push(WorkRequest::Read {
            local: Local {
                buffer: table.buffer,
                offset: 0,
                len,
                region: table.region,
            },
            remote: Remote::from(remote),
            invalidate_local: false,
            signaled: true,
        });
        Some(list)
    }

    /// Takes the peer's regions from its table, which has been read. Any context.
    pub(super) fn take_table(&mut self, memory: &Memory) -> Result {
        let table = self.of_peer.ok_or(EINVAL)?;
        let ends = (0..).step_by(Advertisement::LEN);
        for (offset, peer) in ends.zip(self.peers.iter_mut()) {
            let mut entry = [0; Advertisement::LEN];
            memory.read(table.buffer, offset, &mut entry)?;
            *peer = Advertisement::decode(&entry).into();
        }
        Ok(())
    }

    /// Takes the one region of the peer.
    pub(super) fn take_peer(&mut self, remote: Advertisement) {
        self.peers.iter_mut().for_each(|peer| *peer = remote.into());
    }

    /// Returns the regions of the peer.
    pub(super) fn peers(&self) -> &[Remote] {
        &self.peers
    }

    /// Returns the peer's memory at a place.
    pub(super) fn remote(&self, place: Place) -> Option<Remote> {
        let peer = self.peers.get(place.region as usize)?;
        Some(Remote {
            // The device checks what the peer has said.
            addr: peer.addr.wrapping_add(place.offset.into()),
            ..*peer
        })
    }
}

/// Returns the registration of a region.
fn registration(region: RegionId, access: Access) -> WorkRequest {
    WorkRequest::Register {
        region,
        access,
        renew_key: false,
        signaled: false,
    }
}

/// Returns the bytes of a table of `regions` regions.
fn table_bytes(regions: usize) -> usize {
    regions.saturating_mul(Advertisement::LEN)
}

/// Adds the parts of the memory of one direction, if that is `needed`. May sleep.
fn add_parts(plan: &Plan, memory: &mut Memory, needed: bool) -> Result<Parts> {
    let count = if needed { plan.regions() } else { 0 };
    let mut parts = KVVec::with_capacity(count, GFP_KERNEL)?;
    for _ in 0..count {
        parts.push(memory.add_buffer(plan.region_bytes())?, GFP_KERNEL)?;
    }
    Ok(parts)
}

/// Writes to the source what is there before the first operation. May sleep.
fn fill(plan: &Plan, memory: &mut Memory, source: &Parts) -> Result {
    if let Some((numbered, buffer)) = plan.numbered().zip(source.first()) {
        return numbered.fill_all(memory, *buffer);
    }
    if source.is_empty() {
        return Ok(());
    }
    for number in 0..plan.places().count() {
        let place = plan.place(number.into());
        let buffer = *source.get(place.region as usize).ok_or(EINVAL)?;
        let at = (buffer, place.offset as usize);
        verb::fill(plan.verb, &plan.data_of(number.into()), memory, at)?;
    }
    Ok(())
}

/// Adds a region over each of `parts`, if they are `needed`. May sleep.
fn add_regions(memory: &mut Memory, parts: &Parts, needed: bool) -> Result<KVVec<RegionId>> {
    let mut regions = KVVec::new();
    for part in parts.iter().filter(|_| needed) {
        regions.push(memory.add_region(*part)?, GFP_KERNEL)?;
    }
    Ok(regions)
}

/// Adds a table for the regions of `plan`, with a region over it if `needs_region` is true. May
/// sleep.
fn add_table(plan: &Plan, memory: &mut Memory, needs_region: bool) -> Result<Table> {
    let buffer = memory.add_buffer(table_bytes(plan.regions()))?;
    Ok(Table {
        buffer,
        region: needs_region
            .then(|| memory.add_region(buffer))
            .transpose()?,
    })
}
