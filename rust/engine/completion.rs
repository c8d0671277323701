// SPDX-License-Identifier: GPL-2.0

//! Completions as workloads get them: an operation of krping's, and what the device says.

#![forbid(unsafe_code)]

use crate::{
    logic::failure::Operation,
    rdma::cq::{
        self,
        Opcode, //
    }, //
};

/// A successful completion.
pub(crate) struct WorkCompletion<'a> {
    /// The operation that completed.
    pub(crate) op: Operation,
    /// The number that the request was posted with.
    pub(crate) slot: usize,
    /// The completion as the device gives it.
    pub(super) raw: cq::WorkCompletion<'a>,
}

impl WorkCompletion<'_> {
    /// Returns the number of bytes that arrived, for a receive and an RDMA READ.
    pub(crate) fn bytes(&self) -> u32 {
        self.raw.byte_len()
    }

    /// Returns the key that the peer invalidated with its SEND, for a receive.
    pub(crate) fn invalidated(&self) -> Option<u32> {
        self.raw.invalidated()
    }

    /// Returns the immediate data that came with a message, for a receive.
    pub(crate) fn immediate(&self) -> Option<u32> {
        self.raw.immediate()
    }

    /// Returns true for a receive that a WRITE with immediate data has taken, and left as it was.
    pub(crate) fn is_written(&self) -> bool {
        self.raw.opcode() == Some(Opcode::RECV_RDMA_WITH_IMM)
    }
}
