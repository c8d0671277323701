// SPDX-License-Identifier: GPL-2.0

//! What a server's connection posts: receives, RDMA to and from the client's memory,
//! answers.
//!
//! A request lives in the slot of the receive that brought it, from its arrival to
//! its answer: then the receive is posted again, just before the answer, so that
//! there is one for whatever the client sends when it has that. What does not fit
//! the send queue waits in its order. Answers that have no data with them and
//! invalidate no key may wait for others, to go in one message ([`super::answers`]).

#![forbid(unsafe_code)]

mod posting;

use super::{
    answers::Answers,
    arena::{
        Arena,
        Part, //
    },
    fifo::Fifo,
    room::SendRoom,
    shape::Shape,
    sinks::Sinks,
    slot::{
        key_to_invalidate,
        moves_out,
        Place,
        Slot,
        Stage, //
    }, //
};
use crate::{
    block::receives::Receives,
    engine::traffic::Traffic,
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
    },
    rdma::{
        cq::WorkCompletion,
        qp::{
            Depths,
            Queue, //
        }, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// One connection.
pub(super) struct Link {
    shape: Shape,
    bare: BareWrite,
    receives: Receives,
    answers: Answers,
    slots: KVec<Slot>,
    /// How many hold a request.
    taken: u32,
    /// Slots whose READs or answer did not fit the send queue.
    waiting: Fifo<usize>,
    room: SendRoom,
    /// The store's, where it is in memory.
    chunks: KVVec<BufferId>,
    /// Where data passes through, if it must.
    arena: Option<Arena>,
    /// What it comes through, where the device wants that: on iWARP.
    sinks: Option<Sinks>,
    /// The most data that a message may carry.
    inline: u32,
    traffic: Arc<Traffic>,
}

impl Link {
    /// Allocates the buffers in `memory` for requests as in `geometry`, for a store that
    /// consists of `chunks`, or otherwise takes data by way of an arena. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(
        shape: Shape,
        geometry: &Geometry,
        chunks: Option<&[Arc<Contiguous>]>,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<Self> {
        let count = shape.receives() as usize;
        // A part is given out until the request is answered, and from then on for as
        // long as nobody knows that its WRITE and its answer have left the send queue.
        let parts = count.saturating_add(shape.send as usize);
        let mut shared = KVVec::new();
        for chunk in chunks.unwrap_or(&[]) {
            shared.push(memory.borrow(chunk.clone())?, GFP_KERNEL)?;
        }
        Ok(Self {
            receives: Receives::new(memory, count)?,
            answers: Answers::new(memory, count, shape.send)?,
            slots: KVec::from_elem(Slot::EMPTY, count, GFP_KERNEL)?,
            taken: 0,
            waiting: Fifo::new(count, 0)?,
            room: SendRoom::new(shape.send)?,
            chunks: shared,
            arena: match chunks {
                Some(_) => None,
                None => Some(Arena::new(memory, parts)?),
            },
            sinks: Sinks::new(memory, count, geometry.max_bytes)?,
            inline: geometry.inline,
            traffic,
            bare: BareWrite::new(shape.announced),
            shape,
        })
    }

    /// How large its queue pair must be.
    pub(super) fn depths(&self) -> Depths {
        Depths {
            // A small read may begin in one chunk and end in the next.
            pieces: 2,
            ..Depths::plain(self.shape.send, self.shape.receives())
        }
        .with_slots(self.slots.len())
    }

    /// Posts all receives, before the connection is made.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(super) fn prepare(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        (0..self.slots.len()).try_for_each(|slot| self.receives.post(queue, slot))
    }

    /// Takes the request that a receive has brought, and returns its slot.
    ///
    /// # Errors
    ///
    /// [`Failure::Message`] and [`Failure::Protocol`] for what no client of ours
    /// sends.
    pub(super) fn receive(
        &mut self,
        queue: &Queue<'_>,
        wc: &WorkCompletion,
    ) -> Result<usize, Failure> {
        if let Some(key) = wc.invalidated {
            return Err(Failure::Protocol(Violation::Unasked(key), 0));
        }
        if wc.written {
            return Err(Failure::Protocol(Violation::Early, 0));
        }
        let request = match wc.immediate {
            Some(immediate) => self.bare.decode(immediate, wc.bytes),
            None => Request::decode(&self.receives.header(queue, wc.slot)?, wc.bytes),
        }
        .map_err(Failure::Message)?;
        if request.inline && request.bytes() > self.inline {
            let error = MessageError::Inline(request.bytes(), self.inline);
            return Err(Failure::Message(error));
        }
        self.traffic.received(wc.bytes);
        self.taken = self.taken.saturating_add(1);
        let Shape {
            depth, announced, ..
        } = self.shape;
        // The tag of signs of life is what the client has announced.
        if request.tag > announced || self.taken > u32::from(depth).saturating_add(1) {
            return Err(Failure::Message(MessageError::Tag(request.tag)));
        }
        *self.slot_mut(wc.slot)? = Slot {
            request,
            bare: wc.immediate.is_some(),
            place: if self.chunks.is_empty() {
                Place::Message
            } else {
                Place::Chunks
            },
            stage: Stage::Held,
        };
        Ok(wc.slot)
    }

    /// The request in `slot`.
    ///
    /// # Errors
    ///
    /// None that a client could cause.
    pub(super) fn slot(&self, slot: usize) -> Result<&Slot, Failure> {
        self.slots.get(slot).ok_or(NO_SLOT)
    }

    fn slot_mut(&mut self, slot: usize) -> Result<&mut Slot, Failure> {
        self.slots.get_mut(slot).ok_or(NO_SLOT)
    }

    /// Where the data is that came with the request in `slot`.
    ///
    /// # Errors
    ///
    /// None that a client could cause.
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

    /// Finds a place for the data of the request in `slot` to pass through, where it
    /// needs one. Returns whether it has what it needs.
    ///
    /// # Errors
    ///
    /// None that a client could cause.
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

    /// The memory of `part`.
    pub(super) fn memory_of(&self, part: &Part) -> Option<(&Arc<Contiguous>, usize)> {
        let pages = self.arena.as_ref()?.buffer(part.index)?;
        Some((pages, part.offset as usize))
    }

    /// Has the data of the request in `slot` come to its place.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(super) fn fetch(&mut self, queue: &mut Queue<'_>, slot: usize) -> Result<(), Failure> {
        self.slot_mut(slot)?.stage = Stage::Fetch;
        self.post_in_turn(queue, slot)
    }

    /// Takes the completion of a READ. Returns whether all data of the request in its
    /// slot has come.
    ///
    /// # Errors
    ///
    /// None that a client could cause.
    pub(super) fn fetched(
        &mut self,
        queue: &mut Queue<'_>,
        wc: &WorkCompletion,
    ) -> Result<bool, Failure> {
        self.completed();
        if let Some(sinks) = &self.sinks {
            sinks.close(queue, wc).map_err(failed)?;
        }
        self.traffic.read(wc.bytes);
        let slot = self.slot_mut(wc.slot)?;
        slot.stage = match slot.stage {
            Stage::Fetching(left) if left > 1 => Stage::Fetching(left.wrapping_sub(1)),
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

    /// Answers the request in `slot` with `status`, after the data of a read. The
    /// slot is free then.
    ///
    /// # Errors
    ///
    /// What the device says.
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
            // Somebody waits for nothing but this, or for those that wait.
            self.send_answers(queue, true)?;
            return self.post_in_turn(queue, slot);
        }
        if moves || key_to_invalidate(&request).is_some() {
            return self.post_in_turn(queue, slot);
        }
        self.answers.push(slot, status).map_err(failed)?;
        // Somebody waits for nothing but this.
        let urgent = matches!(request.action, Action::Ping | Action::Close);
        self.send_answers(queue, urgent)
    }

    /// Whether no answer waits to be joined by others.
    pub(super) fn has_sent_answers(&self) -> bool {
        self.answers.are_sent()
    }

    /// Notes that something which asked for it has completed.
    pub(super) fn completed(&mut self) {
        self.room.completed();
        self.answers.joining.done(self.room.done());
    }

    /// Posts what waited for room, now that something has completed, and takes memory
    /// back.
    ///
    /// # Errors
    ///
    /// What the device says.
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
