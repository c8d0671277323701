// SPDX-License-Identifier: GPL-2.0

//! Answers of a server: the queue of those that wait to share a message, and the buffers that
//! messages are built in.

#![forbid(unsafe_code)]

use super::fifo::Fifo;
use crate::{
    engine::queue::Queue,
    logic::block::{
        answer::Response,
        joining::Joining,
        survey::Survey,
        Status, //
    },
    mr::{
        BufferId,
        Memory, //
    },
    rdma::wr::Local, //
};
use kernel::prelude::*;

/// Size of an answer, in bytes.
pub(super) const ANSWER: u32 = Response::LEN as u32;

/// Size of the place for one message, in bytes.
const PLACE: u32 = ANSWER * Response::JOINED as u32;

/// The answers of one connection.
pub(super) struct Answers {
    /// Messages that are being sent, each at a place given by the number of its SEND in the send
    /// queue, and behind them all one survey.
    buffer: BufferId,
    /// Number of places: a power of two, so that no two SENDs in the queue share a place.
    places: u32,
    /// Answers that wait to share a message: the slot and the status.
    waiting: Fifo<(usize, Status)>,
    /// State of coalescing, which decides how long they wait.
    pub(super) joining: Joining,
}

impl Answers {
    /// Allocates the buffers in `memory`, for `slots` slots and a send queue of `places` work
    /// requests, a power of two. May sleep.
    pub(super) fn new(memory: &mut Memory, slots: usize, places: u32) -> Result<Self> {
        Ok(Self {
            buffer: memory.add_buffer(Self::behind(places) + Survey::MOST)?,
            places,
            waiting: Fifo::new(slots, (0, Status::Ok))?,
            joining: Joining::default(),
        })
    }

    /// Returns the size of that many places, in bytes.
    const fn behind(places: u32) -> usize {
        places.saturating_mul(PLACE) as usize
    }

    /// Writes the message of a survey, and returns its first `len` bytes. There is one buffer for
    /// surveys: if the client asks again before it has the answer, the new survey overwrites the
    /// old one.
    pub(super) fn put_survey(
        &self,
        queue: &mut Queue<'_>,
        survey: &Survey,
        len: u32,
    ) -> Result<Local> {
        let offset = Self::behind(self.places);
        queue.write(self.buffer, offset, &survey.encode())?;
        Ok(Local {
            buffer: self.buffer,
            offset: offset as u32,
            len,
            region: None,
        })
    }

    /// Adds an answer that may share a message with others.
    ///
    /// # Errors
    ///
    /// `ENOSPC` if there are more answers than slots.
    pub(super) fn push(&mut self, slot: usize, status: Status) -> Result {
        self.joining.due();
        self.waiting.push((slot, status))
    }

    /// Returns the number of waiting answers to send in the next message; 0 if they should wait for
    /// others. If `urgent`, they do not wait.
    pub(super) fn ready(&self, urgent: bool) -> usize {
        let waiting = self.waiting.len();
        if urgent || self.joining.sends(waiting) {
            waiting.min(Response::JOINED)
        } else {
            0
        }
    }

    /// Returns true if no answer waits.
    pub(super) fn are_sent(&self) -> bool {
        self.waiting.len() == 0
    }

    /// Removes and returns the first waiting answer.
    pub(super) fn pop(&mut self) -> Option<(usize, Status)> {
        self.waiting.pop()
    }

    /// Writes `response` into the message of the SEND with that `number`, behind `before` other
    /// responses. Returns the message so far.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the message is full.
    pub(super) fn put(
        &self,
        queue: &mut Queue<'_>,
        number: u64,
        before: usize,
        response: &Response,
    ) -> Result<Local> {
        if before >= Response::JOINED {
            return Err(EINVAL);
        }
        let place = number as u32 & (self.places - 1);
        let message = place * PLACE;
        let at = before as u32 * ANSWER;
        let offset = message + at;
        queue.write(self.buffer, offset as usize, &response.encode())?;
        Ok(Local {
            buffer: self.buffer,
            offset: message,
            len: at + ANSWER,
            region: None,
        })
    }
}
