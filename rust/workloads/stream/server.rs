// SPDX-License-Identifier: GPL-2.0

//! The server of streams: takes the bytes that come, and may send them back.

#![forbid(unsafe_code)]

use super::{
    flow::{
        Application,
        Flow,
        OPERATIONS, //
    },
    memory::Source, //
};
use crate::{
    engine::{
        completion::WorkCompletion,
        depths::Depths,
        limits::QueueLimits,
        queue::Queue,
        queue_pair::QueuePair,
        side::{
            Follow,
            PrivateBytes,
            Side,
            Summary, //
        },
        traffic::Traffic,
        workload::Workload, //
    },
    logic::{
        command::Command,
        failure::{
            Failure,
            Operation, //
        },
        stream::hello::Hello, //
    },
    mr::Memory,
    rdma::qp::Opening, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The server's workload.
pub(super) struct StreamServer {
    flow: Flow,
    /// Sends back what comes.
    echo: bool,
}

impl StreamServer {
    /// Adds the buffers for a client that has said `theirs` to `memory`. May sleep.
    #[inline(never)]
    pub(super) fn new(
        command: &Command,
        theirs: &Hello,
        room: &QueueLimits,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<KBox<Self>> {
        let this = Self {
            flow: Flow::new(command, Some(theirs), room, memory, traffic)?,
            echo: command.stream.echo,
        };
        Ok(KBox::new(this, GFP_KERNEL)?)
    }
}

impl Application for StreamServer {
    fn flow(&mut self) -> &mut Flow {
        &mut self.flow
    }

    fn go_on(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let flow = &mut self.flow;
        while let Some(piece) = flow.endpoint.receiver.readable() {
            let taken = match self.echo {
                true => flow.send(queue, Source::Ring(piece.offset), piece.len)?,
                false => piece.len,
            };
            if taken == 0 {
                break;
            }
            flow.endpoint.receiver.read(taken);
        }
        flow.grant(queue)?;
        // The client has ended its direction, and everything is sent.
        match flow.endpoint.control.receives() || flow.endpoint.receiver.unread() != 0 {
            true => Ok(()),
            false => flow.end(queue),
        }
    }
}

impl Side for StreamServer {
    fn depths(&self) -> Depths {
        self.flow.depths()
    }

    fn early(queue_pair: &QueuePair<Self>, opening: Opening, timeout: u32) -> Result<(), Failure> {
        Self::register(queue_pair, opening, timeout)
    }

    fn hello(&self) -> Option<PrivateBytes> {
        Some(self.flow.hello())
    }

    fn prepare(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.flow.post_receives(queue)
    }

    fn summary(&self) -> Summary<'_> {
        self.flow.summary(self.flow.messages, self.flow.times)
    }
}

impl Follow for StreamServer {
    fn may_end(&self) -> bool {
        self.flow.is_over()
    }

    fn served_all(&self) -> bool {
        self.flow.is_over()
    }
}

impl Workload for StreamServer {
    type Done = ();

    const OPERATIONS: &'static [Operation] = OPERATIONS;

    fn completed(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        self.handle(queue, wc)
    }

    fn iteration(&self) -> u64 {
        self.flow.messages
    }
}
