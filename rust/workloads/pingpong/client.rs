// SPDX-License-Identifier: GPL-2.0

//! The client's side of the ping/pong.
//!
//! Each iteration fills the source and advertises it, waits for the go-ahead that reports that it
//! was read, advertises the sink, waits for the go-ahead that reports that it was written, and
//! compares the data. The completion of a receive triggers every step.

#![forbid(unsafe_code)]

use crate::{
    engine::{
        completion::WorkCompletion,
        depths::Depths,
        histogram::new_histogram,
        limits::RECEIVES,
        outcome::Progress,
        print::Plain,
        queue::Queue,
        side::{
            Lead,
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
        command::{
            Command,
            MemMode, //
        },
        data::pattern::{
            Data,
            Pattern, //
        },
        failure::{
            Failure,
            Operation, //
        },
        measure::histogram::Histogram,
        pingpong::{
            Client,
            ClientStep, //
        },
        wire::Advertisement, //
    },
    mr::{
        inspect,
        Access,
        BufferId,
        Memory,
        RegionId, //
    },
    rdma::wr::{
        List,
        WorkRequest, //
    },
    workloads::{
        exchange::{
            memory_failed,
            Exchange, //
        },
        open_loop::OpenLoop, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Interval, in iterations, at which a SEND asks for a completion. Only a completion shows that the
/// send queue has room again.
const SIGNAL_EVERY: u64 = 7;

/// A buffer that is advertised.
struct Target {
    buffer: BufferId,
    /// `None` if the unsafe global rkey is used.
    region: Option<RegionId>,
    access: Access,
}

impl Target {
    fn new(memory: &mut Memory, command: &Command, access: Access) -> Result<Self> {
        let buffer = memory.add_buffer(command.size as usize)?;
        let region = if command.unsafe_global_rkey {
            None
        } else {
            Some(memory.add_region(buffer)?)
        };
        Ok(Self {
            buffer,
            region,
            access,
        })
    }

    fn advertisement(&self, memory: &Memory) -> Result<Advertisement, Failure> {
        match self.region {
            Some(region) => memory.remote(region),
            None => memory.remote_global(self.buffer),
        }
        .map(Advertisement::from)
        .map_err(memory_failed)
    }
}

/// The client's workload.
pub(crate) struct PingPongClient {
    exchange: Exchange,
    source: Target,
    sink: Target,
    machine: Client,
    pattern: Pattern,
    size: usize,
    count: u64,
    duration_ms: Option<u32>,
    /// Deadline of a run that is limited by time.
    until: Option<Deadline>,
    txdepth: u32,
    /// Each advertisement has its own registration (`mem_mode=reg`).
    reregister: bool,
    server_inv: bool,
    validate: bool,
    verbose: bool,
    iteration: u64,
    /// The rkey that was advertised last.
    advertised: u32,
    started_ns: u64,
    begun_ns: u64,
    ended_ns: u64,
    histogram: KBox<Histogram>,
    /// The moments at which iterations are due; `None` where each follows the one before.
    open_loop: Option<KBox<OpenLoop>>,
    /// No iteration is under way, and the next one is not due yet.
    rests: bool,
}

impl PingPongClient {
    /// Adds the buffers to `memory`. May sleep.
    #[inline(never)]
    pub(crate) fn new(
        command: &Command,
        pattern: Pattern,
        txdepth: u32,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<KBox<Self>> {
        let now = monotonic_ns();
        Ok(KBox::new(
            Self {
                exchange: Exchange::new(memory, traffic)?,
                source: Target::new(memory, command, Access::RemoteRead)?,
                sink: Target::new(memory, command, Access::RemoteWrite)?,
                machine: Client::new(command.server_inv),
                pattern,
                size: command.size as usize,
                count: command.count,
                duration_ms: command.duration_ms(),
                until: None,
                txdepth,
                reregister: command.mem_mode == MemMode::Reg,
                server_inv: command.server_inv,
                validate: command.validate,
                verbose: command.verbose,
                iteration: 0,
                advertised: 0,
                started_ns: now,
                begun_ns: now,
                ended_ns: now,
                histogram: new_histogram()?,
                open_loop: OpenLoop::of(command)?,
                rests: false,
            },
            GFP_KERNEL,
        )?)
    }

    /// Begins the next iteration if there is to be one and it is due at `now`, or finishes.
    fn proceed(&mut self, queue: &mut Queue<'_>, now: u64) -> Result<(), Failure> {
        let open_loop = self.open_loop.as_mut();
        let is_over = match open_loop.map(|open_loop| open_loop.ends(now)) {
            Some(is_over) => is_over,
            None => self.iteration > 0 && self.until.is_some_and(Deadline::passed),
        };
        let is_last = self.count != 0 && self.iteration == self.count;
        if is_over || is_last {
            queue.outcome.advance(Progress::Finished);
            return Ok(());
        }
        if let Some(open_loop) = &mut self.open_loop {
            self.rests = !open_loop.is_due(now);
            queue.outcome.rest(self.rests);
            if self.rests {
                return Ok(());
            }
            open_loop.posted(now);
        }
        self.begin(queue)
    }

    fn begin(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        queue
            .fill(self.source.buffer, &self.data())
            .map_err(memory_failed)?;
        self.machine.start();
        // In `reg` mode, the sink has been written by now, and its key is no longer needed.
        self.advertise(queue, true)
    }

    fn advertise(&mut self, queue: &mut Queue<'_>, source: bool) -> Result<(), Failure> {
        let (target, previous) = if source {
            (&self.source, &self.sink)
        } else {
            (&self.sink, &self.source)
        };
        let mut list = List::new();
        if let Some(region) = previous.region.filter(|_| self.reregister) {
            if queue.memory().is_valid(region) {
                list.push(WorkRequest::Invalidate {
                    region,
                    fence: false,
                    signaled: false,
                });
            }
        }
        if let Some(region) = target.region {
            if !queue.memory().is_valid(region) {
                list.push(WorkRequest::Register {
                    region,
                    access: target.access,
                    renew_key: false,
                    signaled: false,
                });
                // The message must contain the key that the list is about to set.
                queue.renew_key(region).map_err(memory_failed)?;
            }
        }
        let advertisement = target.advertisement(queue.memory())?;
        self.advertised = advertisement.rkey;
        self.exchange.fill(queue, &advertisement)?;
        let signaled = source && self.iteration % SIGNAL_EVERY == 0;
        list.push(self.exchange.send(None, false, signaled));
        queue.post(list.as_slice())?;
        self.exchange.count_sent();
        Ok(())
    }

    /// Returns the data of this iteration.
    fn data(&self) -> Data {
        Data::new(self.pattern, self.iteration, self.size)
    }

    fn check_sink(&self, queue: &Queue<'_>) -> Result<(), Failure> {
        let (memory, data) = (queue.memory(), self.data());
        inspect(memory, self.sink.buffer, 0, self.size, |sink| {
            inspect(memory, self.source.buffer, 0, self.size, |source| {
                data.check_echo(sink, source)
            })
        })
        .and_then(|checked| checked)
        .map_err(memory_failed)?
        .map_err(Failure::Mismatch)
    }

    fn iterated(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let now = monotonic_ns();
        let since_due = self.open_loop.as_mut().and_then(|open_loop| {
            open_loop.made_room(now);
            open_loop.ended(now, 0)
        });
        let took = since_due.unwrap_or_else(|| now.saturating_sub(self.begun_ns));
        self.histogram.record(took);
        self.exchange.traffic().ended(now, 1, Some(took));
        self.begun_ns = now;
        self.ended_ns = now;
        if self.validate {
            self.check_sink(queue)?;
            self.exchange.traffic().validated(self.size as u32);
        }
        if self.verbose {
            print_start(queue, self.sink.buffer, self.size, "ping data");
        }
        self.iteration += 1;
        self.proceed(queue, now)
    }
}

/// Number of requests that the send queue must hold: those between two completions, with two lists
/// of up to three requests in each iteration.
const SEND_DEPTH: u32 = 3 * 2 * (SIGNAL_EVERY as u32 + 1);

impl Side for PingPongClient {
    fn depths(&self) -> Depths {
        Depths::plain(self.txdepth.max(SEND_DEPTH), RECEIVES as u32)
    }

    fn prepare(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.exchange.prepare(queue)
    }

    fn is_paced(&self) -> bool {
        self.open_loop.is_some()
    }

    fn post_due(&mut self, queue: &mut Queue<'_>) -> Result<Option<u64>, Failure> {
        if self.rests {
            self.proceed(queue, monotonic_ns())?;
        }
        let begun = self.iteration + u64::from(!self.rests);
        let goes_on = !queue.outcome.ended() && (self.count == 0 || begun < self.count);
        let open_loop = self.open_loop.as_ref().filter(|_| goes_on);
        Ok(open_loop.and_then(|open_loop| open_loop.after(monotonic_ns())))
    }

    fn summary(&self) -> Summary<'_> {
        Summary {
            iterations: self.iteration,
            times: Some((self.started_ns, self.ended_ns)),
            histogram: Some(&self.histogram),
            open_loop: self.open_loop.as_ref().map(|open_loop| open_loop.figures()),
            ..Summary::default()
        }
    }
}

impl Lead for PingPongClient {
    fn start(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        self.started_ns = monotonic_ns();
        self.ended_ns = self.started_ns;
        self.exchange.traffic().measuring(self.started_ns);
        self.begun_ns = self.started_ns;
        match &mut self.open_loop {
            Some(open_loop) => open_loop.begin(self.started_ns, 0),
            None => self.until = self.duration_ms.map(Deadline::after_ms),
        }
        self.proceed(queue, self.started_ns)
    }
}

/// Compares what is at `offset` of `buffer`, a multiple of eight, with `data`.
///
/// # Errors
///
/// [`Failure::Mismatch`].
pub(crate) fn compare(
    queue: &Queue<'_>,
    buffer: BufferId,
    offset: usize,
    data: &Data,
) -> Result<(), Failure> {
    inspect(queue.memory(), buffer, offset, data.size(), |found| {
        data.check(found)
    })
    .map_err(memory_failed)?
    .map_err(Failure::Mismatch)
}

/// Logs the first bytes of a buffer, as C krping's `verbose` does.
pub(crate) fn print_start(queue: &Queue<'_>, buffer: BufferId, size: usize, what: &str) {
    let mut text = [0; 64];
    let text = text.get_mut(..size.min(64)).unwrap_or(&mut []);
    if queue.memory().read(buffer, 0, text).is_ok() {
        let text = text.split(|byte| *byte == 0).next().unwrap_or(&[]);
        pr_info!("{}: |{}|\n", what, Plain(text.escape_ascii()));
    }
}

impl Workload for PingPongClient {
    type Done = ();

    const OPERATIONS: &'static [Operation] = &[
        Operation::Send,
        Operation::Register,
        Operation::Invalidate,
        Operation::Receive,
    ];

    fn completed(&mut self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result<(), Failure> {
        if wc.op != Operation::Receive {
            return Ok(());
        }
        let message = self.exchange.receive(queue, wc)?;
        let step = self
            .machine
            .go_ahead(&message, self.advertised)
            .map_err(|violation| Failure::Protocol(violation, self.iteration))?;
        let target = match step {
            ClientStep::AdvertiseSink => &self.source,
            ClientStep::Iterated => &self.sink,
        };
        if let Some(region) = target.region.filter(|_| self.server_inv) {
            queue.invalidated(region, wc).map_err(memory_failed)?;
        }
        match step {
            ClientStep::AdvertiseSink => self.advertise(queue, false),
            ClientStep::Iterated => self.iterated(queue),
        }
    }

    fn iteration(&self) -> u64 {
        self.iteration
    }
}
