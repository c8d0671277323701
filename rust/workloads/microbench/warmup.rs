// SPDX-License-Identifier: GPL-2.0

//! The end of the warm-up of a microbenchmark: who reports it, and who waits for it.

#![forbid(unsafe_code)]

use super::{
    Microbench,
    Phase,
    Work, //
};
use crate::{
    engine::{
        outcome::Progress,
        queue::Queue,
        workload::Workload, //
    },
    logic::{
        failure::Failure,
        wire::control::Control, //
    },
    rdma::wr::List,
};

impl Microbench {
    /// Continues after the warm-up on the side that does not lead, since the leading side measures
    /// now.
    pub(super) fn peer_goes_on(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if self.plan.leading {
            return Ok(());
        }
        self.go_on(queue)
    }

    /// Returns true if this side does nothing until [`go_on`](Self::go_on).
    pub(super) fn held(&self) -> bool {
        match &self.work {
            Work::Latency(latency) => latency.held(),
            Work::Bandwidth(bandwidth) => bandwidth.held(),
            Work::Passive => false,
        }
    }

    /// Returns true if this side and the peer have ended their warm-ups, or would with one more
    /// operation.
    fn is_warm(&self) -> bool {
        let peer_is_warm = !self.plan.load.duplex || self.peer_is_warm;
        peer_is_warm && (self.held() || self.iteration() >= self.plan.warmup())
    }

    /// Reports the end of the warm-up once: the leading side to its thread, the other side of a
    /// duplex test to the leading side. Nobody else waits for it.
    pub(super) fn say_warm(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
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
            self.channel.send(queue, &Control::Alive, List::new())?;
        }
        Ok(())
    }

    /// Continues after the warm-up. Does nothing while the peer's table has not come.
    pub(super) fn go_on(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        match &mut self.work {
            _ if !self.knows_peer => Ok(()),
            Work::Latency(latency) => latency.go(queue),
            Work::Bandwidth(bandwidth) => bandwidth.go(queue),
            Work::Passive => Ok(()),
        }
    }
}
