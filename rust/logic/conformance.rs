// SPDX-License-Identifier: GPL-2.0

//! The conformance tests, `neg=`: their names, and sets of them.
//!
//! [`expectation`] has the rule for each test, and [`judgement`] compares what was seen with it.
//!
//! [`observation`] is what was seen, with [`answer`] of a connection request; [`deviation`] what of
//! it is not as demanded, [`trial`] what a case came to.

pub(crate) mod answer;
pub(crate) mod deviation;
pub(crate) mod expectation;
mod judgement;
pub(crate) mod observation;
pub(crate) mod trial;

use core::fmt;

/// A conformance test: one way to use a device wrongly, or up to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Case {
    /// WRITE with the old key of a region that was registered again with a new one.
    StaleRkey,
    /// READ of memory that is opened for WRITEs only.
    ReadOfWriteOnly,
    /// WRITE to memory that is opened for READs only.
    WriteOfReadOnly,
    /// WRITE of one byte more than the region has.
    LengthPastMr,
    /// WRITE to a region of another protection domain.
    WrongPd,
    /// WRITE to a region that its owner has invalidated.
    InvalidatedMr,
    /// LOCAL_INV of a region that is not valid.
    DoubleInvalidate,
    /// REG_MR of a region that is valid.
    RegMrOnValid,
    /// SEND from memory whose local key is not valid.
    StaleLkey,
    /// SEND of a message larger than the receive buffer.
    SendTooLong,
    /// SEND with invalidation of a key that is not valid at the peer.
    SendInvStale,
    /// SEND to a peer that has no receive posted, without RNR retries.
    Rnr,
    /// An operation that the device does not claim to support.
    UnsupportedOpcode,
    /// WRITE of 0 bytes, with a key that was never given out.
    ZeroLength,
    /// A post to a send queue that is full.
    SqFull,
    /// Exactly as many completions as the completion queue holds.
    CqExact,
    /// More completions than the completion queue holds.
    CqOverrun,
    /// WRITE to a peer that no longer answers.
    RetryExhausted,
    /// Requests posted behind one that fails, and receives on both sides.
    FlushOrder,
    /// The drain of a queue pair in use.
    Drain,
    /// Atomic fetch-and-add at an address that is not a multiple of 8.
    AtomicMisaligned,
    /// Atomic fetch-and-add in memory that is opened for READs and WRITEs only.
    AtomicNoRight,
    /// More READs than the connection allows at a time.
    ReadsBeyondDepth,
    /// READ of memory that a WRITE before it fills.
    ReadAfterWrite,
    /// SEND of what a READ before it brings, with a fence between them.
    ReadFence,
    /// WRITE of a flag behind a WRITE of data, to memory that the responder watches.
    WriteThenFlag,
    /// A poll of the completion queue while its event handler runs.
    HandlerPolls,
    /// Requests for events of a completion queue, while completions come.
    Rearm,
    /// A SEND that is not solicited, and one that is, to a peer that asked for events of solicited
    /// ones only.
    Solicited,
    /// An error at a peer that asked for events of solicited messages only.
    SolicitedError,
    /// SEND to a peer whose shared receive queue has no receive posted, without RNR retries.
    SrqEmpty,
    /// Messages until fewer receives than the limit of a shared receive queue are posted.
    SrqLimit,
    /// The drain of a queue pair that takes the receives of a shared queue.
    SrqDrain,
    /// A datagram to a queue pair with another Q_Key.
    UdBadQkey,
    /// A datagram to an address that nobody has.
    UdBadAh,
    /// A datagram that is longer than a packet.
    UdAboveMtu,
    /// Requests with inline data, whose buffer is overwritten once they are posted.
    InlineReuse,
    /// A connection request that is neither accepted nor rejected.
    Unanswered,
    /// A connection request in the name of a queue pair that the peer is connected with.
    StaleConnection,
    /// A WRITE, and then a message of the CM, while a person has taken the port down.
    PortDown,
}

