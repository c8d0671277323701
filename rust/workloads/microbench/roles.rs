// SPDX-License-Identifier: GPL-2.0

//! Implementations of [`Side`], [`Lead`] and [`Follow`], through which the threads of clients and
//! servers run a microbenchmark.

#![forbid(unsafe_code)]

use super::{
    Microbench,
    Phase,
    Work, //
};
use crate::{
    engine::{
        depths::Depths,
        queue::Queue,
        side::{
            Figures,
            Follow,
            Lead,
            Side,
            Summary, //
        }, //
    },
    logic::{
        failure::Failure,
        wire::control::Control, //
    },
    rdma::wr::List, //
};
use kernel::prelude::*;

impl Side for Microbench {
    fn depths(&self) -> Depths {
        self.plan.depths()
    }

    fn prepare(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.channel.prepare(queue)
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

    fn end(&mut self) {
        if let Work::Latency(latency) = &mut self.work {
            latency.close();
        }
    }

    fn summary(&self) -> Summary<'_> {
        let figures = |completions, posts, halvings| Figures {
            load: self.plan.load,
            txdepth: self.plan.depth(),
            warmup: self.plan.warmup(),
            completions,
            posts,
            busy_ns: self.elapsed_ns(),
            halvings,
            peer: self.peer,
        };
        match &self.work {
            Work::Latency(latency) => Summary {
                iterations: latency.iterations(),
                times: Some(latency.times()),
                stretch: latency.stretch(),
                histogram: latency.histogram(),
                figures: Some(figures(
                    latency.poster.completions(),
                    latency.poster.posts(),
                    latency.halvings(),
                )),
            },
            Work::Bandwidth(bandwidth) => Summary {
                iterations: bandwidth.iterations(),
                times: Some(bandwidth.times()),
                stretch: None,
                histogram: None,
                figures: Some(figures(
                    bandwidth.poster.completions(),
                    bandwidth.poster.posts(),
                    0,
                )),
            },
            Work::Passive => Summary {
                iterations: 0,
                times: None,
                stretch: None,
                histogram: None,
                figures: Some(figures(0, 0, 0)),
            },
        }
    }
}

impl Lead for Microbench {
    fn start(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.say_ready(queue)
    }

    fn go(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if self.phase != Phase::Running || self.has_gone {
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
