// SPDX-License-Identifier: GPL-2.0

//! The direction to the peer: data, grants and the end, and the completions of their requests.

#![forbid(unsafe_code)]

use super::{
    super::{
        memory::Source,
        message::Parts, //
    },
    Flow, //
};
use crate::{
    engine::queue::Queue,
    kernel_ext::time::monotonic_ns,
    logic::{
        failure::Failure,
        stream::{
            control::Control,
            immediate::Message,
            sender::{
                Mark,
                Stall,
                Write, //
            },
            Segment, //
        }, //
    },
    workloads::exchange::memory_failed, //
};
use kernel::prelude::*;

impl Flow {
    /// Takes the next slot, whose completion hands `mark` back.
    pub(super) fn slot(&mut self, mark: Mark) -> Result<usize, Failure> {
        let slot = self.next as usize;
        *self
            .marks
            .get_mut(slot)
            .ok_or_else(|| memory_failed(EINVAL))? = mark;
        self.next = following(self.next, self.sizes.requests);
        Ok(slot)
    }

    /// Posts a message with what it tells of: `parts` that are written as `write` says.
    pub(super) fn post(
        &mut self,
        queue: &mut Queue<'_>,
        message: Message,
        parts: Parts,
        write: &Write,
    ) -> Result<(), Failure> {
        let slot = self.slot(write.mark)?;
        let data = Some((parts, write.remote));
        self.wire.post(queue, message, data, slot, false)
    }

    /// Sends bytes of a write that has `left` bytes left, and returns their number; 0 where that
    /// has to wait. What the peer does not take any more counts as sent.
    pub(in crate::workloads::stream) fn send(
        &mut self,
        queue: &mut Queue<'_>,
        source: Source,
        left: u32,
    ) -> Result<u32, Failure> {
        let begun = monotonic_ns();
        let write = match self.endpoint.write(left) {
            Ok(Some(write)) => write,
            Ok(None) => return Ok(left),
            Err(stall) => {
                self.stalls(stall, begun);
                return Ok(0);
            }
        };
        self.goes_on(begun);
        let len = write.remote.len;
        self.buffers
            .copy(queue, source, &write.place)
            .map_err(memory_failed)?;
        let copied = monotonic_ns().saturating_sub(begun);
        self.figures.copy_ns = self.figures.copy_ns.saturating_add(copied);
        let parts = self.buffers.parts(&write.place);
        self.post(queue, Message::Data(len), parts, &write)?;
        self.traffic.written(len);
        self.figures.sent_bytes = self.figures.sent_bytes.wrapping_add(len.into());
        self.figures.sent_msgs = self.figures.sent_msgs.wrapping_add(1);
        Ok(len)
    }

    /// Returns the number of bytes that were sent: the position of the next one.
    pub(in crate::workloads::stream) fn position(&self) -> u64 {
        self.figures.sent_bytes
    }

    /// Notes that nothing can be posted because of `stall`.
    pub(super) fn stalls(&mut self, stall: Stall, now: u64) {
        if !matches!(self.stalled, Some((before, _)) if before == stall) {
            self.goes_on(now);
            self.stalled = Some((stall, now));
        }
    }

    /// Notes that the wait for what was missing, if there was one, is over.
    pub(super) fn goes_on(&mut self, now: u64) {
        if let Some((stall, since)) = self.stalled.take() {
            self.figures.stalled(stall, now.saturating_sub(since));
        }
    }

    /// Posts the grants that are due.
    pub(in crate::workloads::stream) fn grant(
        &mut self,
        queue: &mut Queue<'_>,
    ) -> Result<(), Failure> {
        while let Some(grant) = self.endpoint.grant() {
            let data = match grant.renewal {
                Some((half, addr)) => Some(self.renewal(queue, &half, addr)?),
                None => None,
            };
            self.post_control(queue, grant.message, data)?;
            self.figures.grants_sent = self.figures.grants_sent.wrapping_add(1);
        }
        Ok(())
    }

    /// Returns the bytes that tell the peer of a half of the ring, and where they go.
    fn renewal(
        &self,
        queue: &mut Queue<'_>,
        half: &Segment,
        addr: u64,
    ) -> Result<(Parts, Segment), Failure> {
        let bytes = self.endpoint.entry(half);
        let entry = Segment {
            addr,
            rkey: self.endpoint.theirs().list.rkey,
            len: bytes.len() as u32,
        };
        self.buffers
            .outgoing_entry(queue, &bytes, self.next_control)
            .map_err(memory_failed)
            .map(|parts| (parts, entry))
    }

    /// Ends the direction to the peer, if it has not ended and the send queue has room.
    pub(in crate::workloads::stream) fn end(
        &mut self,
        queue: &mut Queue<'_>,
    ) -> Result<(), Failure> {
        let control = &mut self.endpoint.control;
        if !control.sends() || !control.has_room() {
            return Ok(());
        }
        match control.shut_down() {
            None => Ok(()),
            Some(end) => self.post_control(queue, end, None),
        }
    }

    /// Tells the peer that this side is alive, if the send queue has room.
    pub(in crate::workloads::stream) fn say_alive(
        &mut self,
        queue: &mut Queue<'_>,
    ) -> Result<(), Failure> {
        let control = &self.endpoint.control;
        match control.sends() && control.has_room() {
            true => self.post_control(queue, Message::Keepalive, None),
            false => Ok(()),
        }
    }

    /// Posts a message without data of the stream, behind a write of `data` if there is one.
    fn post_control(
        &mut self,
        queue: &mut Queue<'_>,
        message: Message,
        data: Option<(Parts, Segment)>,
    ) -> Result<(), Failure> {
        let slot = self.sizes.requests + self.next_control;
        let carrier = self.wire.carrier();
        self.next_control = following(self.next_control, Control::requests(carrier));
        let requests = match data {
            Some(_) => carrier.requests(),
            None => 1,
        };
        self.endpoint.control.posted(requests);
        self.wire.post(queue, message, data, slot as usize, true)
    }

    /// Takes the completion of a request with this slot.
    pub(in crate::workloads::stream) fn sent(&mut self, slot: usize) {
        match self.marks.get(slot) {
            Some(mark) => self.endpoint.sender.completed(*mark),
            None => self.endpoint.control.completed(),
        }
    }
}

/// Returns the number behind `number` of `count` that take turns.
fn following(number: u32, count: u32) -> u32 {
    match number + 1 {
        next if next < count => next,
        _ => 0,
    }
}
