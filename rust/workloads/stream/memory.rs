// SPDX-License-Identifier: GPL-2.0

//! The buffers of one side of a stream, and the requests that name them.

#![forbid(unsafe_code)]

use crate::{
    engine::queue::Queue,
    logic::{
        command::StreamOptions,
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

/// Bytes that are looked at, at once: those of a stream are the same behind so many.
const CHUNK: usize = 256;

/// Bytes of a stream from any position on that a client has ready.
const CONTENT: usize = 64 << 10;

/// Bytes of a receive, of which a WRITE with immediate data fills none.
const RECEIVE: u32 = 4;

const ENTRY: u32 = Segment::LEN as u32;

/// Place that the bytes of a message come from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// The ring, from this offset on.
    Ring(u32),
    /// The bytes that a client sends, from this position of the stream on.
    Content(u64),
}

impl Source {
    /// Returns the source of what is `len` bytes behind.
    fn behind(self, len: usize) -> Self {
        match self {
            Self::Ring(offset) => Self::Ring(offset.wrapping_add(len as u32)),
            Self::Content(position) => Self::Content(position.wrapping_add(len as u64)),
        }
    }
}

/// The buffers of one side.
pub(super) struct Buffers {
    /// The bytes that arrive.
    ring: (BufferId, RegionId),
    /// The list of segments, which the peer writes.
    list: (BufferId, RegionId),
    /// The bytes that are sent.
    outgoing: BufferId,
    /// Bytes that a client sends.
    content: Option<BufferId>,
    /// The entries of the peer's list on their way, one for each control message.
    entries: BufferId,
    receive: BufferId,
}

impl Buffers {
    /// Adds the buffers to `memory`, with places for `entries` entries on their way. May sleep.
    pub(super) fn new(memory: &mut Memory, options: &StreamOptions, entries: u32) -> Result<Self> {
        // Both halves of a ring are alike.
        let ring = memory.add_buffer((options.rbuf & !1) as usize)?;
        let list = memory.add_buffer(Hello::ENTRIES as usize * Segment::LEN)?;
        Ok(Self {
            ring: (ring, memory.add_region(ring)?),
            list: (list, memory.add_region(list)?),
            outgoing: memory.add_buffer(options.sbuf as usize)?,
            content: None,
            entries: memory.add_buffer(entries as usize * Segment::LEN)?,
            receive: memory.add_buffer(RECEIVE as usize)?,
        })
    }

    /// Adds the buffer of the bytes that a client sends. May sleep.
    pub(super) fn add_content(&mut self, memory: &mut Memory) -> Result {
        self.content = Some(memory.add_buffer(CONTENT + CHUNK)?);
        Ok(())
    }

    /// Fills that buffer.
    pub(super) fn fill_content(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let Some(content) = self.content else {
            return Ok(());
        };
        let mut bytes = [0; CHUNK];
        data::fill(&mut bytes, 0);
        for offset in (0..=CONTENT).step_by(CHUNK) {
            queue
                .write(content, offset, &bytes)
                .map_err(memory_failed)?;
        }
        Ok(())
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

    /// Copies bytes of `source` to a place of the send buffer.
    pub(super) fn copy(&self, queue: &Queue<'_>, mut source: Source, place: &Place) -> Result {
        for (at, len) in parts(place) {
            let (mut at, mut left) = (at as usize, len as usize);
            while left > 0 {
                let len = self.copy_piece(queue.memory(), source, at, left)?;
                source = source.behind(len);
                at += len;
                left -= len;
            }
        }
        Ok(())
    }

    /// Copies `len` bytes of `source` to the send buffer from `at` on, or as many as lie together,
    /// and returns their number.
    fn copy_piece(&self, memory: &Memory, source: Source, at: usize, len: usize) -> Result<usize> {
        let (buffer, offset, len) = match source {
            Source::Ring(offset) => (self.ring.0, offset as usize, len),
            Source::Content(position) => {
                let content = self.content.ok_or(EINVAL)?;
                (content, position as usize % CHUNK, len.min(CONTENT))
            }
        };
        let to = memory.pages(self.outgoing)?;
        memory.sync_for_cpu(buffer, offset, len)?;
        memory.pages(buffer)?.copy_to(offset, to, at, len)?;
        memory.sync_for_device(buffer, offset, len)?;
        memory.sync_for_device(self.outgoing, at, len)?;
        Ok(len)
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
