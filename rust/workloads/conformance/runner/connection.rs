// SPDX-License-Identifier: GPL-2.0

//! The connection of a case, and the outcomes that the worker waits on for it.

#![forbid(unsafe_code)]

use crate::{
    cm::CmId,
    engine::{
        outcome::Outcome,
        worker::Worker, //
    },
    workloads::conformance::Pair, //
};
use kernel::sync::Arc;

/// A connection of a case. Fields are in drop order.
pub(super) struct TestConnection<'a> {
    pub(super) pair: Pair<'a>,
    /// Identifiers of the requester and the responder.
    pub(super) ids: [Arc<CmId>; 2],
    pub(super) _ends: Ends<'a>,
}

/// Outcomes of a connection that are attached to the worker. Dropping this detaches them.
pub(super) struct Ends<'a> {
    pub(super) worker: &'a Worker,
    pub(super) outcomes: [Option<Arc<Outcome>>; 2],
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        for outcome in self.outcomes.iter().flatten() {
            self.worker.detach(outcome);
        }
    }
}
