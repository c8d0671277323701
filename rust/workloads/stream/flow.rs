// SPDX-License-Identifier: GPL-2.0

//! Both directions of one side of a stream, as its requests and completions move them.

#![forbid(unsafe_code)]

use super::memory::{
    message,
    Buffers,
    Source, //
};
use crate::{
    engine::{
        completion::WorkCompletion,
        depths::Depths,
        limits::QueueLimits,
        queue::Queue,
        queue_pair::QueuePair,
        side::{
            PrivateBytes,
            Summary, //
        },
        traffic::Traffic,
        workload::Workload, //
    },
    kernel_ext::time::{
        monotonic_ns,
        Deadline, //
    },
    logic::{
        command::Command,
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
            figures::StreamFigures,
            hello::Hello,
            immediate::Message,
            receiver::Piece,
            sender::{
                Mark,
                Sizes,
                Stall, //
            },
            violation::Violation,
            Carrier,
            Segment, //
        }, //
    },
    mr::Memory,
    rdma::{
        qp::Opening,
        wr::WorkRequest, //
    },
    workloads::exchange::memory_failed, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Receives for messages that take no credit.
const EXTRA_RECEIVES: u32 = 16;

/// The registrations before the connection.
const REGISTRATIONS: u32 = 2;

/// The time between two looks for what a thread that polls finds itself, in ms.
const LOOK_MS: u32 = 1;

/// The most bytes of one message.
const MOST_MESSAGE: u32 = 1 << 20;

/// Both directions of one side.
pub(super) struct Flow {
    mine: Hello,
    ring: Segment,
    sizes: Sizes,
    pub(super) endpoint: Endpoint,
    pub(super) buffers: Buffers,
    traffic: Arc<Traffic>,
    /// The marks of the messages under way, by their slots.
    marks: KVVec<Mark>,
    /// The slot of the next message with data.
    next: u32,
    /// The place of the next message without.
    next_control: u32,
    registered: u32,
    /// Compares what comes.
    validate: bool,
    /// Messages with data that have come.
    pub(super) messages: u64,
    /// The times at which data came first and last, in nanoseconds.
    pub(super) times: Option<(u64, u64)>,
    figures: StreamFigures,
    /// The reason why nothing can be posted, and the time since which.
    stalled: Option<(Stall, u64)>,
}

