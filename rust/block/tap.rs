// SPDX-License-Identifier: GPL-2.0

//! Forwarding of the requests that a tap has seen: the workload of its connection to the server.
//!
//! The thread cuts requests into parts that the server takes, copies the data of each part to a
//! slot's buffer and sends it; the server's answer frees the slot. Buffers are registered once
//! and stay open to the server, which is told not to invalidate their rkeys: they only hold data
//! meant for it. A small write carries its data itself.
//!
//! Order: a disk is given requests one after the other, and the server may work on several at
//! once. So no part is sent while another one for the same blocks is under way, and no flush
//! while anything is under way. The copy then has the state that the disk would have if it
//! executed requests in the order in which it was given them.
//!
//! - [`client`], [`connection`] - the thread of a tap, and its connection
//! - [`intake`], [`ring`], [`record`] - the hooks in the disk's I/O, and what they leave for the
//!   thread
//! - [`cutter`], [`part`], [`message`], [`requests`] - cutting, sending, and what became of each
//!   request

#![forbid(unsafe_code)]

pub(crate) mod client;
mod connection;
pub(crate) mod cutter;
pub(crate) mod intake;
mod message;
mod part;
mod record;
mod requests;
pub(crate) mod ring;

use super::figures::{
    Live,
    Stages, //
};
use crate::{
    engine::{
        completion::WorkCompletion,
        depths::Depths,
        outcome::Progress,
        queue::Queue,
        traffic::Traffic,
        workload::Workload, //
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
    rdma::wr::{
        Local,
        WorkRequest, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};
use message::{
    Claim,
    Data,
    PartMessage,
    Sent, //
};
use part::Part;
use requests::{
    Refused,
    Requests, //
};

/// Maximum number of parts under way.
pub(crate) const WINDOW: usize = 8;

/// Tag of keepalives and of the close message.
const CONTROL: usize = WINDOW;

/// Number of message slots.
const SLOTS: usize = WINDOW + 1;

/// Number of receives: one for each expected answer, and one that tells an unexpected answer from
/// a missing receive.
const RECEIVES: usize = SLOTS + 1;

/// Size of a receive buffer in bytes: larger than the answers of one message, so that a longer
/// message is detected.
const ANSWERS: u32 = 64 + (Response::JOINED * Response::LEN) as u32;

fn failed(error: Error) -> Failure {
    Failure::Kernel("using a tap's buffer", error.to_errno())
}

/// Workload of a tap's connection to its server.
pub(crate) struct Tap {
    /// The slots of parts, followed by the slot of control messages.
    slots: KVec<PartMessage>,
    answers: BufferId,
    requests: Requests,
    /// Maximum size of the data that a write carries itself, in bytes.
    inline: u32,
    /// Maximum number of parts under way, as limited by the server and [`WINDOW`].
    window: usize,
    /// The thread waits for the next completion.
    waiting: bool,
    /// Time of the server's last answer, or of the first message after it had answered all.
    heard_ns: u64,
    /// Time of the last message sent.
    sent_ns: u64,
    traffic: Arc<Traffic>,
}

impl Tap {
    /// Allocates buffers in `memory`, for parts of up to `largest` bytes. May sleep.
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
            slots.push(PartMessage::new(memory, Some(data))?, GFP_KERNEL)?;
        }
        slots.push(PartMessage::new(memory, None)?, GFP_KERNEL)?;
        Ok(KBox::new(
            Self {
                slots,
                answers: memory.add_buffer(RECEIVES * ANSWERS as usize)?,
                requests: Requests::new(live, traffic.clone())?,
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

    /// Returns the queue pair size that a tap needs.
    pub(crate) fn depths() -> Depths {
        // The registrations precede all messages, and have completed when the first message has.
        const SEND: u32 = (WINDOW + SLOTS) as u32;
        Depths::plain(SEND, RECEIVES as u32).with_slots(RECEIVES)
    }

    /// Posts the receives, before the connection is made.
    pub(crate) fn prepare(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        (0..RECEIVES).try_for_each(|slot| self.post_receive(queue, slot))
    }

    fn post_receive(&self, queue: &mut Queue<'_>, slot: usize) -> Result<(), Failure> {
        let offset = (slot as u32).saturating_mul(ANSWERS);
        queue.post_receive_at(slot, self.answers, offset, ANSWERS)
    }

    /// Starts the tap once connected. The server takes `window` parts at a time, and up to
    /// `inline` bytes of data with a write.
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
                signaled: false,
            }])?;
        }
        Ok(())
    }

    /// Returns true if all parts have been answered. If not, the outcome's wait queue is woken at
    /// the next completion.
    pub(crate) fn is_idle(&mut self) -> bool {
        let idle = self.slots.iter().all(|slot| slot.part().is_none());
        self.waiting = !idle;
        idle
    }

    /// Returns the number of requests that have been sent completely and not been answered.
    pub(crate) fn unanswered(&self) -> u64 {
        self.requests.unanswered()
    }

    /// Claims a slot for `part`, whose data goes there; the part must then be [sent](Self::send).
    /// Returns `None` if the part has to wait: the outcome's wait queue is woken at the next
    /// completion.
    pub(crate) fn claim(&mut self, part: &Part) -> Option<Claim> {
        let must_wait = self
            .slots
            .iter()
            .filter_map(PartMessage::part)
            .any(|other| part.must_follow(other));
        let index = self
            .slots
            .iter()
            .take(self.window)
            .position(PartMessage::is_free)
            .filter(|_| !must_wait);
        self.waiting = index.is_none();
        let inline = self.is_inline(part);
        self.slots.get_mut(index?)?.claim(index?, inline)
    }

    fn is_inline(&self, part: &Part) -> bool {
        part.record.action == Action::Write && part.record.bytes <= self.inline
    }

    /// Sends `part`, whose data is in the claimed slot.
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
                .and_then(|()| queue.memory().remote(data.region))
                .map_err(failed)?
                .into();
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

    /// Sends a keepalive if nothing has been sent for `ms` milliseconds.
    pub(crate) fn ping(&mut self, queue: &mut Queue<'_>, ms: u32) -> Result<(), Failure> {
        if since_ms(self.sent_ns) < u64::from(ms) {
            return Ok(());
        }
        self.control(queue, Action::Ping)
    }

    /// Sends the close message, unless a control message is under way; its answer finishes the
    /// outcome.
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

    /// Posts a message in the slot of its tag.
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
                solicited: false,
            }],
        )?;
        self.traffic.sent(len);
        Ok(())
    }

    /// Returns for how many ms the server has answered nothing while something is unanswered; 0
    /// if all is answered.
    pub(crate) fn silent_ms(&self) -> u64 {
        if self.slots.iter().any(|slot| slot.sent.is_some()) {
            since_ms(self.heard_ns)
        } else {
            0
        }
    }

    /// Returns the first part that the server has refused.
    pub(crate) fn refused(&self) -> Option<Refused> {
        self.requests.refused()
    }

    /// Notes that requests are measured from `now` on.
    pub(crate) fn measuring(&self, now: u64) {
        self.traffic.measuring(now);
    }

    /// Returns the latency histograms of requests.
    pub(crate) fn stages(&self) -> &Stages {
        self.requests.stages()
    }

    fn receive(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        self.traffic.received(wc.bytes());
        let count = Response::count(wc.bytes()).map_err(Failure::Message)?;
        if let Some(key) = wc.invalidated() {
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

    /// Handles an answer.
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

    /// Wakes the thread, if it waits for a completion.
    fn wake(&mut self, queue: &Queue<'_>) {
        if core::mem::take(&mut self.waiting) {
            queue.outcome.wake();
        }
    }
}

/// Returns the milliseconds since `ns` of the monotonic clock.
fn since_ms(ns: u64) -> u64 {
    monotonic_ns().saturating_sub(ns) / 1_000_000
}

impl Workload for Tap {
    type Done = ();

    const OPERATIONS: &'static [Operation] =
        &[Operation::Send, Operation::Register, Operation::Receive];

    fn completed(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
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
