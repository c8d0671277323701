// SPDX-License-Identifier: GPL-2.0

//! What one command asks for.
//!
//! [`Order::parse`] makes a [`Command`] of what was written to `/proc/krping`, or a [`ParseError`]
//! that says in a sentence what was wrong:
//!
//! ```text
//! client,addr=192.0.2.1,port=9999,count=100,size=4K,mem_mode=reg,server_inv,validate
//! ```
//!
//! A `Command` is complete and free of contradictions: nothing after it has to check its fields
//! against each other again. Its `Display` is the shortest command that means the same.
//!
//! [`ParseError`]: parse_error::ParseError

pub(crate) mod addr;
pub(crate) mod allow;
pub(crate) mod block_options;
pub(crate) mod cpus;
pub(crate) mod order;
pub(crate) mod parse;
pub(crate) mod parse_error;
pub(crate) mod value;

pub(crate) use super::{
    conformance::CaseSet,
    data::pattern::PatternKind,
    spec::{
        load::Load,
        tests::Test, //
    },
    text::{
        Comm,
        PathName,
        Tag, //
    }, //
};
pub(crate) use addr::Addr;
pub(crate) use allow::AllowList;
pub(crate) use block_options::{
    BlockOptions,
    StoreName, //
};
pub(crate) use cpus::CpuList;
pub(crate) use order::{
    Order,
    Target, //
};

use super::failure::{
    errno,
    Failure, //
};
use core::fmt;

/// Whose part of the test to play.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Connect to a server, and lead.
    Client,
    /// Wait for a client, and follow it.
    Server,
    /// Both, in one command.
    Loopback,
}

impl Role {
    /// Its name in commands and results.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Loopback => "loopback",
        }
    }
}

/// How buffers are opened to the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemMode {
    /// One registration for the whole session.
    Dma,
    /// A registration with a new key for each advertisement.
    Reg,
}

impl MemMode {
    /// Its name in commands and results.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Dma => "dma",
            Self::Reg => "reg",
        }
    }
}

/// The limits and defaults of options that take a number.
pub(crate) mod limits {
    use core::ops::RangeInclusive;

    /// Without `port=`.
    pub(crate) const DEFAULT_PORT: u16 = 9999;
    /// Without `port=` for a loopback: the kernel picks a free one.
    pub(crate) const ANY_PORT: u16 = 0;
    /// Without `size=`.
    pub(crate) const DEFAULT_SIZE: u32 = 64;
    /// Without `txdepth=`.
    pub(crate) const DEFAULT_TXDEPTH: u32 = 64;
    /// The most that `txdepth=` takes.
    pub(crate) const MOST_TXDEPTH: u32 = 65536;
    /// The most that `sge=` takes.
    pub(crate) const MOST_SGE: u32 = 16;
    /// The most that `qps=` takes.
    pub(crate) const MOST_QPS: u32 = 256;
    /// The most that `depth=` takes.
    pub(crate) const MOST_DEPTH: u32 = 1024;

