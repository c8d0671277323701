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

use super::{
    answers::{Answers, ANSWER},
    arena::{Arena, Part},
    fifo::Fifo,
    ram::pieces,
    receives::Receives,
    room::SendRoom,
    shape::Shape,
    sinks::Sinks,
};
use crate::{
    cq::WorkCompletion,
    kernel_ext::pages::Contiguous,
    logic::{
        block::{Action, BareWrite, MessageError, Request, Status},
        block_answer::{DataAnswer, Response},
        failure::Failure,
        hello::Geometry,
        protocol::Violation,
        wire::Advertisement,
    },
    mr::{BufferId, Memory},
    qp::{Depths, Queue},
    traffic::Traffic,
    wr::{List, Local, WorkRequest},
};
use kernel::{prelude::*, sync::Arc};

/// Where the data of a request is, or is to go, on this side.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// In the message, or there is none.
    Message,
    /// In the chunks of the store.
    Chunks,
    /// In a part of the arena.
    Arena(Part),
}

/// What is under way for a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing: it is being worked on, or there is none.
    Held,
    /// READs wait for room in the send queue.
    Fetch,
    /// So many READs have been posted.
    Fetching(u8),
    /// The answer waits for room in the send queue.
    Answer(Status),
}

/// A request, from its arrival to its answer.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    /// What the client asks for.
    pub(super) request: Request,
    /// Where its data is, or is to go.
    pub(super) place: Place,
    /// Whether the message was nothing but data.
    bare: bool,
    stage: Stage,
}

impl Slot {
    const EMPTY: Self = Self {
        request: Request {
            action: Action::Ping,
            fua: false,
            inline: false,
            keep: false,
            tag: 0,
            seq: 0,
            offset: 0,
            remote: Advertisement {
                addr: 0,
                rkey: 0,
                size: 0,
            },
        },
        place: Place::Message,
        bare: false,
        stage: Stage::Held,
    };

