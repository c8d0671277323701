// SPDX-License-Identifier: GPL-2.0

//! Operations on a queue pair.

/// An operation on a queue pair, as its completion names it.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Send,
    Read,
    Write,
    Register,
    Invalidate,
    Receive,
    Control,
    Atomic,
}

impl Operation {
    /// All operations, in the order of their numbers.
    pub(crate) const ALL: [Self; 8] = [
        Self::Send,
        Self::Read,
        Self::Write,
        Self::Register,
        Self::Invalidate,
        Self::Receive,
        Self::Control,
        Self::Atomic,
    ];

    /// Returns its usual name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Send | Self::Control => "SEND",
            Self::Read => "RDMA READ",
            Self::Write => "RDMA WRITE",
            Self::Register => "REG_MR",
            Self::Invalidate => "LOCAL_INV",
            Self::Receive => "RECV",
            Self::Atomic => "atomic operation",
        }
    }
}
