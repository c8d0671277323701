// SPDX-License-Identifier: GPL-2.0

//! What the two sides of a microbenchmark tell each other, and where the data of
//! SENDs arrives: both come through the same receives.

#![forbid(unsafe_code)]

use crate::{
    engine::traffic::Traffic,
    logic::{
        failure::Failure,
        pingpong::Violation,
        wire::control::Control, //
    },
    mr::{
        BufferId,
        Memory, //
    },
    rdma::{
        cq::WorkCompletion,
        qp::Queue,
        wr::{
            List,
            Local,
            WorkRequest, //
        }, //
    },
    workloads::exchange::memory_failed, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Receive buffers, used in turn. With two, the data before the last control
/// message is still there when that has arrived.
const SLOTS: usize = 2;

/// The receive buffer of the first message, which data may follow at once: no
/// other message comes into it.
const GREETING: usize = SLOTS;

/// Receives that control messages may need.
pub(crate) const CONTROL_RECEIVES: u32 = 4;

/// Requests in the send queue that control messages may need, two registrations
/// among them.
pub(crate) const CONTROL_SENDS: u32 = 6;

/// The least size of a receive buffer: more than a control message, so that a
/// longer one is recognised as such.
const LEAST_ROOM: u32 = 64;

/// What has arrived.
pub(crate) enum Arrival {
    /// Data, by a SEND or a WRITE with an immediate.
    Data,
    /// A control message.
    Control(Control),
}

/// The receives of one side, and its control messages.
pub(crate) struct Link {
    /// For each kind of control message one, as the one before may be under way.
    outgoing: [BufferId; 3],
    incoming: [BufferId; SLOTS + 1],
    /// Which of `incoming` hold data.
    holds_data: [bool; SLOTS + 1],
    /// The buffer whose turn it is.
    turn: usize,
    /// How large they are.
    room: u32,
    /// How many receives are kept posted.
    receives: u32,
    /// The size of the data.
    size: u32,
    /// Whether the data comes by SENDs.
    data_comes: bool,
    /// Control messages that are under way.
    under_way: u32,
    traffic: Arc<Traffic>,
}

impl Link {
    /// Adds the buffers to `memory`, for data of `size` bytes, which `data_comes`
    /// by SENDs or otherwise. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(
        memory: &mut Memory,
        traffic: Arc<Traffic>,
        size: u32,
        data_comes: bool,
        receives: u32,
    ) -> Result<Self> {
        let room = if data_comes {
            size.max(LEAST_ROOM)
        } else {
            LEAST_ROOM
        };
        let mut outgoing = || memory.add_buffer(Control::MAX_LEN);
        Ok(Self {
            outgoing: [outgoing()?, outgoing()?, outgoing()?],
            incoming: [
                memory.add_buffer(room as usize)?,
                memory.add_buffer(room as usize)?,
                memory.add_buffer(room as usize)?,
            ],
            holds_data: [false; SLOTS + 1],
            turn: 0,
            room,
            receives,
            size,
            data_comes,
            under_way: 0,
            traffic,
        })
    }

    /// Posts all receives, before the connection is made.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn prepare(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.post_receive(queue, GREETING)?;
        for _ in 1..self.receives {
            self.post_next(queue)?;
        }
        Ok(())
    }

    /// Takes what the receive that completed has brought. Another is to be posted in
    /// its place, see [`Self::post_next`].
    ///
    /// # Errors
    ///
    /// [`Failure::Protocol`] of `iteration`; what the device says.
    pub(crate) fn receive(
        &mut self,
        queue: &mut Queue<'_>,
        wc: &WorkCompletion,
        iteration: u64,
    ) -> Result<Arrival, Failure> {
        let broken = |violation| Failure::Protocol(violation, iteration);
        let invalid = || memory_failed(EINVAL);
        let buffer = *self.incoming.get(wc.slot).ok_or_else(invalid)?;
        let holds_data = self.holds_data.get_mut(wc.slot).ok_or_else(invalid)?;
        if let Some(key) = wc.invalidated {
            return Err(broken(Violation::Unasked(key)));
        }
        let arrival = if wc.written {
            if self.data_comes {
                return Err(broken(Violation::Early));
            }
            self.traffic.received(0);
            Arrival::Data
        } else if wc.immediate.is_some() {
            return Err(broken(Violation::Immediate));
        } else if self.data_comes && wc.bytes == self.size {
            *holds_data = true;
            self.traffic.received(wc.bytes);
            Arrival::Data
        } else if wc.bytes == Control::len(self.size) {
            *holds_data = false;
            self.traffic.received(wc.bytes);
            let mut bytes = [0; Control::MAX_LEN];
            // A shorter message leaves the last byte as it is here.
            let arrived = bytes.get_mut(..wc.bytes as usize).ok_or_else(invalid)?;
            queue
                .memory()
                .read(buffer, 0, arrived)
                .map_err(memory_failed)?;
            let control = Control::decode(&bytes).ok_or_else(|| broken(Violation::Control))?;
            Arrival::Control(control)
        } else {
            return Err(broken(Violation::DataLength(wc.bytes, self.size)));
        };
        Ok(arrival)
    }

    fn post_receive(&self, queue: &mut Queue<'_>, slot: usize) -> Result<(), Failure> {
        let buffer = self.incoming.get(slot);
        let buffer = *buffer.ok_or_else(|| memory_failed(EINVAL))?;
        queue.post_receive(slot, buffer, self.room)
    }

    /// Posts one receive.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn post_next(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.post_receive(queue, self.turn)?;
        self.turn = self.turn.wrapping_add(1) % SLOTS;
        Ok(())
    }

    /// Sends a control message, after what `list` has to be done before it.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn send(
        &mut self,
        queue: &mut Queue<'_>,
        control: &Control,
        mut list: List,
    ) -> Result<(), Failure> {
        let [ready, alive, done] = self.outgoing;
        let buffer = match control {
            Control::Ready(_) => ready,
            Control::Alive => alive,
            Control::Done { .. } => done,
        };
        queue
            .write(buffer, 0, &control.encode())
            .map_err(memory_failed)?;
        let len = Control::len(self.size);
        list.push(WorkRequest::Send {
            local: Local {
                offset: 0,
                buffer,
                len,
                region: None,
            },
            invalidate: None,
            fence: false,
            signaled: true,
            control: true,
        });
        queue.post(list.as_slice())?;
        self.under_way = self.under_way.wrapping_add(1);
        self.traffic.sent(len);
        Ok(())
    }

    /// Says that a control message has been sent.
    pub(crate) fn sent(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }

    /// Returns true where the sends of all control messages have completed, so that the peer
    /// has them.
    pub(crate) fn has_sent_all(&self) -> bool {
        self.under_way == 0
    }

    /// Says to the peer that this side is at work, unless it has still to hear of
    /// something else.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn say_alive(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if !self.has_sent_all() {
            return Ok(());
        }
        self.send(queue, &Control::Alive, List::new())
    }

    /// A buffer that holds data which has come by a SEND.
    pub(crate) fn data(&self) -> Option<BufferId> {
        self.incoming
            .iter()
            .zip(&self.holds_data)
            .find_map(|(buffer, holds)| holds.then_some(*buffer))
    }
}