    /// Whether its data is still to come.
    pub(super) fn is_fetching(&self) -> bool {
        matches!(self.stage, Stage::Fetch | Stage::Fetching(_))
    }
}

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
            shared.push(memory.share(chunk.clone())?, GFP_KERNEL)?;
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
            sinks.close(queue, wc.slot);
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
        if moves || key_to_invalidate(&request).is_some() {
            return self.post_in_turn(queue, slot);
        }
        self.answers.push(slot, status).map_err(failed)?;
        // Somebody waits for nothing but this.
        let urgent = matches!(request.action, Action::Ping | Action::Close);
        self.send_answers(queue, urgent)
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

    /// Posts what is due for the request in `slot`, after what waits already.
    fn post_in_turn(&mut self, queue: &mut Queue<'_>, slot: usize) -> Result<(), Failure> {
        if self.waiting.len() == 0 && self.try_post(queue, slot)? {
            return Ok(());
        }
        self.waiting.push(slot).map_err(failed)
    }

    /// Posts what is due for the request in slot `index`, if there is room for it.
    fn try_post(&mut self, queue: &mut Queue<'_>, index: usize) -> Result<bool, Failure> {
        let slot = *self.slot(index)?;
        match slot.stage {
            Stage::Fetch => self.try_fetch(queue, index, &slot),
            Stage::Answer(status) => self.try_answer(queue, index, &slot, status),
            _ => Ok(true),
        }
    }

    fn try_fetch(
        &mut self,
        queue: &mut Queue<'_>,
        index: usize,
        slot: &Slot,
    ) -> Result<bool, Failure> {
        if self.sinks.is_some() {
            return self.try_fetch_whole(queue, index, slot);
        }
        let mut list = List::new();
        let mut remote = slot.request.remote;
        for local in self.locals(slot) {
            let local = given(queue, local)?;
            list.push(WorkRequest::Read {
                local,
                remote: split_off(&mut remote, local.len),
                invalidate_local: false,
            });
        }
        let count = list.as_slice().len();
        if !self.room.has(count as u32) {
            return Ok(false);
        }
        queue.post_for(index, list.as_slice())?;
        for _ in 0..count {
            self.room.post(1, true).map_err(failed)?;
        }
        self.slot_mut(index)?.stage = Stage::Fetching(count as u8);
        Ok(true)
    }

    /// As [`try_fetch`](Self::try_fetch), by one READ through a region over all of the
    /// data's place.
    fn try_fetch_whole(
        &mut self,
        queue: &mut Queue<'_>,
        index: usize,
        slot: &Slot,
    ) -> Result<bool, Failure> {
        let count = Sinks::before(queue.memory()).saturating_add(1);
        if !self.room.has(count) {
            return Ok(false);
        }
        let mut list = List::new();
        for local in self.locals(slot) {
            given(queue, local)?;
        }
        if let Some(sinks) = &self.sinks {
            sinks
                .open(
                    queue,
                    index,
                    self.locals(slot),
                    slot.request.remote,
                    &mut list,
                )
                .map_err(failed)?;
        }
        queue.post_for(index, list.as_slice())?;
        self.room.post(count, true).map_err(failed)?;
        self.slot_mut(index)?.stage = Stage::Fetching(1);
        Ok(true)
    }

    fn try_answer(
        &mut self,
        queue: &mut Queue<'_>,
        index: usize,
        slot: &Slot,
        status: Status,
    ) -> Result<bool, Failure> {
        let request = &slot.request;
        let moves = moves_out(request, status);
        let with_answer = moves && request.inline;
        let mut list = List::new();
        if moves && !with_answer {
            let mut remote = request.remote;
            for local in self.locals(slot) {
                let local = given(queue, local)?;
                list.push(WorkRequest::Write {
                    local,
                    remote: split_off(&mut remote, local.len),
                    signaled: self.writes_ask(),
                });
            }
        }
        let count = (list.as_slice().len() as u32).saturating_add(1);
        if !self.room.has(count) {
            return Ok(false);
        }
        let passing = match slot.place {
            Place::Arena(_) if moves => request.bytes(),
            _ => 0,
        };
        let asked = self.must_ask(count, passing);
        let last = self.number_after(count);
        if with_answer {
            list.push(self.data_answer(queue, slot, asked)?);
        } else {
            let response = Response::to(request, status);
            let local = self
                .answers
                .put(queue, last, 0, &response)
                .map_err(failed)?;
            list.push(send(local, key_to_invalidate(request), asked));
        }
        self.free(queue, index)?;
        self.post_answers(queue, &list, passing, asked)?;
        if let (Place::Arena(part), true, Some(arena)) = (slot.place, moves, &mut self.arena) {
            arena.give_back(&part, last);
        }
        if with_answer {
            self.traffic.sent(request.bytes());
        } else {
            if moves {
                self.traffic.written(request.bytes());
            }
            self.traffic.sent(ANSWER);
        }
        Ok(true)
    }

    /// Sends answers that have nothing with them, as many in one message as are due; all
    /// of them now, if it is `urgent`.
    fn send_answers(&mut self, queue: &mut Queue<'_>, urgent: bool) -> Result<(), Failure> {
        while self.waiting.len() == 0 && self.room.has(1) {
            let count = self.answers.ready(urgent);
            if count == 0 {
                break;
            }
            self.send_message(queue, count)?;
        }
        Ok(())
    }

    /// Sends the first `count` answers that wait.
    fn send_message(&mut self, queue: &mut Queue<'_>, count: usize) -> Result<(), Failure> {
        let asked = self.must_ask(1, 0) || self.answers.joining.must_ask();
        let number = self.number_after(1);
        let mut list = List::new();
        let mut message = Err(EINVAL);
        for before in 0..count {
            let (index, status) = self.answers.pop().ok_or(NO_SLOT)?;
            let response = Response::to(&self.slot(index)?.request, status);
            message = self.answers.put(queue, number, before, &response);
            self.free(queue, index)?;
        }
        let message = message.map_err(failed)?;
        list.push(send(message, None, asked));
        self.post_answers(queue, &list, 0, asked)?;
        self.answers.joining.posted(number, asked);
        self.traffic.sent(message.len);
        Ok(())
    }

    /// Frees the slot of a request that is about to be answered, and posts its receive.
    fn free(&mut self, queue: &mut Queue<'_>, index: usize) -> Result<(), Failure> {
        self.receives.post(queue, index)?;
        self.taken = self.taken.saturating_sub(1);
        self.slot_mut(index)?.stage = Stage::Held;
        Ok(())
    }

    /// Posts `list`, with which `passing` bytes leave the arena, and whose last has
    /// `asked` for a completion or not.
    fn post_answers(
        &mut self,
        queue: &mut Queue<'_>,
        list: &List,
        passing: u32,
        asked: bool,
    ) -> Result<(), Failure> {
        queue.post(list.as_slice())?;
        let count = list.as_slice().len() as u32;
        let asking = if self.writes_ask() {
            count.saturating_sub(1)
        } else {
            0
        };
        for _ in 0..asking {
            self.room.post(1, true).map_err(failed)?;
        }
        let rest = count.saturating_sub(asking);
        self.room.post(rest, asked).map_err(failed)?;
        if let Some(arena) = &mut self.arena {
            arena.posted(passing, asked);
        }
        Ok(())
    }

    /// Whether the last of the next `count` requests must ask for a completion, with
    /// which `passing` bytes leave the arena.
    fn must_ask(&self, count: u32, passing: u32) -> bool {
        let arena_asks = |arena: &Arena| arena.must_ask(passing);
        self.room.must_ask(count) || self.arena.as_ref().is_some_and(arena_asks)
    }

    /// Whether each WRITE asks for a completion. Soft-iWARP has TCP send from the memory
    /// itself what does not, without saying when that is done.
    fn writes_ask(&self) -> bool {
        self.sinks.is_some()
    }

    /// The number of the last of the next `count` requests.
    fn number_after(&self, count: u32) -> u64 {
        self.room
            .next()
            .wrapping_add(u64::from(count))
            .wrapping_sub(1)
    }

    /// The answer to a small read, which is its data.
    fn data_answer(
        &self,
        queue: &Queue<'_>,
        slot: &Slot,
        signaled: bool,
    ) -> Result<WorkRequest, Failure> {
        let mut locals = self.locals(slot);
        let first = given(queue, locals.next().unwrap_or(Err(EINVAL)))?;
        let second = locals.next().map(|local| given(queue, local)).transpose()?;
        Ok(WorkRequest::SendImmediate {
            parts: (first, second),
            immediate: DataAnswer::to(&slot.request).encode(),
            signaled,
        })
    }

    /// What the data of a request consists of on this side.
    fn locals(&self, slot: &Slot) -> impl Iterator<Item = Result<Local>> + '_ {
        let Request { offset, remote, .. } = slot.request;
        let (part, chunks) = match slot.place {
            Place::Arena(part) => (Some(part), 0),
            Place::Chunks => (None, remote.size),
            Place::Message => (None, 0),
        };
        let part = part.map(move |part| {
            Ok(Local {
                buffer: part.buffer,
                offset: part.offset,
                len: remote.size,
                region: None,
            })
        });
        let pieces = pieces(offset, chunks).map(|piece| {
            Ok(Local {
                buffer: *self.chunks.get(piece.chunk).ok_or(EINVAL)?,
                offset: piece.offset,
                len: piece.len,
                region: None,
            })
        });
        Iterator::chain(part.into_iter(), pieces)
    }
}

