// SPDX-License-Identifier: GPL-2.0

//! Commands: their options, their grammar and their errors.
//!
//! [`Order::parse`] turns the text of a write to `/proc/krping` into a [`Command`], or into a
//! [`ParseError`] with a sentence that says what is wrong. An example of a command:
//!
//! ```text
//! client,addr=192.0.2.1,port=9999,count=100,size=4K,mem_mode=reg,server_inv,validate
//! ```
//!
//! A parsed `Command` is complete and free of contradictions: no other code has to check its fields
//! against each other again. Its `Display` is the shortest command with the same meaning.
//!
//! [`Order::parse`]: order::Order::parse
//! [`ParseError`]: parse_error::ParseError
//!
//! - [`order`] - a command, or one that stops what an earlier one left
//! - [`parse`], [`value`], [`parse_error`] - the grammar
//! - [`show`] - commands as text
//! - [`addr`], [`allow`], [`cpus`], [`group`], [`block_options`], [`messenger_options`],
//!   [`stream_options`] - values of options

pub(crate) mod addr;
pub(crate) mod allow;
pub(crate) mod block_options;
pub(crate) mod cpus;
pub(crate) mod group;
pub(crate) mod messenger_options;
pub(crate) mod order;
pub(crate) mod parse;
pub(crate) mod parse_error;
mod show;
pub(crate) mod stream_options;
pub(crate) mod value;

pub(crate) use super::{
    conformance::CaseSet,
    data::pattern::PatternKind,
    measure::{
        schedule::Share,
        sizes::Sizes, //
    },
    spec::{
        limits,
        load::Load,
        mem_mode::MemMode,
        role::Role,
        tests::{
            Family,
            Test, //
        }, //
    },
    text::{
        Comm,
        PathName,
        Tag, //
    }, //
};
pub(crate) use addr::{
    Addr,
    Source, //
};
pub(crate) use allow::AllowList;
pub(crate) use block_options::BlockOptions;
pub(crate) use cpus::CpuList;
pub(crate) use group::MulticastGroup;
pub(crate) use messenger_options::MessengerOptions;
pub(crate) use stream_options::StreamOptions;

