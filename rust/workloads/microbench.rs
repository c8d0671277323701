// SPDX-License-Identifier: GPL-2.0

//! The microbenchmarks: one side of a connection whose latency, bandwidth or message rate is
//! measured.
//!
//! Each side tells the other that it is ready, and where its buffer is. The leading side then
//! begins. It says so when it has done all its operations, and ends when the other side has
//! answered with its own figures. `docs/protocol.md` describes the messages.
//!
//! - [`entry`], [`roles`], [`plan`] - how the engine runs it, and what follows from the command
//! - [`verb`] - the facts about each operation that is measured
//! - [`latency`], [`bandwidth`], [`poster`] - what follows a completion, and the posting of lists
//! - [`control_channel`], [`buffers`] - control messages and receives; source and sink of the data
//! - [`ready`] - how the sides tell each other where their buffers are, and begin
//! - [`numbered`] - messages that are all compared
//! - [`messages`], [`losses`] - messages of an unreliable queue pair, and those that are lost
//! - [`team`] - what the queue pairs of one thread share

#![forbid(unsafe_code)]

mod bandwidth;
mod buffers;
mod comparison;
mod control_channel;
pub(crate) mod entry;
mod latency;
mod losses;
mod messages;
mod numbered;
mod plan;
mod poster;
mod ready;
mod roles;
mod team;
mod verb;
mod warmup;

use super::open_loop::{
    OpenLoop,
    IDLE_NS, //
};
use crate::{
    engine::{
        outcome::Progress,
        queue::Queue,
        side::{
            elapsed_ns,
            Follow,
            Side, //
        },
        traffic::Traffic,
        workload::Workload, //
    },
    kernel_ext::time::monotonic_ns,
    logic::{
        data::pattern::Mismatch,
        failure::Failure,
        measure::loss::Arrived,
        pingpong::Violation,
        wire::control::Control, //
    },
    mr::Memory,
    rdma::{
        cq::NextEvent,
        wr::List, //
    }, //
};
use bandwidth::Bandwidth;
use buffers::Buffers;
use control_channel::ControlChannel;
use kernel::{
    prelude::*,
    sync::Arc, //
};
use latency::{
    Latency,
    Mark, //
};
use messages::Messages;
use plan::Plan;
use poster::Poster;
use team::Team;

/// Work of this side.
enum Work {
    Latency(Latency),
    Bandwidth(Bandwidth),
    /// None: the peer reads from this side or writes to it.
    Passive,
}

impl Work {
    /// Creates what `plan` says, with the data in `buffers`. May sleep.
    #[inline(never)]
    fn new(
        plan: &Plan,
        buffers: &Buffers,
        traffic: Arc<Traffic>,
        team: Option<Arc<Team>>,
    ) -> Result<Self> {
        if !plan.posts() {
            return Ok(Self::Passive);
        }
        let poster = Poster::new(plan, buffers, traffic, team.as_ref())?;
        if plan.test.is_latency() {
            let ends = buffers.source().zip(buffers.sink());
            let mark = ends
                .filter(|_| plan.watches_memory())
                .map(|(source, sink)| Mark {
                    source,
                    sink,
                    offset: (plan.size as usize).saturating_sub(1),
                });
            return Ok(Self::Latency(Latency::new(poster, mark, plan, team)?));
        }
        let bandwidth = Bandwidth::new(poster, plan.warmup(), plan.duration_ms)?;
        Ok(Self::Bandwidth(bandwidth))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The peer has not sent [`Control::Ready`] yet.
    Waiting,
    /// Operations are in flight, on either side.
    Running,
    /// This side has sent [`Control::Done`].
    Done,
}

/// One side of a microbenchmark.
pub(crate) struct Microbench {
    plan: Plan,
    channel: ControlChannel,
    /// The messages of the unreliable queue pair, if there is one.
    messages: Option<KBox<Messages>>,
    buffers: KBox<Buffers>,
    work: Work,
    phase: Phase,
    /// This side knows where the peer's buffers are, so its requests are written.
    knows_peer: bool,
    /// This side has reported the end of its warm-up.
    warm: bool,
    /// The peer has sent [`Control::Alive`]; in a duplex test this reports the end of its warm-up.
    peer_is_warm: bool,
    /// The thread has let this side continue after its warm-up.
    has_gone: bool,
    /// This side need not wait for other queue pairs once its measured operations are done.
    may_end: bool,
    /// Number of the peer's operations that took a receive here.
    arrivals: u64,
    /// Number of operations and nanoseconds that the peer measured.
    peer: Option<(u64, u64)>,
    /// Bytes of these, if they have several sizes.
    peer_bytes: Option<u64>,
    /// First difference between the data that arrived here and the data that was sent.
    mismatch: Option<Mismatch>,
    /// The peer has reported a mismatch in the data that arrived there.
    peer_mismatch: bool,
    /// Figures of the peer's about what has arrived there, of messages that may be lost.
    theirs: Option<Arrived>,
    /// Messages that have not come are taken for lost.
    rest_came: bool,
    /// Number of arrivals at the last tick.
    ticked: Option<u64>,
}

impl Microbench {
    /// Adds the buffers to `memory`. May sleep.
    #[inline(never)]
    pub(crate) fn new(
        plan: Plan,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
        team: Option<Arc<Team>>,
    ) -> Result<KBox<Self>> {
        let channel = ControlChannel::new(
            memory,
            traffic.clone(),
            (plan.size, plan.load.mixed),
            plan.data_comes_with_control(),
            plan.kind_of_receives(),
            plan.receive_buffers(),
            plan.load.solicited,
        )?;
        let messages = match plan.is_unreliable() {
            true => {
                let traffic = traffic.clone();
                Some(Messages::new(&plan, memory, channel.buffers(), traffic)?)
            }
            false => None,
        };
        let buffers = Buffers::new(&plan, memory)?;
        let work = Work::new(&plan, &buffers, traffic, team)?;
        Ok(KBox::new(
            Self {
                plan,
                channel,
                messages,
                buffers,
                work,
                phase: Phase::Waiting,
                knows_peer: false,
                warm: false,
                peer_is_warm: false,
                has_gone: false,
                may_end: !plan.ends_together(),
                arrivals: 0,
                peer: None,
                peer_bytes: None,
                mismatch: None,
                peer_mismatch: false,
                theirs: None,
                rest_came: false,
                ticked: None,
            },
            GFP_KERNEL,
        )?)
    }

