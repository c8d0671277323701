// SPDX-License-Identifier: GPL-2.0

//! The connection of a case: how it is made and destroyed, and the outcomes that the worker waits
//! on for it.

#![forbid(unsafe_code)]

use super::{
    attach,
    CaseRunner, //
};
use crate::{
    cm::{
        listener::Request,
        CmId, //
    },
    engine::{
        destroying::destroy,
        dial::dial,
        drive::failed,
        limits::{
            adapt_ack_timeout,
            read_limits, //
        },
        outcome::{
            Outcome,
            Progress, //
        },
        results::Report,
        worker::Worker, //
    },
    kernel_ext::{
        random::random,
        time::Deadline, //
    },
    logic::{
        command::MemMode,
        failure::{
            Failure,
            CONNECTING, //
        },
        wire::PrivateData, //
    },
    mr::Memory,
    rdma::pd::ProtectionDomain,
    workloads::conformance::{
        Deadlines,
        End,
        Pair,
        Setup, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Most time in ms that a disconnect waits until the peer, which is this host too, knows of it.
const FAREWELL_MS: u32 = 500;

/// First bytes of the private data by which a connection recognises its own request.
const MAGIC: &[u8; 8] = b"krpneg\0\x01";

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

impl<'a> CaseRunner<'a> {
    /// Connects this host with itself, with both ends in `domain`. Sleeps.
    ///
    /// # Errors
    ///
    /// The step that failed, or the command was cancelled.
    #[inline(never)]
    pub(super) fn connect(
        &'a self,
        setup: &Setup,
        domain: &Arc<ProtectionDomain>,
        report: &mut Report<'_>,
    ) -> Result<KBox<TestConnection<'a>>, Failure> {
        let outcome = Outcome::new(&self.wait_queue).map_err(failed(CONNECTING))?;
        attach(self.worker, &outcome)?;
        let mut ends = Ends {
            worker: self.worker,
            outcomes: [Some(outcome.clone()), None],
        };
        let timeout = self.session.timeout();
        let id = dial(
            self.session,
            self.worker,
            outcome.clone(),
            &self.addr,
            timeout,
            report,
            |id, device| match setup.ack_timeout {
                Some(exponent) => id.set_ack_timeout(exponent),
                None => adapt_ack_timeout(id, device, MemMode::Reg),
            },
        )?;
        let limits = read_limits(&self.device()?, None, setup.reads);
        let requester = self.end(&id, setup, domain, true)?;
        let hello = hello();
        id.begin_connect(&hello, limits, setup.retries, timeout)?;

        let Request {
            id: peer, limits, ..
        } = self.request(&hello)?;
        attach(self.worker, peer.outcome())?;
        ends.outcomes[1] = Some(peer.outcome().clone());
        let peer = Arc::new(peer, GFP_KERNEL).map_err(|e| failed(CONNECTING)(e.into()))?;
        peer.set_min_rnr_timer(setup.rnr_timer);
        let responder = self.end(&peer, setup, domain, false)?;
        let limits = read_limits(&self.device()?, Some(limits), setup.reads);
        peer.accept_with(&[], limits, setup.retries, timeout)?;
        for outcome in [peer.outcome(), &outcome] {
            outcome.wait_for(Progress::Established, CONNECTING, Some(timeout))?;
        }
        let deadlines = Deadlines {
            control: self.anchor.outcome(),
            timeout_ms: timeout,
        };
        let connection = TestConnection {
            pair: Pair::new(requester, responder, self.fabric, deadlines),
            ids: [id, peer],
            _ends: ends,
        };
        KBox::new(connection, GFP_KERNEL).map_err(|e| failed(CONNECTING)(e.into()))
    }

    /// Creates one end of a connection: the requester if `requests` is true, else the responder.
    pub(super) fn end(
        &self,
        id: &Arc<CmId>,
        setup: &Setup,
        domain: &Arc<ProtectionDomain>,
        requests: bool,
    ) -> Result<End, Failure> {
        Memory::new(id.rdma(), domain.clone())
            .and_then(|memory| End::new(id, memory, &self.other_pd, setup, requests))
            .map_err(failed("creating the queue pair"))
    }

    /// Waits for the connection request that carries `hello`. Rejects all others.
    fn request(&self, hello: &[u8]) -> Result<Request, Failure> {
        let timeout = Some(self.session.timeout());
        loop {
            let reports = self.listener.outcome();
            reports.wait_until(CONNECTING, timeout, || self.listener.has_request())?;
            match self.listener.take() {
                Some(request) if request.data.as_slice() == hello => return Ok(request),
                // Dropping a request rejects it.
                _ => {}
            }
        }
    }

    /// Takes a connection down, waits until both ends know of it, for at most [`FAREWELL_MS`], and
    /// destroys it. Sleeps.
    ///
    /// # Errors
    ///
    /// It is not destroyed within the timeout.
    pub(super) fn close(&self, connection: KBox<TestConnection<'_>>) -> Result<(), Failure> {
        let deadline = Deadline::after_ms(FAREWELL_MS.min(self.session.timeout()));
        for id in &connection.ids {
            if !id.disconnect() {
                id.outcome().disconnected();
            }
        }
        for id in &connection.ids {
            id.wait_disconnected(deadline);
        }
        let TestConnection { pair, ids, _ends } = KBox::into_inner(connection);
        let timeout = self.session.timeout();
        // The queue pairs come before the identifiers that they were made for.
        match destroy(self.session, (pair.into_ends(), ids), timeout) {
            true => Ok(()),
            false => Err(Failure::TimedOut("destroying the queue pairs", timeout)),
        }
    }
}

/// Returns random private data, which no other connection request has.
pub(super) fn hello() -> [u8; PrivateData::LEN] {
    let mut data = [0; PrivateData::LEN];
    let (magic, rest) = data.split_at_mut(MAGIC.len());
    magic.copy_from_slice(MAGIC);
    for (byte, random) in rest.iter_mut().zip(random().to_ne_bytes()) {
        *byte = random;
    }
    data
}
