// SPDX-License-Identifier: GPL-2.0

//! Handling of the server's messages by a disk's hardware queue: finds the requests that a
//! message answers, and their results.

#![forbid(unsafe_code)]

use super::{
    DiskQueue,
    SentRequest, //
};
use crate::{
    block::figures::moved_bytes,
    engine::{
        completion::WorkCompletion,
        outcome::Progress,
        queue::Queue, //
    },
    kernel_ext::{
        blk::request::{
            Op,
            Request, //
        },
        time::monotonic_ns, //
    },
    logic::{
        block::{
            answer::{
                DataAnswer,
                Response, //
            },
            survey::Survey,
            Action,
            MessageError, //
        },
        failure::{
            errno,
            Failure, //
        },
        pingpong::Violation, //
    },
    rdma::qp::Settle, //
};
use kernel::prelude::*;

/// A request that has been answered, and the errno to end it with.
struct Answered {
    request: Request,
    errno: i32,
}

/// The requests that one message has answered.
#[derive(Default)]
pub(crate) struct Answers([Option<Answered>; Response::JOINED]);

impl Settle for Answers {
    fn settle(self) {
        for Answered { request, errno } in self.0.into_iter().flatten() {
            request.end(errno);
        }
    }
}

impl DiskQueue {
    /// Handles a message from the server, and returns the requests to be ended with their
    /// results.
    pub(super) fn receive(
        &mut self,
        queue: &mut Queue<'_>,
        wc: &WorkCompletion<'_>,
    ) -> Result<Answers, Failure> {
        self.traffic.received(wc.bytes());
        let mut answers = Answers::default();
        let Answers([first, ..]) = &mut answers;
        match wc.immediate() {
            Some(immediate) => {
                *first = Some(self.data_came(queue, wc, DataAnswer::decode(immediate))?);
            }
            None => {
                let count = match Response::count(wc.bytes()) {
                    Ok(count) => count,
                    Err(error) => self.surveyed(queue, wc, error).map(|()| 0)?,
                };
                if let (Some(key), true) = (wc.invalidated(), count != 1) {
                    return Err(Failure::Protocol(Violation::Unasked(key), self.answered));
                }
                for (before, place) in answers.0.iter_mut().take(count).enumerate() {
                    match self.response(queue, wc, before) {
                        Ok(answered) => *place = answered,
                        // The requests before this one have been answered all the same.
                        Err(failure) => {
                            queue.outcome.fail(failure);
                            return Ok(answers);
                        }
                    }
                }
            }
        }
        self.receives.post(queue, wc.slot)?;
        Ok(answers)
    }

    /// Handles the response that has `before` others ahead of it in the message. Returns `None`
    /// if it answers a control message.
    fn response(
        &mut self,
        queue: &mut Queue<'_>,
        wc: &WorkCompletion<'_>,
        before: usize,
    ) -> Result<Option<Answered>, Failure> {
        let bytes = self.receives.piece(queue, wc.slot, before)?;
        let response = Response::decode(&bytes).map_err(Failure::Message)?;
        if usize::from(response.tag) == self.slots.len() {
            self.controlled(queue, &response).map(|()| None)
        } else {
            self.answered(queue, wc, &response).map(Some)
        }
    }

    /// Returns the slot of the request that an answer names. Fails unless it is under way and
    /// `asked` accepts its number.
    fn slot(&mut self, tag: u16, asked: impl Fn(u32) -> bool) -> Result<&mut SentRequest, Failure> {
        self.slots
            .get_mut(usize::from(tag))
            .map(|(slot, _)| slot)
            .filter(|slot| slot.is_taken() && asked(slot.seq))
            .ok_or(Failure::Message(MessageError::Tag(tag)))
    }

    /// Handles an answer that is the data of a small read.
    fn data_came(
        &mut self,
        queue: &Queue<'_>,
        wc: &WorkCompletion<'_>,
        answer: DataAnswer,
    ) -> Result<Answered, Failure> {
        let unasked = Failure::Message(MessageError::Tag(answer.tag));
        let inline = self.inline;
        let slot = self.slot(answer.tag, |seq| answer.answers(seq))?;
        let fits = |request: &Request| request.op() == Op::Read && request.bytes() <= inline;
        let bytes = slot.request.as_ref().filter(|request| fits(request));
        let bytes = bytes.ok_or(unasked)?.bytes();
        if wc.is_written() || bytes != wc.bytes() {
            return Err(Failure::Message(MessageError::Length(wc.bytes(), bytes)));
        }
        let slot = core::mem::take(slot);
        let request = slot.request.ok_or(unasked)?;
        let copied = self
            .receives
            .message(queue, wc.slot, bytes)
            .map(|(memory, at)| request.copy_from(memory, at).is_ok());
        let errno = if matches!(copied, Ok(true)) {
            0
        } else {
            errno::EIO
        };
        self.record(&request, slot.posted_ns, errno);
        Ok(Answered { request, errno })
    }