/// One command, complete and consistent.
///
/// # Invariants
///
/// - A client and a loopback have an address.
/// - `source` is a client's, is of the family of the address, and is not set with `tcp`.
/// - `server_inv` and `read_inv` are not both set, and need [`MemMode::Reg`].
/// - `detach` is set for a server, or a client's or loopback's disk only.
/// - `unsafe_global_rkey` is not set with [`MemMode::Reg`].
/// - `pool` is not set together with `poll`, `spin_us` or `srq`, and neither of these five with a
///   client's or loopback's [`Load::solicited`].
/// - `srq` is set only where microbenchmarks are served, and not with `recvs`.
/// - `sizes` has some exactly where [`Load::mixed`] is set.
/// - `mcast` is of the family of the address, and of a client or loopback only with datagrams.
/// - None of `ack_timeout`, `retry`, `rnr_retry` and `min_rnr` is set with `tcp`.
/// - `persist`, `allow`, `max_memory` and `most_silence_ms` are set for a server only, and
///   [`Test::FastReg`] is never a server's.
/// - `load` suits the test and the size. The load of a client's or loopback's
///   [`Test::WriteLatency`] has `imm` unless `poll` is set.
/// - `rate` is set exactly where [`Load::paced`] is, and [`silence_ms`](Self::silence_ms) is a
///   keepalive interval that a peer accepts.
/// - A microbenchmark has [`MemMode::Dma`], and a latency microbenchmark has no `validate`.
/// - `block` suits the role and the test. Options that a disk or tap does not take have their
///   defaults. Among these are `count`, except for a tap's client, and `threads`, except for a
///   server.
/// - `stream` is [`StreamOptions::NONE`] where the test is not [`Test::Stream`], but for `echo` of
///   [`Test::Messenger`], without which `messenger` is [`MessengerOptions::NONE`].
/// - [`Test::Caps`] is a client's, and all but the address, `source`, `timeout_ms`, `expect` and
///   `tag` have their defaults.
/// - [`Test::Conformance`] is a loopback's, and has `cases`; no other test has any.
/// - `max_p99_ns` is set only for tests that measure the latency and `min_bw` only for tests that
///   measure the bandwidth, or either for a server that leaves the test to its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    /// The side or sides of the test that the command runs.
    pub(crate) role: Role,
    /// The test to run. A server with [`Test::PingPong`] runs the test that its client asks for.
    pub(crate) test: Test,
    /// The server's address; a server without one listens on all of IPv4.
    pub(crate) addr: Option<Addr>,
    /// The end of this host that a client connects from; `None` leaves it to the route.
    pub(crate) source: Option<Source>,
    /// The server's port. 0, for a loopback only, picks a free port.
    pub(crate) port: u16,
    /// The number of iterations of each thread, or of requests that a tap forwards; 0 is unlimited.
    pub(crate) count: u64,
    /// The time after which to stop, in seconds; `None` is never.
    pub(crate) duration_s: Option<u32>,
    /// Bytes of data in each iteration; 0 for [`Test::Caps`], and for a disk or tap, which have
    /// [`BlockOptions::bytes`].
    pub(crate) size: u32,
    /// The load that a microbenchmark puts on the connection.
    pub(crate) load: Load,
    /// The multicast group that datagrams are sent to; of a server, the one that its clients may
    /// send to.
    pub(crate) mcast: Option<MulticastGroup>,
    /// The operations per second of all threads and queue pairs together; `None` posts each as soon
    /// as it can.
    pub(crate) rate: Option<u32>,
    /// Logs the data of each iteration.
    pub(crate) verbose: bool,
    /// Compares the data that arrives with the data that was sent.
    pub(crate) validate: bool,
    /// The server invalidates the client's key with its go-ahead.
    pub(crate) server_inv: bool,
    /// The server invalidates its key with its READ.
    pub(crate) read_inv: bool,
    /// The server of a ping/pong WRITEs from its buffer with the device's local DMA key.
    pub(crate) local_dma_lkey: bool,
    /// The path MTU in bytes, where it is to be lower than that of the path.
    pub(crate) mtu: Option<u16>,
    /// The flow label of the path; `None` is the CM's choice.
    pub(crate) flow: Option<u32>,
    /// The time that this side's queue pair waits for an acknowledgment before it repeats a
    /// request, as an exponent; `None` is the CM's choice.
    pub(crate) ack_timeout: Option<u8>,
    /// The number of times that both sides repeat a request that is not acknowledged.
    pub(crate) retry: Option<u8>,
    /// The number of times that the peer repeats a request that finds no receive here.
    pub(crate) rnr_retry: Option<u8>,
    /// The time that the peer waits before each of these, in the encoding of the transport.
    pub(crate) min_rnr: Option<u8>,
    /// Busy-polls for completions.
    pub(crate) poll: bool,
    /// Busy-polls until nothing has come for so many microseconds, and then sleeps.
    pub(crate) spin_us: Option<u32>,
    /// Takes completion queues of the device's pool.
    pub(crate) pool: bool,
    /// Receives that each connection keeps posted for data; `None` for as many as its test needs.
    pub(crate) recvs: Option<u32>,
    /// The sizes of operations, where they have several; `size` is the largest.
    pub(crate) sizes: Sizes,
    /// Receives that all connections of a server share; `None` for receives of their own.
    pub(crate) srq: Option<u32>,
    /// Serves clients until stopped, instead of as many as there are threads.
    pub(crate) persist: bool,
    /// The addresses of the clients that a server accepts.
    pub(crate) allow: AllowList,
    /// The maximum memory for the buffers of all connections of a server, in bytes; `None` is
    /// unlimited.
    pub(crate) max_memory: Option<u64>,
    /// The longest time for which a client of a server may be silent, in ms; `None` for the
    /// default.
    pub(crate) most_silence_ms: Option<u32>,
    /// Leaves the server or the disk running when the command returns.
    pub(crate) detach: bool,
    /// Opens all memory of this machine to the peer.
    pub(crate) unsafe_global_rkey: bool,
    /// The way to register buffers for the peer.
    pub(crate) mem_mode: MemMode,
    /// The IP type of service of the connection.
    pub(crate) tos: Option<u8>,
    /// The depth of the send queue.
    pub(crate) txdepth: u32,
    /// The number of client threads, each with its own connections; of a server, the number of
    /// these that it serves.
    pub(crate) threads: u32,
    /// The timeout of each wait, in milliseconds; `None` is the default.
    pub(crate) timeout_ms: Option<u32>,
    /// The time after which a server without a client ends, once it had one, in milliseconds.
    pub(crate) idle_ms: Option<u32>,
    /// The time for which a client tries until there is a server, in milliseconds.
    pub(crate) wait_ms: Option<u32>,
    /// The time of day at which clients begin, in nanoseconds since 1970; `None` is at once.
    pub(crate) start_at_ns: Option<u64>,
    /// The length of the intervals of a series, in milliseconds; `None` records none.
    pub(crate) interval_ms: Option<u32>,
    /// Each interval of the series must hold `max_p99_ns` and `min_bw`, too.
    pub(crate) every: bool,
    /// The CPUs that the threads run on.
    pub(crate) cpus: CpuList,
    /// The NUMA node that buffers are allocated on; `None` leaves that to the allocator.
    pub(crate) node: Option<u16>,
    /// The limit of the 99th percentile of the latency, in nanoseconds. The run fails above it.
    pub(crate) max_p99_ns: Option<u64>,
    /// The lower limit of the bandwidth, in bytes per second. The run fails below it.
    pub(crate) min_bw: Option<u64>,
    /// The errno that the run must end with, positive; 0 is success. Any other end is a failure.
    pub(crate) expect: Option<i32>,
    /// The pattern of the data.
    pub(crate) pattern: PatternKind,
    /// The text of `tag=`, which is copied to the result.
    pub(crate) tag: Tag,
    /// The options of a disk, a tap, or the server of one.
    pub(crate) block: BlockOptions,
    /// The options of a stream.
    pub(crate) stream: StreamOptions,
    /// The options of messages.
    pub(crate) messenger: MessengerOptions,
    /// The conformance tests to run.
    pub(crate) cases: CaseSet,
}

