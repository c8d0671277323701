// SPDX-License-Identifier: GPL-2.0

//! Posting for requests: READs, WRITEs and answers, in order and as the send queue has room.

#![forbid(unsafe_code)]

use super::{
    failed,
    ServerTransport,
    NO_SLOT, //
};
use crate::{
    block::server::{
        answers::ANSWER,
        arena::Arena,
        pending::{
            key_to_invalidate,
            moves_out,
            PendingRequest,
            Place,
            Stage, //
        },
        read_regions::ReadRegions,
        store::ram::pieces, //
    },
    engine::queue::Queue,
    logic::{
        block::{
            answer::{
                DataAnswer,
                Response, //
            },
            survey::Survey,
            Action,
            Request,
            Status, //
        },
        failure::Failure,
        wire::Advertisement, //
    },
    rdma::wr::{
        List,
        Local,
        WorkRequest, //
    }, //
};
use kernel::prelude::*;

impl ServerTransport {
    /// Posts what is due for the request in `slot`, or queues it behind the requests that already
    /// wait for room in the send queue.
    pub(super) fn post_in_turn(
        &mut self,
        queue: &mut Queue<'_>,
        slot: usize,
    ) -> Result<(), Failure> {
        if self.waiting.len() == 0 && self.try_post(queue, slot)? {
            return Ok(());
        }
        self.waiting.push(slot).map_err(failed)
    }

    /// Posts what is due for the request in slot `index`. Returns false if the send queue has no
    /// room for it.
    pub(super) fn try_post(
        &mut self,
        queue: &mut Queue<'_>,
        index: usize,
    ) -> Result<bool, Failure> {
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
        slot: &PendingRequest,
    ) -> Result<bool, Failure> {
        // Number of READs, and of work requests for each.
        let (reads, each) = match &self.read_regions {
            Some(_) => (1, ReadRegions::before(queue.memory()) + 1),
            None => (self.locals(slot).count() as u32, 1),
        };
        if !self.room.has(reads * each) {
            return Ok(false);
        }
        let mut list = List::new();
        let mut remote = slot.request.remote;
        for local in self.locals(slot) {
            let local = given(queue, local)?;
            if self.read_regions.is_none() {
                list.push(WorkRequest::Read {
                    local,
                    remote: split_off(&mut remote, local.len).into(),
                    invalidate_local: false,
                    signaled: true,
                });
            }
        }
        if let Some(read_regions) = &self.read_regions {
            let parts = self.locals(slot);
            read_regions
                .open(queue, index, parts, remote, &mut list)
                .map_err(failed)?;
        }
        queue.post_for(index, list.as_slice())?;
        for _ in 0..reads {
            self.room.post(each, true).map_err(failed)?;
        }
        self.slot_mut(index)?.stage = Stage::Fetching(reads as u8);
        Ok(true)
    }

