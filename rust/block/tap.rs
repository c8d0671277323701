// SPDX-License-Identifier: GPL-2.0

//! The forwarding of what a tap has seen: the workload of its connection to the server.
//!
//! The thread cuts requests into parts that the server takes, fills a slot's buffer with
//! the data of each and sends it; the server's answer frees the slot. Buffers are
//! registered once and stay open to the server, which is told to keep their keys: what is
//! in them is for it alone. A small write carries its data itself.
//!
//! Order. A disk is given requests one after the other, and the server may work on
//! several at once. So no part is sent while one is under way that works on the same
//! blocks, and no flush while anything is. The copy then is what the disk would be, had it
//! done its requests in the order in which it was given them.

#![forbid(unsafe_code)]

pub(crate) mod client;
mod connection;
pub(crate) mod cutter;
pub(crate) mod intake;
mod part;
mod record;
mod requests;
pub(crate) mod ring;
mod slot;

use part::Part;
use requests::{
    Refused,
    Requests, //
};
use slot::{
    Claim,
    Data,
    Sent,
    Slot, //
};

use super::figures::{
    Live,
    Stages, //
};
use crate::{
    engine::{
        outcome::Progress,
        traffic::Traffic, //
    },
    kernel_ext::time::monotonic_ns,
    logic::{
        block::{
            answer::Response,
            Action,
            MessageError,
            Request, //
        },
        failure::{
            Failure,
            Operation, //
        },
        pingpong::Violation,
        wire::Advertisement, //
    },
    mr::{
        Access,
        BufferId,
        Memory, //
    },
    rdma::{
        cq::WorkCompletion,
        qp::{
            Depths,
            Queue,
            Workload, //
        },
        wr::{
            Local,
            WorkRequest, //
        }, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Parts under way at a time.
pub(crate) const WINDOW: usize = 8;

/// The tag of signs of life and of the farewell.
const CONTROL: usize = WINDOW;

/// Slots of messages.
const SLOTS: usize = WINDOW + 1;

/// Receives: one for each answer that may come, and one to tell an answer out of turn from
/// a missing receive.
const RECEIVES: usize = SLOTS + 1;

/// A receive buffer's size: larger than the answers of one message, so that a longer one
/// is recognised as such.
const ANSWERS: u32 = 64 + (Response::JOINED * Response::LEN) as u32;

fn failed(error: Error) -> Failure {
    Failure::Kernel("using a tap's buffer", error.to_errno())
}

/// A tap's connection to its server.
pub(crate) struct Tap {
    /// Those of parts, and behind them the one of control messages.
    slots: KVec<Slot>,
    answers: BufferId,
    requests: Requests,
    /// The most data that a write carries itself.
    inline: u32,
    /// How many parts the server lets be under way.
    window: usize,
    /// The thread wants to hear of the next answer.
    waiting: bool,
    /// When the server last answered, or was asked something after it had answered all.
    heard_ns: u64,
    /// When the last message was sent.
    sent_ns: u64,
    traffic: Arc<Traffic>,
}

impl Tap {
    /// Allocates buffers in `memory`, for parts of up to `largest` bytes. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; what the device says.
    #[inline(never)]
    pub(crate) fn new(
        memory: &mut Memory,
        largest: u32,
        live: Arc<Live>,
        traffic: Arc<Traffic>,
    ) -> Result<KBox<Self>> {
        let mut slots = KVec::with_capacity(SLOTS, GFP_KERNEL)?;
        for _ in 0..WINDOW {
            let data = Data::new(memory, largest)?;
            slots.push(Slot::new(memory, Some(data))?, GFP_KERNEL)?;
        }
        slots.push(Slot::new(memory, None)?, GFP_KERNEL)?;
        Ok(KBox::new(
            Self {
                slots,
                answers: memory.add_buffer(RECEIVES.saturating_mul(ANSWERS as usize))?,
                requests: Requests::new(live)?,
                inline: 0,
                window: 0,
                waiting: false,
                heard_ns: 0,
                sent_ns: 0,
                traffic,
            },
            GFP_KERNEL,
        )?)
    }

    /// How large its queue pair must be.
    pub(crate) fn depths() -> Depths {
        // The registrations come before all messages, and are done when the first is.
        const SEND: u32 = (WINDOW + SLOTS) as u32;
        Depths::plain(SEND, RECEIVES as u32).with_slots(RECEIVES)
    }

    /// Posts the receives, before the connection is made.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn prepare(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        (0..RECEIVES).try_for_each(|slot| self.post_receive(queue, slot))
    }

    fn post_receive(&self, queue: &mut Queue<'_>, slot: usize) -> Result<(), Failure> {
        let offset = (slot as u32).saturating_mul(ANSWERS);
        queue.post_receive_at(slot, self.answers, offset, ANSWERS)
    }

    /// Begins, once connected, with a server that takes `window` parts at a time and
    /// `inline` bytes with a write.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn start(
        &mut self,
        queue: &mut Queue<'_>,
        window: u16,
        inline: u32,
    ) -> Result<(), Failure> {
        self.window = WINDOW.min(usize::from(window));
        self.inline = inline.min(Request::INLINE);
        self.heard_ns = monotonic_ns();
        self.sent_ns = self.heard_ns;
        for data in self.slots.iter().filter_map(|slot| slot.data.as_ref()) {
            queue.post(&[WorkRequest::Register {
                region: data.region,
                access: Access::RemoteRead,
                renew_key: true,
            }])?;
        }
        Ok(())
    }

    /// Whether all parts have been answered. Where they have not, the outcome's bell tells
    /// of the next answer.
    pub(crate) fn is_idle(&mut self) -> bool {
        let idle = self.slots.iter().all(|slot| slot.part().is_none());
        self.waiting = !idle;
        idle
    }

    /// Requests that have been sent whole, and not been answered.
    pub(crate) fn unanswered(&self) -> u64 {
        self.requests.unanswered()
    }

    /// A place for the data of `part`, which must then be [sent](Self::send); `None` where
    /// it has to wait for an answer, of which the outcome's bell tells.
    pub(crate) fn claim(&mut self, part: &Part) -> Option<Claim> {
        let must_wait = self
            .slots
            .iter()
            .filter_map(Slot::part)
            .any(|other| part.must_follow(other));
        let index = self
            .slots
            .iter()
            .take(self.window)
            .position(Slot::is_free)
            .filter(|_| !must_wait);
        self.waiting = index.is_none();
        let inline = self.is_inline(part);
        self.slots.get_mut(index?)?.claim(index?, inline)
    }

    fn is_inline(&self, part: &Part) -> bool {
        part.record.action == Action::Write && part.record.bytes <= self.inline
    }

    /// Sends `part`, whose data is in what was claimed for it.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn send(
        &mut self,
        queue: &mut Queue<'_>,
        claim: &Claim,
        part: &Part,
    ) -> Result<(), Failure> {
        let inline = self.is_inline(part);
        let slot = self
            .slots
            .get_mut(claim.slot)
            .ok_or_else(|| failed(EINVAL))?;
        slot.claimed = false;
        let record = &part.record;
        let moves = record.action == Action::Write && !inline;
        let mut remote = Advertisement::nowhere(record.bytes);
        if let (true, Some(data)) = (moves, &slot.data) {
            let bytes = record.bytes as usize;
            remote = queue
                .memory()
                .sync_for_device(data.buffer, 0, bytes)
                .and_then(|()| queue.memory().advertise(data.region))
                .map_err(failed)?;
            remote.size = record.bytes;
        }
        let request = Request {
            action: record.action,
            fua: record.fua,
            inline,
            keep: moves,
            keep_space: false,
            tag: claim.slot as u16,
            seq: slot.seq.wrapping_add(1),
            offset: record.offset,
            remote,
        };
        self.requests.sent(part)?;
        self.post(queue, &request, Sent::Part(*part))
    }

    /// Gives a sign of life, where nothing has been sent for `ms`; else does nothing.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn ping(&mut self, queue: &mut Queue<'_>, ms: u32) -> Result<(), Failure> {
        if since_ms(self.sent_ns) < u64::from(ms) {
            return Ok(());
        }
        self.control(queue, Action::Ping)
    }

    /// Says farewell, where that can be said now; the answer finishes the outcome.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn close(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.control(queue, Action::Close)
    }

    /// Sends a control message, unless one is under way.
    fn control(&mut self, queue: &mut Queue<'_>, action: Action) -> Result<(), Failure> {
        let slot = self.slots.get(CONTROL).ok_or_else(|| failed(EINVAL))?;
        if !slot.is_free() {
            self.waiting = true;
            return Ok(());
        }
        let request = Request {
            action,
            fua: false,
            inline: false,
            keep: false,
            keep_space: false,
            tag: CONTROL as u16,
            seq: slot.seq.wrapping_add(1),
            offset: 0,
            remote: Advertisement::nowhere(0),
        };
        self.post(queue, &request, Sent::Control(action))
    }

    /// Posts a message, in the slot of its tag.
    fn post(
        &mut self,
        queue: &mut Queue<'_>,
        request: &Request,
        sent: Sent,
    ) -> Result<(), Failure> {
        let now = monotonic_ns();
        if self.slots.iter().all(|slot| slot.sent.is_none()) {
            self.heard_ns = now;
        }
        self.sent_ns = now;
        let index = usize::from(request.tag);
        let slot = self.slots.get_mut(index).ok_or_else(|| failed(EINVAL))?;
        let inline = if request.inline { request.bytes() } else { 0 };
        let len = (Request::LEN as u32).saturating_add(inline);
        queue
            .write(slot.message, 0, &request.encode())
            .and_then(|()| {
                queue
                    .memory()
                    .sync_for_device(slot.message, 0, len as usize)
            })
            .map_err(failed)?;
        slot.seq = request.seq;
        slot.sent = Some(sent);
        slot.sending = true;
        queue.post_for(
            index,
            &[WorkRequest::Send {
                local: Local {
                    buffer: slot.message,
                    offset: 0,
                    len,
                    region: None,
                },
                invalidate: None,
                fence: false,
                signaled: true,
                control: false,
            }],
        )?;
        self.traffic.sent(len);
        Ok(())
    }

    /// For how many ms the server has left something unanswered.
    pub(crate) fn silent_ms(&self) -> u64 {
        if self.slots.iter().any(|slot| slot.sent.is_some()) {
            since_ms(self.heard_ns)
        } else {
            0
        }
    }

    /// The first request that the server has refused.
    pub(crate) fn refused(&self) -> Option<Refused> {
        self.requests.refused()
    }

    /// How long requests took.
    pub(crate) fn stages(&self) -> &Stages {
        self.requests.stages()
    }

    fn receive(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion) -> Result<(), Failure> {
        self.traffic.received(wc.bytes);
        let count = Response::count(wc.bytes).map_err(Failure::Message)?;
        if let Some(key) = wc.invalidated {
            return Err(Failure::Protocol(Violation::Unasked(key), self.iteration()));
        }
        let message = wc.slot.saturating_mul(ANSWERS as usize);
        for before in 0..count {
            let mut bytes = [0; Response::LEN];
            let at = message.saturating_add(before.saturating_mul(Response::LEN));
            queue
                .memory()
                .read(self.answers, at, &mut bytes)
                .map_err(failed)?;
            self.answered(queue, &Response::decode(&bytes).map_err(Failure::Message)?)?;
        }
        self.post_receive(queue, wc.slot)
    }

    /// Takes an answer.
    fn answered(&mut self, queue: &Queue<'_>, response: &Response) -> Result<(), Failure> {
        let out_of_turn = Failure::Message(MessageError::Tag(response.tag));
        let slot = self
            .slots
            .get_mut(usize::from(response.tag))
            .filter(|slot| slot.seq == response.seq)
            .ok_or(out_of_turn)?;
        let sent = slot.sent.take().ok_or(out_of_turn)?;
        self.heard_ns = monotonic_ns();
        match sent {
            Sent::Part(part) => {
                if part.record.action == Action::Write && part.record.bytes > self.inline {
                    self.traffic.written(part.record.bytes);
                }
                self.requests.answered(&part, response.status);
            }
            Sent::Control(Action::Close) => queue.outcome.advance(Progress::Finished),
            Sent::Control(_) => {}
        }
        Ok(())
    }

    /// Tells the thread, if it waits, that there is less under way.
    fn wake(&mut self, queue: &Queue<'_>) {
        if core::mem::take(&mut self.waiting) {
            queue.outcome.wake();
        }
    }
}

/// Milliseconds since a time of the monotonic clock.
fn since_ms(ns: u64) -> u64 {
    monotonic_ns().saturating_sub(ns) / 1_000_000
}

impl Workload for Tap {
    type Done = ();

    fn completed(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion) -> Result<(), Failure> {
        match wc.op {
            Operation::Receive => self.receive(queue, wc)?,
            Operation::Send => {
                if let Some(slot) = self.slots.get_mut(wc.slot) {
                    slot.sending = false;
                }
            }
            _ => return Ok(()),
        }
        self.wake(queue);
        Ok(())
    }

    fn iteration(&self) -> u64 {
        self.requests.ended()
    }
}
