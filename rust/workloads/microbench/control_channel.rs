// SPDX-License-Identifier: GPL-2.0

//! Control messages between the two sides of a microbenchmark, and the data that arrives by SENDs.
//! Both use the same receives.

#![forbid(unsafe_code)]

use crate::{
    engine::{
        completion::WorkCompletion,
        queue::Queue,
        traffic::Traffic, //
    },
    logic::{
        failure::Failure,
        pingpong::Violation,
        wire::control::Control, //
    },
    mr::{
        BufferId,
        Memory, //
    },
    rdma::wr::{
        List,
        Local,
        WorkRequest, //
    },
    workloads::exchange::memory_failed, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Number of receive buffers that are used in turn where not all data is compared. With two, the
/// data before the last control message is still there when that message has arrived.
pub(super) const SLOTS: usize = 2;

/// Number of receives that control messages may need.
pub(crate) const CONTROL_RECEIVES: u32 = 4;

/// Number of requests in the send queue that control messages may need, including two
/// registrations.
pub(crate) const CONTROL_SENDS: u32 = 6;

/// Least size of a receive buffer, in bytes: larger than a control message, so that a longer
/// message is recognised.
const LEAST_ROOM: u32 = 64;

/// Returns the bytes that each receive needs room for, where data of `size` bytes arrives by SENDs
/// if `data_comes` is true.
pub(super) fn room_for(size: u32, data_comes: bool) -> u32 {
    if data_comes {
        size.max(LEAST_ROOM)
    } else {
        LEAST_ROOM
    }
}

/// The content of a completed receive.
pub(crate) enum Arrival {
    /// Data, by a SEND or by a WRITE with immediate data, and the number of the buffer that has it
    /// if it was sent and is wanted.
    Data(usize),
    /// A control message.
    Control(Control),
}

/// The receives of one side.
#[derive(Clone, Copy)]
pub(super) enum Receives {
    /// So many are kept posted.
    Own(u32),
    /// They are those of a shared queue, which takes them back when they have been handled.
    Shared {
        /// Data is copied, to be looked at later.
        copy: bool,
    },
}

/// Receives and control messages of one side.
pub(crate) struct ControlChannel {
    /// One send buffer for each kind of control message, since the previous message may still be in
    /// flight.
    outgoing: [BufferId; 4],
    /// Buffers of receives, used in turn but for the last, which is for the first message: data may
    /// follow that at once.
    incoming: KVec<BufferId>,
    /// True for each buffer of `incoming` that holds data.
    holds_data: KVec<bool>,
    /// Index of the buffer of the next receive.
    turn: usize,
    /// Size of each receive buffer, in bytes.
    room: u32,
    receives: Receives,
    /// Size of the data, in bytes; of the largest where it has several sizes.
    size: u32,
    /// The data has several sizes.
    mixed: bool,
    /// The data arrives by SENDs.
    data_comes: bool,
    /// The peer waits for the events of solicited messages only.
    solicited: bool,
    /// Number of control messages in flight.
    under_way: u32,
    traffic: Arc<Traffic>,
}

impl ControlChannel {
    /// Adds the buffers to `memory`, for data of `size` bytes, or up to that with `mixed`, that
    /// arrives by SENDs if `data_comes` is true. It goes into `buffers` in turn. Each message
    /// raises an event at a peer that waits for solicited ones only, if `solicited` is true. May
    /// sleep.
    pub(crate) fn new(
        memory: &mut Memory,
        traffic: Arc<Traffic>,
        (size, mixed): (u32, bool),
        data_comes: bool,
        receives: Receives,
        buffers: usize,
        solicited: bool,
    ) -> Result<Self> {
        let room = room_for(size, data_comes);
        let mut incoming = KVec::with_capacity(buffers + 1, GFP_KERNEL)?;
        let mut holds_data = KVec::with_capacity(buffers + 1, GFP_KERNEL)?;
        for _ in 0..=buffers {
            incoming.push(memory.add_buffer(room as usize)?, GFP_KERNEL)?;
            holds_data.push(false, GFP_KERNEL)?;
        }
        let mut outgoing = || memory.add_buffer(Control::MAX_LEN);
        Ok(Self {
            outgoing: [outgoing()?, outgoing()?, outgoing()?, outgoing()?],
            incoming,
            holds_data,
            turn: 0,
            room,
            receives,
            size,
            mixed,
            data_comes,
            solicited,
            under_way: 0,
            traffic,
        })
    }

    /// Posts all receives. Must be called before the connection is made.
    pub(crate) fn prepare(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let Receives::Own(receives) = self.receives else {
            return Ok(());
        };
        self.post_receive(queue, self.turns())?;
        for _ in 1..receives {
            self.post_next(queue)?;
        }
        Ok(())
    }

    /// Reads the message or data of a completed receive. [`Self::post_next`] posts the next
    /// receive.
    ///
    /// # Errors
    ///
    /// [`Failure::Protocol`] with `iteration` if something unexpected has arrived.
    pub(crate) fn receive(
        &mut self,
        queue: &mut Queue<'_>,
        wc: &WorkCompletion<'_>,
        iteration: u64,
    ) -> Result<Arrival, Failure> {
        let broken = |violation| Failure::Protocol(violation, iteration);
        let invalid = || memory_failed(EINVAL);
        let slot = match self.receives {
            Receives::Own(_) => wc.slot,
            Receives::Shared { .. } => self.turn,
        };
        let buffer = *self.incoming.get(slot).ok_or_else(invalid)?;
        let is_data = self.data_comes && self.is_data(wc.bytes());
        let control_len = self.control_len();
        let holds_data = self.holds_data.get_mut(slot).ok_or_else(invalid)?;
        if let Some(key) = wc.invalidated() {
            return Err(broken(Violation::Unasked(key)));
        }
        let arrival = if wc.is_written() {
            if self.data_comes {
                return Err(broken(Violation::Early));
            }
            self.traffic.received(0);
            Arrival::Data(slot)
        } else if wc.immediate().is_some() {
            return Err(broken(Violation::Immediate));
        } else if is_data {
            self.traffic.received(wc.bytes());
            match self.receives {
                Receives::Own(_) => *holds_data = true,
                Receives::Shared { copy: false } => {}
                Receives::Shared { copy: true } => {
                    let copied = queue.copy_shared(wc.slot, buffer, wc.bytes());
                    copied.map_err(memory_failed)?;
                    *holds_data = true;
                    self.next_turn();
                }
            }
            Arrival::Data(slot)
        } else if wc.bytes() == control_len {
            self.traffic.received(wc.bytes());
            let mut bytes = [0; Control::MAX_LEN];
            // If the message is shorter, its last byte keeps the value it has here.
            let arrived = bytes.get_mut(..wc.bytes() as usize).ok_or_else(invalid)?;
            let read = match self.receives {
                Receives::Shared { .. } => queue.read_shared(wc.slot, arrived),
                Receives::Own(_) => {
                    *holds_data = false;
                    queue.memory().read(buffer, 0, arrived)
                }
            };
            read.map_err(memory_failed)?;
            let control = Control::decode(&bytes).ok_or_else(|| broken(Violation::Control))?;
            Arrival::Control(control)
        } else {
            return Err(broken(Violation::DataLength(wc.bytes(), self.size)));
        };
        Ok(arrival)
    }

    /// Returns true if a message of `bytes` bytes is data, where that arrives by SENDs.
    fn is_data(&self, bytes: u32) -> bool {
        match self.mixed {
            true => bytes <= self.size && bytes != self.control_len(),
            false => bytes == self.size,
        }
    }

    /// Returns the bytes of a control message.
    fn control_len(&self) -> u32 {
        Control::len(self.size, self.mixed)
    }

    /// Returns the connection's traffic counters.
    pub(super) fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Returns the number of buffers.
    pub(super) fn buffers(&self) -> usize {
        self.incoming.len()
    }

    /// Returns the number of buffers that are used in turn.
    fn turns(&self) -> usize {
        self.incoming.len().saturating_sub(1)
    }

    fn post_receive(&self, queue: &mut Queue<'_>, slot: usize) -> Result<(), Failure> {
        let buffer = self.incoming.get(slot);
        let buffer = *buffer.ok_or_else(|| memory_failed(EINVAL))?;
        queue.post_receive(slot, buffer, self.room)
    }

    /// Posts the next receive, unless a shared queue has them.
    pub(crate) fn post_next(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if let Receives::Own(_) = self.receives {
            self.post_receive(queue, self.turn)?;
            self.next_turn();
        }
        Ok(())
    }

    fn next_turn(&mut self) {
        self.turn += 1;
        if self.turn == self.turns() {
            self.turn = 0;
        }
    }

    /// Sends a control message, after the requests of `list`, which must be executed first.
    pub(crate) fn send(
        &mut self,
        queue: &mut Queue<'_>,
        control: &Control,
        mut list: List,
    ) -> Result<(), Failure> {
        let [ready, alive, figures, done] = self.outgoing;
        let buffer = match control {
            Control::Ready(_) => ready,
            Control::Alive => alive,
            // A test has one of them.
            Control::Arrived(_) | Control::Moved(_) => figures,
            Control::Done { .. } => done,
        };
        queue
            .write(buffer, 0, &control.encode())
            .map_err(memory_failed)?;
        let len = self.control_len();
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
            solicited: self.solicited,
        });
        queue.post_control(list.as_slice())?;
        self.under_way = self.under_way.wrapping_add(1);
        self.traffic.sent(len);
        Ok(())
    }

    /// Counts a control message whose send has completed.
    pub(crate) fn sent(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
    }

    /// Returns true if the sends of all control messages have completed. Except on iWARP, the peer
    /// has received them then.
    pub(crate) fn has_sent_all(&self) -> bool {
        self.under_way == 0
    }

    /// Sends a keepalive to the peer, unless another control message is still in flight.
    pub(crate) fn send_keepalive(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if !self.has_sent_all() {
            return Ok(());
        }
        self.send(queue, &Control::Alive, List::new())
    }

    /// Returns the buffer of receive number `slot`.
    pub(crate) fn buffer(&self, slot: usize) -> Option<BufferId> {
        self.incoming.get(slot).copied()
    }

    /// Returns a buffer with data that arrived by a SEND, if there is one.
    pub(crate) fn data(&self) -> Option<BufferId> {
        self.incoming
            .iter()
            .zip(self.holds_data.iter())
            .find_map(|(buffer, holds)| holds.then_some(*buffer))
    }
}
