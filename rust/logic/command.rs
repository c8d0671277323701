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
//! [`Order::parse`]: order::Order::parse
//! [`ParseError`]: parse_error::ParseError

pub(crate) mod addr;
pub(crate) mod allow;
pub(crate) mod block_options;
pub(crate) mod cpus;
pub(crate) mod order;
pub(crate) mod parse;
pub(crate) mod parse_error;
mod show;
pub(crate) mod value;

pub(crate) use super::{
    conformance::CaseSet,
    data::pattern::PatternKind,
    spec::{
        limits,
        load::Load,
        mem_mode::MemMode,
        role::Role,
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
pub(crate) use block_options::BlockOptions;
pub(crate) use cpus::CpuList;

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

    /// Returns true where its WRITEs carry immediate data without being asked to.
    ///
    /// One who does not poll waits for a completion, and a WRITE without it raises none.
    pub(crate) fn needs_imm(&self) -> bool {
        self.test.shows_in_memory() && self.role != Role::Server && !self.poll
    }
}
