// SPDX-License-Identifier: GPL-2.0

//! Results of finished runs, for scripts: `results` in debugfs, one JSON object per line.
//!
//! A report is turned into text once, when its connection has ended. The last [`KEPT`] reports of
//! each [`Origin`] are kept. `docs/reference.md` describes the fields.

#![forbid(unsafe_code)]

mod trials;

use super::{
    device_counters::Moved,
    endpoint::Endpoint,
    retransmission,
    side::Figures, //
};
use crate::{
    cm::addr::SocketAddress,
    engine::print::forward_display,
    kernel_ext::time::unix_ns,
    logic::{
        command::{
            Command,
            Role,
            Test, //
        },
        conformance::trial::Trial,
        device::caps::Caps,
        failure::{
            errno,
            Failure, //
        },
        measure::{
            histogram::Histogram,
            latencies::{
                write_latency,
                write_stage, //
            },
            rate::per_second,
            schedule::OpenLoopFigures,
            series::Series,
            served::Served,
            sharing::SharingFigures,
            stats::{
                BlockFigures,
                Counters, //
            },
            usage::Usage, //
        },
        messenger::figures::MessengerFigures,
        stream::figures::StreamFigures,
        text::json::Object,
        version::VERSION,
        wire::server_port::ServerPort, //
    },
    rdma::qp::RetransmissionAttributes, //
};
use core::fmt;
use kernel::{
    new_mutex,
    prelude::*,
    str::CString,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// Number of results that are kept of each origin.
const KEPT: usize = 256;

/// Version of the format, raised when a field changes its meaning.
const SCHEMA: u32 = 1;

/// Measurement of a microbenchmark.
#[derive(Clone, Copy)]
pub(crate) struct Measured {
    /// True if this side polled for its completions.
    pub(crate) poll: bool,
    /// Load, counters and times of the microbenchmark.
    pub(crate) figures: Figures,
}

/// Result of one thread's connections.
#[derive(Clone, Copy)]
pub(crate) struct Report<'a> {
    /// Number of the command.
    pub(crate) session: u32,
    /// Number of the thread.
    pub(crate) thread: u32,
    /// `client` or `server`; `loopback` for both in one.
    pub(crate) role: &'static str,
    /// The command.
    pub(crate) command: &'a Command,
    /// Test that was run; for a server, its client chooses it.
    pub(crate) test: Test,
    /// This side's end of the connection, once the device is known.
    pub(crate) endpoint: Option<Endpoint>,
    /// Retransmission attributes of its queue pair, where the transport has them.
    pub(crate) retransmission: Option<RetransmissionAttributes>,
    /// The peer, once known.
    pub(crate) peer: Option<SocketAddress>,
    /// True if the peer did not announce itself as a krping of this kind; `None` until that is
    /// known.
    pub(crate) legacy: Option<bool>,
    /// The server's port, if it is known.
    pub(crate) server_port: Option<ServerPort>,
    /// Bytes in each direction of an iteration.
    pub(crate) size: u32,
    /// Finished iterations.
    pub(crate) iterations: u64,
    /// Time from the first post, or the end of the warm-up, to the last completion, in ns.
    pub(crate) elapsed_ns: u64,
    /// Bytes and messages that were moved.
    pub(crate) counters: Counters,
    /// Latency of each iteration, in nanoseconds.
    pub(crate) histogram: Option<&'a Histogram>,
    /// Figures of an open loop.
    pub(crate) open_loop: Option<&'a OpenLoopFigures>,
    /// Nanoseconds between the time of `start_at=` and the start, for a run that had one.
    pub(crate) late_ns: Option<u64>,
    /// Operations and latencies of each interval, if they were recorded.
    pub(crate) series: Option<&'a Series>,
    /// Measurement of a microbenchmark.
    pub(crate) measured: Option<Measured>,
    /// Figures of a stream.
    pub(crate) stream: Option<&'a StreamFigures>,
    /// Figures of a dispatcher of messages.
    pub(crate) messenger: Option<&'a MessengerFigures>,
    /// CPU time and context switches of the thread.
    pub(crate) usage: Option<&'a Usage>,
    /// The counters of the device and its port that have moved meanwhile.
    pub(crate) device_counters: Option<&'a Moved>,
    /// Events of the completion queues, for a run that counts them.
    pub(crate) events: Option<u64>,
    /// Figures of the shared receive queue that a server's connection took part in.
    pub(crate) sharing: Option<&'a SharingFigures>,
    /// Sums over the connections that the server has served until then.
    pub(crate) served: Option<&'a Served>,
    /// Figures of a disk, a tap or a server of one.
    pub(crate) block: Option<BlockFigures>,
    /// Latency of each request of a disk or tap in nanoseconds, by stage.
    pub(crate) stages: &'a [(&'static str, &'a Histogram)],
    /// Capabilities of the device, for commands that ask for them.
    pub(crate) caps: Option<&'a Caps>,
    /// State of a disk: it has just come, or is gone.
    pub(crate) state: Option<&'static str>,
    /// Results of conformance tests.
    pub(crate) trials: Option<&'a [Trial]>,
    /// True if the connection to this server never came up.
    pub(crate) refused: bool,
    /// Reason for the failure, if the run failed.
    pub(crate) failure: Option<Failure>,
}

