// SPDX-License-Identifier: GPL-2.0

//! Both directions of one side of a stream, as its requests and completions move them.

#![forbid(unsafe_code)]

mod direct;

use super::{
    direct::Direct,
    memory::{
        Buffers,
        Source, //
    },
    message::{
        Messages,
        Parts, //
    }, //
};
use crate::{
    engine::{
        completion::WorkCompletion,
        depths::Depths,
        limits::QueueLimits,
        queue::Queue,
        side::{
            PrivateBytes,
            Summary, //
        },
        traffic::Traffic, //
    },
    kernel_ext::time::monotonic_ns,
    logic::{
        command::Command,
        failure::Failure,
        stream::{
            control::Control,
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
                Stall,
                Write, //
            },
            violation::Violation,
            Carrier,
            Segment, //
        }, //
    },
    mr::Memory,
    workloads::exchange::memory_failed, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Receives for messages that take no credit.
const EXTRA_RECEIVES: u32 = 16;

/// The most registrations before the connection.
const REGISTRATIONS: u32 = 3;

/// The most bytes of one message.
const MOST_MESSAGE: u32 = 1 << 20;

/// Both directions of one side.
pub(super) struct Flow {
    mine: Hello,
    ring: Segment,
    sizes: Sizes,
    pub(super) endpoint: Endpoint,
    pub(super) buffers: Buffers,
    wire: Messages,
    /// Memory that is written to directly.
    pub(super) direct: Option<Direct>,
    traffic: Arc<Traffic>,
    /// The marks of the messages under way, by their slots.
    marks: KVVec<Mark>,
    /// The slot of the next message with data.
    next: u32,
    /// The place of the next message without.
    next_control: u32,
    /// The number of those places.
    controls: u32,
    registered: u16,
    /// Receives that have completed before the peer was met: their slots, and the bytes that came.
    early: KVVec<(usize, u32)>,
    /// The peer has been met, and its messages are taken.
    has_met: bool,
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
    /// place of it until it [meets](Self::meet) the server. May sleep.
    #[inline(never)]
    pub(super) fn new(
        command: &Command,
        carrier: Carrier,
        theirs: Option<&Hello>,
        room: &QueueLimits,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<KBox<Self>> {
        // Half of the completions are for the sends.
        let half = room.requests.min(room.completions / 2);
        let controls = Control::requests(carrier);
        let asked = room.txdepth.saturating_mul(carrier.requests());
        let requests = asked.min(half.saturating_sub(controls));
        let options = &command.stream;
        let credits = u32::from(options.rqdepth).min(half.saturating_sub(EXTRA_RECEIVES));
        if requests < carrier.requests() || credits == 0 {
            return Err(EINVAL);
        }
        let buffers = Buffers::new(memory, command, controls)?;
        let receives = credits + EXTRA_RECEIVES;
        let wire = Messages::new(memory, carrier, receives, requests + controls)?;
        let direct = Direct::new(command, memory)?;
        let credits = u16::try_from(credits).map_err(|_| ERANGE)?;
        let (mine, ring) = buffers.hello(memory, credits, options.mappings())?;
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
        let (has_met, theirs) = (theirs.is_some(), theirs.unwrap_or(&mine));
        let waiting = wire.slots(receives) as usize;
        let this = Self {
            endpoint: Endpoint::new(&mine, ring, theirs, carrier, sizes),
            mine,
            ring,
            sizes,
            buffers,
            wire,
            direct,
            traffic,
            marks,
            next: 0,
            next_control: 0,
            controls,
            registered: 0,
            early: KVVec::with_capacity(waiting, GFP_KERNEL)?,
            has_met,
            // Of bytes beside direct writes nothing is known.
            validate: command.validate && !options.iomap,
            messages: 0,
            times: None,
            figures: StreamFigures::default(),
            stalled: None,
        };
        Ok(KBox::new(this, GFP_KERNEL)?)
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
            self.wire.carrier(),
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
        let send = self.sizes.requests + self.controls;
        let slots = send.max(self.wire.slots(self.receives())) as usize;
        Depths {
            // Bytes may go on at the beginning of the send buffer.
            pieces: 2,
            ..Depths::plain(send.max(REGISTRATIONS), self.receives()).with_slots(slots)
        }
    }

    /// Returns true where the peer was told of a key that opens all memory, and is valid.
    pub(super) fn opens_all(&self) -> bool {
        self.buffers.opens_all()
    }

    /// Posts the registrations of the memory that the peer writes to, and returns their number.
    pub(super) fn register(&self, queue: &mut Queue<'_>) -> Result<u16, Failure> {
        let direct = match &self.direct {
            Some(direct) => direct.register(queue)?,
            None => 0,
        };
        Ok(direct + self.buffers.register(queue)?)
    }

    /// Posts all receives before the connection is made, unless this is a client whose server's
    /// device repeats what finds none.
    pub(super) fn post_receives_early(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        match self.has_met || self.wire.carrier() == Carrier::Send {
            true => self.post_receives(queue),
            false => Ok(()),
        }
    }

    /// Begins to take messages of a server that has been met, and takes those that have come.
    pub(super) fn open(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
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

    /// Notes that memory is registered.
    pub(super) fn registered(&mut self) {
        self.registered += 1;
    }

    /// Returns true where so many registrations are done.
    pub(super) fn has_registered(&self, asked: u16) -> bool {
        self.registered >= asked
    }

    /// Takes the completion of a receive. Returns false where its message has to wait until the
    /// peer is met.
    pub(super) fn received(
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
    fn came(&mut self, len: u32) {
        let now = monotonic_ns();
        self.times = Some((self.times.map_or(now, |(first, _)| first), now));
        self.traffic.received(len);
        self.messages = self.messages.wrapping_add(1);
    }

    fn arrived(&mut self, queue: &mut Queue<'_>, piece: Piece) -> Result<(), Failure> {
        let position = self.figures.received_bytes;
        if self.validate {
            self.buffers.check(queue, piece, position, self.messages)?;
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

    /// Takes the next slot, whose completion hands `mark` back.
    fn slot(&mut self, mark: Mark) -> Result<usize, Failure> {
        let slot = self.next as usize;
        *self
            .marks
            .get_mut(slot)
            .ok_or_else(|| memory_failed(EINVAL))? = mark;
        self.next = following(self.next, self.sizes.requests);
        Ok(slot)
    }

    /// Posts a message with what it tells of: `parts` that are written as `write` says.
    fn post(
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
    pub(super) fn position(&self) -> u64 {
        self.figures.sent_bytes
    }

    /// Notes that nothing can be posted because of `stall`.
    fn stalls(&mut self, stall: Stall, now: u64) {
        if !matches!(self.stalled, Some((before, _)) if before == stall) {
            self.goes_on(now);
            self.stalled = Some((stall, now));
        }
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
    pub(super) fn end(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let control = &mut self.endpoint.control;
        if !control.sends() || !control.has_room() {
            return Ok(());
        }
        match control.shut_down() {
            None => Ok(()),
            Some(end) => self.post_control(queue, end, None),
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
        self.next_control = following(self.next_control, self.controls);
        let requests = match data {
            Some(_) => self.wire.carrier().requests(),
            None => 1,
        };
        self.endpoint.control.posted(requests);
        self.wire.post(queue, message, data, slot as usize, true)
    }

    /// Takes the completion of a request with this slot.
    pub(super) fn sent(&mut self, slot: usize) {
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
