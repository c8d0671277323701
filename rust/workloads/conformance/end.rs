// SPDX-License-Identifier: GPL-2.0

//! One end of a connection under test: its queue pair, memory, and what was posted.

#![forbid(unsafe_code)]

use super::{
    setup::{
        Setup,
        GUARD, //
    },
    Recorder, //
};
use crate::{
    engine::outcome::Outcome,
    logic::{
        conformance::observation::{
            Ended,
            State,
            Tally, //
        },
        failure::{
            errno,
            Failure, //
        },
        wire::Advertisement, //
    },
    mr::{
        BufferId,
        Memory,
        RegionId, //
    },
    rdma::{
        cq::PollMode,
        qp::{
            Queue,
            QueuePair, //
        },
        wr::{
            probe::Probe,
            Local, //
        }, //
    }, //
};
use kernel::{
    error::Error,
    prelude::*,
    sync::Arc, //
};

/// Completions handled at a time.
const BUDGET: u16 = 64;

/// Bytes that are compared at a time.
const PIECE: usize = 64;

/// How a request was taken: its number, or the errno, positive.
pub(super) type Taken = core::result::Result<usize, i32>;

/// A buffer of an end.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// What is opened to the peer, and the guard behind it.
    Exposed,
    /// Where requests take their data from, and READs put it.
    Own,
    /// Where messages arrive.
    Inbox,
}

/// One end of a connection.
pub(crate) struct End {
    queue_pair: Pin<KBox<QueuePair<Recorder>>>,
    exposed_buffer: BufferId,
    own_buffer: BufferId,
    inbox: BufferId,
    /// Over what is opened to the peer.
    pub(super) region: RegionId,
    /// Over [`Place::Own`].
    pub(super) own_region: RegionId,
    /// Bytes of each buffer, without the guard.
    pub(super) exposed: u32,
    slots: usize,
    /// Requests that the send queue took.
    pub(super) sent: usize,
    /// Receives that were posted.
    pub(super) received: usize,
    /// Requests that came before what is tried.
    before: usize,
}

impl End {
    /// Makes a queue pair on the identifier of `memory`, which is empty. May sleep.
    ///
    /// # Errors
    ///
    /// What the device says; `ENOMEM`.
    pub(crate) fn new(mut memory: Memory, setup: &Setup, requests: bool) -> Result<Self> {
        let exposed = setup.exposed as usize;
        let size = exposed.saturating_add(GUARD as usize);
        let exposed_buffer = memory.add_buffer(size)?;
        let own_buffer = memory.add_buffer(size)?;
        let inbox = memory.add_buffer(size)?;
        let region = memory.add_region_over(exposed_buffer, exposed)?;
        let own_region = memory.add_region(own_buffer)?;
        let recorder = Recorder::new(setup.most_completions())?;
        let depths = setup.depths(requests);
        let queue_pair = QueuePair::new(memory, depths, PollMode::Direct, recorder)?;
        let mut this = Self {
            queue_pair,
            exposed_buffer,
            own_buffer,
            inbox,
            region,
            own_region,
            exposed: setup.exposed,
            slots: setup.slots(),
            sent: 0,
            received: 0,
            before: 0,
        };
        for place in [Place::Exposed, Place::Own, Place::Inbox] {
            this.fill(place, seed(requests, place))?;
        }
        Ok(this)
    }

    /// Where its queue pair's errors and its connection's events are reported.
    pub(crate) fn outcome(&self) -> &Arc<Outcome> {
        self.queue_pair.outcome()
    }