    fn broken(&self, violation: Violation) -> Failure {
        Failure::Protocol(violation, self.iteration())
    }

    fn control(&mut self, queue: &mut Queue<'_>, control: Control) -> Result<(), Failure> {
        match (control, self.phase) {
            (Control::Ready(remote), Phase::Waiting) => self.ready(queue, remote),
            (Control::Alive, Phase::Running) => {
                // The peer sends this at the end of its warm-up, or earlier as a keepalive.
                self.peer_is_warm = true;
                self.peer_goes_on(queue)?;
                self.say_warm(queue)
            }
            (Control::Alive, _) => Ok(()),
            (
                Control::Done {
                    iterations,
                    elapsed_ns,
                    mismatch,
                },
                phase,
            ) if self.peer.is_none()
                // The leading side sends this first.
                && phase == if self.plan.leading { Phase::Done } else { Phase::Running } =>
            {
                let said = iterations.saturating_add(self.plan.warmup());
                let counts = self.plan.counts_arrivals() && !self.may_lack(said);
                if counts && said != self.arrivals {
                    return Err(self.broken(Violation::Miscounted(self.arrivals, said)));
                }
                self.peer = Some((iterations, elapsed_ns));
                self.ticked = None;
                if let Work::Latency(latency) = &mut self.work {
                    latency.close();
                }
                self.peer_mismatch = mismatch;
                self.peer_goes_on(queue)?;
                self.step(queue)
            }
            (Control::Arrived(arrived), Phase::Done) => self.peer_arrived(arrived),
            (Control::Moved(bytes), Phase::Running)
                if self.plan.load.mixed && !self.plan.leading && self.peer_bytes.is_none() =>
            {
                self.peer_bytes = Some(bytes);
                Ok(())
            }
            _ => Err(self.broken(Violation::Early)),
        }
    }

    /// Handles an operation of the peer's that has taken a receive, whose data is in buffer number
    /// `slot`.
    fn arrived(&mut self, queue: &mut Queue<'_>, slot: usize) -> Result<(), Failure> {
        // An operation is wrong at this time, beyond the announced number, or where none is
        // expected.
        let due = self.plan.counts_arrivals()
            && self.phase != Phase::Waiting
            && self.peer.is_none()
            && self.plan.total() != Some(self.arrivals);
        if !due {
            return Err(self.broken(Violation::Early));
        }
        self.compare_arrived(queue, slot)?;
        self.arrivals += 1;
        if let Work::Latency(latency) = &mut self.work {
            latency.arrived(queue)?;
            return self.step(queue);
        }
        if self.arrivals > self.plan.warmup() && (self.has_gone || !self.plan.leading) {
            // The peer has left its warm-up. If this side told it to, it has read that message, so
            // data may take the buffer of the message now.
            self.go_on(queue)?;
        }
        self.say_warm(queue)
    }

    /// Returns the completions that this side waits for. A completion of its own raises no event of
    /// solicited ones.
    fn next_event(&self) -> NextEvent {
        let is_own = match &self.work {
            Work::Latency(latency) => latency.awaits_own(),
            Work::Bandwidth(bandwidth) => !bandwidth.poster.window.finished(),
            Work::Passive => false,
        };
        // The last message may be lost, and those before it raise no event.
        match is_own || !self.channel.has_sent_all() || self.awaits_messages() {
            true => NextEvent::Any,
            false => NextEvent::Solicited,
        }
    }

