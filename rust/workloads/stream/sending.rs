// SPDX-License-Identifier: GPL-2.0

//! The side of a stream that sends: bytes, or direct writes, and it may wait until they come back.

#![forbid(unsafe_code)]

use super::{
    flow::Flow,
    memory::Source, //
};
use crate::{
    engine::{
        histogram::new_histogram,
        queue::Queue, //
    },
    kernel_ext::time::{
        monotonic_ns,
        Deadline, //
    },
    logic::{
        command::Command,
        failure::Failure,
        measure::{
            histogram::Histogram,
            schedule::OpenLoopFigures, //
        },
        stream::{
            turns::GREETING,
            violation::Violation,
            writes::Writes, //
        }, //
    },
    mr::Memory,
    workloads::open_loop::OpenLoop, //
};
use core::mem;
use kernel::prelude::*;

/// The state of the next write.
enum Next {
    /// It is under way.
    UnderWay,
    /// It is not due yet.
    NotDue,
    /// There is none.
    None,
}

/// A side that sends bytes.
pub(super) struct Sending {
    writes: Writes,
    duration_ms: Option<u32>,
    /// Deadline of a run that is limited by time.
    until: Option<Deadline>,
    /// The peer sends back what it receives.
    echo: bool,
    /// Writes that wait for room go together.
    coalesce: bool,
    /// Bytes that go before direct writes: those to send, and those that come back.
    greeting: (u32, u32),
    /// They are over, and the peer's memory is known.
    greeted: bool,
    finished: u64,
    /// Bytes that the peer still has to send back.
    awaited: u32,
    /// The time at which the write under way began.
    begun_ns: u64,
    started_ns: u64,
    ended_ns: u64,
    /// Half of the time of each round trip.
    histogram: KBox<Histogram>,
    /// The moments at which writes are due; `None` where each follows the one before.
    open_loop: Option<KBox<OpenLoop>>,
    /// The time of the open loop is over.
    is_over: bool,
    /// The write under way has had to wait for room.
    has_waited: bool,
}

impl Sending {
    /// Adds the bytes that are sent to `memory`. May sleep.
    #[inline(never)]
    pub(super) fn new(command: &Command, flow: &mut Flow, memory: &mut Memory) -> Result<Self> {
        flow.buffers.add_content(memory)?;
        Ok(Self {
            writes: Writes::new(command.size, command.count),
            duration_ms: command.duration_ms(),
            until: None,
            echo: command.stream.echo,
            coalesce: command.stream.coalesce,
            greeting: match command.stream.iomap {
                true => (GREETING, GREETING),
                false => (0, 0),
            },
            greeted: !command.stream.iomap,
            finished: 0,
            awaited: 0,
            begun_ns: 0,
            started_ns: 0,
            ended_ns: 0,
            histogram: new_histogram()?,
            open_loop: OpenLoop::of(command)?,
            is_over: false,
            has_waited: false,
        })
    }

    /// Returns true where no write is under way.
    fn is_idle(&self) -> bool {
        self.writes.left() == 0 && self.awaited == 0
    }

    /// Returns true where all writes are done.
    fn is_done(&self) -> bool {
        let is_time = self.is_over || self.until.is_some_and(Deadline::passed);
        self.is_idle() && (self.writes.has_begun_all() || is_time)
    }

    /// Returns true where the peer was to send back all bytes, and has.
    pub(super) fn has_all_back(&self) -> bool {
        self.echo && self.is_done()
    }

    /// Begins the measurement before the first write.
    fn start(&mut self, flow: &Flow) {
        self.started_ns = monotonic_ns();
        self.ended_ns = self.started_ns;
        flow.traffic.measuring(self.started_ns);
        match &mut self.open_loop {
            Some(open_loop) => open_loop.begin(self.started_ns, 0),
            None => self.until = self.duration_ms.map(Deadline::after_ms),
        }
    }