    /// Handles an answer without data.
    fn answered(
        &mut self,
        queue: &mut Queue<'_>,
        wc: &WorkCompletion<'_>,
        response: &Response,
    ) -> Result<Answered, Failure> {
        let inline = self.inline;
        let slot = self.slot(response.tag, |seq| seq == response.seq)?;
        if let Some(region) = slot.open {
            // Otherwise the server could go on accessing this memory.
            let closed = queue.close_request(region, wc);
            let request = closed.map_err(|_| Failure::Message(MessageError::NotInvalidated))?;
            slot.request = Some(request);
            slot.open = None;
        }
        let mut errno = response.status.errno();
        // A small read that succeeds is answered with its data.
        let without = |request: &Request| request.op() == Op::Read && request.bytes() <= inline;
        if errno == 0 && slot.request.as_ref().is_some_and(without) {
            return Err(Failure::Message(MessageError::Length(wc.bytes(), inline)));
        }
        let slot = core::mem::take(slot);
        let request = slot
            .request
            .ok_or(Failure::Message(MessageError::Tag(response.tag)))?;
        if let (Some(index), Some(pool)) = (slot.bounce, &mut self.bounce) {
            if pool.give_back(queue, index, &request).is_err() && errno == 0 {
                errno = errno::EIO;
            }
        }
        if errno == 0 && request.bytes() > inline {
            match request.op() {
                Op::Read => self.traffic.read(request.bytes()),
                Op::Write => self.traffic.written(request.bytes()),
                _ => {}
            }
        }
        self.settle(&request, slot.covers, errno);
        self.record(&request, slot.posted_ns, errno);
        Ok(Answered { request, errno })
    }

    /// Updates the record of durable writes from the answer to `request`. A flush covers `covers`
    /// writes.
    fn settle(&self, request: &Request, covers: u64, errno: i32) {
        if errno == errno::ENOSPC {
            self.stability.no_room();
        }
        match request.op() {
            Op::Read | Op::Other => {}
            Op::Flush if errno == 0 => self.stability.flushed(covers),
            Op::Flush => self.stability.lose(errno, request.uses()),
            _ if request.is_fua() && errno == errno::EIO => {
                self.stability.lose(errno, request.uses());
            }
            _ if errno == 0 && !request.is_fua() => self.live.unstable.add(1),
            _ => {}
        }
    }

    /// Counts a request that has been answered.
    fn record(&mut self, request: &Request, posted_ns: u64, errno: i32) {
        self.heard_ns = monotonic_ns();
        let took = self
            .stages
            .record(request.started_ns(), posted_ns, self.heard_ns);
        let (op, bytes, failed) = (request.op(), request.bytes(), errno != 0);
        self.live.ended(op, bytes, failed);
        self.traffic
            .ended_request(self.heard_ns, moved_bytes(op, bytes, failed), took);
        self.live.in_flight.subtract(1);
        self.answered += 1;
    }

    fn controlled(&mut self, queue: &mut Queue<'_>, response: &Response) -> Result<(), Failure> {
        match self.control.take() {
            Some((Action::Close, seq, _)) if seq == response.seq => {
                queue.outcome.advance(Progress::Finished);
                Ok(())
            }
            Some((Action::Ping, seq, sent_ns)) if seq == response.seq => {
                self.kept_alive(queue, sent_ns)
            }
            _ => Err(Failure::Message(MessageError::Tag(response.tag))),
        }
    }

    /// Records the answer to a keepalive sent at `sent_ns`, and sends a close if one is due.
    fn kept_alive(&mut self, queue: &mut Queue<'_>, sent_ns: u64) -> Result<(), Failure> {
        self.kept_ns = sent_ns;
        if core::mem::take(&mut self.closing) {
            self.close(queue)
        } else {
            Ok(())
        }
    }

    /// Handles a message that holds no responses, because of `error`: it must be the answer to a
    /// survey. The requests that the server reports working on may take longer.
    fn surveyed(
        &mut self,
        queue: &mut Queue<'_>,
        wc: &WorkCompletion<'_>,
        error: MessageError,
    ) -> Result<(), Failure> {
        let sent_ns = match self.control {
            Some((Action::Survey, _, sent_ns)) if Survey::may_be(wc.bytes()) => sent_ns,
            _ => return Err(Failure::Message(error)),
        };
        let bytes = self.receives.header(queue, wc.slot)?;
        let survey = Survey::decode(&bytes, wc.bytes(), self.depth()).map_err(Failure::Message)?;
        match self.control.take() {
            Some((_, seq, _)) if seq == survey.seq && survey.tag == self.depth() => {}
            _ => return Err(Failure::Message(MessageError::Tag(survey.tag))),
        }
        for (tag, (slot, _)) in (0..).zip(self.slots.iter_mut()) {
            if survey.has(tag) {
                if !slot.is_taken() {
                    return Err(Failure::Message(MessageError::Tag(tag)));
                }
                slot.seen_ns = slot.seen_ns.max(sent_ns);
            }
        }
        self.kept_alive(queue, sent_ns)
    }
}
