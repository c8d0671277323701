// SPDX-License-Identifier: GPL-2.0

//! Both sides of a stream: the client sends and the server takes, or the other way round.

#![forbid(unsafe_code)]

use super::{
    application::{
        Application,
        OPERATIONS, //
    },
    flow::Flow,
    sending::Sending,
    taking::Taking, //
};
use crate::{
    engine::{
        completion::WorkCompletion,
        depths::Depths,
        limits::QueueLimits,
        outcome::Progress,
        queue::Queue,
        queue_pair::QueuePair,
        side::{
            Follow,
            Lead,
            PrivateBytes,
            Side,
            Summary, //
        },
        traffic::Traffic,
        workload::Workload, //
    },
    kernel_ext::time::monotonic_ns,
    logic::{
        command::Command,
        failure::{
            Failure,
            Operation, //
        },
        stream::{
            hello::Hello,
            Carrier, //
        }, //
    },
    mr::Memory,
    rdma::{
        device::Transport,
        qp::Opening, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The part that a side has.
enum Part {
    Sending(Sending),
    Taking(Taking),
}

/// The workload of either side.
pub(super) struct Stream {
    flow: KBox<Flow>,
    part: Part,
    /// Both sides write directly, in turn, which only the memory shows.
    watches: bool,
    /// This side has been asked for the stream.
    is_server: bool,
}

impl Stream {
    /// Adds the buffers to `memory`, of a server for a client that has said `theirs`. May sleep.
    #[inline(never)]
    pub(super) fn new(
        command: &Command,
        theirs: Option<&Hello>,
        room: &QueueLimits,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<KBox<Self>> {
        let options = &command.stream;
        let is_server = theirs.is_some();
        let carrier = match memory.id().device()?.transport() {
            Transport::Iwarp => Carrier::Send,
            Transport::InfiniBand | Transport::Roce | Transport::Other => Carrier::Immediate,
        };
        let mut flow = Flow::new(command, carrier, theirs, room, memory, traffic)?;
        let part = match is_server == options.reverse {
            true => Part::Sending(Sending::new(command, &mut flow, memory)?),
            false => Part::Taking(Taking::new(command)),
        };
        let this = Self {
            flow,
            part,
            watches: options.iomap && options.echo,
            is_server,
        };
        Ok(KBox::new(this, GFP_KERNEL)?)
    }
}

impl Application for Stream {
    fn flow(&mut self) -> &mut Flow {
        &mut self.flow
    }

    fn go_on(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let is_done = match &mut self.part {
            Part::Sending(sending) => sending.go_on(&mut self.flow, queue),
            Part::Taking(taking) => taking.go_on(&mut self.flow, queue),
        }?;
        // What a client has sent last may not have come yet, and dies with its queue pair.
        if is_done && !self.is_server && self.flow.is_acknowledged() {
            queue.outcome.advance(Progress::Finished);
        }
        Ok(())
    }
}

impl Side for Stream {
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
        self.flow.prepare(queue)?;
        self.flow.post_receives_early(queue)
    }

    fn keepalive(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        match &self.part {
            Part::Sending(sending) if sending.rests() => self.flow.say_alive(queue),
            Part::Sending(_) | Part::Taking(_) => Ok(()),
        }
    }

    fn is_paced(&self) -> bool {
        match &self.part {
            Part::Sending(sending) => sending.is_paced(),
            Part::Taking(_) => false,
        }
    }

    fn post_due(&mut self, queue: &mut Queue<'_>) -> Result<Option<u64>, Failure> {
        match &self.part {
            Part::Sending(sending) if sending.rests() => self.go_on(queue)?,
            Part::Sending(_) | Part::Taking(_) => {}
        }
        match &self.part {
            Part::Sending(sending) if !queue.outcome.ended() => Ok(sending.after(monotonic_ns())),
            Part::Sending(_) | Part::Taking(_) => Ok(None),
        }
    }

    fn summary(&self) -> Summary<'_> {
        let iterations = self.iteration();
        match &self.part {
            Part::Sending(sending) => Summary {
                histogram: Some(sending.histogram()),
                open_loop: sending.open_loop(),
                ..self.flow.summary(iterations, Some(sending.times()))
            },
            Part::Taking(_) => self.flow.summary(iterations, self.flow.times),
        }
    }
}

impl Lead for Stream {
    // rsocket waits until its last message, which ends the stream, is acknowledged, and soft-RoCE
    // repeats that without end where nobody is there any more.
    const LINGER_MS: u32 = 200;

    fn answered(&mut self, answer: &[u8]) -> Result<bool, Failure> {
        self.flow.meet(answer).map(|()| true)
    }

    // Where both sides end the stream at the same time, rsocket disconnects before its last message
    // is sent.
    fn may_end(&self) -> bool {
        match &self.part {
            Part::Sending(sending) => sending.has_all_back(),
            Part::Taking(_) => self.flow.is_over(),
        }
    }

    fn start(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.flow.open(queue)?;
        self.go_on(queue)
    }
}

impl Follow for Stream {
    fn may_end(&self) -> bool {
        self.flow.is_over()
    }

    fn served_all(&self) -> bool {
        self.flow.is_over()
    }
}

impl Workload for Stream {
    type Done = ();

    const OPERATIONS: &'static [Operation] = OPERATIONS;

    fn completed(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        self.handle(queue, wc)
    }

    fn iteration(&self) -> u64 {
        match &self.part {
            Part::Sending(sending) => sending.finished(),
            Part::Taking(_) => self.flow.messages,
        }
    }

    fn watches(&self) -> bool {
        self.watches
    }

    fn look(&mut self, queue: &mut Queue<'_>) -> Result<bool, Failure> {
        match &mut self.part {
            Part::Sending(sending) => sending.look(&mut self.flow, queue),
            Part::Taking(taking) => taking.look(&mut self.flow, queue),
        }
    }
}