impl Flow {
    /// Adds the buffers to `memory`. Of a client `theirs` is not known yet: it takes its own in
    /// place of it until it [meets](Self::meet) the server, and posts no receive before. May sleep.
    #[inline(never)]
    pub(super) fn new(
        command: &Command,
        theirs: Option<&Hello>,
        room: &QueueLimits,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<Self> {
        // Half of the completions are for the sends.
        let half = room.requests.min(room.completions / 2);
        let requests = room.txdepth.min(half.saturating_sub(control::MESSAGES));
        let options = &command.stream;
        let credits = u32::from(options.rqdepth).min(half.saturating_sub(EXTRA_RECEIVES));
        if requests == 0 || credits == 0 {
            return Err(EINVAL);
        }
        let buffers = Buffers::new(memory, options, control::MESSAGES)?;
        let credits = u16::try_from(credits).map_err(|_| ERANGE)?;
        let (mine, ring) = buffers.hello(memory, credits)?;
        let sizes = Sizes {
            requests,
            buffer: options.sbuf,
            message: MOST_MESSAGE,
        };
        let mut marks = KVVec::with_capacity(requests as usize, GFP_KERNEL)?;
        for _ in 0..requests {
            marks
                .push_within_capacity(Mark::default())
                .map_err(|_| ENOMEM)?;
        }
        let theirs = theirs.unwrap_or(&mine);
        Ok(Self {
            endpoint: Endpoint::new(&mine, ring, theirs, Carrier::Immediate, sizes),
            mine,
            ring,
            sizes,
            buffers,
            traffic,
            marks,
            next: 0,
            next_control: 0,
            registered: 0,
            validate: command.validate,
            messages: 0,
            times: None,
            figures: StreamFigures::default(),
            stalled: None,
        })
    }

    /// Takes what the server has said.
    ///
    /// # Errors
    ///
    /// [`Failure::StreamHello`] where it makes no stream.
    pub(super) fn meet(&mut self, answer: &[u8]) -> Result<(), Failure> {
        let theirs = Hello::decode(answer).map_err(Failure::StreamHello)?;
        self.endpoint = Endpoint::new(
            &self.mine,
            self.ring,
            &theirs,
            Carrier::Immediate,
            self.sizes,
        );
        Ok(())
    }

    /// Returns the private data of this side.
    pub(super) fn hello(&self) -> PrivateBytes {
        PrivateBytes::Stream(self.mine.encode())
    }

    fn receives(&self) -> u32 {
        u32::from(self.mine.credits) + EXTRA_RECEIVES
    }

    pub(super) fn depths(&self) -> Depths {
        let send = (self.sizes.requests + control::MESSAGES).max(REGISTRATIONS);
        let slots = (self.sizes.requests + control::MESSAGES) as usize;
        Depths {
            // Bytes may go on at the beginning of the send buffer.
            pieces: 2,
            ..Depths::plain(send, self.receives()).with_slots(slots)
        }
    }

    /// Posts all receives.
    pub(super) fn post_receives(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        for _ in 0..self.receives() {
            self.buffers.post_receive(queue)?;
        }
        Ok(())
    }

    /// Takes a message of the peer.
    fn received(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        let immediate = wc
            .immediate()
            .ok_or(Failure::Stream(Violation::Length(wc.bytes())))?;
        let message = Message::decode(immediate).map_err(Failure::Stream)?;
        let event = self.endpoint.received(message).map_err(Failure::Stream)?;
        // Before the credit is given back.
        self.buffers.post_receive(queue)?;
        match event {
            Event::Data(piece) => self.arrived(queue, piece),
            Event::Granted => self.renewed(queue),
            // This side has no list of mappings, so none can come.
            Event::Mapped(_) | Event::Shutdown | Event::Disconnected | Event::Alive => Ok(()),
        }
    }

    fn arrived(&mut self, queue: &mut Queue<'_>, piece: Piece) -> Result<(), Failure> {
        let now = monotonic_ns();
        self.times = Some((self.times.map_or(now, |(first, _)| first), now));
        self.traffic.received(piece.len);
        let position = self.figures.received_bytes;
        if self.validate {
            self.buffers.check(queue, piece, position, self.messages)?;
        }
        self.figures.received_bytes = position.wrapping_add(piece.len.into());
        self.messages = self.messages.wrapping_add(1);
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

    /// Sends bytes of a write that has `left` bytes left, and returns their number; 0 where that
    /// has to wait. What the peer does not take any more counts as sent.
    pub(super) fn send(
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
                if !matches!(self.stalled, Some((now, _)) if now == stall) {
                    self.goes_on(begun);
                    self.stalled = Some((stall, begun));
                }
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
        let slot = self.next as usize;
        *self
            .marks
            .get_mut(slot)
            .ok_or_else(|| memory_failed(EINVAL))? = write.mark;
        self.next = following(self.next, self.sizes.requests);
        let message = Message::Data(len).encode();
        queue.post_for(slot, &[self.buffers.write(&write, message)])?;
        self.traffic.written(len);
        self.figures.sent_bytes = self.figures.sent_bytes.wrapping_add(len.into());
        self.figures.sent_msgs = self.figures.sent_msgs.wrapping_add(1);
        Ok(len)
    }

    /// Returns the number of bytes that were sent: the position of the next one.
    pub(super) fn position(&self) -> u64 {
        self.figures.sent_bytes
    }

    /// Notes that the wait for what was missing, if there was one, is over.
    fn goes_on(&mut self, now: u64) {
        if let Some((stall, since)) = self.stalled.take() {
            self.figures.stalled(stall, now.saturating_sub(since));
        }
    }

    /// Posts the grants that are due.
    pub(super) fn grant(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        while let Some(grant) = self.endpoint.grant() {
            let (half, _) = grant.renewal.unwrap_or_default();
            let bytes = self.endpoint.entry(&half);
            let rkey = self.endpoint.theirs().list.rkey;
            let place = self.next_control;
            let request = self
                .buffers
                .grant(queue, &grant, &bytes, rkey, place)
                .map_err(memory_failed)?;
            self.post_control(queue, request)?;
            self.figures.grants_sent = self.figures.grants_sent.wrapping_add(1);
        }
        Ok(())
    }

    /// Ends the direction to the peer, if it has not ended and the send queue has room.
    pub(super) fn end(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let control = &mut self.endpoint.control;
        if !control.sends() || !control.has_room() {
            return Ok(());
        }
        match control.shut_down() {
            None => Ok(()),
            Some(end) => self.post_control(queue, message(end.encode())),
        }
    }

    fn post_control(&mut self, queue: &mut Queue<'_>, request: WorkRequest) -> Result<(), Failure> {
        let slot = self.sizes.requests + self.next_control;
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

    /// Returns true where nothing more is sent in either direction.
    pub(super) fn is_over(&self) -> bool {
        self.endpoint.control.is_over()
    }

    /// Returns the result of a side that has counted so many iterations.
    pub(super) fn summary(&self, iterations: u64, times: Option<(u64, u64)>) -> Summary<'static> {
        Summary {
            iterations,
            times,
            stream: Some(self.figures),
            ..Summary::default()
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

/// Use that a side makes of its stream.
pub(super) trait Application: Workload + Sized {
    /// Its stream.
    fn flow(&mut self) -> &mut Flow;

    /// Does what has become possible.
    fn go_on(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure>;

    /// Handles a completion.
    fn handle(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        let flow = self.flow();
        match wc.op {
            Operation::Receive => flow.received(queue, wc)?,
            Operation::Write => flow.sent(wc.slot),
            Operation::Register => {
                flow.registered += 1;
                queue.ask_for_attention();
                return Ok(());
            }
            _ => return Ok(()),
        }
        self.go_on(queue)
    }

    /// Registers the memory that the peer writes to, before there is a connection, for `timeout` ms
    /// at most. Sleeps.
    ///
    /// # Errors
    ///
    /// The failure, for which there is none.
    fn register(
        queue_pair: &QueuePair<Self>,
        opening: Opening,
        timeout: u32,
    ) -> Result<(), Failure> {
        queue_pair.open_early(opening)?;
        queue_pair
            .with(|side, queue| queue.post(&side.flow().buffers.register()))
            .ok_or(Failure::Interrupted)??;
        let outcome = queue_pair.outcome();
        outcome.touch();
        while queue_pair.with(|side, _| side.flow().registered < REGISTRATIONS) == Some(true) {
            outcome.settled_failure().map_or(Ok(()), Err)?;
            outcome.check_deadline("registering memory", Some(timeout))?;
            // Nobody else does where the thread is to poll.
            if queue_pair.poll(REGISTRATIONS as u16) == 0 {
                outcome.pause(Deadline::after_ms(LOOK_MS));
            }
        }
        queue_pair.close_early()
    }
}

/// The operations of a side.
pub(super) const OPERATIONS: &[Operation] =
    &[Operation::Write, Operation::Register, Operation::Receive];