/// All cases with their names, in the order in which they run.
const NAMES: [(Case, &str); 40] = [
    (Case::StaleRkey, "stale_rkey"),
    (Case::ReadOfWriteOnly, "read_of_write_only"),
    (Case::WriteOfReadOnly, "write_of_read_only"),
    (Case::LengthPastMr, "length_past_mr"),
    (Case::WrongPd, "wrong_pd"),
    (Case::InvalidatedMr, "invalidated_mr"),
    (Case::DoubleInvalidate, "double_invalidate"),
    (Case::RegMrOnValid, "reg_mr_on_valid"),
    (Case::StaleLkey, "stale_lkey"),
    (Case::SendTooLong, "send_too_long"),
    (Case::SendInvStale, "send_inv_stale"),
    (Case::Rnr, "rnr"),
    (Case::UnsupportedOpcode, "unsupported_opcode"),
    (Case::ZeroLength, "zero_length"),
    (Case::SqFull, "sq_full"),
    (Case::CqExact, "cq_exact"),
    (Case::CqOverrun, "cq_overrun"),
    (Case::RetryExhausted, "retry_exhausted"),
    (Case::FlushOrder, "flush_order"),
    (Case::Drain, "drain"),
    (Case::AtomicMisaligned, "atomic_misaligned"),
    (Case::AtomicNoRight, "atomic_no_right"),
    (Case::ReadsBeyondDepth, "reads_beyond_depth"),
    (Case::ReadAfterWrite, "read_after_write"),
    (Case::ReadFence, "read_fence"),
    (Case::WriteThenFlag, "write_then_flag"),
    (Case::HandlerPolls, "handler_polls"),
    (Case::Rearm, "rearm"),
    (Case::Solicited, "solicited"),
    (Case::SolicitedError, "solicited_error"),
    (Case::SrqEmpty, "srq_empty"),
    (Case::SrqLimit, "srq_limit"),
    (Case::SrqDrain, "srq_drain"),
    (Case::UdBadQkey, "ud_bad_qkey"),
    (Case::UdBadAh, "ud_bad_ah"),
    (Case::UdAboveMtu, "ud_above_mtu"),
    (Case::InlineReuse, "inline_reuse"),
    (Case::Unanswered, "unanswered"),
    (Case::StaleConnection, "stale_connection"),
    (Case::PortDown, "port_down"),
];

impl Case {
    /// The number of cases.
    pub(crate) const COUNT: usize = NAMES.len();

    /// Returns the name in commands and results.
    pub(crate) fn as_str(self) -> &'static str {
        NAMES
            .iter()
            .find(|(case, _)| *case == self)
            .map_or("", |(_, name)| name)
    }

    /// Returns the names of all cases.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> + Clone {
        NAMES.iter().map(|(_, name)| *name)
    }

    /// Returns the case called `name`.
    pub(crate) fn find(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(case, _)| *case)
    }
}

/// A set of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CaseSet(u64);

impl CaseSet {
    /// No case.
    pub(crate) const EMPTY: Self = Self(0);

    /// Every case that runs without help. [`Case::PortDown`] needs a person who takes the port
    /// down, so it runs only where it is named.
    pub(crate) const ALL: Self = Self(((1 << Case::COUNT) - 1) & !Self::bit(Case::PortDown));

    /// Returns true where the set contains `case`.
    pub(crate) const fn has(self, case: Case) -> bool {
        self.0 & Self::bit(case) != 0
    }

    /// Returns an iterator over the cases of the set, in the order in which they run.
    pub(crate) fn iter(self) -> impl Iterator<Item = Case> {
        let all = NAMES.iter().map(|(case, _)| *case);
        all.filter(move |case| self.has(*case))
    }

    const fn bit(case: Case) -> u64 {
        1 << (case as u8)
    }

    /// Adds a case.
    pub(crate) fn insert(&mut self, case: Case) {
        self.0 |= Self::bit(case);
    }

    /// Writes the names of all cases, each after a comma, for a sentence.
    pub(crate) fn list(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        NAMES.iter().try_for_each(|(_, name)| write!(f, ", {name}"))
    }
}

impl fmt::Display for CaseSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return f.write_str("all");
        }
        let mut between = "";
        for case in self.iter() {
            write!(f, "{between}{}", case.as_str())?;
            between = "+";
        }
        Ok(())
    }
}