    fn try_answer(
        &mut self,
        queue: &mut Queue<'_>,
        index: usize,
        slot: &PendingRequest,
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
                    remote: split_off(&mut remote, local.len).into(),
                    signaled: self.writes_ask(),
                });
            }
        }
        let count = list.as_slice().len() as u32 + 1;
        if !self.room.has(count) {
            return Ok(false);
        }
        let passing = match slot.place {
            Place::Arena(_) if moves => request.bytes(),
            _ => 0,
        };
        let asked = self.must_ask(count, passing);
        let last = self.number_after(count);
        let mut sent = ANSWER;
        if with_answer {
            list.push(self.data_answer(queue, slot, asked)?);
            sent = request.bytes();
        } else if request.action == Action::Survey {
            let survey = self.survey(request);
            let len = Survey::len(self.shape.announced);
            let local = self.answers.put_survey(queue, &survey, len);
            list.push(send(local.map_err(failed)?, None, asked));
            sent = len;
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
        if moves && !with_answer {
            self.traffic.written(request.bytes());
        }
        self.traffic.sent(sent);
        Ok(true)
    }

    /// Returns the answer to the survey `asked`. It lists the requests that are held: their data is
    /// not being fetched, and their answer is not due yet.
    fn survey(&self, asked: &Request) -> Survey {
        let mut survey = Survey::to(asked, self.shape.announced);
        for slot in &self.slots {
            if slot.stage == Stage::Held {
                survey.add(slot.request.tag);
            }
        }
        survey
    }

    /// Sends waiting answers, several in one message: those that are due, or all if `urgent`. Sends
    /// none while the send queue is full or requests wait for room in it.
    pub(super) fn send_answers(
        &mut self,
        queue: &mut Queue<'_>,
        urgent: bool,
    ) -> Result<(), Failure> {
        while self.waiting.len() == 0 && self.room.has(1) {
            let count = self.answers.ready(urgent);
            if count == 0 {
                break;
            }
            self.send_message(queue, count)?;
        }
        Ok(())
    }

    /// Sends the first `count` waiting answers in one message.
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

    /// Frees the slot of a request that is about to be answered, and posts its receive again.
    fn free(&mut self, queue: &mut Queue<'_>, index: usize) -> Result<(), Failure> {
        self.receives.post(queue, index)?;
        self.taken = self.taken.saturating_sub(1);
        self.slot_mut(index)?.stage = Stage::Free;
        Ok(())
    }

    /// Posts `list`, which sends `passing` bytes from the arena. `asked` is true if its last work
    /// request asks for a completion.
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
        let rest = count - asking;
        self.room.post(rest, asked).map_err(failed)?;
        if let Some(arena) = &mut self.arena {
            arena.posted(passing, asked);
        }
        Ok(())
    }

    /// Returns true if the last of the next `count` work requests, which send `passing` bytes from
    /// the arena, must ask for a completion.
    fn must_ask(&self, count: u32, passing: u32) -> bool {
        let arena_asks = |arena: &Arena| arena.must_ask(passing);
        self.room.must_ask(count) || self.arena.as_ref().is_some_and(arena_asks)
    }

    /// Returns true if each WRITE must ask for a completion. On soft-iWARP, TCP sends the data of
    /// an unsignaled WRITE directly from memory, and does not report when it is done.
    fn writes_ask(&self) -> bool {
        self.read_regions.is_some()
    }

    /// Returns the number of the last of the next `count` work requests.
    fn number_after(&self, count: u32) -> u64 {
        self.room.next() + u64::from(count) - 1
    }

    /// Returns the answer to a small read: a message that is its data.
    fn data_answer(
        &self,
        queue: &Queue<'_>,
        slot: &PendingRequest,
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

    /// Returns the pieces of local memory for the data of a request, in order.
    pub(super) fn locals(&self, slot: &PendingRequest) -> impl Iterator<Item = Result<Local>> + '_ {
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

/// Returns `local` after syncing it for the device, which then sees what the CPU has written there.
fn given(queue: &Queue<'_>, local: Result<Local>) -> Result<Local, Failure> {
    let local = local.map_err(failed)?;
    queue
        .memory()
        .sync_for_device(local.buffer, local.offset as usize, local.len as usize)
        .map_err(failed)?;
    Ok(local)
}

/// Returns a SEND of answers.
fn send(local: Local, invalidate: Option<u32>, signaled: bool) -> WorkRequest {
    WorkRequest::Send {
        local,
        invalidate,
        fence: false,
        signaled,
        solicited: false,
    }
}

/// Splits the first `len` bytes off `remote`, and returns them.
fn split_off(remote: &mut Advertisement, len: u32) -> Advertisement {
    let first = Advertisement {
        size: len,
        ..*remote
    };
    // The client chooses the address. If it wraps around, the client's device refuses it.
    remote.addr = remote.addr.wrapping_add(u64::from(len));
    remote.size = remote.size.saturating_sub(len);
    first
}
