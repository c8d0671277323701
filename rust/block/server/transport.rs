// SPDX-License-Identifier: GPL-2.0

//! Posting for a server's connection: receives, RDMA to and from the client's memory, and answers.
//!
//! A request occupies the slot of the receive that it arrived in, until it is answered. The receive
//! is posted again just before the answer, so that the client's next request always finds a
//! receive. Requests that do not fit the send queue wait in order. Answers without data that
//! invalidate no key may wait to share one message with others ([`super::answers`]).

#![forbid(unsafe_code)]

mod posting;

use super::{
    answers::Answers,
    arena::{
        Arena,
        ArenaPart, //
    },
    fifo::Fifo,
    pending::{
        key_to_invalidate,
        moves_out,
        PendingRequest,
        Place,
        Stage, //
    },
    read_regions::ReadRegions,
    room::SendRoom,
    shape::Shape, //
};
use crate::{
    block::receives::Receives,
    engine::{
        completion::WorkCompletion,
        depths::Depths,
        queue::Queue,
        traffic::Traffic, //
    },
    kernel_ext::pages::Contiguous,
    logic::{
        block::{
            Action,
            BareWrite,
            MessageError,
            Request,
            Status, //
        },
        failure::Failure,
        pingpong::Violation,
        wire::hello::Geometry, //
    },
    mr::{
        BufferId,
        Memory, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The posting side of one connection.
pub(super) struct ServerTransport {
    shape: Shape,
    bare: BareWrite,
    receives: Receives,
    answers: Answers,
    slots: KVec<PendingRequest>,
    /// Number of slots that hold a request.
    taken: u32,
    /// Slots whose READs or answer did not fit the send queue.
    waiting: Fifo<usize>,
    room: SendRoom,
    /// Buffers of the store's chunks, if the device works on the store directly; otherwise empty.
    chunks: KVVec<BufferId>,
    /// Bounce memory for data; `None` if the device works on the store directly.
    arena: Option<Arena>,
    /// Regions for the destinations of READs, if the device needs them (iWARP).
    read_regions: Option<ReadRegions>,
    /// Maximum number of data bytes in a message.
    inline: u32,
    traffic: Arc<Traffic>,
}

impl ServerTransport {
    /// Allocates the buffers in `memory` for requests within the limits of `geometry`. The device
    /// works directly on the store that consists of `chunks`. With `None`, data passes through an
    /// arena. May sleep.
    #[inline(never)]
    pub(super) fn new(
        shape: Shape,
        geometry: &Geometry,
        chunks: Option<&[Arc<Contiguous>]>,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<Self> {
        let count = shape.receives() as usize;
        // A part is in use until its request is answered, and after that until the WRITE and the
        // answer are known to have left the send queue.
        let parts = count + shape.send as usize;
        let mut shared = KVVec::new();
        for chunk in chunks.unwrap_or(&[]) {
            shared.push(memory.borrow(chunk.clone())?, GFP_KERNEL)?;
        }
        Ok(Self {
            receives: Receives::new(memory, count)?,
            answers: Answers::new(memory, count, shape.send)?,
            slots: KVec::from_elem(PendingRequest::EMPTY, count, GFP_KERNEL)?,
            taken: 0,
            waiting: Fifo::new(count, 0)?,
            room: SendRoom::new(shape.send)?,
            chunks: shared,
            arena: match chunks {
                Some(_) => None,
                None => Some(Arena::new(memory, parts)?),
            },
            read_regions: ReadRegions::new(memory, count, geometry.max_bytes)?,
            inline: geometry.inline,
            traffic,
            bare: BareWrite::new(shape.announced),
            shape,
        })
    }

    /// Returns the queue depths that the queue pair needs.
    pub(super) fn depths(&self) -> Depths {
        Depths {
            // A small read may begin in one chunk and end in the next.
            pieces: 2,
            ..Depths::plain(self.shape.send, self.shape.receives())
        }
        .with_slots(self.slots.len())
    }

    /// Posts all receives. Called before the connection is established.
    pub(super) fn prepare(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        (0..self.slots.len()).try_for_each(|slot| self.receives.post(queue, slot))
    }

    /// Decodes the request that has arrived, stores it in its slot, and returns the slot.
    ///
    /// # Errors
    ///
    /// [`Failure::Message`] or [`Failure::Protocol`] if the client breaks the protocol.
    pub(super) fn receive(
        &mut self,
        queue: &Queue<'_>,
        wc: &WorkCompletion<'_>,
    ) -> Result<usize, Failure> {
        if let Some(key) = wc.invalidated() {
            return Err(Failure::Protocol(Violation::Unasked(key), 0));
        }
        if wc.is_written() {
            return Err(Failure::Protocol(Violation::Early, 0));
        }
        let request = match wc.immediate() {
            Some(immediate) => self.bare.decode(immediate, wc.bytes()),
            None => Request::decode(&self.receives.header(queue, wc.slot)?, wc.bytes()),
        }
        .map_err(Failure::Message)?;
        if request.inline && request.bytes() > self.inline {
            let error = MessageError::Inline(request.bytes(), self.inline);
            return Err(Failure::Message(error));
        }
        self.traffic.received(wc.bytes());
        self.taken = self.taken.saturating_add(1);
        let Shape {
            depth, announced, ..
        } = self.shape;
        // Keepalives and the close have the tag that equals the depth announced by the client.
        if request.tag > announced || self.taken > u32::from(depth) + 1 {
            return Err(Failure::Message(MessageError::Tag(request.tag)));
        }
        *self.slot_mut(wc.slot)? = PendingRequest {
            request,
            bare: wc.immediate().is_some(),
            place: if self.chunks.is_empty() {
                Place::Message
            } else {
                Place::Chunks
            },
            stage: Stage::Held,
        };
        Ok(wc.slot)
    }

    /// Returns the request in `slot`.
    pub(super) fn slot(&self, slot: usize) -> Result<&PendingRequest, Failure> {
        self.slots.get(slot).ok_or(NO_SLOT)
    }

    fn slot_mut(&mut self, slot: usize) -> Result<&mut PendingRequest, Failure> {
        self.slots.get_mut(slot).ok_or(NO_SLOT)
    }

    /// Returns the memory that holds the data that arrived with the request in `slot`, and the
    /// offset of the data.
    pub(super) fn message_data(
        &self,
        queue: &Queue<'_>,
        slot: usize,
    ) -> Result<(&Arc<Contiguous>, usize), Failure> {
        let taken = self.slot(slot)?;
        let bytes = taken.request.bytes();
        if taken.bare {
            self.receives.message(queue, slot, bytes)
        } else {
            self.receives.data(queue, slot, bytes)
        }
    }

    /// Takes arena memory for the data of the request in `slot`, if the connection has an arena.
    /// Returns false if not enough is free.
    pub(super) fn make_place(&mut self, slot: usize) -> Result<bool, Failure> {
        let request = self.slot(slot)?.request;
        let Some(arena) = &mut self.arena else {
            return Ok(true);
        };
        let Some(part) = arena.take(request.bytes()) else {
            return Ok(false);
        };
        self.slot_mut(slot)?.place = Place::Arena(part);
        Ok(true)
    }

    /// Returns the memory that holds `part`, and the offset of the part.
    pub(super) fn memory_of(&self, part: &ArenaPart) -> Option<(&Arc<Contiguous>, usize)> {
        let pages = self.arena.as_ref()?.buffer(part.index)?;
        Some((pages, part.offset as usize))
    }

    /// Fetches the data of the request in `slot` by RDMA READ. The READs may have to wait for room
    /// in the send queue.
    pub(super) fn fetch(&mut self, queue: &mut Queue<'_>, slot: usize) -> Result<(), Failure> {
        self.slot_mut(slot)?.stage = Stage::Fetch;
        self.post_in_turn(queue, slot)
    }

    /// Handles the completion of a READ. Returns true once all data of the request in its slot has
    /// arrived.
    pub(super) fn fetched(
        &mut self,
        queue: &mut Queue<'_>,
        wc: &WorkCompletion<'_>,
    ) -> Result<bool, Failure> {
        self.completed();
        if let Some(read_regions) = &self.read_regions {
            read_regions.close(queue, wc).map_err(failed)?;
        }
        self.traffic.read(wc.bytes());
        let slot = self.slot_mut(wc.slot)?;
        slot.stage = match slot.stage {
            Stage::Fetching(left) if left > 1 => Stage::Fetching(left - 1),
            _ => Stage::Held,
        };
        if slot.is_fetching() {
            return Ok(false);
        }
        let slot = *slot;
        for local in self.locals(&slot) {
            let local = local.map_err(failed)?;
            queue
                .memory()
                .sync_for_cpu(local.buffer, local.offset as usize, local.len as usize)
                .map_err(failed)?;
        }
        Ok(true)
    }

    /// Answers the request in `slot` with `status`, after the data of a read. The slot becomes free
    /// when the answer is posted.
    pub(super) fn answer(
        &mut self,
        queue: &mut Queue<'_>,
        slot: usize,
        status: Status,
    ) -> Result<(), Failure> {
        let taken = self.slot_mut(slot)?;
        taken.stage = Stage::Answer(status);
        let (place, request) = (taken.place, taken.request);
        let moves = moves_out(&request, status);
        if let (Place::Arena(part), false, Some(arena)) = (place, moves, &mut self.arena) {
            arena.give_back(&part, 0);
        }
        if request.action == Action::Survey {
            // The client may be waiting only for the survey, or for the answers that wait here.
            self.send_answers(queue, true)?;
            return self.post_in_turn(queue, slot);
        }
        if moves || key_to_invalidate(&request).is_some() {
            return self.post_in_turn(queue, slot);
        }
        self.answers.push(slot, status).map_err(failed)?;
        // The client may be waiting only for this answer.
        let urgent = matches!(request.action, Action::Ping | Action::Close);
        self.send_answers(queue, urgent)
    }

    /// Returns true if no answer is waiting to share a message with others.
    pub(super) fn has_sent_answers(&self) -> bool {
        self.answers.are_sent()
    }

    /// Handles the completion of a work request of the send queue.
    pub(super) fn completed(&mut self) {
        self.room.completed();
        self.answers.joining.done(self.room.done());
    }

    /// Posts what was waiting for room in the send queue, after a completion, and frees the arena
    /// memory that is no longer in use.
    pub(super) fn go_on(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        while let Some(slot) = self.waiting.get(0) {
            if !self.try_post(queue, slot)? {
                break;
            }
            self.waiting.pop();
        }
        self.send_answers(queue, false)?;
        if let Some(arena) = &mut self.arena {
            arena.reclaim(self.room.done());
        }
        Ok(())
    }
}

const NO_SLOT: Failure =
    Failure::Kernel("finding a request", -crate::logic::failure::errno::EINVAL);

fn failed(error: Error) -> Failure {
    Failure::Kernel("moving data", error.to_errno())
}
