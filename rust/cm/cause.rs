// SPDX-License-Identifier: GPL-2.0

//! Causes of failures, as connections know them: what had been reported, or a port that is down.

#![forbid(unsafe_code)]

use super::{
    port::Way,
    CmId, //
};
use crate::{
    engine::outcome::Outcome,
    logic::failure::Failure, //
};

impl CmId {
    /// Returns the cause of `failure`: what had been reported, or that the port is down where
    /// that explains it. Sleeps.
    pub(crate) fn cause_of(&self, failure: Failure) -> Failure {
        self.or_port_down(self.outcome().cause_of(failure))
    }

    /// Fails with the cause once the connection has failed. Sleeps only if it has.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.outcome().settled_failure() {
            Some(failure) => Err(self.cause_of(failure)),
            None => Ok(()),
        }
    }

    /// Returns `failure`, or that the port is down where that explains it. May sleep.
    pub(crate) fn or_port_down(&self, failure: Failure) -> Failure {
        if failure.may_be_the_link() && self.way() == Way::PortDown {
            Failure::PortDown
        } else {
            failure
        }
    }
}

/// Returns the failure that explains best why connections ended. `seen` returns what was seen of a
/// connection's end, if it has ended; without any, `failure` is what counts. One connection may
/// report the consequence before another one reports the cause; they are waited for together.
/// Sleeps.
pub(crate) fn best_cause<'a>(
    mut ids: impl Iterator<Item = &'a CmId> + Clone,
    seen: impl Fn(&Outcome) -> Option<Failure>,
    failure: Failure,
) -> Failure {
    let grace = Outcome::grace();
    let causes = ids.clone().filter_map(|id| {
        let outcome = id.outcome();
        seen(outcome).map(|failure| outcome.cause_until(failure, grace))
    });
    let cause = causes.max_by_key(Failure::rank).unwrap_or(failure);
    ids.next().map_or(cause, |id| id.or_port_down(cause))
}
