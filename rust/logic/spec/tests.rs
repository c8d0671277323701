// SPDX-License-Identifier: GPL-2.0

//! The tests: a row for each.

use super::role::Role;

/// The kind of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// The ping/pong.
    PingPong,
    /// Registrations, beside a connection.
    FastReg,
    /// A microbenchmark of how long one operation takes.
    Latency,
    /// A microbenchmark of how many operations pass.
    Bandwidth,
    /// A disk, whose requests are forwarded.
    Disk,
    /// A tap, which forwards an existing disk's requests.
    Tap,
    /// The capabilities of a device, without a connection.
    Caps,
    /// The conformance of a device.
    Conformance,
    /// Transfers by a server through the kernel's contexts for READ and WRITE.
    Rw,
    /// Byte streams, as rsocket speaks them.
    Stream,
    /// Messages by SENDs, between any number of connections and one pool of chunks.
    Messenger,
}

impl Family {
    /// Returns its name in tables.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::PingPong => "pingpong",
            Self::FastReg => "fastreg",
            Self::Latency => "latency",
            Self::Bandwidth => "bandwidth",
            Self::Disk => "disk",
            Self::Tap => "tap",
            Self::Caps => "caps",
            Self::Conformance => "conformance",
            Self::Rw => "rw",
            Self::Stream => "stream",
            Self::Messenger => "messenger",
        }
    }
}

/// The operation of a microbenchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// RDMA WRITE.
    Write,
    /// RDMA READ.
    Read,
    /// SEND.
    Send,
    /// Atomic fetch-and-add.
    FetchAdd,
    /// Atomic compare-and-swap.
    CompareSwap,
}

impl Verb {
    /// Returns its name in tables.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Send => "send",
            Self::FetchAdd => "fetch_add",
            Self::CompareSwap => "compare_swap",
        }
    }

    /// Returns the counters of `/proc/krping` that it moves: those of `write`, `read` or `send`.
    pub(crate) const fn counter(self) -> &'static str {
        match self {
            Self::Write => "write",
            // An atomic operation brings data, as a READ does.
            Self::Read | Self::FetchAdd | Self::CompareSwap => "read",
            Self::Send => "send",
        }
    }

    /// Returns true where it works on one word, and brings what was there before.
    pub(crate) const fn is_atomic(self) -> bool {
        matches!(self, Self::FetchAdd | Self::CompareSwap)
    }
}

/// The facts about a test.
pub(crate) struct Spec {
    /// The title: what it does or measures.
    pub(crate) title: &'static str,
    /// Its name in results, and that of its option if it has one.
    pub(crate) name: &'static str,
    /// Its number in private data; `None` where no peer is told of it.
    pub(crate) number: Option<u8>,
    /// The kind of test.
    pub(crate) family: Family,
    /// The operation that is measured; `None` where it is no microbenchmark.
    pub(crate) verb: Option<Verb>,
}

/// Makes [`Test`] of the rows: its title, the variant, its name, its number, its family and
/// the operation that it measures.
macro_rules! tests {
    ($(
        #[doc = $title:literal]
        $test:ident $name:literal $number:expr, $family:ident, $verb:expr;
    )*) => {
        /// The work of a command.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Test {
            $(#[doc = $title] $test,)*
        }

        impl Test {
            /// All tests.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$test,)*];

            /// Returns its row.
            pub(crate) const fn spec(self) -> &'static Spec {
                match self {
                    $(Self::$test => &Spec {
                        title: $title,
                        name: $name,
                        number: $number,
                        family: Family::$family,
                        verb: $verb,
                    },)*
                }
            }
        }
    };
}

tests! {
    /// Ping/pong, whole iterations.
    PingPong "pingpong" Some(1), PingPong, None;
    /// Fast registration.
    FastReg "fastreg" Some(2), FastReg, None;
    /// RDMA WRITE latency, half the round trip.
    WriteLatency "wlat" Some(3), Latency, Some(Verb::Write);
    /// RDMA READ latency, the whole round trip.
    ReadLatency "rlat" Some(4), Latency, Some(Verb::Read);
    /// SEND latency, half the round trip.
    SendLatency "slat" Some(5), Latency, Some(Verb::Send);
    /// Atomic fetch-and-add latency, the whole round trip.
    AtomicLatency "alat" Some(11), Latency, Some(Verb::FetchAdd);
    /// Atomic compare-and-swap latency, the whole round trip.
    SwapLatency "caslat" Some(13), Latency, Some(Verb::CompareSwap);
    /// RDMA WRITE bandwidth.
    WriteBandwidth "bw" Some(6), Bandwidth, Some(Verb::Write);
    /// RDMA READ bandwidth.
    ReadBandwidth "rbw" Some(7), Bandwidth, Some(Verb::Read);
    /// SEND bandwidth.
    SendBandwidth "sbw" Some(8), Bandwidth, Some(Verb::Send);
    /// Atomic fetch-and-add rate.
    AtomicBandwidth "abw" Some(12), Bandwidth, Some(Verb::FetchAdd);
    /// Atomic compare-and-swap rate.
    SwapBandwidth "casbw" Some(14), Bandwidth, Some(Verb::CompareSwap);
    /// A disk.
    Block "blk" Some(9), Disk, None;
    /// A tap of a disk.
    Tap "tap" Some(10), Tap, None;
    /// The abilities of a device.
    Caps "caps" None, Caps, None;
    /// Conformance tests of a device.
    Conformance "neg" None, Conformance, None;
    /// Transfers by READ through the kernel's rdma_rw contexts.
    RwRead "rwread" Some(15), Rw, None;
    /// Transfers by WRITE through the kernel's rdma_rw contexts.
    RwWrite "rwwrite" Some(16), Rw, None;
    /// Byte streams of rsocket.
    Stream "stream" None, Stream, None;
    /// Messages by SENDs.
    Messenger "messenger" Some(17), Messenger, None;
}

