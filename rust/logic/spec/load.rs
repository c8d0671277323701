// SPDX-License-Identifier: GPL-2.0

//! The tests, and how a microbenchmark loads its connection.

/// What to do once connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    /// The ping/pong.
    PingPong,
    /// The stress of fast registration, `fr`.
    FastReg,
    /// The latency of RDMA WRITE.
    WriteLatency,
    /// The latency of RDMA READ.
    ReadLatency,
    /// The latency of SEND.
    SendLatency,
    /// The bandwidth of RDMA WRITE.
    WriteBandwidth,
    /// The bandwidth of RDMA READ.
    ReadBandwidth,
    /// The bandwidth of SEND.
    SendBandwidth,
    /// A disk whose blocks are at the server.
    Block,
    /// Requests to an existing disk, which also go to the server.
    Tap,
    /// What a device can do; without a connection.
    Caps,
    /// Conformance tests of the device.
    Conformance,
}

impl Test {
    /// Its name in results.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::PingPong => "pingpong",
            Self::FastReg => "fastreg",
            Self::WriteLatency => "wlat",
            Self::ReadLatency => "rlat",
            Self::SendLatency => "slat",
            Self::WriteBandwidth => "bw",
            Self::ReadBandwidth => "rbw",
            Self::SendBandwidth => "sbw",
            Self::Block => "blk",
            Self::Tap => "tap",
            Self::Caps => "caps",
            Self::Conformance => "neg",
        }
    }

    /// Whether it measures how long one operation takes.
    pub(crate) const fn is_latency(self) -> bool {
        matches!(
            self,
            Self::WriteLatency | Self::ReadLatency | Self::SendLatency
        )
    }

    /// Whether it measures how many operations pass.
    pub(crate) const fn is_bandwidth(self) -> bool {
        matches!(
            self,
            Self::WriteBandwidth | Self::ReadBandwidth | Self::SendBandwidth
        )
    }

    /// Whether it measures one operation of the device, over and over.
    pub(crate) const fn is_microbench(self) -> bool {
        self.is_latency() || self.is_bandwidth()
    }

    /// Whether it forwards requests to blocks.
    pub(crate) const fn is_block(self) -> bool {
        matches!(self, Self::Block | Self::Tap)
    }

    /// Whether its data has a size.
    pub(crate) const fn has_size(self) -> bool {
        !self.is_block() && !matches!(self, Self::Caps)
    }

    /// Whether not each of its operations needs a completion.
    pub(crate) const fn takes_signal_every(self) -> bool {
        // The completion of a READ is how one knows that the data is there.
        self.is_microbench() && !matches!(self, Self::ReadLatency)
    }

    /// Whether its operations carry their data to the peer, so that they can be inline.
    pub(crate) const fn takes_inline(self) -> bool {
        self.is_microbench() && !matches!(self, Self::ReadLatency | Self::ReadBandwidth)
    }

    /// Whether its operations are WRITEs, which can carry immediate data.
    pub(crate) const fn takes_imm(self) -> bool {
        matches!(self, Self::WriteLatency | Self::WriteBandwidth)
    }
}

/// How a microbenchmark loads its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// Both sides send, write or read at once.
    pub(crate) duplex: bool,
    /// WRITEs carry immediate data, which is a completion for the peer.
    pub(crate) imm: bool,
    /// The data is in the request itself.
    pub(crate) inline: bool,
    /// No clock is read for each operation.
    pub(crate) untimed: bool,
    /// Queue pairs of each thread.
    pub(crate) qps: u16,
    /// Requests posted at once, as one list.
    pub(crate) postlist: u16,
    /// One request of so many asks for a completion.
    pub(crate) signal_every: u16,
    /// Pieces of memory of each request.
    pub(crate) sge: u8,
}

impl Load {
    /// That of a `test` without options; of one that is no microbenchmark, the only one.
    pub(crate) const fn new(test: Test) -> Self {
        Self {
            duplex: false,
            imm: false,
            inline: false,
            untimed: false,
            qps: 1,
            postlist: 1,
            signal_every: if test.takes_signal_every() { 16 } else { 1 },
            sge: 1,
        }
    }

    /// The depth of a send queue with which each wait for room ends, whichever requests ask for a
    /// completion.
    pub(crate) fn depth(&self) -> u32 {
        u32::from(self.postlist)
            .saturating_add(u32::from(self.signal_every))
            .saturating_sub(1)
    }

    /// Whether `test` with data of `size` bytes can be loaded so.
    pub(crate) fn suits(&self, test: Test, size: u32) -> bool {
        (!self.duplex || test.is_bandwidth())
            && (!self.imm || test.takes_imm())
            && (!self.inline || test.takes_inline())
            && (!self.untimed || test.is_latency())
            && (self.qps == 1 || test.is_microbench())
            && (self.postlist == 1 || test.is_bandwidth())
            && (self.signal_every == 1 || test.takes_signal_every())
            && (self.sge == 1 || test.is_microbench())
            && u32::from(self.sge) <= size
    }
}