impl Command {
    /// Creates a command of that role with all defaults and without an address.
    pub(crate) const fn new(role: Role) -> Self {
        Self {
            role,
            test: Test::PingPong,
            addr: None,
            source: None,
            port: match role {
                Role::Loopback => limits::ANY_PORT,
                Role::Client | Role::Server => limits::DEFAULT_PORT,
            },
            count: 0,
            duration_s: None,
            size: limits::DEFAULT_SIZE,
            load: Load::new(Test::PingPong),
            mcast: None,
            rate: None,
            verbose: false,
            validate: false,
            server_inv: false,
            read_inv: false,
            local_dma_lkey: false,
            mtu: None,
            flow: None,
            ack_timeout: None,
            retry: None,
            rnr_retry: None,
            min_rnr: None,
            poll: false,
            spin_us: None,
            pool: false,
            recvs: None,
            sizes: Sizes::NONE,
            srq: None,
            persist: false,
            allow: AllowList::ALL,
            max_memory: None,
            most_silence_ms: None,
            detach: false,
            unsafe_global_rkey: false,
            mem_mode: MemMode::Dma,
            tos: None,
            txdepth: limits::DEFAULT_TXDEPTH,
            threads: 1,
            timeout_ms: None,
            idle_ms: None,
            wait_ms: None,
            start_at_ns: None,
            interval_ms: None,
            every: false,
            cpus: CpuList::EMPTY,
            node: None,
            max_p99_ns: None,
            min_bw: None,
            expect: None,
            pattern: PatternKind::Text,
            tag: Tag::EMPTY,
            block: BlockOptions::NONE,
            stream: StreamOptions::NONE,
            messenger: MessengerOptions::NONE,
            cases: CaseSet::EMPTY,
        }
    }

    /// Returns the time after which to stop, in milliseconds; `None` is never.
    pub(crate) fn duration_ms(&self) -> Option<u32> {
        self.duration_s.map(|s| s.saturating_mul(1000))
    }

    /// Returns the queue pairs of a client's thread.
    fn queue_pairs_of_thread(&self) -> u16 {
        // One of these is 1.
        self.load.qps.saturating_mul(self.messenger.conns)
    }

    /// Returns the queue pairs of all threads of a client.
    pub(crate) fn queue_pairs(&self) -> u64 {
        u64::from(self.threads).saturating_mul(self.queue_pairs_of_thread().into())
    }

    /// Returns the share that each queue pair has of the rate; `None` where nothing is due at
    /// moments of the clock.
    pub(crate) fn share(&self) -> Option<Share> {
        self.rate.map(|rate| Share {
            rate,
            threads: self.threads,
            queue_pairs: self.queue_pairs_of_thread(),
        })
    }

    /// Returns the time in ms for which a client may have nothing to send on a queue pair because
    /// nothing is due; 0 where each operation follows the one before.
    pub(crate) fn silence_ms(&self) -> u32 {
        let ms = self.queue_pairs().saturating_mul(1000);
        let period = self.rate.and_then(|rate| ms.checked_div(rate.into()));
        // Rounded up. It is in the range of a keepalive interval.
        period.map_or(0, |ms| {
            u32::try_from(ms).unwrap_or(u32::MAX).saturating_add(1)
        })
    }

    /// Returns true where the command chooses when requests are repeated, and how often.
    pub(crate) fn sets_retries(&self) -> bool {
        let Self {
            ack_timeout,
            retry,
            rnr_retry,
            min_rnr,
            ..
        } = self;
        let choices = [ack_timeout, retry, rnr_retry, min_rnr];
        choices.iter().any(|choice| choice.is_some())
    }

    /// Returns the bytes of the largest buffer that the device must take.
    pub(crate) fn largest_buffer(&self) -> u32 {
        match self.test.spec().family {
            Family::Stream if self.stream.iomap => {
                self.stream.sbuf.max(self.stream.rbuf).max(self.size)
            }
            Family::Stream => self.stream.sbuf.max(self.stream.rbuf),
            Family::Messenger => self.messenger.chunk,
            Family::PingPong
            | Family::FastReg
            | Family::Latency
            | Family::Bandwidth
            | Family::Disk
            | Family::Tap
            | Family::Caps
            | Family::Conformance
            | Family::Rw => self.size,
        }
    }

    /// Returns true where WRITEs must carry immediate data even without `imm`: where they are all
    /// compared, or may be lost and are compared; where they are to raise events; and in a test
    /// whose WRITEs otherwise show only in memory, a side that does not busy-poll needs the
    /// completion.
    pub(crate) fn needs_imm(&self) -> bool {
        self.role != Role::Server
            && match self.load.full
                || self.load.solicited
                || self.validate && self.load.service.is_unreliable()
            {
                true => self.test.takes_imm(),
                false => self.test.shows_in_memory() && !self.poll,
            }
    }
}
