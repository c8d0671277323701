// SPDX-License-Identifier: GPL-2.0

//! The options: a row for each.

mod goes;
mod shapes;

use self::{
    goes::{
        all_but_caps,
        bandwidth,
        buffers,
        connects,
        copies,
        dials,
        disk,
        exports,
        has_queues,
        iterates,
        latency,
        limits_p99,
        messenger,
        microbench,
        pings,
        polls,
        repeats,
        retransmits,
        rw,
        sends_messages,
        server,
        shares,
        stream, //
    },
    shapes::{
        asking,
        flag,
        number,
        optional,
        role,
        test,
        text, //
    }, //
};
use super::{
    limits,
    mem_mode::MemMode,
    option::{
        Asks,
        Group,
        Needs,
        OptionSpec,
        Value, //
    },
    role::Role,
    service::Service,
    tests::Test,
    values, //
};
use crate::logic::{
    command::value::{
        COUNT,
        MICROSECONDS,
        MILLISECONDS,
        NANOSECONDS,
        OPERATIONS,
        PLAIN,
        RATE,
        SECONDS,
        SIZE, //
    },
    data::pattern::PatternKind, //
};

/// Makes [`Opt`] of the rows: one line of help, the variant, and the facts.
macro_rules! options {
    ($(#[doc = $help:literal] $opt:ident = $spec:expr;)*) => {
        /// An option of a command.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Opt {
            $(#[doc = $help] $opt,)*
        }

        impl Opt {
            /// All options, in the order in which sentences and results name them.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$opt,)*];

            /// The names of each option, in the same order.
            pub(crate) const NAMES: &'static [&'static [&'static str]] =
                &[$(Self::$opt.spec().names,)*];

            /// Returns its row.
            pub(crate) const fn spec(self) -> &'static OptionSpec {
                match self {
                    $(Self::$opt => const { &$spec.help($help) },)*
                }
            }
        }
    };
}

options! {
    /// Connects to a server, and leads.
    Client = role(&["client"], Role::Client)
        .goes(|_, test| test != Test::Conformance);
    /// Waits for clients, and follows them.
    Server = role(&["server"], Role::Server).goes(connects);
    /// Is a server and its clients, in one command.
    Loopback = role(&["loopback"], Role::Loopback)
        .goes(all_but_caps);
    /// The server's IPv4 address.
    Addr = text(&["addr"], values::ADDR).group(Group::Address);
    /// The server's IPv6 address, with % and an interface where it is link-local.
    Addr6 = text(&["addr6"], values::ADDR6).group(Group::Address);
    /// The server's port.
    Port = number!(["port"], "9999", limits::PORT, PLAIN, port).goes(all_but_caps);
    /// The address of this host that a client connects from.
    Src = text(&["src"], values::SRC)
        .goes(dials)
        .needs(Needs::Handshake)
        .group(Group::Source);
    /// The RDMA device of this host that a client connects from.
    Dev = text(&["dev"], values::DEV)
        .goes(dials)
        .needs(Needs::Handshake)
        .group(Group::Source);
    /// Iterations of each thread; 0 is until interrupted.
    Count = number!(["count"], "1000", limits::COUNT, COUNT, count)
        .goes(|role, test| repeats(role, test) || test == Test::Tap && role != Role::Server);
    /// Stops after so many seconds.
    Duration = optional!("duration", "10", limits::DURATION_S, SECONDS, duration_s)
        .goes(|role, test| repeats(role, test) || test == Test::Conformance);
    /// Is a disk whose blocks are at a server.
    Blk = test(&["blk"], Test::Block);
    /// Forwards the requests to an existing disk.
    Tap = asking(OptionSpec::new(&["tap"], Value::Late(values::TAP)), Test::Tap)
        .goes(|role, _| role != Role::Loopback);
    /// The place of a server's blocks.
    Store = text(&["store"], values::STORE)
        .placed(|role, test| exports(role, test) || copies(role, test));
    /// Bytes of data of an iteration; of a store, or of a tap's ring.
    Size = OptionSpec::new(&["size"], Value::Late(values::SIZE))
        .goes(|role, test| {
            let any = test.has_size() || test.is_block();
            let follows = role == Role::Server && test.is_messenger();
            connects(role, test) && any && !follows
        });
    /// Bytes of data of operations that have several sizes, each with its weight.
    Sizes = text(&["sizes"], values::SIZES)
        .goes(|role, test| role != Role::Server && test.takes_sizes())
        .bit(1 << 16);
    /// The program whose requests a tap forwards.
    Comm = text(&["comm"], values::COMM)
        .placed(|role, test| role == Role::Client && test == Test::Tap);
    /// Connections of a disk.
    Queues = number!(["queues"], "4", limits::QUEUES, COUNT, block.queues).placed(disk);
    /// Requests that a disk has under way on each connection.
    Depth = number!(["depth"], "32", limits::DEPTH, COUNT, block.depth).placed(disk);
    /// Seconds for which a lost disk tries to reconnect.
    Reconnect = number!(["reconnect"], "60", limits::RECONNECT_S, SECONDS, block.reconnect_s)
        .placed(disk);
    /// Seconds for which a disk waits for a request; 0 is as long as it takes.
    RequestTimeout = number!(
        ["request_timeout"], "60", limits::REQUEST_TIMEOUT_S, SECONDS, block.request_timeout_s
    )
    .placed(disk);
    /// The store cannot be written to.
    Ro = flag!("ro", block.read_only).placed(exports);
    /// The store is read and written past the page cache.
    Direct = flag!("direct", block.direct).goes(connects).needs(Needs::Path);
    /// The server of a tap logs each request.
    Log = flag!("log", block.log).placed(copies);
    /// The way in which buffers are registered.
    MemMode = OptionSpec::new(
        &["mem_mode"],
        Value::Word {
            example: "reg",
            // C krping called it `fastreg` first.
            words: &["dma", "reg", "fastreg"],
            set: |command, word| {
                command.mem_mode = match word {
                    "dma" => MemMode::Dma,
                    _ => MemMode::Reg,
                }
            },
            get: |command| command.mem_mode.as_str(),
        },
    )
    .goes(iterates);
    /// Stresses fast registration.
    Fr = test(&["fr"], Test::FastReg)
        .goes(|role, _| role != Role::Server);
    /// Measures the latency of RDMA WRITE.
    Wlat = test(&["wlat"], Test::WriteLatency);
    /// Measures the latency of RDMA READ.
    Rlat = test(&["rlat"], Test::ReadLatency);
    /// Measures the latency of SEND.
    Slat = test(&["slat"], Test::SendLatency);
    /// Measures the latency of atomic fetch-and-add.
    Alat = test(&["alat"], Test::AtomicLatency);
    /// Measures the latency of atomic compare-and-swap.
    Caslat = test(&["caslat"], Test::SwapLatency);
    /// Measures the bandwidth of RDMA WRITE.
    Bw = test(&["bw"], Test::WriteBandwidth);
    /// Measures the bandwidth of RDMA READ.
    Rbw = test(&["rbw"], Test::ReadBandwidth);
    /// Measures the bandwidth of SEND.
    Sbw = test(&["sbw"], Test::SendBandwidth);
    /// Measures the rate of atomic fetch-and-add.
    Abw = test(&["abw"], Test::AtomicBandwidth);
    /// Measures the rate of atomic compare-and-swap.
    Casbw = test(&["casbw"], Test::SwapBandwidth);
    /// Has the server READ through the kernel's rdma_rw contexts.
    RwRead = test(&["rwread"], Test::RwRead);
    /// Has the server WRITE through the kernel's rdma_rw contexts.
    RwWrite = test(&["rwwrite"], Test::RwWrite);
    /// Moves bytes as rsocket does.
    Stream = test(&["stream"], Test::Stream);
    /// The server sends back or replies to what comes; the client waits for it.
    Echo = flag!("echo", stream.echo)
        .goes(|role, test| stream(role, test) || sends_messages(role, test));
    /// The server of a stream sends, and the client takes what comes.
    Reverse = flag!("reverse", stream.reverse).goes(stream);
    /// Sides of a stream write into memory that the other one has opened.
    IoMap = flag!("iomap", stream.iomap).goes(stream);
    /// Writes of a stream that wait for room go together, as one message.
    Coalesce = flag!("coalesce", stream.coalesce)
        .goes(|role, test| stream(role, test) && role != Role::Server);
    /// Bytes of the buffer that a stream is sent from.
    SBuf = number!(["sbuf"], "128K", limits::STREAM_BUFFER, SIZE, stream.sbuf).goes(stream);
    /// Bytes of the ring that a stream arrives in.
    RBuf = number!(["rbuf"], "128K", limits::STREAM_BUFFER, SIZE, stream.rbuf).goes(stream);
    /// Receives for a stream's messages: the credits of the peer.
    RqDepth = number!(["rqdepth"], "384", limits::RQDEPTH, COUNT, stream.rqdepth).goes(stream);
    /// Sends messages from and into one pool of chunks.
    Messenger = test(&["messenger"], Test::Messenger);
    /// Connections of each thread of a client of messages.
    Conns = number!(["conns"], "64", limits::CONNS, COUNT, messenger.conns).goes(sends_messages);
    /// Messages of a client that are under way on each connection.
    InFlight = number!(["inflight"], "16", limits::INFLIGHT, COUNT, messenger.inflight)
        .goes(sends_messages);
    /// Bytes of a chunk that messages are cut into.
    Chunk = number!(["chunk"], "32K", limits::CHUNK, SIZE, messenger.chunk).goes(messenger);
    /// Chunks of the pool that all connections share.
    Chunks = number!(["chunks"], "4096", limits::CHUNKS, COUNT, messenger.chunks).goes(messenger);
    /// Sides of messages meet over TCP, and connect without the CM's handshake.
    Tcp = flag!("tcp", messenger.tcp).goes(messenger);
    /// Pieces of the server's memory of a transfer.
    Segs = number!(["segs"], "4", limits::SEGS, COUNT, load.segs).goes(rw);
    /// The first byte of a transfer in the first page of the server's memory.
    Offset = number!(["offset"], "512", limits::OFFSET, SIZE, load.offset).goes(rw);
    /// The server lists its memory as bio_vecs instead of a scatterlist.
    BioVec = flag!("biovec", load.biovec).goes(rw).bit(1 << 12);
    /// Both sides measure at once.
    Duplex = flag!("duplex", load.duplex).goes(bandwidth).bit(1 << 4);
    /// Copies the data into the request.
    Inline = flag!("inline", load.inline)
        .goes(|_, test| test.takes_inline())
        .bit(1 << 6);
    /// WRITEs carry immediate data, which is a completion at the peer.
    Imm = OptionSpec::new(
        &["imm"],
        Value::Flag {
            get: |command| command.load.imm && !command.needs_imm(),
            set: |command| command.load.imm = true,
        },
    )
    .goes(|_, test| test.takes_imm())
    .bit(1 << 5);
    /// Reads no clock for each operation.
    Untimed = flag!("untimed", load.untimed)
        .goes(latency)
        .bit(1 << 7);
    /// Logs the data of each iteration.
    Verbose = flag!("verbose", verbose)
        .goes(|_, test| test.iterates() || test == Test::Conformance);
    /// Compares the data that came back with what was sent.
    Validate = OptionSpec::new(
        &["validate"],
        Value::FlagOrWord {
            word: "full",
            get: |command| command.validate,
            has_word: |command| command.load.full,
            set: |command, full| {
                command.validate = true;
                command.load.full = full;
            },
        },
    )
    .goes(|_, test| test.takes_validate())
    .bit(1 << 2);
    /// The server invalidates the client's key with its go-ahead.
    ServerInv = flag!("server_inv", server_inv)
        .goes(pings)
        .needs(Needs::Reg)
        .group(Group::Invalidation)
        .bit(1 << 0);
    /// The server invalidates its key with its READ.
    ReadInv = flag!("read_inv", read_inv)
        .goes(pings)
        .needs(Needs::Reg)
        .group(Group::Invalidation)
        .bit(1 << 1);
    /// The server WRITEs with the local DMA key.
    LocalDmaLkey = flag!("local_dma_lkey", local_dma_lkey).goes(iterates);
    /// Opens all memory of this machine to the peer.
    UnsafeGlobalRkey = flag!("unsafe_global_rkey", unsafe_global_rkey)
        .goes(|_, test| test.takes_global_rkey())
        .needs(Needs::Dma);
    /// Spins on completions.
    Poll = flag!("poll", poll).goes(polls).group(Group::Polling);
    /// Spins until nothing has come for so many microseconds, then sleeps.
    Spin = optional!("spin", "50", limits::SPIN_US, MICROSECONDS, spin_us)
        .goes(polls)
        .group(Group::Polling);
    /// The peer is woken by solicited messages only.
    Solicited = flag!("solicited", load.solicited)
        .goes(|_, test| test.takes_solicited())
        .group(Group::Polling)
        .bit(1 << 13);
    /// The owner of the completion queues: the connection, or the device's pool.
    Cq = OptionSpec::new(
        &["cq"],
        Value::Word {
            example: "pool",
            words: &["own", "pool"],
            set: |command, word| command.pool = word == "pool",
            get: |command| match command.pool {
                false => "own",
                true => "pool",
            },
        },
    )
    .goes(has_queues);
    /// The transport service of the queue pair that data is moved by.
    Qp = OptionSpec::new(
        &["qp"],
        Value::Word {
            example: "ud",
            words: Service::NAMES,
            set: |command, word| command.load.service = Service::named(word),
            get: |command| command.load.service.as_str(),
        },
    )
    .goes(|_, test| test.takes_unreliable());
    /// The multicast group that datagrams are sent to.
    Mcast = text(&["mcast"], values::MCAST)
        .goes(|_, test| test.takes_multicast())
        .needs(Needs::Datagrams)
        .bit(1 << 14);
    /// Receives that all connections of a server share.
    Srq = optional!("srq", "512", limits::SRQ, COUNT, srq)
        .goes(shares)
        .group(Group::Receives);
    /// Receives that each connection keeps posted for data.
    Recvs = optional!("recvs", "16", limits::RECVS, COUNT, recvs)
        .goes(|_, test| test.takes_receives())
        .group(Group::Receives);
    /// Serves clients until interrupted.
    Persist = flag!("persist", persist).goes(server);
    /// A server ends once it has had no client for so long, in milliseconds.
    Idle = optional!("idle", "10000", limits::TIMEOUT_MS, MILLISECONDS, idle_ms)
        .goes(|role, test| server(role, test) && !test.is_block() && !test.is_messenger());
    /// The command ends, and leaves its server or disk.
    Detach = flag!("detach", detach)
        .placed(|role, test| server(role, test) || disk(role, test));
    /// Queue pairs of each thread.
    Qps = number!(["qps"], "4", limits::QPS, COUNT, load.qps).goes(microbench);
    /// Operations per second of the whole command, posted when they are due.
    Rate = OptionSpec::new(
        &["rate"],
        Value::Number {
            example: "10000",
            range: limits::RATE,
            units: &OPERATIONS,
            get: |command| command.rate.map(Into::into),
            set: |command, number| {
                command.rate = Some(number.try_into().ok()?);
                command.load.paced = true;
                Some(())
            },
        },
    )
    .goes(|role, test| role != Role::Server && test.takes_rate())
    .needs(Needs::Latencies)
    .bit(1 << 15);
    /// Operations that are posted at once, as one list.
    PostList = number!(["postlist"], "8", limits::POSTLIST, COUNT, load.postlist)
        .goes(bandwidth);
    /// One operation of so many asks for a completion.
    SignalEvery = number!(["signal_every"], "16", limits::SIGNAL_EVERY, COUNT, load.signal_every)
        .goes(|_, test| test.takes_signal_every())
        .group(Group::Signals);
    /// The queue pair has each request complete, and none asks for it.
    SigAll = flag!("sig_all", load.sig_all)
        .goes(microbench)
        .group(Group::Signals)
        .bit(1 << 9);
    /// Pieces of memory of each operation.
    Sge = number!(["sge"], "2", limits::SGE, COUNT, load.sge)
        .goes(|role, test| microbench(role, test) && test.has_size());
    /// Buffers of each side that operations take in turn.
    Buffers = number!(["buffers"], "64", limits::BUFFERS, COUNT, load.buffers)
        .goes(|_, test| test.takes_buffers());
    /// Memory regions of each side that these buffers are in.
    Mrs = number!(["mrs"], "64", limits::BUFFERS, COUNT, load.mrs)
        .goes(|_, test| test.takes_buffers());
    /// The clients that are accepted, by address.
    Allow = text(&["allow"], values::ALLOW).goes(server);
    /// The most that the buffers of all connections of a server take, in bytes.
    MaxMemory = optional!("max_memory", "1G", limits::MAX_MEMORY, SIZE, max_memory)
        .goes(server);
    /// The longest silence of a client of a server, in milliseconds.
    Silence = optional!("silence", "60000", limits::TIMEOUT_MS, MILLISECONDS, most_silence_ms)
        .goes(server);
    /// The type of service of the connection.
    Tos = optional!("tos", "32", limits::TOS, PLAIN, tos).goes(all_but_caps);
    /// The path MTU, in bytes.
    Mtu = OptionSpec::new(
        &["mtu"],
        Value::Word {
            example: "1024",
            words: &["256", "512", "1024", "2048", "4096"],
            set: |command, word| command.mtu = word.parse().ok(),
            get: |command| match command.mtu {
                Some(256) => "256",
                Some(512) => "512",
                Some(1024) => "1024",
                Some(2048) => "2048",
                Some(_) => "4096",
                None => "",
            },
        },
    )
    .goes(|role, test| role != Role::Server && repeats(role, test));
    /// The flow label of the path, and with it the UDP source port of RoCE.
    Flow = optional!("flow", "1000", limits::FLOW_LABEL, PLAIN, flow)
        .goes(|role, test| role != Role::Server && repeats(role, test))
        .needs(Needs::Handshake);
    /// Time until a request without an ACK is repeated: 4.096 us, doubled N times.
    AckTimeout = optional!("ack_timeout", "14", limits::TRANSPORT_TIMER, PLAIN, ack_timeout)
        .goes(retransmits)
        .needs(Needs::Handshake);
    /// Repetitions of a request without an ACK, by either side.
    Retry = optional!("retry", "7", limits::RETRIES, PLAIN, retry)
        .goes(|role, test| role != Role::Server && retransmits(role, test))
        .needs(Needs::Handshake);
    /// Repetitions of what finds no receive here, by the peer; 7 is without end.
    RnrRetry = optional!("rnr_retry", "7", limits::RETRIES, PLAIN, rnr_retry)
        .goes(retransmits)
        .needs(Needs::Handshake);
    /// The time until the peer does so, in the transport's encoding (0 is 655 ms).
    MinRnr = optional!("min_rnr", "12", limits::TRANSPORT_TIMER, PLAIN, min_rnr)
        .goes(retransmits)
        .needs(Needs::Handshake);
    /// Requests that the send queue holds.
    // C krping has `txdepth` in its code, and `tx-depth` in its README.
    TxDepth = number!(["txdepth", "tx-depth"], "64", limits::TXDEPTH, COUNT, txdepth)
        .goes(has_queues);
    /// Threads at once, each with a connection; of a server, those it serves.
    Threads = number!(["threads"], "4", limits::THREADS, COUNT, threads).goes(connects);
    /// The deadline of each wait, in milliseconds.
    Timeout = optional!("timeout", "10000", limits::TIMEOUT_MS, MILLISECONDS, timeout_ms);
    /// The time for which a client tries until there is a server, in milliseconds.
    Wait = optional!("wait", "10000", limits::TIMEOUT_MS, MILLISECONDS, wait_ms)
        .goes(|role, test| role == Role::Client && connects(role, test) && !test.is_block());
    /// The time of day at which clients begin, in nanoseconds since 1970.
    StartAt = optional!(
        "start_at", "1800000000000000000", limits::START_AT_NS, NANOSECONDS, start_at_ns
    )
    .goes(|role, test| role != Role::Server && test.iterates());
    /// The CPUs that the threads run on.
    Cpu = text(&["cpu"], values::CPU).goes(all_but_caps);
    /// The NUMA node that buffers are allocated on.
    Node = optional!("node", "1", limits::NODE, PLAIN, node).goes(buffers);
    /// Fails where the 99th percentile of the latency is above this.
    MaxP99 = optional!("max_p99", "20us", limits::MAX_P99_NS, NANOSECONDS, max_p99_ns)
        .goes(limits_p99)
        .needs(Needs::Latencies);
    /// Fails where the bandwidth is below this, in bytes per second.
    MinBw = optional!("min_bw", "10G", limits::MIN_BW, RATE, min_bw).goes(bandwidth);
    /// The length of the intervals of a series in the result, in milliseconds.
    Interval = optional!("interval", "100", limits::INTERVAL_MS, MILLISECONDS, interval_ms)
        .goes(|role, test| role != Role::Server && (repeats(role, test) || test.is_block()))
        .needs(Needs::Latencies);
    /// Fails where an interval of the series misses max_p99= or min_bw=, too.
    Every = flag!("every", every)
        .goes(|role, test| {
            role != Role::Server && (bandwidth(role, test) || limits_p99(role, test))
        })
        .needs(Needs::Series);
    /// The errno that the run must fail with.
    Expect = text(&["expect"], values::EXPECT);
    /// The data that is sent.
    Pattern = OptionSpec::new(
        &["pattern"],
        Value::Word {
            example: "binary",
            words: &["text", "binary"],
            set: |command, word| {
                command.pattern = match word {
                    "text" => PatternKind::Text,
                    _ => PatternKind::Binary,
                }
            },
            get: |command| command.pattern.as_str(),
        },
    )
    .goes(|role, test| iterates(role, test) && test.has_size())
    .bit(1 << 3);
    /// A text that is copied to the results.
    Tag = text(&["tag"], values::TAG);
    /// Says what a device can do.
    Caps = test(&["caps"], Test::Caps)
        .goes(|role, _| role == Role::Client);
    /// Runs conformance tests.
    Neg = OptionSpec::new(&["neg"], Value::Text(values::NEG))
        .asks(Asks::Test(Test::Conformance))
        .goes(|role, _| role == Role::Loopback);
    /// Ends a disk or server that another command has left.
    Stop = OptionSpec::new(&["stop"], Value::Target);
    /// Ends it though it is in use.
    Force = OptionSpec::new(&["force"], Value::Nothing);
    /// Has the next read of /proc/krping list the options, or explain one.
    Help = OptionSpec::new(&["help"], Value::Topic);
}
