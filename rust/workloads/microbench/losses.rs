// SPDX-License-Identifier: GPL-2.0

//! Microbenchmarks on an unreliable queue pair: messages that may be lost.
//!
//! A lost message is counted, and is no error. Control messages go by the queue pair of the
//! connection, so they may overtake data: a side that is told of the end waits until all messages
//! have come, or none for [`QUIET_MS`].

#![forbid(unsafe_code)]

use super::{
    messages::Messages,
    Microbench,
    Phase,
    Work, //
};
use crate::{
    engine::{
        completion::WorkCompletion,
        queue::Queue, //
    },
    logic::{
        failure::Failure,
        measure::loss::{
            Arrived,
            LossFigures, //
        },
        pingpong::Violation,
        wire::control::Control, //
    },
    mr::BufferId,
    rdma::wr::List,
    workloads::exchange::memory_failed, //
};
use kernel::prelude::*;

/// Time in ms after which a message that has not come is taken for lost.
pub(super) const QUIET_MS: u32 = 200;

impl Microbench {
    /// Handles the completion of a receive of the unreliable queue pair.
    pub(super) fn receive_message(
        &mut self,
        queue: &mut Queue<'_>,
        wc: &WorkCompletion<'_>,
    ) -> Result<(), Failure> {
        if self.rest_came || self.phase == Phase::Done && !self.plan.leading {
            // It was taken for lost.
            return self.messages_mut()?.post_next(queue, wc, false);
        }
        let iteration = self.arrivals;
        let messages = self.messages_mut()?;
        let message = messages.receive(queue, wc, iteration)?;
        if let Some(message) = &message {
            self.message_arrived(queue, message.number, message.buffer)?;
        }
        let is_new = message.is_some();
        self.messages_mut()?.post_next(queue, wc, is_new)
    }

    fn messages_mut(&mut self) -> Result<&mut Messages, Failure> {
        let messages = self.messages.as_deref_mut();
        messages.ok_or_else(|| memory_failed(EINVAL))
    }

    /// Handles message `number` of the peer's, whose data is in `buffer`.
    fn message_arrived(
        &mut self,
        queue: &mut Queue<'_>,
        number: u64,
        buffer: BufferId,
    ) -> Result<(), Failure> {
        let latest = match &self.work {
            // The next is sent when this one has been answered.
            Work::Latency(_) => Some(self.arrivals),
            Work::Bandwidth(_) | Work::Passive => self.plan.total().map(|total| total - 1),
        };
        if self.phase == Phase::Waiting || latest.is_some_and(|latest| number > latest) {
            return Err(self.broken(Violation::Early));
        }
        let offset = self.messages_mut()?.offset();
        if let Some(numbered) = self.plan.numbered().filter(|_| self.mismatch.is_none()) {
            self.mismatch = numbered.compare_at(queue, buffer, offset, number)?;
            self.compared(self.mismatch.as_ref());
        }
        self.arrivals += 1;
        if let Work::Latency(latency) = &mut self.work {
            latency.arrived(queue)?;
        }
        self.step(queue)
    }

    /// Returns true where some of `said` messages may be lost: those of a latency have all been
    /// answered.
    pub(super) fn may_lack(&self, said: u64) -> bool {
        self.plan.is_unreliable() && !self.plan.test.is_latency() && self.arrivals < said
    }

    /// Returns true where messages of the peer, who has told of the end, may still come.
    pub(super) fn awaits_messages(&self) -> bool {
        let lacks = self.said().is_some_and(|said| self.may_lack(said));
        lacks && !self.rest_came && self.plan.counts_arrivals()
    }

    /// Returns the number of messages that the peer says it has sent, once it has.
    fn said(&self) -> Option<u64> {
        let (iterations, _) = self.peer?;
        Some(iterations.saturating_add(self.plan.warmup()))
    }

    /// Looks for messages that have not come for [`QUIET_MS`].
    pub(super) fn look_for_losses(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if self.phase != Phase::Running {
            return Ok(());
        }
        if !self.awaits_messages() {
            return match &mut self.work {
                Work::Latency(latency) => latency.tick(queue),
                Work::Bandwidth(_) | Work::Passive => Ok(()),
            };
        }
        if self.ticked.replace(self.arrivals) == Some(self.arrivals) {
            self.rest_came = true;
            return self.step(queue);
        }
        Ok(())
    }

    /// Tells the peer how many of its messages have arrived, if they may be lost.
    pub(super) fn say_arrived(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let Some(arrived) = self.own_arrived().filter(|_| !self.plan.leading) else {
            return Ok(());
        };
        self.channel
            .send(queue, &Control::Arrived(arrived), List::new())
    }

    /// Handles the peer's report of what has arrived there.
    pub(super) fn peer_arrived(&mut self, arrived: Arrived) -> Result<(), Failure> {
        let sent = self.sent();
        if !self.plan.leading || !self.plan.is_unreliable() || self.theirs.is_some() {
            return Err(self.broken(Violation::Control));
        }
        if arrived.messages > sent {
            return Err(self.broken(Violation::Miscounted(arrived.messages, sent)));
        }
        self.theirs = Some(arrived);
        Ok(())
    }

    /// Returns what has arrived here, where messages may be lost and are noticed.
    fn own_arrived(&self) -> Option<Arrived> {
        let messages = self.messages.as_deref();
        messages
            .filter(|_| self.plan.counts_arrivals())
            .map(Messages::arrived)
    }

    /// Returns the number of operations that this side has posted, without those posted again.
    fn sent(&self) -> u64 {
        match &self.work {
            Work::Latency(latency) => latency.poster.window.posted(),
            Work::Bandwidth(bandwidth) => bandwidth.poster.window.posted(),
            Work::Passive => 0,
        }
    }

    /// Returns the figures of the leading side's messages, where they may be lost.
    pub(super) fn loss(&self) -> Option<LossFigures> {
        let messages = self.messages.as_ref()?;
        let arrived = match self.plan.leading {
            true => self.theirs,
            false => self.own_arrived(),
        };
        let sent = match self.plan.leading {
            true => self.sent(),
            false => self.said().unwrap_or(self.arrivals),
        };
        Some(LossFigures {
            service: self.plan.load.service,
            sent,
            arrived,
            foreign: messages.foreign(),
            unanswered: match &self.work {
                Work::Latency(latency) => latency.unanswered(),
                Work::Bandwidth(_) | Work::Passive => 0,
            },
        })
    }
}
