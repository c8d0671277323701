// SPDX-License-Identifier: GPL-2.0

//! A server's answers on their way into messages: those that wait to be joined, and
//! where messages are put together.

#![forbid(unsafe_code)]

use super::fifo::Fifo;
use crate::{
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
    rdma::{
        qp::Queue,
        wr::Local, //
    }, //
};
use kernel::prelude::*;

/// Bytes of an answer.
pub(super) const ANSWER: u32 = Response::LEN as u32;

/// Bytes of the place of a message.
const PLACE: u32 = ANSWER * Response::JOINED as u32;

/// The answers of one connection.
pub(super) struct Answers {
    /// Messages that are being sent, each at the place of its SEND in the send queue; and
    /// behind them all a survey.
    buffer: BufferId,
    /// A power of two, so that no two that are in the queue share a place.
    places: u32,
    /// Slots whose answers wait to be joined, and what they say.
    waiting: Fifo<(usize, Status)>,
    /// For how long they do.
    pub(super) joining: Joining,
}

impl Answers {
    /// Allocates those of `slots` in `memory`, for a send queue of `places` requests, a
    /// power of two. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(memory: &mut Memory, slots: usize, places: u32) -> Result<Self> {
        Ok(Self {
            buffer: memory.add_buffer(Self::behind(places).saturating_add(Survey::MOST))?,
            places,
            waiting: Fifo::new(slots, (0, Status::Ok))?,
            joining: Joining::default(),
        })
    }

    /// Bytes of so many places.
    const fn behind(places: u32) -> usize {
        places.saturating_mul(PLACE) as usize
    }

    /// Puts the message of a survey together, `len` bytes of it. A client that asks again
    /// before it has the answer finds one in the other.
    ///
    /// # Errors
    ///
    /// None that a client could cause.
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

    /// Adds one that may be joined.
    ///
    /// # Errors
    ///
    /// `ENOSPC` for more than there are slots.
    pub(super) fn push(&mut self, slot: usize, status: Status) -> Result {
        self.joining.due();
        self.waiting.push((slot, status))
    }

    /// How many of those that wait go with the next message; 0 while they wait for
    /// others, unless it is `urgent`.
    pub(super) fn ready(&self, urgent: bool) -> usize {
        let waiting = self.waiting.len();
        if urgent || self.joining.sends(waiting) {
            waiting.min(Response::JOINED)
        } else {
            0
        }
    }

    /// Returns true where no answer waits.
    pub(super) fn are_sent(&self) -> bool {
        self.waiting.len() == 0
    }

    /// The first that waits.
    pub(super) fn pop(&mut self) -> Option<(usize, Status)> {
        self.waiting.pop()
    }

    /// Puts `response` into the message whose SEND has that `number`, behind `before`
    /// others, and returns the message so far.
    ///
    /// # Errors
    ///
    /// `EINVAL` for more than a message takes.
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
        let place = number as u32 & self.places.wrapping_sub(1);
        let message = place.wrapping_mul(PLACE);
        let at = (before as u32).wrapping_mul(ANSWER);
        let offset = message.wrapping_add(at);
        queue.write(self.buffer, offset as usize, &response.encode())?;
        Ok(Local {
            buffer: self.buffer,
            offset: message,
            len: at.wrapping_add(ANSWER),
            region: None,
        })
    }
}