    pub(crate) const PORT: RangeInclusive<u64> = 1..=65535;
    pub(crate) const COUNT: RangeInclusive<u64> = 0..=u64::MAX;
    pub(crate) const SIZE: RangeInclusive<u64> = 1..=0xffff_ffff;
    pub(crate) const MAX_MEMORY: RangeInclusive<u64> = 4096..=u64::MAX;
    pub(crate) const TOS: RangeInclusive<u64> = 0..=255;
    pub(crate) const TXDEPTH: RangeInclusive<u64> = 1..=MOST_TXDEPTH as u64;
    pub(crate) const THREADS: RangeInclusive<u64> = 1..=1024;
    pub(crate) const TIMEOUT_MS: RangeInclusive<u64> = 1..=3_600_000;
    /// A third of a timeout.
    pub(crate) const ALIVE_MS: RangeInclusive<u64> = 1..=1_200_000;
    pub(crate) const DURATION_S: RangeInclusive<u64> = 1..=86400;
    pub(crate) const QPS: RangeInclusive<u64> = 1..=MOST_QPS as u64;
    pub(crate) const POSTLIST: RangeInclusive<u64> = 1..=1024;
    pub(crate) const SIGNAL_EVERY: RangeInclusive<u64> = 1..=1024;
    pub(crate) const SGE: RangeInclusive<u64> = 1..=MOST_SGE as u64;
    pub(crate) const MAX_P99_NS: RangeInclusive<u64> = 1..=1_000_000_000_000;
    /// Without `queues=`.
    pub(crate) const DEFAULT_QUEUES: u16 = 1;
    /// Without `depth=`.
    pub(crate) const DEFAULT_DEPTH: u16 = 128;
    /// Without `reconnect=`.
    pub(crate) const DEFAULT_RECONNECT_S: u32 = 30;
    /// Without `size=` for a tap.
    pub(crate) const DEFAULT_RING: u64 = 16 << 20;
    /// What the size of a store is a multiple of.
    pub(crate) const SECTOR: u64 = 512;
    /// The most bytes of a disk: the kernel has signed offsets.
    pub(crate) const MOST_BYTES: u64 = (i64::MAX as u64) & !(SECTOR - 1);

    pub(crate) const STORE: RangeInclusive<u64> = 4096..=MOST_BYTES;
    pub(crate) const RING: RangeInclusive<u64> = 1 << 20..=1 << 30;
    pub(crate) const QUEUES: RangeInclusive<u64> = 1..=64;
    pub(crate) const DEPTH: RangeInclusive<u64> = 1..=MOST_DEPTH as u64;
    pub(crate) const RECONNECT_S: RangeInclusive<u64> = 0..=86400;
    pub(crate) const REQUEST_TIMEOUT_S: RangeInclusive<u64> = 0..=86400;
    pub(crate) const DISK: RangeInclusive<u64> = 0..=0xffff_ffff;
    pub(crate) const MIN_BW: RangeInclusive<u64> = 1..=u64::MAX;
}

