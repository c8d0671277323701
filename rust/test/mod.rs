// SPDX-License-Identifier: GPL-2.0

//! The workloads: what a connection is used for.

#![forbid(unsafe_code)]

pub(crate) mod exchange;
pub(crate) mod fastreg;
pub(crate) mod pingpong_client;
pub(crate) mod pingpong_server;

use crate::{
    logic::{failure::Failure, histogram::Histogram},
    qp::{Queue, Workload},
};

/// What a client's workload has done.
pub(crate) struct Summary<'a> {
    /// Finished iterations.
    pub(crate) iterations: u64,
    /// Nanoseconds from the first post to the last completion.
    pub(crate) elapsed_ns: u64,
    /// Nanoseconds for each iteration, where they are measured.
    pub(crate) histogram: Option<&'a Histogram>,
}

/// A client's workload: it leads, and says when it is done by advancing its
/// outcome to `Finished`.
pub(crate) trait Lead: Workload {
    /// Requests that its send queue must hold.
    const SEND_DEPTH: u32;

    /// Posts what must be posted before the connection is made.
    ///
    /// # Errors
    ///
    /// What the device says.
    fn prepare(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure>;

    /// Begins, once connected.
    ///
    /// # Errors
    ///
    /// What the device says.
    fn start(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure>;

    /// What has been done.
    fn summary(&self) -> Summary<'_>;
}
