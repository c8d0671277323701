// SPDX-License-Identifier: GPL-2.0

//! The messages that arrive on an unreliable queue pair, and its receives.
//!
//! Each message carries its number as immediate data, by which those that are lost, late or
//! repeated are told. Control messages go by the queue pair of the connection, so what arrives here
//! is data.

#![forbid(unsafe_code)]

use super::plan::Plan;
use crate::{
    engine::{
        completion::WorkCompletion,
        queue::Queue,
        traffic::Traffic, //
    },
    logic::{
        failure::Failure,
        measure::{
            loss::Arrived,
            sequence::{
                Arrival,
                Sequence, //
            }, //
        },
        pingpong::Violation, //
    },
    mr::{
        BufferId,
        Memory, //
    },
    workloads::exchange::memory_failed, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A message that has arrived for the first time.
pub(super) struct Message {
    /// Its number.
    pub(super) number: u64,
    /// The buffer that has its data, if it was sent.
    pub(super) buffer: BufferId,
}

/// The receives of an unreliable queue pair, and what has arrived there.
pub(super) struct Messages {
    /// The number of the first receive's slot; those before are of the connection's queue pair.
    first_slot: usize,
    buffers: KVec<BufferId>,
    /// Receives that are kept posted.
    receives: u32,
    /// Bytes of each buffer before the data.
    header: u32,
    /// Bytes of the data.
    size: u32,
    /// The data arrives by SENDs.
    data_comes: bool,
    /// The slot of the message that came last, whose data stays until the next one has come.
    last: Option<usize>,
    sequence: KBox<Sequence>,
    foreign: u64,
    traffic: Arc<Traffic>,
}

/// Allocates the memory of numbers, which is too large for the stack. May sleep.
#[inline(never)]
fn new_sequence() -> Result<KBox<Sequence>> {
    Ok(KBox::new(Sequence::default(), GFP_KERNEL)?)
}

impl Messages {
    /// Adds the buffers of `plan` to `memory`, for receives with slots from `first_slot`. May
    /// sleep.
    #[inline(never)]
    pub(super) fn new(
        plan: &Plan,
        memory: &mut Memory,
        first_slot: usize,
        traffic: Arc<Traffic>,
    ) -> Result<KBox<Self>> {
        let count = plan.message_buffers();
        let mut buffers = KVec::with_capacity(count, GFP_KERNEL)?;
        for _ in 0..count {
            let buffer = memory.add_buffer(plan.room_of_message() as usize)?;
            buffers.push(buffer, GFP_KERNEL)?;
        }
        let messages = Self {
            first_slot,
            buffers,
            receives: plan.message_receives(),
            header: plan.message_header(),
            size: plan.size,
            data_comes: plan.data_comes(),
            last: None,
            sequence: new_sequence()?,
            foreign: 0,
            traffic,
        };
        Ok(KBox::new(messages, GFP_KERNEL)?)
    }

    /// Returns true where `slot` is that of a receive here.
    pub(super) fn has(&self, slot: usize) -> bool {
        slot >= self.first_slot
    }

    /// Returns the place of the data in a buffer.
    pub(super) fn offset(&self) -> usize {
        self.header as usize
    }

    /// Posts all receives. Must be called before the connection is made.
    pub(super) fn prepare(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let slots = (0..self.buffers.len()).cycle();
        slots
            .take(self.receives as usize)
            .try_for_each(|index| self.post(queue, index))
    }

    fn post(&self, queue: &mut Queue<'_>, index: usize) -> Result<(), Failure> {
        let buffer = self.buffer(index)?;
        let room = if self.data_comes {
            self.header.saturating_add(self.size)
        } else {
            0
        };
        queue.post_unreliable_receive(self.first_slot.saturating_add(index), buffer, room)
    }

    fn buffer(&self, index: usize) -> Result<BufferId, Failure> {
        let buffer = self.buffers.get(index).copied();
        buffer.ok_or_else(|| memory_failed(EINVAL))
    }

    /// Takes the message of a completed receive; `None` for one that has come before, or is not of
    /// the peer. [`Self::post_next`] posts the receive again.
    ///
    /// # Errors
    ///
    /// [`Failure::Protocol`] with `iteration` if the peer sent something unexpected.
    pub(super) fn receive(
        &mut self,
        queue: &Queue<'_>,
        wc: &WorkCompletion<'_>,
        iteration: u64,
    ) -> Result<Option<Message>, Failure> {
        let broken = |violation| Failure::Protocol(violation, iteration);
        let buffer = self.buffer(wc.slot.saturating_sub(self.first_slot))?;
        let is_of_peer =
            queue.is_of_peer(wc) && queue.is_of_peers_host(wc, buffer).map_err(memory_failed)?;
        if !is_of_peer {
            // Anybody can send a datagram.
            self.foreign += 1;
            return Ok(None);
        }
        let number = wc.immediate();
        let number = number.ok_or_else(|| broken(Violation::Unnumbered))?;
        let bytes = wc.bytes().saturating_sub(self.header);
        match (wc.is_written(), self.data_comes) {
            (true, false) => self.traffic.received(0),
            (false, true) if bytes == self.size => self.traffic.received(bytes),
            (true, true) => return Err(broken(Violation::Early)),
            (false, _) => return Err(broken(Violation::DataLength(bytes, self.size))),
        }
        Ok(match self.sequence.take(number) {
            Arrival::New(number) => Some(Message { number, buffer }),
            Arrival::Repeated => None,
        })
    }

    /// Posts the receive whose completion was handled again, or, if it has a new message, the one
    /// before.
    pub(super) fn post_next(
        &mut self,
        queue: &mut Queue<'_>,
        wc: &WorkCompletion<'_>,
        is_new: bool,
    ) -> Result<(), Failure> {
        let index = wc.slot.saturating_sub(self.first_slot);
        let next = if is_new {
            self.last.replace(index)
        } else {
            Some(index)
        };
        next.map_or(Ok(()), |index| self.post(queue, index))
    }

    /// Returns the buffer with the data of the message that came last, if it was sent.
    pub(super) fn data(&self) -> Option<BufferId> {
        let index = self.last.filter(|_| self.data_comes)?;
        self.buffers.get(index).copied()
    }

    /// Returns the figures of what has arrived.
    pub(super) fn arrived(&self) -> Arrived {
        let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        Arrived {
            messages: self.sequence.arrived(),
            late: count(self.sequence.late()),
            repeated: count(self.sequence.repeated()),
        }
    }

    /// Returns the number of messages that were not of the peer.
    pub(super) fn foreign(&self) -> u64 {
        self.foreign
    }
}
