// SPDX-License-Identifier: GPL-2.0

//! Identifiers that ask for another connection, for the cases about connection requests.

#![forbid(unsafe_code)]

use super::{
    attach,
    connection::{
        hello,
        Ends, //
    },
    CaseRunner, //
};
use crate::{
    engine::{
        dial::dial,
        drive::failed,
        outcome::Outcome,
        results::Report, //
    },
    logic::failure::{
        Failure,
        CONNECTING, //
    },
    workloads::conformance::{
        caller::Caller,
        setup::Calls,
        Setup, //
    }, //
};
use kernel::prelude::*;

impl<'a> CaseRunner<'a> {
    /// Resolves the route from this host to itself, and creates a queue pair if `calls` says so.
    /// Sleeps.
    ///
    /// # Errors
    ///
    /// The step that failed, or the command was cancelled.
    #[inline(never)]
    pub(super) fn caller(
        &'a self,
        calls: Calls,
        report: &mut Report<'_>,
    ) -> Result<(Caller<'a>, Ends<'a>), Failure> {
        let outcome = Outcome::new(&self.wait_queue).map_err(failed(CONNECTING))?;
        attach(self.worker, &outcome)?;
        let ends = Ends {
            worker: self.worker,
            outcomes: [Some(outcome.clone()), None],
        };
        let timeout = self.session.timeout();
        let (worker, addr) = (self.worker, &self.addr);
        let id = dial(
            self.session,
            worker,
            outcome,
            addr,
            timeout,
            report,
            |_, _| (),
        )?;
        let end = match calls {
            Calls::OwnQueuePair => {
                let end = self.end(&id, &Setup::PLAIN, &self.pd, true)?;
                let end = KBox::new(end, GFP_KERNEL);
                Some(end.map_err(|e| failed("creating the queue pair")(e.into()))?)
            }
            Calls::NoQueuePair => None,
        };
        Ok((Caller::new(id, end, hello(), self.listener), ends))
    }
}