/// Origin of a result. A new result displaces only results of the same origin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// A command of this host.
    Own,
    /// A client that a local server served.
    Served,
    /// A connection that never came up. Anybody who can reach a server's port can cause these.
    Refused,
}

impl Origin {
    const COUNT: usize = 3;
}

impl<'a> Report<'a> {
    /// Creates the report of a connection of `thread` that has not started.
    pub(crate) fn new(session: u32, thread: u32, role: &'static str, command: &'a Command) -> Self {
        Self {
            session,
            thread,
            role,
            command,
            test: command.test,
            endpoint: None,
            retransmission: None,
            peer: None,
            legacy: None,
            server_port: None,
            size: command.size,
            iterations: 0,
            elapsed_ns: 0,
            counters: Counters::default(),
            histogram: None,
            open_loop: None,
            late_ns: None,
            series: None,
            measured: None,
            stream: None,
            messenger: None,
            usage: None,
            device_counters: None,
            events: None,
            sharing: None,
            served: None,
            block: None,
            stages: &[],
            caps: None,
            state: None,
            trials: None,
            refused: false,
            failure: None,
        }
    }

    fn origin(&self) -> Origin {
        if self.refused || matches!(self.failure, Some(Failure::Rejected(..))) {
            Origin::Refused
        } else if self.command.role == Role::Server {
            Origin::Served
        } else {
            Origin::Own
        }
    }

    /// Returns the finished iterations per second.
    fn rate(&self) -> u64 {
        per_second(self.iterations, self.elapsed_ns)
    }

    /// Returns the bytes per second of a microbenchmark's operations.
    pub(crate) fn bandwidth(&self) -> u64 {
        per_second(self.moved(), self.elapsed_ns)
    }

    /// Returns the bytes of the finished iterations.
    fn moved(&self) -> u64 {
        let mixed = self.measured.as_ref();
        let mixed = mixed.and_then(|measured| measured.figures.bytes);
        mixed.unwrap_or_else(|| self.bytes(self.iterations))
    }

    fn bytes(&self, iterations: u64) -> u64 {
        iterations.saturating_mul(u64::from(self.size))
    }

