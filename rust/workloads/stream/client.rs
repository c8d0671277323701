// SPDX-License-Identifier: GPL-2.0

//! The client of streams: sends bytes, and may wait until the server has sent them back.

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
        histogram::new_histogram,
        limits::QueueLimits,
        outcome::Progress,
        queue::Queue,
        queue_pair::QueuePair,
        side::{
            Lead,
            PrivateBytes,
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
        command::Command,
        failure::{
            Failure,
            Operation, //
        },
        measure::histogram::Histogram,
        stream::violation::Violation, //
    },
    mr::Memory,
    rdma::qp::Opening, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The client's workload.
pub(super) struct StreamClient {
    flow: Flow,
    /// Bytes of each write.
    size: u32,
    count: u64,
    duration_ms: Option<u32>,
    /// Deadline of a run that is limited by time.
    until: Option<Deadline>,
    /// The server sends back what it receives.
    echo: bool,
    begun: u64,
    finished: u64,
    /// Bytes of the write that is under way which are not posted.
    left: u32,
    /// Bytes that the server still has to send back.
    awaited: u32,
    /// The time at which the write under way began.
    begun_ns: u64,
    started_ns: u64,
    ended_ns: u64,
    /// Half of the time of each round trip.
    histogram: KBox<Histogram>,
}

impl StreamClient {
    /// Adds the buffers to `memory`. May sleep.
    #[inline(never)]
    pub(super) fn new(
        command: &Command,
        room: &QueueLimits,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<KBox<Self>> {
        let mut flow = Flow::new(command, None, room, memory, traffic)?;
        flow.buffers.add_content(memory)?;
        let this = Self {
            flow,
            size: command.size,
            count: command.count,
            duration_ms: command.duration_ms(),
            until: None,
            echo: command.stream.echo,
            begun: 0,
            finished: 0,
            left: 0,
            awaited: 0,
            begun_ns: 0,
            started_ns: 0,
            ended_ns: 0,
            histogram: new_histogram()?,
        };
        Ok(KBox::new(this, GFP_KERNEL)?)
    }

    /// Returns true where no write is under way.
    fn is_idle(&self) -> bool {
        self.left == 0 && self.awaited == 0
    }

    /// Returns true where all writes are done.
    fn is_done(&self) -> bool {
        let is_last = self.count != 0 && self.begun == self.count;
        self.is_idle() && (is_last || self.until.is_some_and(Deadline::passed))
    }

    /// Begins another write, if there is to be one. Returns true where one is under way.
    fn begins(&mut self) -> bool {
        if !self.is_idle() {
            return true;
        }
        if self.is_done() {
            return false;
        }
        self.begun += 1;
        self.left = self.size;
        if self.echo {
            self.awaited = self.size;
            self.begun_ns = monotonic_ns();
        }
        true
    }

    /// Takes what the server has sent back.
    fn take_back(&mut self) -> Result<(), Failure> {
        let receiver = &mut self.flow.endpoint.receiver;
        let came = receiver.unread();
        receiver.read(came);
        if came > self.awaited.saturating_sub(self.left) {
            return Err(Failure::Stream(Violation::Unasked(came)));
        }
        self.awaited -= came;
        if came > 0 && self.awaited == 0 {
            let now = monotonic_ns();
            self.histogram.record(now.saturating_sub(self.begun_ns) / 2);
            self.ended_ns = now;
            self.finished += 1;
        }
        Ok(())
    }

    /// Sends whatever can be sent, and ends the stream behind the last byte.
    fn send(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        while self.begins() {
            if self.left == 0 {
                return Ok(());
            }
            let source = Source::Content(self.flow.position());
            let sent = self.flow.send(queue, source, self.left)?;
            if sent == 0 {
                return Ok(());
            }
            self.left -= sent;
            if self.left == 0 && !self.echo {
                self.finished += 1;
            }
        }
        if !self.flow.endpoint.sender.is_idle() {
            return Ok(());
        }
        if !self.echo && self.flow.endpoint.control.sends() {
            self.ended_ns = monotonic_ns();
        }
        self.flow.end(queue)
    }
}

impl Application for StreamClient {
    fn flow(&mut self) -> &mut Flow {
        &mut self.flow
    }

    fn go_on(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.take_back()?;
        self.flow.grant(queue)?;
        if self.flow.is_over() {
            if !self.is_done() {
                return Err(Failure::Disconnected);
            }
            queue.outcome.advance(Progress::Finished);
            return Ok(());
        }
        self.send(queue)
    }
}

impl Side for StreamClient {
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
        self.flow.buffers.fill_content(queue)
    }

    fn summary(&self) -> Summary<'_> {
        Summary {
            histogram: Some(&self.histogram),
            ..self
                .flow
                .summary(self.finished, Some((self.started_ns, self.ended_ns)))
        }
    }
}

impl Lead for StreamClient {
    // rsocket waits until its last message, which ends the stream, is acknowledged, and soft-RoCE
    // repeats that without end where nobody is there any more.
    const LINGER_MS: u32 = 200;

    fn answered(&mut self, answer: &[u8]) -> Result<bool, Failure> {
        self.flow.meet(answer).map(|()| true)
    }

    fn start(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.started_ns = monotonic_ns();
        self.ended_ns = self.started_ns;
        self.until = self.duration_ms.map(Deadline::after_ms);
        // What comes before waits at the server, which finds no receive.
        self.flow.post_receives(queue)?;
        self.send(queue)
    }
}

impl Workload for StreamClient {
    type Done = ();

    const OPERATIONS: &'static [Operation] = OPERATIONS;

    fn completed(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        self.handle(queue, wc)
    }

    fn iteration(&self) -> u64 {
        self.finished
    }
}
