// SPDX-License-Identifier: GPL-2.0

//! The server of streams: takes the bytes that come, and may send them back.

#![forbid(unsafe_code)]

use super::memory::{
    message,
    Buffers,
    RING,
    SEND_BUFFER, //
};
use crate::{
    engine::{
        completion::WorkCompletion,
        depths::Depths,
        limits::QueueLimits,
        queue::Queue,
        queue_pair::QueuePair,
        side::{
            Follow,
            Side,
            Summary, //
        },
        traffic::Traffic,
        workload::Workload, //
    },
    kernel_ext::time::monotonic_ns,
    logic::{
        failure::{
            Failure,
            Operation, //
        },
        stream::{
            control,
            endpoint::{
                Endpoint,
                Event, //
            },
            hello::Hello,
            immediate::Message,
            receiver::Piece,
            sender::{
                Mark,
                Sizes, //
            },
            violation::Violation,
            Carrier, //
        }, //
    },
    mr::Memory,
    rdma::wr::WorkRequest,
    workloads::exchange::memory_failed, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The most credits that a client is given: those of rsocket.
const MOST_CREDITS: u32 = 384;

/// Receives for messages that take no credit.
const EXTRA_RECEIVES: u32 = 16;

/// The most messages with data under way.
const MOST_REQUESTS: u32 = 64;

/// The registrations before the connection.
const REGISTRATIONS: u32 = 2;

/// Parameters of the service for one client.
#[derive(Clone, Copy)]
pub(super) struct Service {
    /// Private data of the client.
    pub(super) theirs: Hello,
    /// Sends back what comes.
    pub(super) echo: bool,
    /// Compares what comes.
    pub(super) validate: bool,
}

/// The server's workload.
pub(super) struct StreamServer {
    service: Service,
    mine: Hello,
    endpoint: Endpoint,
    buffers: Buffers,
    traffic: Arc<Traffic>,
    /// Messages with data that may be under way, each with a slot.
    requests: u32,
    /// The marks of the messages under way, by their slots.
    marks: KVVec<Mark>,
    /// The slot of the next message with data.
    next: u32,
    /// The place of the next message without.
    next_control: u32,
    registered: u32,
    /// Bytes and messages that have come.
    position: u64,
    messages: u64,
    times: Option<(u64, u64)>,
}

impl StreamServer {
    /// Adds the buffers to `memory`. May sleep.
    #[inline(never)]
    pub(super) fn new(
        service: Service,
        room: &QueueLimits,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<KBox<Self>> {
        // Half of the completions are for the sends.
        let half = room.requests.min(room.completions / 2);
        let requests = MOST_REQUESTS.min(half.saturating_sub(control::MESSAGES));
        let credits = MOST_CREDITS.min(half.saturating_sub(EXTRA_RECEIVES));
        if requests == 0 || credits == 0 {
            return Err(EINVAL);
        }
        let buffers = Buffers::new(memory, control::MESSAGES)?;
        let credits = u16::try_from(credits).map_err(|_| ERANGE)?;
        let (mine, ring) = buffers.hello(memory, credits)?;
        let sizes = Sizes {
            requests,
            buffer: SEND_BUFFER,
            message: RING,
        };
        let mut marks = KVVec::with_capacity(requests as usize, GFP_KERNEL)?;
        for _ in 0..requests {
            marks
                .push_within_capacity(Mark::default())
                .map_err(|_| ENOMEM)?;
        }
        let this = Self {
            service,
            mine,
            endpoint: Endpoint::new(&mine, ring, &service.theirs, Carrier::Immediate, sizes),
            buffers,
            traffic,
            requests,
            marks,
            next: 0,
            next_control: 0,
            registered: 0,
            position: 0,
            messages: 0,
            times: None,
        };
        Ok(KBox::new(this, GFP_KERNEL)?)
    }

    fn receives(&self) -> u32 {
        u32::from(self.mine.credits) + EXTRA_RECEIVES
    }

    fn broken(violation: Violation) -> Failure {
        Failure::Stream(violation)
    }

    /// Takes a message of the client.
    fn received(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        let immediate = wc
            .immediate()
            .ok_or(Failure::Stream(Violation::Length(wc.bytes())))?;
        let message = Message::decode(immediate).map_err(Self::broken)?;
        let event = self.endpoint.received(message).map_err(Self::broken)?;
        // Before the credit is given back.
        self.buffers.post_receive(queue)?;
        match event {
            Event::Data(piece) => self.arrived(queue, piece)?,
            Event::Granted => self.renewed(queue)?,
            // This side has no list of mappings, so none can come.
            Event::Mapped(_) | Event::Shutdown | Event::Disconnected | Event::Alive => {}
        }
        self.go_on(queue)
    }

    fn arrived(&mut self, queue: &mut Queue<'_>, piece: Piece) -> Result<(), Failure> {
        let now = monotonic_ns();
        self.times = Some((self.times.map_or(now, |(first, _)| first), now));
        self.traffic.received(piece.len);
        if self.service.validate {
            self.buffers
                .check(queue, piece, self.position, self.messages)?;
        }
        self.position = self.position.wrapping_add(piece.len.into());
        self.messages = self.messages.wrapping_add(1);
        Ok(())
    }

    /// Takes the entry of the list that a grant has come with, if it has.
    fn renewed(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let Some(index) = self.endpoint.sender.due() else {
            return Ok(());
        };
        let entry = self.buffers.entry(queue, index).map_err(memory_failed)?;
        if self.endpoint.renewed(&entry).map_err(Self::broken)? {
            self.buffers
                .clear_entry(queue, index)
                .map_err(memory_failed)?;
        }
        Ok(())
    }

    /// Posts whatever has become possible.
    fn go_on(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        while let Some(piece) = self.endpoint.receiver.readable() {
            let taken = match self.service.echo {
                true => self.echo(queue, piece)?,
                false => piece.len,
            };
            if taken == 0 {
                break;
            }
            self.endpoint.receiver.read(taken);
        }
        self.grant(queue)?;
        self.end_too(queue)
    }

    /// Sends bytes back, and returns their number; 0 where that has to wait.
    fn echo(&mut self, queue: &mut Queue<'_>, piece: Piece) -> Result<u32, Failure> {
        let write = match self.endpoint.write(piece.len) {
            Ok(Some(write)) => write,
            // Nobody takes them any more.
            Ok(None) => return Ok(piece.len),
            Err(_) => return Ok(0),
        };
        let len = write.remote.len;
        self.buffers
            .copy(queue, piece.offset, &write.place)
            .map_err(memory_failed)?;
        let slot = self.next as usize;
        *self
            .marks
            .get_mut(slot)
            .ok_or_else(|| memory_failed(EINVAL))? = write.mark;
        self.next = following(self.next, self.requests);
        let message = Message::Data(len).encode();
        queue.post_for(slot, &[self.buffers.write(&write, message)])?;
        self.traffic.written(len);
        Ok(len)
    }

    /// Posts the grants that are due.
    fn grant(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        while let Some(grant) = self.endpoint.grant() {
            let (half, _) = grant.renewal.unwrap_or_default();
            let bytes = self.endpoint.entry(&half);
            let rkey = self.service.theirs.list.rkey;
            let place = self.next_control;
            let request = self
                .buffers
                .grant(queue, &grant, &bytes, rkey, place)
                .map_err(memory_failed)?;
            self.post_control(queue, request)?;
        }
        Ok(())
    }

    /// Ends the direction to a client that has ended its own, once everything is sent.
    fn end_too(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let control = &mut self.endpoint.control;
        let is_all = self.endpoint.receiver.unread() == 0;
        if control.receives() || !is_all || !control.sends() || !control.has_room() {
            return Ok(());
        }
        match control.shut_down() {
            None => Ok(()),
            Some(end) => self.post_control(queue, message(end.encode())),
        }
    }

    fn post_control(&mut self, queue: &mut Queue<'_>, request: WorkRequest) -> Result<(), Failure> {
        let slot = self.requests + self.next_control;
        self.next_control = following(self.next_control, control::MESSAGES);
        self.endpoint.control.posted(1);
        queue.post_for(slot as usize, &[request])
    }

    fn sent(&mut self, slot: usize) {
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

impl Side for StreamServer {
    fn depths(&self) -> Depths {
        let send = (self.requests + control::MESSAGES).max(REGISTRATIONS);
        let slots = (self.requests + control::MESSAGES) as usize;
        Depths {
            // Bytes may go on at the beginning of the send buffer.
            pieces: 2,
            ..Depths::plain(send, self.receives()).with_slots(slots)
        }
    }

    fn prepare(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        for _ in 0..self.receives() {
            self.buffers.post_receive(queue)?;
        }
        Ok(())
    }

    fn summary(&self) -> Summary<'_> {
        Summary {
            iterations: self.messages,
            times: self.times,
            stretch: None,
            histogram: None,
            figures: None,
        }
    }
}

impl Follow for StreamServer {
    fn early(queue_pair: &QueuePair<Self>, timeout: u32) -> Result<(), Failure> {
        queue_pair.open_early()?;
        queue_pair
            .with(|server, queue| queue.post(&server.buffers.register()))
            .ok_or(Failure::Interrupted)??;
        let all = || queue_pair.with(|server, _| server.registered == REGISTRATIONS);
        queue_pair
            .outcome()
            .wait_until("registering memory", Some(timeout), || {
                all().unwrap_or(true)
            })?;
        queue_pair.close_early()
    }

    fn answer(&self) -> Option<[u8; Hello::LEN]> {
        Some(self.mine.encode())
    }

    fn may_end(&self) -> bool {
        self.endpoint.control.is_over()
    }

    fn served_all(&self) -> bool {
        self.endpoint.control.is_over()
    }
}

impl Workload for StreamServer {
    type Done = ();

    const OPERATIONS: &'static [Operation] =
        &[Operation::Write, Operation::Register, Operation::Receive];

    fn completed(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        match wc.op {
            Operation::Receive => self.received(queue, wc),
            Operation::Write => {
                self.sent(wc.slot);
                self.go_on(queue)
            }
            Operation::Register => {
                self.registered += 1;
                queue.ask_for_attention();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn iteration(&self) -> u64 {
        self.messages
    }
}