/// `local`, once the device can see what the CPU has put there.
fn given(queue: &Queue<'_>, local: Result<Local>) -> Result<Local, Failure> {
    let local = local.map_err(failed)?;
    queue
        .memory()
        .sync_for_device(local.buffer, local.offset as usize, local.len as usize)
        .map_err(failed)?;
    Ok(local)
}

/// A SEND of answers.
fn send(local: Local, invalidate: Option<u32>, signaled: bool) -> WorkRequest {
    WorkRequest::Send {
        local,
        invalidate,
        fence: false,
        signaled,
        control: false,
    }
}

/// The key that the answer to `request` must invalidate.
fn key_to_invalidate(request: &Request) -> Option<u32> {
    Some(request.remote.rkey).filter(|key| *key != 0 && !request.keep)
}

/// Whether the answer to `request` follows data that goes to the client's memory.
fn moves_out(request: &Request, status: Status) -> bool {
    request.action == Action::Read && status == Status::Ok
}

/// Takes the first `len` bytes off `remote`.
fn split_off(remote: &mut Advertisement, len: u32) -> Advertisement {
    let first = Advertisement {
        size: len,
        ..*remote
    };
    // The client's to choose: one that wraps around is its device's to refuse.
    remote.addr = remote.addr.wrapping_add(u64::from(len));
    remote.size = remote.size.saturating_sub(len);
    first
}

const NO_SLOT: Failure = Failure::Kernel("finding a request", -crate::logic::errno::EINVAL);

fn failed(error: Error) -> Failure {
    Failure::Kernel("moving data", error.to_errno())
}
