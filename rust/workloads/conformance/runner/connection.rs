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
        queue_pair::CONNECTING_WITHOUT_CM,
        results::Report,
        worker::Worker, //
    },
    kernel_ext::{
        random::random,
        time::Deadline, //
    },
    logic::{
        command::MemMode,
        conformance::{
            row::Target,
            steps::Side, //
        },
        failure::{
            Failure,
            CONNECTING, //
        },
        wire::PrivateData, //
    },
    mr::Memory,
    rdma::{
        device::Device,
        pd::ProtectionDomain,
        qp::ConnectionAttributes, //
    },
    workloads::conformance::{
        datagrams::UNUSED,
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

impl Ends<'_> {
    /// Returns the outcome of one end.
    fn of(&mut self, side: Side) -> &mut Option<Arc<Outcome>> {
        let [requester, responder] = &mut self.outcomes;
        match side {
            Side::Requester => requester,
            Side::Responder => responder,
        }
    }
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
        let mut ends = Ends {
            worker: self.worker,
            outcomes: [None, None],
        };
        let id = self.route(&mut ends, Side::Requester, setup, report)?;
        let requester = self.end(&id, setup, domain, true)?;
        let (peer, responder) = match setup.first_psn {
            Some(psn) => {
                let peer = self.route(&mut ends, Side::Responder, setup, report)?;
                let responder = self.end(&peer, setup, domain, false)?;
                self.connect_without_cm(&requester, &responder, psn, setup)?;
                (peer, responder)
            }
            None => self.connect_by_cm(&id, &mut ends, setup, domain)?,
        };
        let deadlines = Deadlines {
            control: self.anchor.outcome(),
            timeout_ms: self.session.timeout(),
        };
        let connection = TestConnection {
            pair: Pair::new(requester, responder, self.fabric, deadlines),
            ids: [id, peer],
            _ends: ends,
        };
        KBox::new(connection, GFP_KERNEL).map_err(|e| failed(CONNECTING)(e.into()))
    }

    /// Resolves the route of one end to this host. Sleeps.
    fn route(
        &'a self,
        ends: &mut Ends<'a>,
        side: Side,
        setup: &Setup,
        report: &mut Report<'_>,
    ) -> Result<Arc<CmId>, Failure> {
        let outcome = Outcome::new(&self.wait_queue).map_err(failed(CONNECTING))?;
        attach(self.worker, &outcome)?;
        *ends.of(side) = Some(outcome.clone());
        let (timeout, worker) = (self.session.timeout(), self.worker);
        let adapt = |id: &CmId, device: &Device<'_>| match setup.ack_timeout {
            Some(exponent) => id.set_ack_timeout(exponent),
            None => adapt_ack_timeout(id, device, MemMode::Reg),
        };
        dial(
            self.session,
            worker,
            outcome,
            &self.addr,
            timeout,
            report,
            adapt,
        )
    }

    /// Asks for the connection of `id`, and accepts it. Returns the identifier of the responder,
    /// and that end. Sleeps.
    fn connect_by_cm(
        &'a self,
        id: &CmId,
        ends: &mut Ends<'a>,
        setup: &Setup,
        domain: &Arc<ProtectionDomain>,
    ) -> Result<(Arc<CmId>, End), Failure> {
        let timeout = self.session.timeout();
        let limits = read_limits(&self.device()?, None, setup.reads);
        let hello = hello();
        id.begin_connect(&hello, limits, setup.retries, timeout)?;

        let Request {
            id: peer, limits, ..
        } = self.request(&hello)?;
        attach(self.worker, peer.outcome())?;
        *ends.of(Side::Responder) = Some(peer.outcome().clone());
        let peer = Arc::new(peer, GFP_KERNEL).map_err(|e| failed(CONNECTING)(e.into()))?;
        peer.set_min_rnr_timer(setup.rnr_timer);
        let responder = self.end(&peer, setup, domain, false)?;
        let limits = read_limits(&self.device()?, Some(limits), setup.reads);
        peer.accept_with(&[], limits, setup.retries, timeout)?;
        for outcome in [peer.outcome(), id.outcome()] {
            outcome.wait_for(Progress::Established, CONNECTING, Some(timeout))?;
        }
        Ok((peer, responder))
    }

    /// Connects two ends, which begin with the packet sequence number `psn`. Sleeps.
    fn connect_without_cm(
        &self,
        requester: &End,
        responder: &End,
        psn: u32,
        setup: &Setup,
    ) -> Result<(), Failure> {
        let limits = read_limits(&self.device()?, None, setup.reads);
        let attributes = ConnectionAttributes {
            max_rd_atomic: limits.initiator_depth,
            max_dest_rd_atomic: limits.responder_resources,
            min_rnr_timer: setup.rnr_timer,
            timeout: setup.ack_timeout,
            retry_cnt: setup.retries.lost,
            rnr_retry: setup.retries.rnr,
        };
        let target = match setup.target {
            Target::Responder => responder.number(),
            Target::Datagrams => responder.datagram_number()?,
            Target::Nobody => responder.number() ^ UNUSED,
        };
        for (end, peer) in [(requester, target), (responder, requester.number())] {
            end.connect_without_cm(peer, psn, &attributes)
                .map_err(failed(CONNECTING_WITHOUT_CM))?;
        }
        Ok(())
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
