// SPDX-License-Identifier: GPL-2.0

//! The buffers of one side of a stream, and the requests that name them.

#![forbid(unsafe_code)]

use crate::{
    engine::queue::Queue,
    logic::{
        failure::Failure,
        stream::{
            data,
            hello::Hello,
            receiver::{
                Grant,
                Piece,
                Receiver, //
            },
            send_buffer::Place,
            sender::Write,
            ByteOrder,
            Segment, //
        }, //
    },
    mr::{
        BufferId,
        Memory,
        RegionId, //
    },
    rdma::{
        mr::{
            Access,
            Remote, //
        },
        wr::{
            Local,
            WorkRequest, //
        }, //
    },
    workloads::exchange::memory_failed, //
};
use kernel::prelude::*;

/// Bytes of the ring.
pub(super) const RING: u32 = 256 << 10;

/// Bytes of the send buffer.
pub(super) const SEND_BUFFER: u32 = 256 << 10;

/// Bytes that are looked at, at once.
const CHUNK: usize = 256;

/// Bytes of a receive, of which a WRITE with immediate data fills none.
const RECEIVE: u32 = 4;

const ENTRY: u32 = Segment::LEN as u32;

/// The buffers of one side.
pub(super) struct Buffers {
    /// The bytes that arrive.
    ring: (BufferId, RegionId),
    /// The list of segments, which the peer writes.
    list: (BufferId, RegionId),
    /// The bytes that are sent.
    outgoing: BufferId,
    /// The entries of the peer's list on their way, one for each control message.
    entries: BufferId,
    receive: BufferId,
}

impl Buffers {
    /// Adds the buffers to `memory`, with places for `entries` entries on their way. May sleep.
    pub(super) fn new(memory: &mut Memory, entries: u32) -> Result<Self> {
        let ring = memory.add_buffer(RING as usize)?;
        let list = memory.add_buffer(Hello::ENTRIES as usize * Segment::LEN)?;
        Ok(Self {
            ring: (ring, memory.add_region(ring)?),
            list: (list, memory.add_region(list)?),
            outgoing: memory.add_buffer(SEND_BUFFER as usize)?,
            entries: memory.add_buffer(entries as usize * Segment::LEN)?,
            receive: memory.add_buffer(RECEIVE as usize)?,
        })
    }

    /// Returns the private data of this side, which has `credits` receives, and its ring.
    pub(super) fn hello(&self, memory: &Memory, credits: u16) -> Result<(Hello, Segment)> {
        let segment = |region| {
            let Remote { addr, rkey, len } = memory.remote(region)?;
            Ok::<_, Error>(Segment { addr, rkey, len })
        };
        let ring = segment(self.ring.1)?;
        let list = Segment {
            len: Hello::ENTRIES,
            ..segment(self.list.1)?
        };
        let hello = Hello {
            order: ByteOrder::HOST,
            credits,
            mappings: 0,
            list,
            ring: Receiver::first_part(ring),
        };
        Ok((hello, ring))
    }

    /// Returns the registrations that make the keys valid, each of which completes.
    pub(super) fn register(&self) -> [WorkRequest; 2] {
        [self.ring.1, self.list.1].map(|region| WorkRequest::Register {
            region,
            access: Access::RemoteWrite,
            renew_key: false,
            signaled: true,
        })
    }

    /// Posts a receive.
    pub(super) fn post_receive(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        queue.post_receive(0, self.receive, RECEIVE)
    }

    /// Reads an entry of the list.
    pub(super) fn entry(&self, queue: &Queue<'_>, index: u32) -> Result<[u8; Segment::LEN]> {
        let mut bytes = [0; Segment::LEN];
        queue
            .memory()
            .read(self.list.0, offset_of(index), &mut bytes)?;
        Ok(bytes)
    }