    fn write(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let mut object = Object::new(out)?;
        object
            .num("schema", SCHEMA)?
            .str("version", VERSION)?
            .num("ended_unix_ns", unix_ns())?
            .num("id", self.session)?
            .num("thread", self.thread)?
            .str("tag", self.command.tag.as_str())?
            .str("role", self.role)?
            .str("test", self.test.as_str())?;
        if let Some(endpoint) = &self.endpoint {
            endpoint.write(&mut object)?;
        }
        if let Some(attributes) = &self.retransmission {
            retransmission::write(attributes, &mut object)?;
        }
        if let Some((ip, port)) = self.peer.and_then(|peer| Some((peer.ip()?, peer.port()))) {
            object.str("peer", ip)?.num("peer_port", port)?;
        }
        if let Some(legacy) = self.legacy {
            object.str("peer_kind", if legacy { "legacy" } else { "krping" })?;
        }
        if let Some(port) = &self.server_port {
            port.write(&mut object)?;
        }
        if let Some(node) = self.command.node {
            object.num("node", node)?;
        }
        object.str("options", self.command)?.str(
            "status",
            if self.failure.is_none() {
                "ok"
            } else {
                "failed"
            },
        )?;
        if let Some(failure) = &self.failure {
            let number = failure.errno();
            object
                .str("errno", errno::name(number).unwrap_or("unknown"))?
                .num("errno_number", number)?
                .str("reason", failure)?;
            // A microbenchmark compares its data after the measurement, so its figures are
            // complete.
            let compared = self.measured.is_some() && matches!(failure, Failure::Mismatch(_));
            if self.iterations > 0 && !failure.is_verdict() && !compared {
                object.bool("partial", true)?;
            }
        }
        object
            .num("size", self.size)?
            .num("iterations", self.iterations)?
            .num("elapsed_ns", self.elapsed_ns)?
            .num("iterations_per_s", self.rate())?;
        if let Some(late_ns) = self.late_ns {
            object.num("start_late_ns", late_ns)?;
        }
        let counters = &self.counters;
        object
            .num("send_bytes", counters.send_bytes)?
            .num("send_msgs", counters.send_msgs)?
            .num("recv_bytes", counters.recv_bytes)?
            .num("recv_msgs", counters.recv_msgs)?
            .num("write_bytes", counters.write_bytes)?
            .num("write_msgs", counters.write_msgs)?
            .num("read_bytes", counters.read_bytes)?
            .num("read_msgs", counters.read_msgs)?;
        self.write_validated(&mut object)?;
        if let Some(measured) = &self.measured {
            self.write_measured(&mut object, measured)?;
        }
        if let Some((rate, open_loop)) = self.command.rate.zip(self.open_loop) {
            open_loop.write(rate, &mut object)?;
        }
        if let Some(figures) = self.stream {
            figures.write(&mut object, self.elapsed_ns)?;
        }
        if let Some(figures) = self.messenger {
            figures.write(&mut object, self.elapsed_ns)?;
        }
        if let Some(events) = self.events {
            object.num("events", events)?;
        }
        if let Some(figures) = self.sharing {
            figures.write(&mut object)?;
        }
        if let Some(served) = self.served {
            served.write(&mut object)?;
        }
        if let Some(usage) = self.usage {
            usage.write(&mut object)?;
        }
        if let Some(moved) = self.device_counters {
            moved.write(&mut object)?;
        }
        if let Some(figures) = &self.block {
            self.write_block(&mut object, figures)?;
        }
        if let Some(caps) = self.caps {
            caps.write(&mut object)?;
        }
        if let Some(histogram) = self.histogram.filter(|histogram| histogram.count() > 0) {
            write_latency(&mut object, histogram)?;
        }
        if let Some(series) = self.series {
            series.write(&mut object)?;
        }
        if let Some(trials) = self.trials {
            let mut cases = object.array("cases")?;
            for trial in trials {
                trials::write_trial(&mut cases, trial)?;
            }
            cases.finish()?;
        }
        object.finish()
    }

    /// Writes how much data was compared with what was sent, where some was, or should have been.
    fn write_validated(&self, object: &mut Object<'_>) -> fmt::Result {
        let counters = &self.counters;
        let peer = self.measured.and_then(|found| found.figures.peer_mismatch);
        let wrong = matches!(self.failure, Some(Failure::Mismatch(_)));
        if !(self.command.validate || wrong || counters.validated_msgs > 0) {
            return Ok(());
        }
        let mut validated = object.object("validated")?;
        validated
            .num("msgs", counters.validated_msgs)?
            .num("bytes", counters.validated_bytes)?
            .num("wrong", u32::from(wrong))?;
        if let Some(mismatch) = peer {
            validated.str("peer", if mismatch { "wrong" } else { "right" })?;
        }
        validated.finish()
    }

    fn write_block(&self, object: &mut Object<'_>, figures: &BlockFigures) -> fmt::Result {
        if let Some(state) = self.state {
            object.str("state", state)?;
        }
        if let Some(number) = figures.disk {
            object
                .str("disk", format_args!("krping{number}"))?
                .num("disk_id", number)?;
        }
        object
            .num("size_bytes", figures.size)?
            .num("requests", figures.requests)?
            .num("read_requests", figures.reads)?
            .num("write_requests", figures.writes)?
            .num("other_requests", figures.others)?
            .num("disk_read_bytes", figures.read_bytes)?
            .num("disk_write_bytes", figures.write_bytes)?
            .num("errors", figures.errors)?
            .num("reconnects", figures.reconnects)?
            .num("dropped", figures.dropped)?;
        for (name, stage) in self.stages {
            write_stage(object, name, stage)?;
        }
        Ok(())
    }

