// SPDX-License-Identifier: GPL-2.0

//! The microbenchmarks: one side of a connection whose latency, bandwidth or
//! message rate is measured.
//!
//! Each side says that it is ready, and where its buffer is. The side that leads
//! then begins; when it has done all that it was to do, it says so, and ends with
//! the answer of the other, which has its own figures. `docs/protocol.md` has the
//! messages.

#![forbid(unsafe_code)]

mod bandwidth;
mod buffers;
pub(crate) mod entry;
mod latency;
mod link;
mod plan;
mod poster;
mod roles;
mod team;

use super::exchange::memory_failed;
use crate::{
    engine::{
        outcome::Progress,
        side::{
            elapsed_ns,
            Follow,
            Side, //
        },
        traffic::Traffic, //
    },
    logic::{
        data::pattern::Mismatch,
        failure::{
            Failure,
            Operation, //
        },
        measure::window::Window,
        pingpong::Violation,
        wire::{
            control::Control,
            Advertisement, //
        }, //
    },
    mr::Memory,
    rdma::{
        cq::WorkCompletion,
        qp::{
            Queue,
            Workload, //
        },
        wr::{
            batch::{
                Immediate,
                Kind,
                Template, //
            },
            List, //
        }, //
    }, //
};
use bandwidth::Bandwidth;
use buffers::{
    check,
    Buffers, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};
use latency::{
    Latency,
    Mark, //
};
use link::{
    Arrival,
    Link, //
};
use plan::Plan;
use poster::Poster;
use team::Team;

/// What this side does.
enum Work {
    Latency(Latency),
    Bandwidth(Bandwidth),
    /// Nothing: it is read from or written to.
    Passive,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The peer has not said yet that it is ready.
    Waiting,
    /// Operations are under way, at either side.
    Running,
    /// This side has said that it is done.
    Done,
}

/// One side of a microbenchmark.
pub(crate) struct Microbench {
    plan: Plan,
    link: Link,
    buffers: Buffers,
    work: Work,
    phase: Phase,
    /// It has said that its warm-up is over.
    warm: bool,
    /// The peer of a duplex test has said that its warm-up is over.
    peer_is_warm: bool,
    /// It was let go on from its warm-up.
    has_gone: bool,
    /// It is not to wait for others when it has done what is measured.
    may_end: bool,
    /// Operations of the peer's that took a receive here.
    arrivals: u64,
    /// Operations and nanoseconds that the peer measured.
    peer: Option<(u64, u64)>,
    /// What was wrong with the data that arrived here.
    mismatch: Option<Mismatch>,
    /// The peer says that something was wrong with what arrived there.
    peer_mismatch: bool,
}

impl Microbench {
    /// Adds the buffers to `memory`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    #[inline(never)]
    pub(crate) fn new(
        plan: Plan,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
        team: Option<Arc<Team>>,
    ) -> Result<KBox<Self>> {
        let operation = plan.operation();
        let link = Link::new(
            memory,
            traffic.clone(),
            plan.size,
            plan.is_target() && operation == Operation::Send,
            plan.receives(),
        )?;
        let buffers = Buffers::new(&plan, memory)?;
        let mut window = Window::new(
            plan.depth(),
            u32::from(plan.load.postlist),
            u32::from(plan.load.signal_every),
            plan.total(),
        );
        if let Some(hold) = plan.hold() {
            window = window.holding_at(hold);
        }
        let poster = Poster::new(window, operation, plan.size, traffic);
        let work = if !plan.posts() {
            Work::Passive
        } else if plan.test.is_latency() {
            let ends = buffers.source.zip(buffers.sink);
            let mark = ends
                .filter(|_| plan.watches_memory())
                .map(|(source, sink)| Mark {
                    source,
                    sink,
                    offset: (plan.size as usize).saturating_sub(1),
                });
            Work::Latency(Latency::new(poster, mark, &plan, team)?)
        } else {
            Work::Bandwidth(Bandwidth::new(poster, plan.warmup(), plan.duration_ms))
        };
        Ok(KBox::new(
            Self {
                plan,
                link,
                buffers,
                work,
                phase: Phase::Waiting,
                warm: false,
                peer_is_warm: false,
                has_gone: false,
                may_end: !plan.ends_together(),
                arrivals: 0,
                peer: None,
                mismatch: None,
                peer_mismatch: false,
            },
            GFP_KERNEL,
        )?)
    }

    fn broken(&self, violation: Violation) -> Failure {
        Failure::Protocol(violation, self.iteration())
    }

