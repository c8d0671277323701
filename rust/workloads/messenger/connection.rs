// SPDX-License-Identifier: GPL-2.0

//! A connection of a dispatcher, of either side.

#![forbid(unsafe_code)]

use super::{
    asking::Asking,
    content,
    pool::Pool,
    sends::{
        Send,
        Sends, //
    }, //
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
    kernel_ext::time::{
        jiffies,
        monotonic_ns,
        Deadline, //
    },
    logic::{
        command::Command,
        failure::{
            Failure,
            Operation, //
        },
        messenger::{
            header::{
                Header,
                Kind, //
            },
            hello::Hello,
            incoming::{
                Event,
                Incoming,
                Piece, //
            },
            outgoing::Outgoing,
            violation::Violation, //
        }, //
    },
    rdma::{
        srq::Chunk,
        wr::{
            List,
            Local,
            WorkRequest,
            MAX_CHAIN, //
        }, //
    },
    workloads::exchange::memory_failed, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The most sends of a connection that are under way: what a larger message needs beyond that has
/// to wait.
const MOST_SENDS: u32 = 64;

/// The most that [`sends`] returns.
pub(super) const MOST_WITH_END: u32 = MOST_SENDS + 1;

/// Returns the sends of a connection whose sides have said this that are under way at most, with
/// that of its end.
pub(super) fn sends(hello: &Hello, chunk: u32) -> u32 {
    let chunk = chunk.min(hello.chunk).max(1);
    let message = hello.size.saturating_add(Header::LEN as u32);
    let all = u32::from(hello.inflight).saturating_mul(message.div_ceil(chunk));
    all.saturating_add(1).min(MOST_WITH_END)
}

/// The sizes of a queue pair with so many sends.
pub(super) fn depths(sends: u32) -> Depths {
    Depths::plain(sends, 0).with_slots(1)
}

/// The part of a side.
pub(super) enum Part {
    /// It begins messages.
    Asking(KBox<Asking>),
    /// It replies to what asks for that; this many have come.
    Answering(u64),
}

/// A connection of a dispatcher.
pub(super) struct Connection {
    pool: Arc<Pool>,
    traffic: Arc<Traffic>,
    /// The number of the connection among those of the dispatcher.
    number: u32,
    part: Part,
    incoming: Incoming,
    outgoing: Outgoing,
    sends: Sends,
    /// Time at which the oldest of these became the oldest, in jiffies.
    moved: usize,
    /// It is among those that the pool says wait for a chunk.
    waits: bool,
    /// It is the one that has waited longest, and takes chunks before the others.
    has_turn: bool,
    validate: bool,
    /// It is finished only when the peer's device has acknowledged its end.
    awaits_ack: bool,
    started_ns: u64,
    ended_ns: u64,
}

impl Connection {
    /// Creates a side of a connection whose client has said `hello`, as number `number` of its
    /// dispatcher. May sleep.
    #[inline(never)]
    pub(super) fn new(
        command: &Command,
        pool: &Arc<Pool>,
        traffic: Arc<Traffic>,
        number: u32,
        hello: &Hello,
        part: Part,
    ) -> Result<KBox<Self>> {
        let chunk = pool.room();
        let replies = matches!(part, Part::Asking(_));
        let this = Self {
            pool: pool.clone(),
            traffic,
            number,
            part,
            incoming: Incoming::new(replies, hello.size),
            outgoing: Outgoing::new(hello.size, chunk.min(hello.chunk)),
            sends: Sends::new(sends(hello, chunk))?,
            moved: 0,
            waits: false,
            has_turn: false,
            validate: command.validate,
            // Without the CM the server says over TCP that a client may go.
            awaits_ack: command.messenger.tcp && !replies,
            started_ns: 0,
            ended_ns: 0,
        };
        Ok(KBox::new(this, GFP_KERNEL)?)
    }

    /// Takes what the server has answered, before anything is sent.
    pub(super) fn meet(&mut self, theirs: &Hello) {
        let chunk = self.pool.room().min(theirs.chunk);
        self.outgoing = Outgoing::new(theirs.size, chunk);
    }

    /// Begins to send, at `now`.
    pub(super) fn start(&mut self, queue: &mut Queue<'_>, now: u64) -> Result<(), Failure> {
        if let Part::Asking(asking) = &mut self.part {
            if asking.start(now, self.number) {
                (self.started_ns, self.ended_ns) = (now, now);
                self.traffic.measuring(now);
            }
        }
        self.go_on(queue)
    }

    /// Sends what is due by now.
    pub(super) fn post_due(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        match self.waits {
            // It goes on when there is a chunk.
            true => Ok(()),
            false => self.go_on(queue),
        }
    }

    /// Goes on once there may be a chunk that it has waited for.
    pub(super) fn resume(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.waits = false;
        self.has_turn = true;
        let result = self.go_on(queue);
        self.has_turn = false;
        result
    }

    /// Returns true where no message has come or gone.
    pub(super) fn is_fresh(&self) -> bool {
        self.started_ns == 0
    }

    /// Returns the number of messages that are done.
    pub(super) fn done(&self) -> u64 {
        match &self.part {
            Part::Asking(asking) => asking.turns.done(),
            Part::Answering(_) => self.incoming.whole(),
        }
    }

    /// Returns the times of its first and last message, in nanoseconds.
    pub(super) fn times(&self) -> (u64, u64) {
        (self.started_ns, self.ended_ns)
    }

    /// Notes that something was done now, and returns the time.
    fn note_time(&mut self) -> u64 {
        let now = monotonic_ns();
        if self.started_ns == 0 {
            self.started_ns = now;
            self.traffic.measuring(now);
        }
        self.ended_ns = now;
        now
    }

    /// Returns true where the peer takes nothing of what was sent: the oldest send is under way for
    /// longer than `timeout` ms.
    pub(super) fn is_stuck(&self, timeout: u32) -> bool {
        !self.sends.is_empty() && Deadline::since(self.moved, timeout).passed()
    }

    /// Takes the oldest send, which has completed.
    fn sent(&mut self) -> Result<(), Failure> {
        self.moved = jiffies();
        let send = self.sends.pop().ok_or_else(|| memory_failed(EINVAL))?;
        if let Some(chunk) = send.chunk {
            self.pool.release(chunk);
        }
        if let (true, Part::Asking(asking)) = (send.is_last, &self.part) {
            if asking.kind == Kind::OneWay {
                self.finish_message();
            }
        }
        Ok(())
    }

    /// Notes that the oldest message of this side is done.
    fn finish_message(&mut self) {
        let now = self.note_time();
        let Part::Asking(asking) = &mut self.part else {
            return;
        };
        let took = asking.finish(now);
        self.pool.with(|state| state.record(took));
        self.traffic.ended(now, 1, Some(took));
    }

    /// Takes the chunk that a receive has brought.
    fn received(&mut self, slot: usize, bytes: u32) -> Result<(), Failure> {
        let mut head = [0; Header::LEN];
        let (head_bytes, _) = head.split_at_mut((bytes as usize).min(Header::LEN));
        self.pool
            .chunks()
            .read(slot as u32, 0, head_bytes)
            .map_err(memory_failed)?;
        match self.incoming.take(bytes, &head).map_err(Failure::Chunk)? {
            Event::Piece(piece) => self.take(slot, piece),
            Event::End => self.take_end(),
        }
    }

    fn take(&mut self, slot: usize, piece: Piece) -> Result<(), Failure> {
        if self.validate {
            content::check(self.pool.chunks(), slot as u32, &piece)?;
            self.traffic.validated(piece.len);
        }
        self.note_time();
        self.traffic.received(piece.len);
        if !piece.is_last {
            return Ok(());
        }
        let size = u64::from(piece.position).saturating_add(piece.len.into());
        self.pool.with(|state| {
            state.figures.received = state.figures.received.saturating_add(1);
            state.figures.bytes = state.figures.bytes.saturating_add(size);
        });
        match &mut self.part {
            Part::Asking(asking)
                if asking.kind == Kind::OneWay || asking.turns.under_way() == 0 =>
            {
                return Err(Failure::Chunk(Violation::Unasked(piece.number)));
            }
            Part::Asking(_) => self.finish_message(),
            Part::Answering(asked) => {
                *asked = asked.wrapping_add(u64::from(piece.kind == Kind::Request));
            }
        }
        Ok(())
    }

    fn take_end(&mut self) -> Result<(), Failure> {
        match &self.part {
            Part::Asking(asking) if asking.kind == Kind::Request => {
                match asking.turns.under_way() {
                    0 => Ok(()),
                    missing => Err(Failure::Chunk(Violation::Unanswered(missing))),
                }
            }
            Part::Asking(_) | Part::Answering(_) => Ok(()),
        }
    }

    /// Begins the next message, or ends the direction where there is none any more. Returns false
    /// where neither is to be done now.
    fn begin(&mut self, queue: &mut Queue<'_>) -> Result<bool, Failure> {
        let ends = match &mut self.part {
            Part::Asking(asking) => {
                if asking.may_begin(&self.pool) {
                    asking.begin(&self.pool);
                    let kind = asking.kind;
                    return Ok(self.outgoing.begin(kind));
                }
                asking.turns.is_done()
            }
            Part::Answering(asked) if self.outgoing.begun() < *asked => {
                return Ok(self.outgoing.begin(Kind::Reply));
            }
            Part::Answering(_) => self.incoming.has_ended(),
        };
        if ends && self.sends.is_empty() && self.outgoing.end() {
            // It takes no chunk: the peer may keep the connection, whose chunks others wait for.
            let request = self.send(None, 0, false);
            queue.post(&[request])?;
        }
        Ok(false)
    }

    /// Takes a chunk, or has the pool note that this connection waits for one. Where it has its
    /// share of them, it goes on when one of its sends completes.
    fn claim(&mut self) -> Option<Chunk> {
        if !self.pool.may_claim(self.sends.count()) {
            return None;
        }
        let chunk = self.pool.claim(self.has_turn);
        if chunk.is_none() && !self.waits {
            self.waits = true;
            self.pool.wait(self.number);
        }
        chunk
    }

    /// Notes a send of the first `len` bytes of a chunk, if it has any, and returns the request.
    fn send(&mut self, chunk: Option<Chunk>, len: u32, is_last: bool) -> WorkRequest {
        if self.sends.is_empty() {
            self.moved = jiffies();
        }
        let buffer = chunk.as_ref().map(Chunk::buffer);
        let local = Local {
            buffer: buffer.unwrap_or(self.pool.no_bytes()),
            offset: 0,
            len,
            region: None,
        };
        self.sends.push(Send { chunk, is_last });
        WorkRequest::Send {
            local,
            invalidate: None,
            fence: false,
            signaled: true,
            solicited: false,
        }
    }

    /// Posts what can be posted of the message under way, as one chain. Returns true where that was
    /// something.
    fn post(&mut self, queue: &mut Queue<'_>) -> Result<bool, Failure> {
        let mut list = List::new();
        let mut posted = 0;
        while posted < MAX_CHAIN && self.sends.has_room() && !self.outgoing.is_idle() {
            let Some(chunk) = self.claim() else {
                break;
            };
            let Some(cut) = self.outgoing.cut() else {
                self.pool.release(chunk);
                break;
            };
            let filled = content::fill(self.pool.chunks(), &chunk, &cut);
            let request = self.send(Some(chunk), cut.bytes(), cut.is_last);
            filled?;
            self.traffic.sent(cut.len);
            if cut.is_last {
                let size = u64::from(cut.position).saturating_add(cut.len.into());
                self.pool.with(|state| {
                    state.figures.sent = state.figures.sent.saturating_add(1);
                    state.figures.bytes = state.figures.bytes.saturating_add(size);
                });
            }
            list.push(request);
            posted += 1;
        }
        if posted == 0 {
            return Ok(false);
        }
        self.note_time();
        queue.post(list.as_slice()).map(|()| true)
    }

    /// Does what has become possible.
    fn go_on(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        loop {
            let begins = self.outgoing.is_idle() && self.begin(queue)?;
            if self.outgoing.is_idle() || !self.post(queue)? && !begins {
                break;
            }
            if self.waits {
                break;
            }
        }
        if let Part::Asking(asking) = &mut self.part {
            if !self.outgoing.is_idle() {
                asking.waits();
            }
            queue.outcome.rest(asking.rests());
        }
        // A client disconnects when it has the server's end, which its device may not have
        // acknowledged by then.
        let is_over = self.outgoing.has_ended()
            && self.incoming.has_ended()
            && (!self.awaits_ack || self.sends.is_empty());
        if is_over && !queue.outcome.reached(Progress::Finished) {
            queue.outcome.advance(Progress::Finished);
            self.pool.note_finished();
        }
        Ok(())
    }
}

impl Workload for Connection {
    type Done = ();

    const OPERATIONS: &'static [Operation] = &[Operation::Send];

    fn completed(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        match wc.op {
            Operation::Receive => self.received(wc.slot, wc.bytes())?,
            Operation::Send => self.sent()?,
            Operation::Read
            | Operation::Write
            | Operation::Register
            | Operation::Invalidate
            | Operation::Control
            | Operation::Atomic => {}
        }
        self.go_on(queue)
    }

    fn iteration(&self) -> u64 {
        self.done()
    }
}

impl Drop for Connection {
    /// Gives all chunks back: the queue pair is gone.
    fn drop(&mut self) {
        if self.waits {
            self.pool.leave(self.number);
        }
        while let Some(send) = self.sends.pop() {
            if let Some(chunk) = send.chunk {
                self.pool.release(chunk);
            }
        }
    }
}
