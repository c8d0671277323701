// SPDX-License-Identifier: GPL-2.0

//! Both directions of one side of a stream, as its requests and completions move them.
//!
//! - [`incoming`] - what comes from the peer
//! - [`outgoing`] - what is sent to it
//! - [`direct`] - direct writes, and the mappings that they need

#![forbid(unsafe_code)]

mod direct;
mod incoming;
mod outgoing;

use super::{
    direct::Direct,
    memory::Buffers,
    message::Messages, //
};
use crate::{
    engine::{
        depths::Depths,
        limits::QueueLimits,
        queue::Queue,
        side::{
            PrivateBytes,
            Summary, //
        },
        traffic::Traffic, //
    },
    logic::{
        command::Command,
        failure::Failure,
        stream::{
            control::Control,
            endpoint::Endpoint,
            figures::StreamFigures,
            hello::Hello,
            sender::{
                Mark,
                Sizes,
                Stall, //
            },
            Carrier,
            Segment, //
        }, //
    },
    mr::Memory, //
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
    pub(super) traffic: Arc<Traffic>,
    /// The marks of the messages under way, by their slots.
    marks: KVVec<Mark>,
    /// The slot of the next message with data.
    next: u32,
    /// The place of the next message without.
    next_control: u32,
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
        let send = self.sizes.requests + Control::requests(self.wire.carrier());
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

    /// Notes that memory is registered.
    pub(super) fn registered(&mut self) {
        self.registered += 1;
    }

    /// Returns true where so many registrations are done.
    pub(super) fn has_registered(&self, asked: u16) -> bool {
        self.registered >= asked
    }

    /// Returns true where nothing more is sent in either direction.
    pub(super) fn is_over(&self) -> bool {
        self.endpoint.control.is_over()
    }

    /// Returns true where the peer's device has acknowledged all that was sent.
    pub(super) fn is_acknowledged(&self) -> bool {
        self.endpoint.control.is_idle() && self.endpoint.sender.is_idle()
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