    /// Tells the peer where the buffer is that is opened to it, and opens it.
    fn say_ready(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let advertisement = self.buffers.advertisement(queue.memory())?;
        let mut list = List::new();
        self.buffers.register(&mut list);
        self.link.send(queue, &Control::Ready(advertisement), list)
    }

    /// Compares what has arrived here, where that was asked for and anything has.
    fn check(&self, queue: &Queue<'_>) -> Result<Option<Mismatch>, Failure> {
        let plan = &self.plan;
        let buffer = match plan.operation() {
            _ if !plan.validate => None,
            Operation::Send => self.link.data(),
            // Of the other side's WRITEs, this one hears when the peer is done.
            Operation::Write if self.peer.is_none() => None,
            _ => self.buffers.sink,
        };
        match buffer {
            Some(buffer) => check(queue, buffer, plan),
            None => Ok(None),
        }
    }

    /// The peer is ready, with its buffer at `remote`.
    fn ready(&mut self, queue: &mut Queue<'_>, remote: Advertisement) -> Result<(), Failure> {
        let plan = &self.plan;
        if plan.posts() {
            let buffers = &self.buffers;
            let (kind, buffer) = match plan.operation() {
                Operation::Read => (Kind::Read(remote), buffers.sink),
                Operation::Write if plan.load.imm => {
                    (Kind::Write(remote, Immediate::Sent), buffers.source)
                }
                Operation::Write => (Kind::Write(remote, Immediate::None), buffers.source),
                _ => (Kind::Send, buffers.source),
            };
            let buffer = buffer.ok_or_else(|| memory_failed(EINVAL))?;
            if !matches!(kind, Kind::Send) && remote.size < plan.size {
                return Err(self.broken(Violation::Control));
            }
            queue.fill_batch(&Template {
                kind,
                buffer,
                region: buffers.local_region(),
                len: plan.size,
                inline: plan.load.inline,
            })?;
        }
        self.phase = Phase::Running;
        if !self.plan.leading {
            self.say_ready(queue)?;
        }
        match &mut self.work {
            Work::Latency(latency) if self.plan.leading => latency.begin(queue),
            Work::Bandwidth(bandwidth) => bandwidth.post(queue),
            _ => Ok(()),
        }
    }