    /// Begins another write, if there is to be one and it is due. Returns what has become of it.
    fn begins(&mut self, flow: &mut Flow, queue: &mut Queue<'_>) -> Result<Next, Failure> {
        if !self.is_idle() {
            return Ok(Next::UnderWay);
        }
        if self.started_ns == 0 {
            self.start(flow);
        }
        let now = self.open_loop.as_ref().map_or(0, |_| monotonic_ns());
        let has_begun_all = self.writes.has_begun_all();
        if let Some(open_loop) = self.open_loop.as_mut().filter(|_| !has_begun_all) {
            self.is_over = open_loop.ends(now);
        }
        if self.is_done() {
            return Ok(Next::None);
        }
        if let Some(open_loop) = &mut self.open_loop {
            if !open_loop.is_due(now) {
                return Ok(Next::NotDue);
            }
            open_loop.posted(now);
        }
        self.writes.begin();
        if self.echo {
            if let Some(direct) = &mut flow.direct {
                direct.make(queue)?;
            }
            self.awaited = self.writes.left();
            self.begun_ns = monotonic_ns();
        }
        Ok(Next::UnderWay)
    }

    /// Takes what the peer has sent back.
    fn take_back(&mut self, flow: &mut Flow) -> Result<(), Failure> {
        let receiver = &mut flow.endpoint.receiver;
        let came = receiver.unread();
        receiver.read(came);
        let (unsent, asked) = match flow.direct {
            Some(_) => (self.greeting.0, &mut self.greeting.1),
            None => (self.writes.left(), &mut self.awaited),
        };
        if came > asked.saturating_sub(unsent) {
            return Err(Failure::Stream(Violation::Unasked(came)));
        }
        *asked -= came;
        if came > 0 && flow.direct.is_none() && self.awaited == 0 {
            self.is_back(flow);
        }
        Ok(())
    }

    /// Notes that all of a write has come back.
    fn is_back(&mut self, flow: &Flow) {
        let now = monotonic_ns();
        let since_due = self.open_loop.as_mut().and_then(|open_loop| {
            open_loop.made_room(now);
            open_loop.ended(now, 1)
        });
        let took = since_due.unwrap_or_else(|| now.saturating_sub(self.begun_ns) / 2);
        self.histogram.record(took);
        flow.traffic.ended(now, 1, Some(took));
        self.ended_ns = now;
        self.finished += 1;
    }

    /// Notes that so many writes that nothing comes back of are posted.
    fn are_sent(&mut self, flow: &Flow, writes: u64) {
        self.finished += writes;
        flow.traffic.ended_now(writes);
        if let (true, Some(open_loop)) = (mem::take(&mut self.has_waited), &mut self.open_loop) {
            open_loop.made_room(monotonic_ns());
        }
    }

    /// Does what goes before direct writes, and returns true where it is done.
    fn greets(&mut self, flow: &mut Flow, queue: &mut Queue<'_>) -> Result<bool, Failure> {
        if self.greeted {
            return Ok(true);
        }
        // The peer is to have the mapping before the greeting.
        if !flow.tell(queue)? {
            return Ok(false);
        }
        while self.greeting.0 > 0 {
            let source = Source::Content(flow.position());
            let sent = flow.send(queue, source, self.greeting.0)?;
            if sent == 0 {
                break;
            }
            self.greeting.0 -= sent;
        }
        if self.greeting != (0, 0) {
            return Ok(false);
        }
        flow.check_peer()?;
        self.greeted = true;
        Ok(true)
    }

    /// Returns the bytes to send next. A program would have made more writes while one has waited,
    /// until the buffer was full.
    fn ready(&self, flow: &Flow) -> u32 {
        match self.coalesce && self.has_waited {
            true => self.writes.together(flow.endpoint.sender.room()),
            false => self.writes.left(),
        }
    }

