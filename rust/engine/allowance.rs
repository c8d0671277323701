// SPDX-License-Identifier: GPL-2.0

//! Limits of the time and the memory that the peers of a command's connections may take, and where
//! that memory is.

#![forbid(unsafe_code)]

use crate::{
    kernel_ext::pages::{
        self,
        Node, //
    },
    logic::{
        command::{
            Command,
            Role, //
        },
        failure::{
            errno,
            Failure, //
        }, //
    },
    mr::Budget,
    rdma::memory::{
        ForeignMemory,
        Memory, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Default of `timeout=`: the timeout of every wait for a peer, in ms.
const DEFAULT_TIMEOUT_MS: u32 = 10_000;

/// Default of `silence=`: the longest time in ms for which the client of a server may be silent,
/// where the server's own timeout is not longer.
pub(crate) const SILENCE_MS: u32 = 60_000;

/// Limits for peers. Clients of a server decide how much it spends on them, so a server has limits
/// by default; a client and a loopback have chosen their peers.
pub(crate) struct Allowance {
    /// Timeout of waits for a peer, in ms: `timeout=`.
    pub(super) timeout_ms: u32,
    /// Longest time in ms for which a peer may be silent: `silence=` of a server, by default
    /// [`SILENCE_MS`] or its timeout. A loopback knows both sides.
    most_silence_ms: u32,
    /// Most memory that the buffers of a server's connections may take, in bytes: `max_memory=`, by
    /// default half of what was available when the command began. `None`: unlimited.
    most_memory: Option<u64>,
    /// The part of it that is left.
    budget: Option<Arc<Budget>>,
    /// The NUMA node that buffers are allocated on: `node=`, if there is such a node.
    node: Option<Node>,
}

impl Allowance {
    /// Returns the limits for the peers of `command`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(command: &Command) -> Result<Self> {
        let timeout_ms = command.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
        let silence = match command.role {
            Role::Loopback => u32::MAX,
            Role::Client | Role::Server => SILENCE_MS.max(timeout_ms),
        };
        let memory = (command.role == Role::Server).then(|| pages::available() / 2);
        let most_memory = command.max_memory.or(memory);
        let halves = command.max_memory.is_none();
        Ok(Self {
            timeout_ms,
            most_silence_ms: command.most_silence_ms.unwrap_or(silence),
            most_memory,
            budget: most_memory
                .map(|bytes| Budget::new(bytes, halves))
                .transpose()?,
            node: command.node.and_then(|number| Node::new(number).ok()),
        })
    }

    /// Checks that there is the node that `command`, of which these are the limits, has named.
    ///
    /// # Errors
    ///
    /// [`Failure::NoNode`].
    pub(super) fn check_node(&self, command: &Command) -> Result<(), Failure> {
        match (command.node, self.node) {
            (Some(number), None) => Err(Failure::NoNode(number)),
            (Some(_), Some(_)) | (None, _) => Ok(()),
        }
    }

    /// Has the buffers that are added to `memory` from now on charged to the budget, and allocated
    /// on the node.
    pub(crate) fn apply<F: ForeignMemory>(&self, memory: &mut Memory<F>) {
        if let Some(budget) = &self.budget {
            memory.charge_to(budget.clone());
        }
        if let Some(node) = self.node {
            memory.allocate_on(node);
        }
    }

    /// Checks that a client that is silent for `alive_ms` at most may be.
    ///
    /// # Errors
    ///
    /// [`Failure::Silent`].
    pub(crate) fn check_silence(&self, alive_ms: u32) -> Result<(), Failure> {
        match alive_ms > self.most_silence_ms {
            true => Err(Failure::Silent(alive_ms, self.most_silence_ms)),
            false => Ok(()),
        }
    }

    /// Returns the timeout of waits for a peer that is silent for `alive_ms` at most, in ms: three
    /// times that, where it is longer than the command's timeout, but never longer than a peer may
    /// be silent. A peer that tells of no such time has 0.
    pub(crate) fn timeout_of_silent(&self, alive_ms: u32) -> u32 {
        self.timeout_ms
            .max(alive_ms.saturating_mul(3))
            .min(self.most_silence_ms)
    }

    /// Turns the `error` of creating a connection's buffers into a failure. `EDQUOT` becomes
    /// [`Failure::OverMemory`] if there is a memory limit.
    pub(crate) fn no_buffers(&self, error: Error) -> Failure {
        match self.most_memory {
            Some(limit) if error.to_errno() == -errno::EDQUOT => Failure::OverMemory(limit),
            _ => Failure::Kernel("allocating and registering buffers", error.to_errno()),
        }
    }
}
