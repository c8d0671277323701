// SPDX-License-Identifier: GPL-2.0

//! The client's side: as many requests under way as there are slots, each with a buffer.

#![forbid(unsafe_code)]

use super::{
    messages::Messages,
    MOST_REQUESTS, //
};
use crate::{
    engine::{
        completion::WorkCompletion,
        depths::Depths,
        histogram::new_histogram,
        limits::QueueLimits,
        outcome::Progress,
        queue::Queue,
        side::{
            Lead,
            Side,
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
        command::{
            Command,
            MemMode,
            Test, //
        },
        data::pattern::{
            Data,
            Pattern, //
        },
        failure::{
            Failure,
            Operation, //
        },
        measure::histogram::Histogram,
        rw::check_answer,
        wire::Advertisement, //
    },
    mr::{
        inspect,
        Access,
        BufferId,
        Memory,
        RegionId, //
    },
    rdma::wr::{
        List,
        WorkRequest, //
    },
    workloads::{
        exchange::memory_failed,
        open_loop::OpenLoop, //
    }, //
};
use core::mem;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Requests to the send queue for one request to the server: REG_MR, SEND, LOCAL_INV.
const SENDS: u32 = 3;

/// A byte that no text has, for the ends of a buffer that the server is to write to.
const UNWRITTEN: [u8; 1] = [0xff];

/// A buffer and the request that is under way for it.
struct Slot {
    buffer: BufferId,
    /// `None` if the unsafe global rkey is used.
    region: Option<RegionId>,
    /// The request, until it is answered.
    asked: Option<Advertisement>,
    /// The SEND of the request has not completed.
    is_sending: bool,
    begun_ns: u64,
}

/// The client's workload.
pub(super) struct RwClient {
    messages: Messages,
    slots: KVVec<Slot>,
    /// The server WRITEs, and this side compares.
    writes: bool,
    pattern: Pattern,
    size: usize,
    count: u64,
    duration_ms: Option<u32>,
    /// Deadline of a run that is limited by time.
    until: Option<Deadline>,
    /// Each request has its own registration (`mem_mode=reg`).
    reregister: bool,
    begun: u64,
    finished: u64,
    started_ns: u64,
    ended_ns: u64,
    histogram: KBox<Histogram>,
    /// The moments at which requests are due; `None` where each is made as soon as it can be.
    open_loop: Option<KBox<OpenLoop>>,
    /// The next request has found no slot.
    is_full: bool,
}

/// Returns the number of requests that are under way at once.
fn slots(command: &Command, room: &QueueLimits) -> u32 {
    let most = (room.requests / SENDS).min(room.completions / (SENDS + 1));
    let depth = room.txdepth.min(MOST_REQUESTS).min(most).max(1);
    match u32::try_from(command.count) {
        Ok(count) if count > 0 => depth.min(count),
        _ => depth,
    }
}

impl RwClient {
    /// Adds the buffers to `memory`. May sleep.
    #[inline(never)]
    pub(super) fn new(
        command: &Command,
        pattern: Pattern,
        room: &QueueLimits,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<KBox<Self>> {
        let count = slots(command, room);
        let messages = Messages::new(memory, count, count, traffic)?;
        let now = monotonic_ns();
        let mut slots = KVVec::with_capacity(count as usize, GFP_KERNEL)?;
        for _ in 0..count {
            let buffer = memory.add_buffer(command.size as usize)?;
            let region = if command.unsafe_global_rkey {
                None
            } else {
                Some(memory.add_region(buffer)?)
            };
            let slot = Slot {
                buffer,
                region,
                asked: None,
                is_sending: false,
                begun_ns: now,
            };
            slots.push_within_capacity(slot).map_err(|_| ENOMEM)?;
        }
        let this = Self {
            messages,
            slots,
            writes: command.test == Test::RwWrite,
            pattern,
            size: command.size as usize,
            count: command.count,
            duration_ms: command.duration_ms(),
            until: None,
            reregister: command.mem_mode == MemMode::Reg,
            begun: 0,
            finished: 0,
            started_ns: now,
            ended_ns: now,
            histogram: new_histogram()?,
            open_loop: OpenLoop::of(command)?,
            is_full: false,
        };
        Ok(KBox::new(this, GFP_KERNEL)?)
    }

    /// Returns the index of the slot of request number `number`.
    fn index(&self, number: u64) -> usize {
        number.checked_rem(self.slots.len() as u64).unwrap_or(0) as usize
    }

    fn data(&self, number: u64) -> Data {
        Data::new(self.pattern, number, self.size)
    }

    /// Returns true where another request is to be made, at `now` or later.
    fn goes_on(&mut self, now: u64) -> bool {
        if self.count != 0 && self.begun == self.count {
            return false;
        }
        match &mut self.open_loop {
            Some(open_loop) => !open_loop.ends(now),
            None => !self.until.is_some_and(Deadline::passed),
        }
    }

    /// Notes that the next request is to be made at `now`, for which there is a slot. Returns false
    /// if it is not due yet.
    fn is_due(&mut self, now: u64) -> bool {
        let was_full = mem::take(&mut self.is_full);
        let Some(open_loop) = &mut self.open_loop else {
            return true;
        };
        if was_full {
            open_loop.made_room(now);
        }
        let is_due = open_loop.is_due(now);
        if is_due {
            open_loop.posted(now);
        }
        is_due
    }

    /// Makes as many requests as are due and there are slots for, and finishes behind the last one.
    fn proceed(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        loop {
            let now = self.open_loop.as_ref().map_or(0, |_| monotonic_ns());
            if !self.goes_on(now) {
                break;
            }
            let index = self.index(self.begun);
            match self.slots.get(index) {
                Some(slot) if slot.asked.is_none() && !slot.is_sending => {}
                _ => {
                    self.is_full = true;
                    return Ok(());
                }
            }
            if !self.is_due(now) {
                queue.outcome.rest(self.finished == self.begun);
                return Ok(());
            }
            queue.outcome.rest(false);
            self.request(queue, index)?;
        }
        if self.finished == self.begun {
            queue.outcome.advance(Progress::Finished);
        }
        Ok(())
    }

    /// Makes the buffer ready, and sends the request.
    fn request(&mut self, queue: &mut Queue<'_>, index: usize) -> Result<(), Failure> {
        let data = self.data(self.begun);
        let slot = self.slots.get_mut(index);
        let slot = slot.ok_or_else(|| memory_failed(EINVAL))?;
        let access = if self.writes {
            // What is not written again must not pass for the data.
            let last = self.size - 1;
            queue
                .write(slot.buffer, 0, &UNWRITTEN)
                .and_then(|()| queue.write(slot.buffer, last, &UNWRITTEN))
                .map_err(memory_failed)?;
            Access::RemoteWrite
        } else {
            queue.fill(slot.buffer, &data).map_err(memory_failed)?;
            Access::RemoteRead
        };
        let mut list = List::new();
        let memory = match slot.region {
            Some(region) => {
                if !queue.memory().is_valid(region) {
                    queue.renew_key(region).map_err(memory_failed)?;
                    list.push(WorkRequest::Register {
                        region,
                        access,
                        renew_key: false,
                        signaled: false,
                    });
                }
                queue.memory().remote(region)
            }
            None => queue.memory().remote_global(slot.buffer),
        };
        let asked = Advertisement::from(memory.map_err(memory_failed)?);
        list.push(self.messages.send(queue, index, &asked)?);
        slot.begun_ns = monotonic_ns();
        queue.post_for(index, list.as_slice())?;
        (slot.asked, slot.is_sending) = (Some(asked), true);
        self.begun += 1;
        Ok(())
    }

    /// Takes the answer to the oldest request.
    fn answered(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        let now = monotonic_ns();
        let message = self.messages.read(queue, wc)?;
        let (index, data) = (self.index(self.finished), self.data(self.finished));
        let slot = self.slots.get_mut(index);
        let slot = slot.ok_or_else(|| memory_failed(EINVAL))?;
        check_answer(&message, slot.asked.as_ref())
            .map_err(|violation| Failure::Protocol(violation, self.finished))?;
        slot.asked = None;
        self.messages.post_receive(queue, wc.slot)?;
        let open_loop = self.open_loop.as_mut();
        let since_due = open_loop.and_then(|open_loop| open_loop.ended(now, 0));
        let took = since_due.unwrap_or_else(|| now.saturating_sub(slot.begun_ns));
        self.histogram.record(took);
        self.messages.traffic().ended(now, 1, Some(took));
        self.ended_ns = now;
        if self.writes {
            inspect(queue.memory(), slot.buffer, 0, self.size, |found| {
                data.check(found)
            })
            .map_err(memory_failed)?
            .map_err(Failure::Mismatch)?;
            self.messages.traffic().validated(self.size as u32);
        }
        if let Some(region) = slot.region.filter(|_| self.reregister) {
            queue.post(&[WorkRequest::Invalidate {
                region,
                fence: false,
                signaled: false,
            }])?;
        }
        self.finished += 1;
        self.proceed(queue)
    }
}

impl Side for RwClient {
    fn depths(&self) -> Depths {
        let slots = self.slots.len();
        Depths::plain(slots as u32 * SENDS, slots as u32).with_slots(slots)
    }

    fn prepare(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.messages.prepare(queue)
    }

    fn is_paced(&self) -> bool {
        self.open_loop.is_some()
    }

    fn post_due(&mut self, queue: &mut Queue<'_>) -> Result<Option<u64>, Failure> {
        self.proceed(queue)?;
        let goes_on = !queue.outcome.ended() && (self.count == 0 || self.begun < self.count);
        let open_loop = self.open_loop.as_ref().filter(|_| goes_on);
        Ok(open_loop.and_then(|open_loop| open_loop.after(monotonic_ns())))
    }

    fn summary(&self) -> Summary<'_> {
        Summary {
            iterations: self.finished,
            times: Some((self.started_ns, self.ended_ns)),
            histogram: Some(&self.histogram),
            open_loop: self.open_loop.as_ref().map(|open_loop| open_loop.figures()),
            ..Summary::default()
        }
    }
}

impl Lead for RwClient {
    fn start(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.started_ns = monotonic_ns();
        self.ended_ns = self.started_ns;
        self.messages.traffic().measuring(self.started_ns);
        match &mut self.open_loop {
            Some(open_loop) => open_loop.begin(self.started_ns, 0),
            None => self.until = self.duration_ms.map(Deadline::after_ms),
        }
        self.proceed(queue)
    }
}

impl Workload for RwClient {
    type Done = ();

    const OPERATIONS: &'static [Operation] = &[
        Operation::Send,
        Operation::Register,
        Operation::Invalidate,
        Operation::Receive,
    ];

    fn completed(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        match wc.op {
            Operation::Receive => self.answered(queue, wc),
            Operation::Send => {
                if let Some(slot) = self.slots.get_mut(wc.slot) {
                    slot.is_sending = false;
                }
                self.proceed(queue)
            }
            _ => Ok(()),
        }
    }

    fn iteration(&self) -> u64 {
        self.finished
    }
}