/// One command, complete and consistent.
///
/// # Invariants
///
/// - A client and a loopback have an address.
/// - `server_inv` and `read_inv` are not both set, and need [`MemMode::Reg`].
/// - `detach` is set for a server, or a client's or loopback's disk only.
/// - `unsafe_global_rkey` is not set with [`MemMode::Reg`].
/// - `persist`, `allow` and `max_memory` are set for a server only, and [`Test::FastReg`] is never
///   a server's.
/// - `load` suits the test and the size. That of a client's or loopback's [`Test::WriteLatency`]
///   has `imm` unless `poll` is set.
/// - A microbenchmark has [`MemMode::Dma`], and one of latency no `validate`.
/// - `block` suits the role and the test. What a disk or tap does not take has its default, which
///   goes for `count` where it is no tap's client, and for `threads` where it is no server.
/// - [`Test::Caps`] is a client's, and all but the address, `timeout_ms`, `expect` and `tag` have
///   their defaults.
/// - [`Test::Conformance`] is a loopback's, and has `cases`; no other test has any.
/// - `max_p99_ns` and `min_bw` are set for tests only that measure the latency or the bandwidth, or
///   for a server that leaves the test to its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    /// Whose part to play.
    pub(crate) role: Role,
    /// What to do. A server's [`Test::PingPong`] is whatever its client asks for.
    pub(crate) test: Test,
    /// The server's address; a server without one listens on all of IPv4.
    pub(crate) addr: Option<Addr>,
    /// The server's port; 0 is a free one, for a loopback only.
    pub(crate) port: u16,
    /// How many iterations; 0 is until stopped.
    pub(crate) count: u64,
    /// After how many seconds to stop.
    pub(crate) duration_s: Option<u32>,
    /// Bytes of data in each iteration; 0 for [`Test::Caps`], and for a disk or tap, which have
    /// [`BlockOptions::bytes`].
    pub(crate) size: u32,
    /// How a microbenchmark loads the connection.
    pub(crate) load: Load,
    /// Log the data of each iteration.
    pub(crate) verbose: bool,
    /// Compare what came back with what was sent.
    pub(crate) validate: bool,
    /// The server invalidates the client's key with its go-ahead.
    pub(crate) server_inv: bool,
    /// The server invalidates its key with its READ.
    pub(crate) read_inv: bool,
    /// Local access uses the device's local DMA key.
    pub(crate) local_dma_lkey: bool,
    /// Spin on completions.
    pub(crate) poll: bool,
    /// Serve one client after the other until stopped.
    pub(crate) persist: bool,
    /// The client addresses that a server accepts.
    pub(crate) allow: AllowList,
    /// The most that the buffers of all of a server's connections take, in bytes.
    pub(crate) max_memory: Option<u64>,
    /// The server or the disk goes on when the command is done.
    pub(crate) detach: bool,
    /// Open all memory to the peer.
    pub(crate) unsafe_global_rkey: bool,
    /// How buffers are opened to the peer.
    pub(crate) mem_mode: MemMode,
    /// The IP type of service of the connection.
    pub(crate) tos: Option<u8>,
    /// Depth of the send queue.
    pub(crate) txdepth: u32,
    /// How many connections at once.
    pub(crate) threads: u32,
    /// The deadline of each wait, in milliseconds, where not the default.
    pub(crate) timeout_ms: Option<u32>,
    /// On which CPUs the threads run.
    pub(crate) cpus: CpuList,
    /// Fail where the 99th percentile of the latency is above this.
    pub(crate) max_p99_ns: Option<u64>,
    /// Fail where the bandwidth is below this, in bytes per second.
    pub(crate) min_bw: Option<u64>,
    /// Fail where the run does not end so: with this errno, or well for 0.
    pub(crate) expect: Option<i32>,
    /// What data to send.
    pub(crate) pattern: PatternKind,
    /// Copied to the result.
    pub(crate) tag: Tag,
    /// Of a disk, a tap, or the server of one.
    pub(crate) block: BlockOptions,
    /// Which conformance tests to run.
    pub(crate) cases: CaseSet,
}

impl Command {
    /// A command of that role with every default; it has no address yet.
    pub(crate) const fn new(role: Role) -> Self {
        Self {
            role,
            test: Test::PingPong,
            addr: None,
            port: match role {
                Role::Loopback => limits::ANY_PORT,
                Role::Client | Role::Server => limits::DEFAULT_PORT,
            },
            count: 0,
            duration_s: None,
            size: limits::DEFAULT_SIZE,
            load: Load::new(Test::PingPong),
            verbose: false,
            validate: false,
            server_inv: false,
            read_inv: false,
            local_dma_lkey: false,
            poll: false,
            persist: false,
            allow: AllowList::ALL,
            max_memory: None,
            detach: false,
            unsafe_global_rkey: false,
            mem_mode: MemMode::Dma,
            tos: None,
            txdepth: limits::DEFAULT_TXDEPTH,
            threads: 1,
            timeout_ms: None,
            cpus: CpuList::EMPTY,
            max_p99_ns: None,
            min_bw: None,
            expect: None,
            pattern: PatternKind::Text,
            tag: Tag::EMPTY,
            block: BlockOptions::NONE,
            cases: CaseSet::EMPTY,
        }
    }

    /// When to stop, in milliseconds.
    pub(crate) fn duration_ms(&self) -> Option<u32> {
        self.duration_s.map(|s| s.saturating_mul(1000))
    }

    /// What becomes of a run that ended with `result`: the failure that was
    /// expected, or `None` where it ended well.
    ///
    /// # Errors
    ///
    /// The failure, or [`Failure::Unexpected`] where one was expected that did not come.
    pub(crate) fn judge(&self, result: Result<(), Failure>) -> Result<Option<Failure>, Failure> {
        match (self.expect.filter(|number| *number != 0), result) {
            (None, result) => result.map(|()| None),
            (Some(number), Ok(())) => Err(Failure::Unexpected(number)),
            (Some(number), Err(failure)) if failure.errno() == number => Ok(Some(failure)),
            (Some(_), Err(failure)) => Err(failure),
        }
    }