    fn write_measured(&self, object: &mut Object<'_>, measured: &Measured) -> fmt::Result {
        let figures = &measured.figures;
        let load = &figures.load;
        object
            .num("bytes", self.moved())?
            .num("bytes_per_s", self.bandwidth())?
            .num("warmup", figures.warmup)?
            .num("completions", figures.completions)?
            .num("posts", figures.posts)?
            .num("qps", load.qps)?
            .num("txdepth", figures.txdepth)?
            .num("recvs", figures.recvs)?
            .num("postlist", load.postlist)?
            .num("signal_every", load.signal_every)?
            .num("sge", load.sge)?
            .num("buffers", load.buffers)?
            .num("mrs", load.mrs)?
            .bool("poll", measured.poll)?
            .bool("inline", load.inline)?
            .bool("imm", load.imm)?
            .bool("duplex", load.duplex)?
            .bool("untimed", load.untimed)?;
        if let Some(loss) = &figures.loss {
            object.str("qp", loss.service.as_str())?;
            loss.write(object)?;
        }
        if let Some((iterations, elapsed_ns)) = figures.peer {
            let bytes = figures.peer_bytes.unwrap_or(self.bytes(iterations));
            let bandwidth = per_second(bytes, elapsed_ns);
            object
                .num("peer_iterations", iterations)?
                .num("peer_elapsed_ns", elapsed_ns)?
                .num("peer_bytes_per_s", bandwidth)?;
            if load.duplex {
                // Both sides begin together; the side that ends later had the link to itself at the
                // end.
                let both = self.bytes(self.iterations.saturating_add(iterations));
                let total = per_second(both, self.elapsed_ns.max(elapsed_ns));
                object.num("total_bytes_per_s", total)?;
            }
        }
        if load.untimed && self.iterations > 0 {
            let mean = figures.busy_ns.checked_div(self.iterations).unwrap_or(0);
            object.num("mean_ns", mean.checked_shr(figures.halvings).unwrap_or(0))?;
        }
        Ok(())
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

forward_display!(Report<'_>);

/// The last finished runs of each origin, oldest first.
#[pin_data]
pub(crate) struct Results {
    #[pin]
    lines: Mutex<KVec<(Origin, CString)>>,
}

impl Results {
    /// Creates an empty list with room for all results that it will keep.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let lines = KVec::with_capacity(KEPT * Origin::COUNT, GFP_KERNEL)?;
        Arc::pin_init(
            pin_init!(Self {
                lines <- new_mutex!(lines, "krping_results"),
            }),
            GFP_KERNEL,
        )
    }

    /// Stores a report, and drops the oldest one of its origin if there are too many. Without
    /// memory for its text, the report is only missing from the list. May sleep.
    pub(crate) fn add(&self, report: &Report<'_>) {
        let Ok(line) = CString::try_from_fmt(kernel::prelude::fmt!("{}", report)) else {
            pr_warn!("{}: no memory to keep the result\n", report.session);
            return;
        };
        let mut lines = self.lines.lock();
        let origin = report.origin();
        let alike = |(each, _): &(Origin, CString)| *each == origin;
        if lines.iter().filter(|line| alike(line)).count() >= KEPT {
            if let Some(oldest) = lines.iter().position(alike) {
                // The index was found under the same lock.
                let _ = lines.remove(oldest);
            }
        }
        // Room for `KEPT` of each origin was reserved, so this does not fail.
        let _ = lines.push_within_capacity((origin, line));
    }

    /// Prints the list. May sleep.
    pub(crate) fn show(&self, out: &mut kernel::fmt::Formatter<'_>) -> kernel::fmt::Result {
        for (_, line) in self.lines.lock().iter() {
            out.write_str(line.to_str().map_err(|_| kernel::fmt::Error)?)?;
            out.write_str("\n")?;
        }
        Ok(())
    }
}