impl Test {
    /// Returns its name in results.
    pub(crate) const fn as_str(self) -> &'static str {
        self.spec().name
    }

    /// Returns what sentences call it.
    pub(crate) const fn in_words(self) -> &'static str {
        match self.spec().family {
            Family::PingPong => "the ping/pong",
            Family::FastReg => "fr",
            Family::Latency
            | Family::Bandwidth
            | Family::Disk
            | Family::Tap
            | Family::Caps
            | Family::Conformance
            | Family::Rw
            | Family::Stream
            | Family::Messenger => self.as_str(),
        }
    }

    /// Returns the role of a command that names none; `None` where it must.
    pub(crate) const fn implied_role(self) -> Option<Role> {
        match self.spec().family {
            Family::Caps => Some(Role::Client),
            Family::Conformance => Some(Role::Loopback),
            Family::PingPong
            | Family::FastReg
            | Family::Latency
            | Family::Bandwidth
            | Family::Disk
            | Family::Tap
            | Family::Rw
            | Family::Stream
            | Family::Messenger => None,
        }
    }

    /// Returns the test that private data calls `number`.
    pub(crate) fn numbered(number: u8) -> Option<Self> {
        let mut all = Self::ALL.iter();
        let found = all.find(|test| test.spec().number == Some(number));
        found.copied()
    }

    /// Returns true where it measures how long one operation takes.
    pub(crate) const fn is_latency(self) -> bool {
        matches!(self.spec().family, Family::Latency)
    }

    /// Returns true where it measures how many operations pass.
    pub(crate) const fn is_bandwidth(self) -> bool {
        matches!(self.spec().family, Family::Bandwidth)
    }

    /// Returns true where it measures one operation of the device, over and over.
    pub(crate) const fn is_microbench(self) -> bool {
        self.spec().verb.is_some()
    }

    /// Returns true where a server moves data through the kernel's rdma_rw contexts.
    pub(crate) const fn is_rw(self) -> bool {
        matches!(self.spec().family, Family::Rw)
    }

    /// Returns true where it speaks rsocket's protocol.
    pub(crate) const fn is_stream(self) -> bool {
        matches!(self.spec().family, Family::Stream)
    }

    /// Returns true where it sends messages from and into one pool of chunks.
    pub(crate) const fn is_messenger(self) -> bool {
        matches!(self.spec().family, Family::Messenger)
    }

    /// Returns true where its private data has another layout than that of most.
    pub(crate) const fn has_own_hello(self) -> bool {
        self.is_block() || self.is_messenger()
    }

    /// Returns true where the client tells the server of its load.
    pub(crate) const fn has_load(self) -> bool {
        self.is_microbench() || self.is_rw()
    }

    /// Returns true where it forwards requests to blocks.
    pub(crate) const fn is_block(self) -> bool {
        matches!(self.spec().family, Family::Disk | Family::Tap)
    }

    /// Returns true where it repeats operations on data of its own. A server needs no test to
    /// serve these.
    pub(crate) const fn iterates(self) -> bool {
        matches!(
            self.spec().family,
            Family::PingPong | Family::FastReg | Family::Latency | Family::Bandwidth | Family::Rw
        )
    }

    /// Returns true where a client can begin its operations at moments of the clock. Requests to a
    /// disk or tap come from others, and a stress of registrations is to go as fast as it can.
    pub(crate) const fn takes_rate(self) -> bool {
        match self.spec().family {
            Family::PingPong
            | Family::Latency
            | Family::Bandwidth
            | Family::Rw
            | Family::Stream
            | Family::Messenger => true,
            Family::FastReg | Family::Disk | Family::Tap | Family::Caps | Family::Conformance => {
                false
            }
        }
    }

    /// Returns the only number of bytes that its data can have, 0 where it has none; `None` where
    /// `size` says it.
    pub(crate) const fn only_size(self) -> Option<u32> {
        match (self.spec().family, self.spec().verb) {
            (Family::Disk | Family::Tap | Family::Caps, _) => Some(0),
            (_, Some(Verb::FetchAdd | Verb::CompareSwap)) => Some(8),
            (
                Family::PingPong
                | Family::FastReg
                | Family::Latency
                | Family::Bandwidth
                | Family::Conformance
                | Family::Rw
                | Family::Stream
                | Family::Messenger,
                _,
            ) => None,
        }
    }

    /// Returns true where its data is of any size.
    pub(crate) const fn has_size(self) -> bool {
        self.only_size().is_none()
    }

    /// Returns true where `validate` compares its data.
    pub(crate) const fn takes_validate(self) -> bool {
        match self.spec().family {
            // `fr` has no use for it, and never minded.
            Family::PingPong
            | Family::FastReg
            | Family::Bandwidth
            | Family::Stream
            | Family::Messenger => true,
            // The sum, which is not timed.
            Family::Latency => match self.spec().verb {
                Some(verb) => verb.is_atomic(),
                None => false,
            },
            Family::Disk | Family::Tap | Family::Caps | Family::Conformance => false,
            // Its data is always compared.
            Family::Rw => false,
        }
    }

    /// Returns true where `validate=full` compares each of its messages.
    pub(crate) const fn takes_full(self) -> bool {
        match self.spec().verb {
            Some(verb) => self.is_bandwidth() && !verb.is_atomic(),
            None => false,
        }
    }

    /// Returns true where `unsafe_global_rkey` can open its memory, which is for READs and WRITEs.
    pub(crate) const fn takes_global_rkey(self) -> bool {
        match self.spec().verb {
            None => self.iterates() || self.is_stream(),
            Some(Verb::Write | Verb::Read | Verb::Send) => true,
            Some(Verb::FetchAdd | Verb::CompareSwap) => false,
        }
    }

    /// Returns true where not each of its operations needs a completion.
    pub(crate) const fn takes_signal_every(self) -> bool {
        // The completion of a READ is how one knows that the data is there.
        match self.spec().verb {
            None => false,
            Some(Verb::Write | Verb::Send) => true,
            Some(Verb::Read | Verb::FetchAdd | Verb::CompareSwap) => self.is_bandwidth(),
        }
    }

    /// Returns true where its operations carry their data to the peer, so that they can be inline.
    pub(crate) const fn takes_inline(self) -> bool {
        matches!(self.spec().verb, Some(Verb::Write | Verb::Send))
    }

    /// Returns true where its operations take receives of the peer, those of WRITEs with immediate
    /// data, so that they can raise events there.
    pub(crate) const fn takes_solicited(self) -> bool {
        matches!(self.spec().verb, Some(Verb::Write | Verb::Send))
    }

    /// Returns true where its operations are WRITEs, which can carry immediate data.
    pub(crate) const fn takes_imm(self) -> bool {
        matches!(self.spec().verb, Some(Verb::Write))
    }

    /// Returns true where its operations take receives of the target, or do with immediate data.
    pub(crate) const fn takes_receives(self) -> bool {
        matches!(self.spec().verb, Some(Verb::Write | Verb::Send))
    }

    /// Returns true where its operations can have several sizes: one side posts them.
    pub(crate) const fn takes_sizes(self) -> bool {
        match self.spec().verb {
            Some(Verb::Read) => true,
            Some(verb) => self.is_bandwidth() && !verb.is_atomic(),
            None => false,
        }
    }

    /// Returns true where its operations can take several buffers in turn: nobody waits for the
    /// data at one place.
    pub(crate) const fn takes_buffers(self) -> bool {
        match self.spec().verb {
            Some(verb) => !verb.is_atomic() && !self.shows_in_memory(),
            None => false,
        }
    }

    /// Returns true where its operations need no answer of the device, so that an unreliable queue
    /// pair has them.
    pub(crate) const fn takes_unreliable(self) -> bool {
        matches!(self.spec().verb, Some(Verb::Write | Verb::Send))
    }

    /// Returns true where its operations are SENDs, which datagrams can be.
    pub(crate) const fn takes_datagrams(self) -> bool {
        matches!(self.spec().verb, Some(Verb::Send))
    }

    /// Returns true where its datagrams can go to a multicast group: one way only, as what goes
    /// back would go to all.
    pub(crate) const fn takes_multicast(self) -> bool {
        self.takes_datagrams() && self.is_bandwidth()
    }

    /// Returns true where the end of an operation shows in memory only, unless it carries immediate
    /// data.
    pub(crate) const fn shows_in_memory(self) -> bool {
        self.is_latency() && self.takes_imm()
    }
}
