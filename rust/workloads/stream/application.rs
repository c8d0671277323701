// SPDX-License-Identifier: GPL-2.0

//! The use that a side makes of its stream: with completions, and before there are any.

#![forbid(unsafe_code)]

use super::flow::Flow;
use crate::{
    engine::{
        completion::WorkCompletion,
        queue::Queue,
        queue_pair::QueuePair,
        workload::Workload, //
    },
    kernel_ext::time::Deadline,
    logic::failure::{
        Failure,
        Operation, //
    },
    rdma::qp::Opening, //
};

/// The time between two looks for what a thread that polls finds itself, in ms.
const LOOK_MS: u32 = 1;

/// Use that a side makes of its stream.
pub(super) trait Application: Workload + Sized {
    /// Its stream.
    fn flow(&mut self) -> &mut Flow;

    /// Does what has become possible.
    fn go_on(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure>;

    /// Handles a completion.
    fn handle(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        let flow = self.flow();
        match wc.op {
            Operation::Receive if !flow.received(queue, wc)? => return Ok(()),
            Operation::Receive => {}
            Operation::Write | Operation::Send => flow.sent(wc.slot),
            Operation::Register => {
                flow.registered();
                queue.ask_for_attention();
                return Ok(());
            }
            _ => return Ok(()),
        }
        self.go_on(queue)
    }

    /// Registers the memory that the peer writes to, before there is a connection, for `timeout` ms
    /// at most; nothing where its key opens all memory. Sleeps.
    ///
    /// # Errors
    ///
    /// The failure, for which there is none.
    fn register(
        queue_pair: &QueuePair<Self>,
        opening: Opening,
        timeout: u32,
    ) -> Result<(), Failure> {
        if queue_pair.with(|side, _| side.flow().opens_all()) == Some(true) {
            return Ok(());
        }
        queue_pair.open_early(opening)?;
        let asked = queue_pair
            .with(|side, queue| side.flow().register(queue))
            .ok_or(Failure::Interrupted)??;
        let outcome = queue_pair.outcome();
        outcome.touch();
        while queue_pair.with(|side, _| !side.flow().has_registered(asked)) == Some(true) {
            outcome.settled_failure().map_or(Ok(()), Err)?;
            outcome.check_deadline("registering memory", Some(timeout))?;
            // Nobody else does where the thread is to poll.
            if queue_pair.poll(asked) == 0 {
                outcome.pause(Deadline::after_ms(LOOK_MS));
            }
        }
        queue_pair.close_early()
    }
}

/// The operations of a side.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation::Write,
    Operation::Send,
    Operation::Register,
    Operation::Receive,
];