    fn control(&mut self, queue: &mut Queue<'_>, control: Control) -> Result<(), Failure> {
        match (control, self.phase) {
            (Control::Ready(remote), Phase::Waiting) => self.ready(queue, remote),
            (Control::Alive, Phase::Running) => {
                // At the latest when its warm-up is over.
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
                // The side that leads says so first.
                && phase == if self.plan.leading { Phase::Done } else { Phase::Running } =>
            {
                let said = iterations.saturating_add(self.plan.warmup());
                if self.plan.counts_arrivals() && said != self.arrivals {
                    return Err(self.broken(Violation::Miscounted(self.arrivals, said)));
                }
                self.peer = Some((iterations, elapsed_ns));
                if let Work::Latency(latency) = &mut self.work {
                    latency.close();
                }
                self.peer_mismatch = mismatch;
                self.peer_goes_on(queue)?;
                self.step(queue)
            }
            _ => Err(self.broken(Violation::Early)),
        }
    }

    /// An operation of the peer's has taken a receive.
    fn arrived(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        // More than announced, at the wrong time, or where none is to arrive.
        let due = self.plan.counts_arrivals()
            && self.phase != Phase::Waiting
            && self.peer.is_none()
            && self.plan.total() != Some(self.arrivals);
        if !due {
            return Err(self.broken(Violation::Early));
        }
        self.arrivals = self.arrivals.wrapping_add(1);
        if let Work::Latency(latency) = &mut self.work {
            latency.arrived(queue)?;
            return self.step(queue);
        }
        if self.arrivals > self.plan.warmup() && (self.has_gone || !self.plan.leading) {
            // The peer goes on. If that is because this side said so, it has read the message:
            // data may take its buffer now.
            self.go_on(queue)?;
        }
        self.say_warm(queue)
    }

    /// The side that leads measures now, so the other one does.
    fn peer_goes_on(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if self.plan.leading {
            return Ok(());
        }
        self.go_on(queue)
    }

    /// Returns true where nothing is done until [`go_on`](Self::go_on).
    fn held(&self) -> bool {
        match &self.work {
            Work::Latency(latency) => latency.held(),
            Work::Bandwidth(bandwidth) => bandwidth.held(),
            Work::Passive => false,
        }
    }

    /// Returns true where this side and the peer have done the operations of their warm-ups.
    fn is_warm(&self) -> bool {
        let peer_is_warm = !self.plan.load.duplex || self.peer_is_warm;
        peer_is_warm && (self.held() || self.iteration() >= self.plan.warmup())
    }

    /// Says once that the warm-up has come to its end, where somebody waits for that: to the
    /// thread that leads, and by the other side of a duplex test to that one.
    fn say_warm(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if self.phase != Phase::Running || self.warm {
            return Ok(());
        }
        if self.plan.leading {
            if self.is_warm() {
                self.warm = true;
                queue.outcome.advance(Progress::Warm);
            }
        } else if self.plan.load.duplex && self.held() {
            self.warm = true;
            self.link.send(queue, &Control::Alive, List::new())?;
        }
        Ok(())
    }

    /// Goes on from the warm-up.
    fn go_on(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        match &mut self.work {
            Work::Latency(latency) => latency.go(queue),
            Work::Bandwidth(bandwidth) => bandwidth.go(queue),
            Work::Passive => Ok(()),
        }
    }

    fn elapsed_ns(&self) -> u64 {
        match &self.work {
            Work::Latency(latency) => elapsed_ns(latency.times()),
            Work::Bandwidth(bandwidth) => elapsed_ns(bandwidth.times()),
            Work::Passive => 0,
        }
    }

    /// Goes on to the end, where that is due.
    fn step(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let finished = match &self.work {
            // The side that leads ends this.
            Work::Latency(latency) => !self.plan.leading || latency.finished(),
            Work::Bandwidth(bandwidth) => bandwidth.poster.window.finished(),
            Work::Passive => true,
        };
        self.say_warm(queue)?;
        if self.phase == Phase::Running && finished && (self.plan.leading || self.peer.is_some()) {
            if !self.may_end {
                queue.outcome.advance(Progress::Measured);
                return Ok(());
            }
            if !self.plan.leading || self.plan.operation() == Operation::Read {
                self.mismatch = self.check(queue)?;
            }
            self.phase = Phase::Done;
            let summary = self.summary();
            let done = Control::Done {
                iterations: summary.iterations,
                elapsed_ns: summary.elapsed_ns(),
                mismatch: self.mismatch.is_some(),
            };
            self.link.send(queue, &done, List::new())?;
        }
        if self.phase == Phase::Done && self.plan.leading && self.peer.is_some() {
            if self.plan.operation() != Operation::Read {
                // What the peer wrote or sent is all there only now.
                self.mismatch = self.check(queue)?;
            }
            self.verdict()?;
            queue.outcome.advance(Progress::Finished);
        }
        Ok(())
    }
}

impl Workload for Microbench {
    type Done = ();

    fn completed(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion) -> Result<(), Failure> {
        match wc.op {
            Operation::Receive => {
                let iteration = self.iteration();
                match self.link.receive(queue, wc, iteration)? {
                    Arrival::Data => self.arrived(queue)?,
                    Arrival::Control(control) => self.control(queue, control)?,
                }
                // Only now: others are posted, and the answer is not to wait.
                self.link.post_next(queue)
            }
            Operation::Control => {
                self.link.sent();
                // What was let go on waits until the peer has heard of that; later it is no more.
                if self.has_gone && self.plan.is_unseen() && self.link.has_sent_all() {
                    return self.go_on(queue);
                }
                Ok(())
            }
            Operation::Register => Ok(()),
            _ => {
                match &mut self.work {
                    Work::Latency(latency) => latency.completed(queue)?,
                    Work::Bandwidth(bandwidth) => bandwidth.completed(queue)?,
                    Work::Passive => {}
                }
                self.step(queue)
            }
        }
    }

    fn iteration(&self) -> u64 {
        match &self.work {
            Work::Latency(latency) => latency.arrivals(),
            Work::Bandwidth(bandwidth) => bandwidth.poster.window.done(),
            Work::Passive => self.arrivals,
        }
    }

    fn watches(&self) -> bool {
        self.plan.watches_memory()
    }

    fn look(&mut self, queue: &mut Queue<'_>) -> Result<bool, Failure> {
        let Work::Latency(latency) = &mut self.work else {
            return Ok(false);
        };
        if self.phase != Phase::Running || !latency.look(queue)? {
            return Ok(false);
        }
        self.step(queue)?;
        Ok(true)
    }
}
