// SPDX-License-Identifier: GPL-2.0

//! The direction from the peer: receives, and what their messages bring.

#![forbid(unsafe_code)]

use super::Flow;
use crate::{
    engine::{
        completion::WorkCompletion,
        queue::Queue, //
    },
    kernel_ext::time::monotonic_ns,
    logic::{
        failure::Failure,
        stream::{
            endpoint::Event,
            receiver::Piece,
            violation::Violation,
            Carrier, //
        }, //
    },
    workloads::exchange::memory_failed, //
};

impl Flow {
    /// Posts all receives before the connection is made, unless this is a client whose server's
    /// device repeats what finds none.
    pub(in crate::workloads::stream) fn post_receives_early(
        &self,
        queue: &mut Queue<'_>,
    ) -> Result<(), Failure> {
        match self.has_met || self.wire.carrier() == Carrier::Send {
            true => self.post_receives(queue),
            false => Ok(()),
        }
    }

    /// Begins to take messages of a server that has been met, and takes those that have come.
    pub(in crate::workloads::stream) fn open(
        &mut self,
        queue: &mut Queue<'_>,
    ) -> Result<(), Failure> {
        if self.wire.carrier() == Carrier::Immediate {
            self.post_receives(queue)?;
        }
        self.has_met = true;
        for index in 0..self.early.len() {
            if let Some(&(slot, bytes)) = self.early.get(index) {
                self.take_message(queue, slot, bytes, None)?;
            }
        }
        Ok(())
    }

    /// Posts all receives.
    fn post_receives(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        for index in 0..self.receives() {
            self.wire.post_receive(queue, index)?;
        }
        Ok(())
    }

    /// Takes the completion of a receive. Returns false where its message has to wait until the
    /// peer is met.
    pub(in crate::workloads::stream) fn received(
        &mut self,
        queue: &mut Queue<'_>,
        wc: &WorkCompletion<'_>,
    ) -> Result<bool, Failure> {
        if self.has_met {
            self.take_message(queue, wc.slot, wc.bytes(), wc.immediate())?;
        } else {
            self.early
                .push_within_capacity((wc.slot, wc.bytes()))
                .map_err(|_| Failure::Stream(Violation::NoCredit))?;
        }
        Ok(self.has_met)
    }

    /// Takes the message of `bytes` bytes that the receive with this slot has brought.
    fn take_message(
        &mut self,
        queue: &mut Queue<'_>,
        slot: usize,
        bytes: u32,
        immediate: Option<u32>,
    ) -> Result<(), Failure> {
        let order = self.endpoint.theirs().order;
        let message = self.wire.decode(queue, slot, bytes, immediate, order)?;
        let event = self.endpoint.received(message).map_err(Failure::Stream)?;
        // Before the credit is given back.
        self.wire.post_receive(queue, slot as u32)?;
        match event {
            Event::Data(piece) => self.arrived(queue, piece),
            Event::Granted => self.renewed(queue),
            Event::Mapped(index) => self.mapped(queue, index),
            Event::Shutdown | Event::Disconnected | Event::Alive => Ok(()),
        }
    }

    /// Notes that `len` bytes have come.
    pub(super) fn came(&mut self, len: u32) {
        let now = monotonic_ns();
        self.times = Some((self.times.map_or(now, |(first, _)| first), now));
        self.traffic.received(len);
        self.messages = self.messages.wrapping_add(1);
    }

    fn arrived(&mut self, queue: &mut Queue<'_>, piece: Piece) -> Result<(), Failure> {
        let position = self.figures.received_bytes;
        if self.validate {
            self.buffers.check(queue, piece, position, self.messages)?;
            self.traffic.validated(piece.len);
        }
        self.figures.received_bytes = position.wrapping_add(piece.len.into());
        self.came(piece.len);
        Ok(())
    }

    /// Takes the entry of the list that a grant has come with, if it has.
    fn renewed(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.figures.grants_received = self.figures.grants_received.wrapping_add(1);
        let Some(index) = self.endpoint.sender.due() else {
            return Ok(());
        };
        let entry = self.buffers.entry(queue, index).map_err(memory_failed)?;
        if self.endpoint.renewed(&entry).map_err(Failure::Stream)? {
            self.buffers
                .clear_entry(queue, index)
                .map_err(memory_failed)?;
        }
        Ok(())
    }
}
