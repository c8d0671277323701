// SPDX-License-Identifier: GPL-2.0

//! The buffers of one side of a stream, and the requests that name them.

#![forbid(unsafe_code)]

use super::message::Parts;
use crate::{
    engine::queue::Queue,
    logic::{
        command::Command,
        data::bytes,
        failure::Failure,
        stream::{
            hello::Hello,
            iomap::Mapping,
            receiver::{
                Piece,
                Receiver, //
            },
            send_buffer::Place,
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
    workloads::{
        self,
        exchange::memory_failed, //
    }, //
};
use kernel::prelude::*;

/// Bytes that are looked at, at once.
const CHUNK: usize = bytes::PERIOD;

/// Bytes of a stream from any position on that a client has ready.
const CONTENT: usize = 64 << 10;

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
    ring: Opened,
    /// The list of segments, which the peer writes.
    list: Opened,
    /// The bytes that are sent.
    outgoing: BufferId,
    /// Bytes that a client sends.
    content: Option<BufferId>,
    /// A mapping of this side on its way to the peer's list, and behind it entries of that list,
    /// one for each control message.
    entries: BufferId,
}

/// A buffer that the peer writes to, by the key of a region that has to be registered, or by that
/// of all memory.
#[derive(Clone, Copy)]
pub(super) struct Opened {
    pub(super) buffer: BufferId,
    region: Option<RegionId>,
}

impl Opened {
    /// Adds a buffer of `size` bytes to `memory`, with a region unless there is a key for `all`
    /// memory. May sleep.
    pub(super) fn new(memory: &mut Memory, size: usize, all: bool) -> Result<Self> {
        let buffer = memory.add_buffer(size)?;
        let region = match all {
            true => None,
            false => Some(memory.add_region(buffer)?),
        };
        Ok(Self { buffer, region })
    }

    /// Returns the buffer as the peer names it.
    pub(super) fn segment(&self, memory: &Memory) -> Result<Segment> {
        let Remote { addr, rkey, len } = match self.region {
            Some(region) => memory.remote(region),
            None => memory.remote_global(self.buffer),
        }?;
        Ok(Segment { addr, rkey, len })
    }

    /// Posts the registration that makes the key valid, and completes, and returns the number of
    /// such: 0 where it is valid.
    pub(super) fn register(&self, queue: &mut Queue<'_>) -> Result<u16, Failure> {
        let Some(region) = self.region else {
            return Ok(0);
        };
        queue.post(&[WorkRequest::Register {
            region,
            access: Access::RemoteWrite,
            renew_key: false,
            signaled: true,
        }])?;
        Ok(1)
    }
}

impl Buffers {
    /// Adds the buffers to `memory`, with places for `entries` entries on their way. May sleep.
    pub(super) fn new(memory: &mut Memory, command: &Command, entries: u32) -> Result<Self> {
        let (options, all) = (&command.stream, command.unsafe_global_rkey);
        // Both halves of a ring are alike.
        let ring = Opened::new(memory, (options.rbuf & !1) as usize, all)?;
        let mappings = usize::from(options.mappings()) * Mapping::LEN;
        let list = Opened::new(memory, offset_of(Hello::ENTRIES) + mappings, all)?;
        Ok(Self {
            ring,
            list,
            outgoing: memory.add_buffer(options.sbuf as usize)?,
            content: None,
            entries: memory.add_buffer(Mapping::LEN + offset_of(entries))?,
        })
    }

    /// Adds the buffer of the bytes that a client sends. May sleep.
    pub(super) fn add_content(&mut self, memory: &mut Memory) -> Result {
        self.content = Some(memory.add_buffer(CONTENT + CHUNK)?);
        Ok(())
    }

    /// Fills that buffer.
    pub(super) fn fill_content(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        match self.content {
            Some(content) => fill(queue, content, (CONTENT + CHUNK) as u32, 0),
            None => Ok(()),
        }
    }

    /// Returns the private data of this side, which has `credits` receives and so many mappings,
    /// and its ring.
    pub(super) fn hello(
        &self,
        memory: &Memory,
        credits: u16,
        mappings: u16,
    ) -> Result<(Hello, Segment)> {
        let ring = self.ring.segment(memory)?;
        let list = Segment {
            len: Hello::ENTRIES,
            ..self.list.segment(memory)?
        };
        let hello = Hello {
            order: ByteOrder::HOST,
            credits,
            mappings,
            list,
            ring: Receiver::first_part(ring),
        };
        Ok((hello, ring))
    }

    /// Posts the registrations that make the keys valid, and returns their number.
    pub(super) fn register(&self, queue: &mut Queue<'_>) -> Result<u16, Failure> {
        Ok(self.ring.register(queue)? + self.list.register(queue)?)
    }

    /// Returns true where the peer was told of a key that opens all memory.
    pub(super) fn opens_all(&self) -> bool {
        self.ring.region.is_none()
    }

    /// Reads an entry of the list.
    pub(super) fn entry(&self, queue: &Queue<'_>, index: u32) -> Result<[u8; Segment::LEN]> {
        let mut bytes = [0; Segment::LEN];
        queue
            .memory()
            .read(self.list.buffer, offset_of(index), &mut bytes)?;
        Ok(bytes)
    }

    /// Reads a mapping of the peer.
    pub(super) fn mapping(&self, queue: &Queue<'_>, index: u16) -> Result<[u8; Mapping::LEN]> {
        let mut bytes = [0; Mapping::LEN];
        let offset = offset_of(Hello::ENTRIES) + usize::from(index) * Mapping::LEN;
        queue.memory().read(self.list.buffer, offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Zeroes an entry of the list, which has been taken.
    pub(super) fn clear_entry(&self, queue: &mut Queue<'_>, index: u32) -> Result {
        queue.write(self.list.buffer, offset_of(index), &[0; Segment::LEN])
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
        compare(queue, self.ring.buffer, piece, position, message)
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
            Source::Ring(offset) => (self.ring.buffer, offset as usize, len),
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

    /// Returns the pieces of the send buffer at a place.
    pub(super) fn parts(&self, place: &Place) -> Parts {
        let local = |(offset, len)| Local {
            buffer: self.outgoing,
            offset,
            len,
            region: None,
        };
        let [first, rest] = parts(place);
        (local(first), (rest.1 > 0).then(|| local(rest)))
    }

    /// Returns the mapping `bytes`, which is to be written to the peer's list.
    pub(super) fn outgoing_mapping(
        &self,
        queue: &mut Queue<'_>,
        bytes: &[u8; Mapping::LEN],
    ) -> Result<Parts> {
        self.outgoing_part(queue, bytes, 0)
    }

    /// Returns the entry `bytes` of the peer's list, which leaves from place number `place`.
    pub(super) fn outgoing_entry(
        &self,
        queue: &mut Queue<'_>,
        bytes: &[u8; Segment::LEN],
        place: u32,
    ) -> Result<Parts> {
        self.outgoing_part(queue, bytes, Mapping::LEN + offset_of(place))
    }

    fn outgoing_part(&self, queue: &mut Queue<'_>, bytes: &[u8], offset: usize) -> Result<Parts> {
        queue.write(self.entries, offset, bytes)?;
        let part = Local {
            buffer: self.entries,
            offset: offset as u32,
            len: bytes.len() as u32,
            region: None,
        };
        Ok((part, None))
    }
}

/// Compares a piece of a buffer with the bytes of a stream from `position` on, which came with
/// message number `message`.
pub(super) fn compare(
    queue: &Queue<'_>,
    buffer: BufferId,
    piece: Piece,
    position: u64,
    message: u64,
) -> Result<(), Failure> {
    let read = |at, to: &mut [u8]| {
        let offset = piece.offset as usize + at;
        queue.memory().read(buffer, offset, to)
    };
    workloads::bytes::compare(piece.len, position, message, read, Failure::Mismatch)
}

/// Fills the first `len` bytes of a buffer with those of a stream from `position` on.
pub(super) fn fill(
    queue: &mut Queue<'_>,
    buffer: BufferId,
    len: u32,
    position: u64,
) -> Result<(), Failure> {
    let mut bytes = [0; CHUNK];
    // All pieces but the last are as long as the bytes that repeat.
    bytes::fill(&mut bytes, position);
    for offset in (0..len as usize).step_by(CHUNK) {
        let (piece, _) = bytes.split_at(CHUNK.min(len as usize - offset));
        queue.write(buffer, offset, piece).map_err(memory_failed)?;
    }
    Ok(())
}

/// Returns the offset and the bytes of both pieces of a place.
fn parts(place: &Place) -> [(u32, u32); 2] {
    [(place.offset, place.len), (0, place.rest)]
}

/// Returns the offset of an entry among others.
const fn offset_of(entry: u32) -> usize {
    entry as usize * Segment::LEN
}