    /// Zeroes an entry of the list, which has been taken.
    pub(super) fn clear_entry(&self, queue: &mut Queue<'_>, index: u32) -> Result {
        queue.write(self.list.0, offset_of(index), &[0; Segment::LEN])
    }

    /// Compares a piece of the ring, which begins at `position` of the stream and came with message
    /// number `message`.
    pub(super) fn check(
        &self,
        queue: &Queue<'_>,
        piece: Piece,
        position: u64,
        message: u64,
    ) -> Result<(), Failure> {
        let mut bytes = [0; CHUNK];
        let mut at = 0;
        while at < piece.len as usize {
            let len = CHUNK.min(piece.len as usize - at);
            let (chunk, _) = bytes.split_at_mut(len);
            queue
                .memory()
                .read(self.ring.0, piece.offset as usize + at, chunk)
                .map_err(memory_failed)?;
            data::check(chunk, position.wrapping_add(at as u64), message)
                .map_err(Failure::Mismatch)?;
            at += len;
        }
        Ok(())
    }

    /// Copies bytes of the ring from `offset` on to a place of the send buffer.
    pub(super) fn copy(&self, queue: &Queue<'_>, offset: u32, place: &Place) -> Result {
        let memory = queue.memory();
        let ring = memory.pages(self.ring.0)?;
        let to = memory.pages(self.outgoing)?;
        let mut from = offset as usize;
        for (at, len) in parts(place) {
            let (at, len) = (at as usize, len as usize);
            memory.sync_for_cpu(self.ring.0, from, len)?;
            ring.copy_to(from, to, at, len)?;
            memory.sync_for_device(self.ring.0, from, len)?;
            memory.sync_for_device(self.outgoing, at, len)?;
            from += len;
        }
        Ok(())
    }

    /// Returns the request of a message with data.
    pub(super) fn write(&self, write: &Write, immediate: u32) -> WorkRequest {
        let local = |(offset, len)| Local {
            buffer: self.outgoing,
            offset,
            len,
            region: None,
        };
        let [first, rest] = parts(&write.place);
        WorkRequest::WriteImmediate {
            parts: Some((local(first), (rest.1 > 0).then(|| local(rest)))),
            remote: remote(&write.remote),
            immediate,
            signaled: true,
        }
    }

    /// Returns the request of a grant, whose entry for a list, if it has one, is `bytes` and leaves
    /// from place number `place`; `rkey` is that of the list.
    pub(super) fn grant(
        &self,
        queue: &mut Queue<'_>,
        grant: &Grant,
        bytes: &[u8; Segment::LEN],
        rkey: u32,
        place: u32,
    ) -> Result<WorkRequest> {
        let Some((_, addr)) = grant.renewal else {
            return Ok(message(grant.message.encode()));
        };
        queue.write(self.entries, offset_of(place), bytes)?;
        let entry = Local {
            buffer: self.entries,
            offset: place * ENTRY,
            len: ENTRY,
            region: None,
        };
        Ok(WorkRequest::WriteImmediate {
            parts: Some((entry, None)),
            remote: Remote {
                addr,
                rkey,
                len: ENTRY,
            },
            immediate: grant.message.encode(),
            signaled: true,
        })
    }
}

/// Returns the request of a message without data.
pub(super) fn message(immediate: u32) -> WorkRequest {
    WorkRequest::WriteImmediate {
        parts: None,
        remote: Remote {
            addr: 0,
            rkey: 0,
            len: 0,
        },
        immediate,
        signaled: true,
    }
}

fn remote(segment: &Segment) -> Remote {
    Remote {
        addr: segment.addr,
        rkey: segment.rkey,
        len: segment.len,
    }
}

/// Returns the offset and the bytes of both pieces of a place.
fn parts(place: &Place) -> [(u32, u32); 2] {
    [(place.offset, place.len), (0, place.rest)]
}

/// Returns the offset of an entry among others.
fn offset_of(entry: u32) -> usize {
    entry as usize * Segment::LEN
}