    /// Whether its WRITEs carry immediate data without being asked to.
    ///
    /// One who does not poll waits for a completion, and a WRITE without it raises none.
    pub(crate) fn needs_imm(&self) -> bool {
        self.test.shows_in_memory() && self.role != Role::Server && !self.poll
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self::new(self.role);
        let load = &self.load;
        let default_load = Load::new(self.test);

        // Some tests imply their role.
        match self.test {
            Test::Caps => f.write_str(self.test.as_str())?,
            Test::Conformance => write!(f, "neg={}", self.cases)?,
            _ => f.write_str(self.role.as_str())?,
        }
        match &self.addr {
            Some(addr @ Addr::V4(_)) => write!(f, ",addr={addr}")?,
            Some(addr @ Addr::V6 { .. }) => write!(f, ",addr6={addr}")?,
            None => (),
        }
        if self.port != default.port {
            write!(f, ",port={}", self.port)?;
        }
        if self.count != default.count {
            write!(f, ",count={}", self.count)?;
        }
        if let Some(seconds) = self.duration_s {
            write!(f, ",duration={seconds}")?;
        }
        self.block.show(self.role, self.test, f)?;
        if self.size != default.size && self.test.has_size() {
            write!(f, ",size={}", self.size)?;
        }
        if self.mem_mode != default.mem_mode {
            write!(f, ",mem_mode={}", self.mem_mode.as_str())?;
        }
        let flags = [
            ("fr", self.test == Test::FastReg),
            (self.test.as_str(), self.test.is_microbench()),
            ("duplex", load.duplex),
            ("inline", load.inline),
            ("imm", load.imm && !self.needs_imm()),
            ("untimed", load.untimed),
            ("verbose", self.verbose),
            ("validate", self.validate),
            ("server_inv", self.server_inv),
            ("read_inv", self.read_inv),
            ("local_dma_lkey", self.local_dma_lkey),
            ("unsafe_global_rkey", self.unsafe_global_rkey),
            ("poll", self.poll),
            ("persist", self.persist),
            ("detach", self.detach),
        ];
        for (name, set) in flags {
            if set {
                write!(f, ",{name}")?;
            }
        }
        let numbers = [
            ("qps", load.qps, default_load.qps),
            ("postlist", load.postlist, default_load.postlist),
            ("signal_every", load.signal_every, default_load.signal_every),
            ("sge", load.sge.into(), default_load.sge.into()),
        ];
        for (name, number, default) in numbers {
            if number != default {
                write!(f, ",{name}={number}")?;
            }
        }
        if !self.allow.is_all() {
            write!(f, ",allow={}", self.allow)?;
        }
        if let Some(bytes) = self.max_memory {
            write!(f, ",max_memory={bytes}")?;
        }
        if let Some(tos) = self.tos {
            write!(f, ",tos={tos}")?;
        }
        if self.txdepth != default.txdepth {
            write!(f, ",txdepth={}", self.txdepth)?;
        }
        if self.threads != default.threads {
            write!(f, ",threads={}", self.threads)?;
        }
        if let Some(ms) = self.timeout_ms {
            write!(f, ",timeout={ms}")?;
        }
        if !self.cpus.is_empty() {
            write!(f, ",cpu={}", self.cpus)?;
        }
        if let Some(ns) = self.max_p99_ns {
            write!(f, ",max_p99={ns}")?;
        }
        if let Some(rate) = self.min_bw {
            write!(f, ",min_bw={rate}")?;
        }
        if let Some(number) = self.expect {
            write!(f, ",expect={}", errno::name(number).unwrap_or("ok"))?;
        }
        if self.pattern != default.pattern {
            write!(f, ",pattern={}", self.pattern.as_str())?;
        }
        if !self.tag.is_empty() {
            write!(f, ",tag={}", self.tag)?;
        }
        Ok(())
    }
}