    /// Posts what is due by now, and returns the moment at which to call this again; `None` once
    /// nothing more will be due.
    fn post_due(&mut self, queue: &mut Queue<'_>) -> Result<Option<u64>, Failure> {
        if self.phase == Phase::Done {
            return Ok(None);
        }
        let next = match &mut self.work {
            // It may begin at any time.
            _ if !self.has_gone => return Ok(Some(monotonic_ns().saturating_add(IDLE_NS))),
            Work::Latency(latency) if !latency.poster.window.all_posted() => {
                latency.post_due(queue)?
            }
            Work::Bandwidth(bandwidth) if !bandwidth.poster.window.all_posted() => {
                bandwidth.post_due(queue)?
            }
            Work::Latency(_) | Work::Bandwidth(_) | Work::Passive => return Ok(None),
        };
        if next.is_none() {
            // The last one may have ended before it was known to be that.
            self.step(queue)?;
        }
        self.note_rest(queue);
        Ok(next)
    }

    /// Tells the connection whether it waits for the moment at which the next operation is due, and
    /// for nothing else.
    fn note_rest(&self, queue: &Queue<'_>) {
        if !self.plan.is_paced() {
            return;
        }
        let rests = match &self.work {
            Work::Latency(latency) => latency.rests(),
            Work::Bandwidth(bandwidth) => bandwidth.rests(),
            Work::Passive => false,
        };
        queue.outcome.rest(rests && self.phase == Phase::Running);
    }

    /// Returns the open loop of this side's operations, if they are posted when they are due.
    fn open_loop(&self) -> Option<&OpenLoop> {
        match &self.work {
            Work::Latency(latency) => latency.poster.open_loop.as_deref(),
            Work::Bandwidth(bandwidth) => bandwidth.poster.open_loop.as_deref(),
            Work::Passive => None,
        }
    }

    /// Returns whether the peer has found a difference in the data that this side, which leads, has
    /// had arrive there; `None` where none does, or the peer has not said it.
    fn peers_verdict(&self) -> Option<bool> {
        let plan = &self.plan;
        let tells = plan.validate && plan.leading && plan.posts() && !plan.fetches();
        (tells && self.peer.is_some()).then_some(self.peer_mismatch)
    }

    /// Returns the bytes of the measured operations of this side, if they have several sizes.
    fn bytes(&self) -> Option<u64> {
        match &self.work {
            Work::Latency(latency) => latency.poster.bytes(latency.iterations()),
            Work::Bandwidth(bandwidth) => bandwidth.poster.bytes(bandwidth.iterations()),
            Work::Passive => None,
        }
    }

    /// Returns the bytes of the peer's measured operations, if they have several sizes: no more
    /// than so many operations can have.
    fn peers_bytes(&self) -> Option<u64> {
        let (operations, _) = self.peer?;
        let most = operations.saturating_mul(self.plan.size.into());
        self.peer_bytes.map(|bytes| bytes.min(most))
    }

    fn elapsed_ns(&self) -> u64 {
        match &self.work {
            Work::Latency(latency) => elapsed_ns(latency.times()),
            Work::Bandwidth(bandwidth) => elapsed_ns(bandwidth.times()),
            Work::Passive => 0,
        }
    }

    /// Takes the next step towards the end of the test, if it is due: reports that everything is
    /// measured, sends [`Control::Done`], or finishes.
    fn step(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let finished = match &self.work {
            Work::Latency(latency) => latency.finished(),
            Work::Bandwidth(bandwidth) => bandwidth.poster.window.finished(),
            Work::Passive => true,
        };
        self.say_warm(queue)?;
        if self.awaits_messages() {
            return Ok(());
        }
        if self.phase == Phase::Running && finished && (self.plan.leading || self.peer.is_some()) {
            if !self.may_end {
                queue.outcome.advance(Progress::Measured);
                return Ok(());
            }
            if !self.plan.leading || self.plan.fetches() {
                self.mismatch = self.mismatch.or(self.check(queue)?);
            }
            self.phase = Phase::Done;
            self.say_arrived(queue)?;
            let bytes = self.bytes();
            if let Some(bytes) = bytes {
                self.channel
                    .send(queue, &Control::Moved(bytes), List::new())?;
            }
            let summary = self.summary();
            let done = Control::Done {
                iterations: summary.iterations,
                elapsed_ns: summary.elapsed_ns(),
                mismatch: self.mismatch.is_some(),
            };
            self.channel.send(queue, &done, List::new())?;
        }
        if self.phase == Phase::Done && self.plan.leading && self.peer.is_some() {
            if !self.plan.fetches() {
                // Only now has all data arrived that the peer wrote or sent.
                self.mismatch = self.mismatch.or(self.check(queue)?);
            }
            self.verdict()?;
            queue.outcome.advance(Progress::Finished);
        }
        Ok(())
    }
}
