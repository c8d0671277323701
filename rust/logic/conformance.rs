// SPDX-License-Identifier: GPL-2.0

//! The conformance tests, `neg=`: their names, and sets of them.
//!
//! What a device must do in each is in [`expectation`](expectation).

pub(crate) mod deviation;
pub(crate) mod expectation;
pub(crate) mod observation;
pub(crate) mod trial;

use core::fmt;

/// One way to use a device wrongly, or up to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Case {
    /// WRITE with a key that a later registration has replaced.
    StaleRkey,
    /// READ of memory that is opened for WRITEs.
    ReadOfWriteOnly,
    /// WRITE to memory that is opened for READs.
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
    /// SEND of more than the receive holds.
    SendTooLong,
    /// SEND with invalidation of a key that is not valid at the peer.
    SendInvStale,
    /// SEND where no receive is posted, and no repetition allowed.
    Rnr,
    /// An operation that the device does not claim to have.
    UnsupportedOpcode,
    /// WRITE of nothing, with a key that was never given out.
    ZeroLength,
    /// A post to a send queue that is full.
    SqFull,
    /// As many completions as the queue holds.
    CqExact,
    /// More completions than the queue holds.
    CqOverrun,
    /// A peer that is silent.
    RetryExhausted,
    /// What is posted behind a request that fails.
    FlushOrder,
    /// The drain of a queue pair that works.
    Drain,
    /// A WRITE, and a message of the CM's, over a port that somebody takes down for it.
    PortDown,
}

/// All cases with their names, in the order in which they run.
const NAMES: [(Case, &str); 21] = [
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
    (Case::PortDown, "port_down"),
];

impl Case {
    /// How many there are.
    pub(crate) const COUNT: usize = NAMES.len();

    /// Its name in commands and results.
    pub(crate) fn as_str(self) -> &'static str {
        NAMES
            .iter()
            .find(|(case, _)| *case == self)
            .map_or("", |(_, name)| name)
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
pub(crate) struct CaseSet(u32);

impl CaseSet {
    /// No case.
    pub(crate) const EMPTY: Self = Self(0);

    /// Every case that needs nobody's help. [`Case::PortDown`] does, as somebody must take the
    /// port down: it runs where it is named.
    pub(crate) const ALL: Self = Self(((1 << Case::COUNT) - 1) & !Self::bit(Case::PortDown));

    /// Whether `case` is in it.
    pub(crate) const fn has(self, case: Case) -> bool {
        self.0 & Self::bit(case) != 0
    }

    /// Those in it, in the order in which they run.
    pub(crate) fn iter(self) -> impl Iterator<Item = Case> {
        let all = NAMES.iter().map(|(case, _)| *case);
        all.filter(move |case| self.has(*case))
    }

    const fn bit(case: Case) -> u32 {
        1 << (case as u8)
    }

    /// Adds a case.
    pub(crate) fn insert(&mut self, case: Case) {
        self.0 |= Self::bit(case);
    }

    /// Writes the names of all cases, for a sentence.
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
