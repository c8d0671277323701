// SPDX-License-Identifier: GPL-2.0

//! Implementations of [`Workload`], through which completions drive a microbenchmark, and of
//! [`Side`], [`Lead`] and [`Follow`], through which the threads of clients and servers run it.

#![forbid(unsafe_code)]

use super::{
    control_channel::Arrival,
    losses::QUIET_MS,
    poster::{
        AGAIN,
        TABLE, //
    },
    verb,
    Microbench,
    Phase,
    Work, //
};
use crate::{
    engine::{
        completion::WorkCompletion,
        depths::Depths,
        queue::Queue,
        side::{
            Figures,
            Follow,
            Lead,
            Side,
            Summary, //
        },
        workload::Workload, //
    },
    logic::{
        failure::{
            Failure,
            Operation, //
        },
        wire::control::Control, //
    },
    rdma::{
        cq::NextEvent,
        wr::List, //
    },
    workloads::open_loop::OpenLoop, //
};
use kernel::prelude::*;

impl Workload for Microbench {
    type Done = ();

    const OPERATIONS: &'static [Operation] = verb::OPERATIONS;

    fn completed(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        let result = self.take(queue, wc);
        self.note_rest(queue);
        result
    }

    fn iteration(&self) -> u64 {
        match &self.work {
            Work::Latency(latency) => latency.arrivals(),
            Work::Bandwidth(bandwidth) => bandwidth.poster.window.done(),
            Work::Passive => self.arrivals,
        }
    }

    fn next_event(&self) -> NextEvent {
        Microbench::next_event(self)
    }

    fn watches(&self) -> bool {
        self.plan.watches_memory()
    }

    fn look(&mut self, queue: &mut Queue<'_>) -> Result<bool, Failure> {
        let Work::Latency(latency) = &mut self.work else {
            return Ok(false);
        };
        let is_over = self.phase != Phase::Running || self.peer.is_some();
        if is_over || !latency.look(queue)? {
            return Ok(false);
        }
        self.step(queue)?;
        self.note_rest(queue);
        Ok(true)
    }
}

impl Microbench {
    /// Takes a successful completion and posts what follows from it.
    fn take(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        match wc.op {
            Operation::Receive if self.messages.as_ref().is_some_and(|m| m.has(wc.slot)) => {
                self.receive_message(queue, wc)
            }
            Operation::Receive => {
                let iteration = self.iteration();
                match self.channel.receive(queue, wc, iteration)? {
                    Arrival::Data(slot) => self.arrived(queue, slot)?,
                    Arrival::Control(control) => self.control(queue, control)?,
                }
                // Post this last: other receives are still posted, and the answer must not wait.
                self.channel.post_next(queue)
            }
            Operation::Control => {
                self.channel.sent();
                // After `go`, operations continue only when the send of the message about it has
                // completed. Later calls do nothing.
                if self.has_gone && self.plan.is_unseen() && self.channel.has_sent_all() {
                    return self.go_on(queue);
                }
                Ok(())
            }
            Operation::Register => Ok(()),
            Operation::Read if wc.slot == TABLE => self.table_came(queue),
            _ => {
                match &mut self.work {
                    Work::Latency(latency) if wc.slot == AGAIN => {
                        latency.poster.completed_again();
                    }
                    Work::Latency(latency) => latency.completed(queue)?,
                    Work::Bandwidth(bandwidth) => {
                        let found = bandwidth.completed(queue)?;
                        self.mismatch = self.mismatch.or(found);
                    }
                    Work::Passive => {}
                }
                self.step(queue)
            }
        }
    }
}

impl Side for Microbench {
    fn depths(&self) -> Depths {
        self.plan.depths()
    }

    fn prepare(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if let Some(messages) = &self.messages {
            messages.prepare(queue)?;
        }
        self.channel.prepare(queue)
    }

    fn tick_ms(&self) -> Option<u32> {
        self.plan.is_unreliable().then_some(QUIET_MS)
    }

    fn tick(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.look_for_losses(queue)
    }

    fn keepalive(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let needed = match self.phase {
            Phase::Waiting => self.plan.leading,
            // Needed even if the peer is done and waits for this side.
            Phase::Running => self.plan.is_unseen(),
            Phase::Done => self.plan.is_unseen() && self.peer.is_none(),
        };
        if needed {
            self.channel.send_keepalive(queue)?;
        }
        Ok(())
    }

    fn is_paced(&self) -> bool {
        self.plan.is_paced()
    }

    fn post_due(&mut self, queue: &mut Queue<'_>) -> Result<Option<u64>, Failure> {
        Microbench::post_due(self, queue)
    }

    fn end(&mut self) {
        if let Work::Latency(latency) = &mut self.work {
            latency.close();
        }
    }

    fn summary(&self) -> Summary<'_> {
        let figures = |completions, posts, halvings| Figures {
            load: self.plan.load,
            txdepth: self.plan.depth(),
            recvs: self.plan.data_receives(),
            warmup: self.plan.warmup(),
            completions,
            posts,
            busy_ns: self.elapsed_ns(),
            halvings,
            peer: self.peer,
            bytes: self.bytes(),
            peer_bytes: self.peers_bytes(),
            peer_mismatch: self.peers_verdict(),
            loss: self.loss(),
        };
        let open_loop = self.open_loop().map(OpenLoop::figures);
        match &self.work {
            Work::Latency(latency) => Summary {
                iterations: latency.iterations(),
                times: Some(latency.times()),
                stretch: latency.stretch(),
                histogram: latency.histogram(),
                open_loop,
                figures: Some(figures(
                    latency.poster.completions(),
                    latency.poster.posts(),
                    latency.halvings(),
                )),
                ..Summary::default()
            },
            Work::Bandwidth(bandwidth) => Summary {
                iterations: bandwidth.iterations(),
                times: Some(bandwidth.times()),
                histogram: bandwidth.histogram(),
                open_loop,
                figures: Some(figures(
                    bandwidth.poster.completions(),
                    bandwidth.poster.posts(),
                    0,
                )),
                ..Summary::default()
            },
            Work::Passive => Summary {
                iterations: 0,
                figures: Some(figures(0, 0, 0)),
                ..Summary::default()
            },
        }
    }
}

impl Lead for Microbench {
    fn start(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.say_ready(queue)
    }

    fn go(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if self.phase != Phase::Running || self.has_gone || !self.knows_peer {
            return Ok(());
        }
        // The moments of an open loop are those of operations after the warm-up only.
        if self.plan.is_paced() && !self.held() {
            return Ok(());
        }
        self.has_gone = true;
        if self.plan.load.duplex {
            // Both sides begin together, when the peer has received this message. An operation
            // would not do as the signal: the first one may arrive behind many others. The time of
            // both counts from here.
            if let Work::Bandwidth(bandwidth) = &mut self.work {
                bandwidth.begin();
            }
            return self.channel.send(queue, &Control::Alive, List::new());
        }
        self.go_on(queue)
    }

    fn finish(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.may_end = true;
        if self.phase != Phase::Running {
            return Ok(());
        }
        self.step(queue)
    }
}

impl Follow for Microbench {
    fn may_end(&self) -> bool {
        self.phase == Phase::Done
    }

    fn served_all(&self) -> bool {
        self.phase == Phase::Done
    }

    fn verdict(&self) -> Result<(), Failure> {
        match self.mismatch {
            Some(mismatch) => Err(Failure::Mismatch(mismatch)),
            None if self.peer_mismatch => Err(Failure::PeerMismatch),
            None => Ok(()),
        }
    }
}