    /// Sends whatever can be sent, and ends the stream behind the last byte.
    fn send(&mut self, flow: &mut Flow, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if !self.greets(flow, queue)? {
            return Ok(());
        }
        loop {
            match self.begins(flow, queue)? {
                Next::UnderWay if self.writes.left() == 0 => return Ok(()),
                Next::UnderWay => queue.outcome.rest(false),
                Next::NotDue => {
                    queue.outcome.rest(flow.endpoint.sender.is_idle());
                    return Ok(());
                }
                Next::None => {
                    queue.outcome.rest(false);
                    break;
                }
            }
            let sent = match flow.direct {
                Some(_) => flow.write_direct(queue, self.writes.left())?,
                None => {
                    let source = Source::Content(flow.position());
                    flow.send(queue, source, self.ready(flow))?
                }
            };
            if sent == 0 {
                self.has_waited = true;
                return Ok(());
            }
            let done = self.writes.sent(sent);
            if done > 0 && !self.echo {
                self.are_sent(flow, done);
            }
        }
        if !flow.endpoint.sender.is_idle() {
            return Ok(());
        }
        if !self.echo && flow.endpoint.control.sends() {
            self.ended_ns = monotonic_ns();
        }
        flow.end(queue)
    }

    /// Does what has become possible, and returns true where all is done.
    ///
    /// # Errors
    ///
    /// [`Failure::Disconnected`] where the peer has ended the stream before; and those of the
    /// peer's messages.
    pub(super) fn go_on(
        &mut self,
        flow: &mut Flow,
        queue: &mut Queue<'_>,
    ) -> Result<bool, Failure> {
        self.take_back(flow)?;
        flow.grant(queue)?;
        if !flow.is_over() {
            return self.send(flow, queue).map(|()| false);
        }
        // What the peer has written before its end is there.
        self.take_direct(flow, queue)?;
        match self.is_done() {
            true => Ok(true),
            false => Err(Failure::Disconnected),
        }
    }

    /// Takes the peer's direct write that is awaited, if it has come. Returns true where it has.
    fn take_direct(&mut self, flow: &mut Flow, queue: &Queue<'_>) -> Result<bool, Failure> {
        if self.awaited == 0 || self.writes.left() > 0 || !flow.take_direct(queue)? {
            return Ok(false);
        }
        self.awaited = 0;
        self.is_back(flow);
        Ok(true)
    }

    /// Looks for the peer's direct write that is awaited, and goes on. Returns true where it has
    /// come.
    pub(super) fn look(&mut self, flow: &mut Flow, queue: &mut Queue<'_>) -> Result<bool, Failure> {
        let has_come = self.take_direct(flow, queue)?;
        if has_come {
            self.send(flow, queue)?;
        }
        Ok(has_come)
    }

    /// Returns the number of writes that are done.
    pub(super) fn finished(&self) -> u64 {
        self.finished
    }

    /// Returns the times at which the first write began and the last one was done.
    pub(super) fn times(&self) -> (u64, u64) {
        (self.started_ns, self.ended_ns)
    }

    /// Returns true where writes are begun at moments of the clock.
    pub(super) fn is_paced(&self) -> bool {
        self.open_loop.is_some()
    }

    /// Returns true where no write is under way, and the next one is not due at the last look.
    pub(super) fn rests(&self) -> bool {
        self.is_paced() && self.started_ns != 0 && !self.is_done() && self.is_idle()
    }

    /// Returns the next moment at which to look whether a write is due; `None` where all have
    /// begun.
    pub(super) fn after(&self, now: u64) -> Option<u64> {
        let open_loop = self.open_loop.as_ref();
        let open_loop = open_loop.filter(|_| !self.writes.has_begun_all() && !self.is_over);
        open_loop?.after(now)
    }

    /// Returns what became of writes that were due at moments of the clock.
    pub(super) fn open_loop(&self) -> Option<&OpenLoopFigures> {
        self.open_loop.as_ref().map(|open_loop| open_loop.figures())
    }

    /// Returns half of the times of the round trips.
    pub(super) fn histogram(&self) -> &Histogram {
        &self.histogram
    }
}