    fn with<R>(&self, f: impl FnOnce(&mut Recorder, &mut Queue<'_>) -> R) -> Result<R> {
        // The workload is there until the queue pair is dropped.
        self.queue_pair.with(f).ok_or(ENODEV)
    }

    fn buffer(&self, place: Place) -> BufferId {
        match place {
            Place::Exposed => self.exposed_buffer,
            Place::Own => self.own_buffer,
            Place::Inbox => self.inbox,
        }
    }

    /// The first `len` bytes of a buffer as an operand, by the local DMA key.
    pub(super) fn local(&self, place: Place, len: u32) -> Local {
        Local {
            buffer: self.buffer(place),
            offset: 0,
            len,
            region: None,
        }
    }

    /// The same of [`Place::Own`] by its region's key, as a READ on iWARP needs it.
    pub(super) fn own(&self, len: u32) -> Local {
        Local {
            region: Some(self.own_region),
            ..self.local(Place::Own, len)
        }
    }

    /// What to tell the peer of what is opened to it.
    pub(super) fn advertise(&self) -> Result<Advertisement> {
        self.with(|_, queue| queue.memory().advertise(self.region))?
    }

    /// Gives its region, which is not valid, a new key.
    pub(super) fn renew_key(&self) -> Result {
        self.with(|_, queue| queue.renew_key(self.region))?
    }

    /// Posts a request.
    pub(super) fn post(&mut self, probe: &Probe) -> Taken {
        if self.sent >= self.slots {
            return Err(errno::ENOSPC);
        }
        let posted = self.with(|_, queue| queue.probe(self.sent, probe));
        flatten(posted)?;
        self.sent = self.sent.saturating_add(1);
        Ok(self.sent.saturating_sub(1))
    }

    /// Posts a receive into the first `len` bytes of the inbox.
    pub(super) fn receive(&mut self, len: u32) -> Result<usize, Failure> {
        let inbox = self.buffer(Place::Inbox);
        self.with(|_, queue| queue.post_receive(self.received, inbox, len))
            .map_err(failed)??;
        self.received = self.received.saturating_add(1);
        Ok(self.received.saturating_sub(1))
    }

    /// Posts `count` receives of messages.
    pub(super) fn receives(&mut self, count: usize) -> Result<(), Failure> {
        (0..count).try_for_each(|_| self.receive(self.exposed).map(|_| ()))
    }

    /// Handles completions, and returns how many there were.
    pub(super) fn poll(&self) -> usize {
        self.queue_pair.poll(BUDGET)
    }

    /// Says that what comes from now on is what is tried.
    pub(super) fn begin(&mut self) {
        self.before = self.sent;
    }

    /// How the request of that number ended.
    pub(super) fn ended(&self, taken: Taken) -> Ended {
        match taken {
            Err(number) => Ended::Refused(number),
            Ok(slot) => self.completion(false, slot),
        }
    }

    /// How the receive of that number ended.
    pub(super) fn received(&self, slot: usize) -> Ended {
        self.completion(true, slot)
    }

    fn completion(&self, receive: bool, slot: usize) -> Ended {
        self.with(|recorder, _| recorder.ended(receive, slot))
            .unwrap_or(Ended::Missing)
    }

    /// Whether all requests, or all receives, have completed.
    pub(super) fn is_done(&self, receive: bool) -> bool {
        let posted = if receive { self.received } else { self.sent };
        self.with(|recorder, _| recorder.count(receive) >= posted)
            .unwrap_or(true)
    }

    /// What became of all requests that are tried but that of number `except`.
    pub(super) fn sends(&self, except: Taken) -> Tally {
        let slots = self.before..self.sent;
        self.with(|recorder, _| recorder.tally(false, slots, except.ok()))
            .unwrap_or_default()
    }

    /// What became of all receives.
    pub(super) fn receives_tally(&self) -> Tally {
        let slots = 0..self.received;
        self.with(|recorder, _| recorder.tally(true, slots, None))
            .unwrap_or_default()
    }

    /// The state of the queue pair, as the device says. May sleep.
    pub(super) fn state(&self) -> State {
        State(self.queue_pair.state().unwrap_or(u32::MAX))
    }

    /// How many completions the device says that their queue holds.
    pub(super) fn completions(&self) -> u32 {
        self.queue_pair.completions()
    }

    /// The asynchronous error that was told of its queues, if there was one.
    pub(super) fn event(&self) -> Option<&'static str> {
        match self.outcome().failure() {
            Some(Failure::Async(_, name)) => Some(name),
            _ => None,
        }
    }

    /// Puts the queue pair into error. May sleep.
    pub(super) fn break_off(&self) -> Result<(), Failure> {
        self.queue_pair
            .break_off()
            .map_err(|e| Failure::Kernel("putting the queue pair into error", e.to_errno()))
    }

    /// Drains the queue pair. Sleeps.
    pub(super) fn drain(&self) -> Result {
        self.queue_pair.drain()
    }

    /// Fills a buffer with bytes that follow from `seed`.
    fn fill(&mut self, place: Place, seed: u8) -> Result {
        let buffer = self.buffer(place);
        let size = self.exposed.saturating_add(GUARD) as usize;
        for offset in (0..size).step_by(PIECE) {
            self.with(|_, queue| queue.write(buffer, offset, &piece(seed, offset)))??;
        }
        Ok(())
    }

    /// Whether a buffer holds from byte `from` to byte `to`, both multiples of 64, what
    /// follows from `seed`.
    pub(super) fn holds(&self, place: Place, from: u32, to: u32, seed: u8) -> Result<bool> {
        let buffer = self.buffer(place);
        for offset in (from as usize..to as usize).step_by(PIECE) {
            let mut bytes = [0; PIECE];
            self.with(|_, queue| queue.memory().read(buffer, offset, &mut bytes))??;
            if bytes != piece(seed, offset) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a buffer of the requester or the responder is as it was at first, from
    /// byte `from` to the end of the guard.
    pub(super) fn is_intact(&self, requests: bool, place: Place, from: u32) -> Result<bool> {
        let end = self.exposed.saturating_add(GUARD);
        self.holds(place, from, end, seed(requests, place))
    }
}

/// What a buffer is filled with at first.
pub(super) fn seed(requests: bool, place: Place) -> u8 {
    let side = if requests { 0x10 } else { 0x80 };
    match place {
        Place::Exposed => side,
        Place::Own => side | 1,
        Place::Inbox => side | 2,
    }
}

/// The bytes at `offset` of a buffer filled by `seed`. Any two differ between seeds.
fn piece(seed: u8, offset: usize) -> [u8; PIECE] {
    let start = offset as u8;
    core::array::from_fn(|i| {
        start
            .wrapping_add(i as u8)
            .wrapping_mul(3)
            .wrapping_add(seed)
    })
}

/// An error of what cannot fail.
pub(super) fn failed(error: Error) -> Failure {
    Failure::Kernel("using a queue pair", error.to_errno())
}

fn flatten(posted: Result<Result>) -> core::result::Result<(), i32> {
    posted
        .and_then(|posted| posted)
        .map_err(|error| error.to_errno().saturating_neg())
}
