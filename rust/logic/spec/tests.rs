// SPDX-License-Identifier: GPL-2.0

//! The tests: a row for each.

/// What a test is a kind of.
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
    /// What a device can do; without a connection.
    Caps,
    /// Whether a device does what it must.
    Conformance,
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
}

/// The facts about a test.
pub(crate) struct Spec {
    /// Its name in results, and that of its option if it has one.
    pub(crate) name: &'static str,
    /// Its number in private data; `None` where no peer is told of it.
    pub(crate) number: Option<u8>,
    /// What it is a kind of.
    pub(crate) family: Family,
    /// What is measured; `None` where it is no microbenchmark.
    pub(crate) verb: Option<Verb>,
}

/// Makes [`Test`] of the rows: its documentation, the variant, its name, its number, its family and
/// the operation that it measures.
macro_rules! tests {
    ($($(#[$doc:meta])* $test:ident $name:literal $number:expr, $family:ident, $verb:expr;)*) => {
        /// What to do once connected.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Test {
            $($(#[$doc])* $test,)*
        }

        impl Test {
            /// All tests.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$test,)*];

            /// Its row.
            pub(crate) const fn spec(self) -> &'static Spec {
                match self {
                    $(Self::$test => &Spec {
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
    /// The ping/pong.
    PingPong "pingpong" Some(1), PingPong, None;
    /// The stress of fast registration, `fr`.
    FastReg "fastreg" Some(2), FastReg, None;
    /// The latency of RDMA WRITE.
    WriteLatency "wlat" Some(3), Latency, Some(Verb::Write);
    /// The latency of RDMA READ.
    ReadLatency "rlat" Some(4), Latency, Some(Verb::Read);
    /// The latency of SEND.
    SendLatency "slat" Some(5), Latency, Some(Verb::Send);
    /// The bandwidth of RDMA WRITE.
    WriteBandwidth "bw" Some(6), Bandwidth, Some(Verb::Write);
    /// The bandwidth of RDMA READ.
    ReadBandwidth "rbw" Some(7), Bandwidth, Some(Verb::Read);
    /// The bandwidth of SEND.
    SendBandwidth "sbw" Some(8), Bandwidth, Some(Verb::Send);
    /// A disk whose blocks are at the server.
    Block "blk" Some(9), Disk, None;
    /// Requests to an existing disk, which also go to the server.
    Tap "tap" Some(10), Tap, None;
    /// What a device can do; without a connection.
    Caps "caps" None, Caps, None;
    /// Conformance tests of the device.
    Conformance "neg" None, Conformance, None;
}

impl Test {
    /// Its name in results.
    pub(crate) const fn as_str(self) -> &'static str {
        self.spec().name
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

    /// Returns true where it forwards requests to blocks.
    pub(crate) const fn is_block(self) -> bool {
        matches!(self.spec().family, Family::Disk | Family::Tap)
    }

    /// Returns true where its data has a size.
    pub(crate) const fn has_size(self) -> bool {
        !self.is_block() && !matches!(self.spec().family, Family::Caps)
    }

    /// Returns true where it measures RDMA READs.
    pub(crate) const fn reads(self) -> bool {
        matches!(self.spec().verb, Some(Verb::Read))
    }

    /// Returns true where not each of its operations needs a completion.
    pub(crate) const fn takes_signal_every(self) -> bool {
        // The completion of a READ is how one knows that the data is there.
        self.is_microbench() && !(self.is_latency() && self.reads())
    }

    /// Returns true where its operations carry their data to the peer, so that they can be inline.
    pub(crate) const fn takes_inline(self) -> bool {
        matches!(self.spec().verb, Some(Verb::Write | Verb::Send))
    }

    /// Returns true where its operations are WRITEs, which can carry immediate data.
    pub(crate) const fn takes_imm(self) -> bool {
        matches!(self.spec().verb, Some(Verb::Write))
    }

    /// Returns true where the end of an operation shows in memory only, unless it carries immediate
    /// data.
    pub(crate) const fn shows_in_memory(self) -> bool {
        self.is_latency() && self.takes_imm()
    }
}
