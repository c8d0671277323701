// SPDX-License-Identifier: GPL-2.0

//! Serves one connection: admits or rejects the client, follows it, and reports the result.

#![forbid(unsafe_code)]

use super::{
    accept::{
        Accepting,
        Responder, //
    },
    asked::Asked,
    device_counters::DeviceCounters,
    drive::{
        disconnect_deadline, //
        drive,
        failed,
    },
    entry::{
        workload,
        Serve, //
    },
    limits::{
        read_limits,
        QueueLimits,
        READS, //
    },
    rejection::rejection,
    server::say_not_served,
    session::Session,
    side::{
        Follow,
        PrivateBytes,
        Side,
        Summary, //
    },
    usage::metered,
    worker::Worker, //
};
use crate::{
    cm::{
        listener::Request,
        PeerData,
        ReadLimits, //
    },
    engine::{
        depths::Depths,
        outcome::Progress,
        polling::Polling,
        queue::Queue,
        queue_pair::QueuePair,
        results::{
            Measured,
            Report, //
        },
        traffic::Traffic, //
    },
    kernel_ext::time::monotonic_ns,
    logic::{
        command::{
            MulticastGroup,
            Role,
            Test, //
        },
        failure::Failure,
        measure::{
            served::credible,
            usage::Usage, //
        },
        pingpong::check_request,
        stream::hello::Hello,
        wire::{
            hello::announced,
            server_port::ServerPort,
            PrivateData, //
        }, //
    },
    mr::Memory,
    rdma::{
        cq::PollMode,
        device::Device,
        qp::Opening, //
    }, //
};
use core::iter;
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Serves one client and reports the result. The body of its thread.
pub(crate) fn run(session: &Arc<Session>, worker: &Arc<Worker>, request: Request) {
    let mut report = Report::new(session.id, worker.id, "server", &session.command);
    let outcome = request.id.outcome().clone();
    if let Err(failure) = serve(session, worker, request, &mut report) {
        report.failure = Some(failure);
        report.refused = !outcome.reached(Progress::Established);
        session.report(&report);
    }
    if let Some(failure) = report.failure.filter(|_| session.command.persist) {
        say_not_served(session, failure);
    }
}

/// Reports a failure of one client, which ends the session unless it persists.
fn give_up(session: &Session, failure: Failure) -> Failure {
    if !session.command.persist {
        session.abort(failure);
    }
    failure
}

fn serve(
    session: &Arc<Session>,
    worker: &Worker,
    request: Request,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let no_memory = |e| give_up(session, failed("serving a client")(e));
    worker.attach(request.id.outcome()).map_err(no_memory)?;
    let Request { id, data, limits } = request;
    report.peer = Some(id.peer());
    let id = Arc::new(id, GFP_KERNEL).map_err(|e| no_memory(e.into()))?;
    let accepting = Accepting {
        session,
        worker,
        id: &id,
    };
    match accepting.admit(&data, limits, report) {
        Ok((serve, asked)) => serve(&accepting, asked, report),
        Err(failure) => Err(accepting.refuse(failure)),
    }
}

/// Steps of a test server for one client.
impl Accepting<'_> {
    /// Rejects the client because of `failure`, and returns the cause of the failure. Sleeps.
    pub(crate) fn refuse(&self, failure: Failure) -> Failure {
        self.refuse_for(self.cause_of(failure))
    }

    /// Rejects the client because of `cause`, and returns that. May sleep.
    pub(crate) fn refuse_for(&self, cause: Failure) -> Failure {
        // First, because in a loopback the rejection makes the client's thread fail, too.
        let cause = give_up(self.session, cause);
        self.id.reject(&rejection(&cause));
        cause
    }

    /// Checks the request of the client, and finds the workload that serves it.
    #[inline(never)]
    fn admit(
        &self,
        data: &PeerData,
        limits: ReadLimits,
        report: &mut Report<'_>,
    ) -> Result<(Serve, Asked), Failure> {
        let command = &self.session.command;
        self.show_device(report)?;
        // The first byte tells the protocols apart.
        match (command.test.is_stream(), Hello::may_be(data.as_slice())) {
            (true, _) => return self.admit_stream(data, limits),
            (false, true) => {
                return Err(Failure::Unsupported(
                    "the client speaks rsocket's protocol, which 'stream' serves",
                ));
            }
            (false, false) => {}
        }
        let test = announced(data.as_slice()).map_err(Failure::PrivateData)?;
        if test.is_some_and(Test::is_block) {
            return Err(Failure::Unsupported(
                "the client wants a disk or a tap, and this server has no store",
            ));
        }
        if test.is_some_and(Test::is_messenger) {
            return Err(Failure::Unsupported(
                "the client sends messages, which 'messenger' serves",
            ));
        }
        let peer = PrivateData::decode(data.as_slice()).map_err(Failure::PrivateData)?;
        report.legacy = Some(peer.is_none());
        if let Some(peer) = &peer {
            report.test = peer.test;
            report.size = peer.size;
            check_request(peer).map_err(|violation| Failure::Protocol(violation, 0))?;
            self.session.allowance.check_silence(peer.alive_ms)?;
        }
        let asked = peer.map_or(Test::PingPong, |peer| peer.test);
        if command.test.has_load() && command.test != asked {
            return Err(Failure::Unsupported(
                "the client asks for another test than the one that is served",
            ));
        }
        let limits = self.agree_on_reads(limits, READS)?;
        let serve = self.serves(asked)?;
        let asked = Asked {
            peer,
            stream: None,
            limits,
        };
        Ok((serve, asked))
    }

    /// Checks the request of a client that speaks rsocket's protocol, which needs no READs.
    fn admit_stream(&self, data: &PeerData, limits: ReadLimits) -> Result<(Serve, Asked), Failure> {
        let stream = Hello::decode(data.as_slice()).map_err(Failure::StreamHello)?;
        let device = self.device()?;
        let limits = read_limits(&device, Some(limits), READS);
        let serve = self.serves(self.session.command.test)?;
        let asked = Asked {
            peer: None,
            stream: Some(stream),
            limits,
        };
        Ok((serve, asked))
    }

    /// Returns the entry point that serves `test`.
    fn serves(&self, test: Test) -> Result<Serve, Failure> {
        let workload = workload(&self.session.registry, test.spec().family);
        let serve = workload.ok().and_then(|workload| workload.serve);
        serve.ok_or(Failure::Unsupported("nobody serves that test"))
    }

    /// Accepts the client, follows it to the end, takes the connection down, and reports the
    /// result.
    #[inline(never)]
    pub(crate) fn follow<W: Follow>(
        &self,
        params: &ServeParams,
        report: &mut Report<'_>,
        build: impl FnOnce(&QueueLimits, &mut Memory, Arc<Traffic>) -> Result<KBox<W>>,
    ) -> Result<(), Failure> {
        let params = &ServeParams {
            polling: params.polling.for_peer(self.session.command.role),
            ..*params
        };
        let queue_pair = self
            .make(&mut Following {
                params,
                build: Some(build),
            })
            .map_err(|failure| self.refuse(failure))?;
        let answer = self
            .answer(params, &queue_pair, report.server_port)
            .map_err(|failure| self.refuse(failure))?;
        let answer = answer.as_ref().map_or(&[][..], PrivateBytes::as_slice);
        let counters = DeviceCounters::begin(self.id);
        let begun_ns = monotonic_ns();
        let mut usage = None;
        let result = self.accept(answer, params.limits).and_then(|()| {
            report.retransmission = queue_pair.retransmission();
            metered(&mut usage, || {
                drive(
                    iter::once(&queue_pair),
                    Progress::Finished,
                    params.polling,
                    Some(params.timeout),
                    Some(params.keepalive_ms),
                    || queue_pair.with(Side::keepalive).unwrap_or(Ok(())),
                )
            })
        });
        let seen_ns = monotonic_ns().saturating_sub(begun_ns);
        let measured = (&counters, usage.as_ref(), seen_ns);
        self.finish(params, queue_pair, result, measured, report);
        Ok(())
    }

    /// Connects the unreliable queue pair to that of the client, if there are any, has it receive
    /// from the multicast group that the client sends to, and returns the private data of the
    /// answer, which tells of `port`.
    fn answer<W: Follow>(
        &self,
        params: &ServeParams,
        queue_pair: &QueuePair<W>,
        port: Option<ServerPort>,
    ) -> Result<Option<PrivateBytes>, Failure> {
        let Some(answer) = params.answer else {
            return Ok(queue_pair.with(|server, _| server.hello()).flatten());
        };
        queue_pair.connect_unreliable(params.data_queue_pair)?;
        if let Some(group) = &params.group {
            let session = self.session;
            let membership = self.id.join(&session.net, group, session.timeout())?;
            queue_pair.receive_from_group(membership)?;
        }
        let answer = PrivateData {
            data_queue_pair: queue_pair.unreliable_number().unwrap_or(0),
            ..answer
        };
        let answer = answer.encode();
        Ok(Some(match port {
            Some(port) => PrivateBytes::Answer(port.encode(answer)),
            None => PrivateBytes::Own(answer),
        }))
    }

    /// Decides if the client left or broke off, takes the connection down, and reports the result.
    #[inline(never)]
    fn finish<W: Follow>(
        &self,
        params: &ServeParams,
        queue_pair: QueuePair<W>,
        result: Result<(), Failure>,
        (counters, usage, seen_ns): (&DeviceCounters, Option<&Usage>, u64),
        report: &mut Report<'_>,
    ) {
        let state = queue_pair.with(|server, _| (server.may_end(), server.served_all()));
        let (may_end, served_all) = state.unwrap_or_default();
        let came = self.id.outcome().reached(Progress::Established);
        let result = self.end(result, |failure| match failure {
            Failure::Disconnected => came && may_end,
            // Everything was done, and only the client's disconnect got lost.
            Failure::TimedOut(..) | Failure::Interrupted => served_all,
            _ => false,
        });
        let mut server = queue_pair.stop();
        server.iter_mut().for_each(|server| server.end());
        let verdict = server.as_ref().map_or(Ok(()), |server| server.verdict());
        // The verdict comes first: other failures may follow from it.
        let result = verdict
            .and(result)
            .map_err(|failure| give_up(self.session, failure));
        if self.id.disconnect() {
            let deadline = disconnect_deadline(self.session, &result);
            self.id.wait_disconnected(deadline);
        }
        let measured = server
            .as_ref()
            .map(|server| measured(&**server, report.size));
        let (said, bytes) = measured.unwrap_or_default();
        let ((operations, ns), bytes) = credible(said, bytes, seen_ns);
        if measured.is_some() {
            queue_pair.note_rate(operations, ns);
        }
        let counts = came && self.session.command.role == Role::Server;
        let failed = result.is_err();
        let add = || self.session.add_served(failed, operations, bytes, ns);
        let served = counts.then(add);
        let sharing = queue_pair.sharing();
        let moved = counters.moved(self.id);
        report.events = params.polling.events(iter::once(&queue_pair));
        drop(queue_pair);
        report.failure = result.err();
        report.refused = !came;
        report.counters = self.worker.counters();
        let report = Report {
            usage,
            device_counters: Some(&moved),
            sharing: sharing.as_ref(),
            served: served.as_ref(),
            ..*report
        };
        match &server {
            Some(server) => self.report(params, &server.summary(), &report),
            None => self.session.report(&report),
        }
    }

    /// Reports the result of a client that was served.
    #[inline(never)]
    fn report(&self, params: &ServeParams, summary: &Summary<'_>, report: &Report<'_>) {
        self.session.report(&Report {
            iterations: summary.iterations,
            elapsed_ns: summary.elapsed_ns(),
            histogram: summary.histogram,
            measured: summary.figures.map(|figures| Measured {
                poll: params.polling.spins(),
                figures,
            }),
            stream: summary.stream.as_ref(),
            ..*report
        });
    }
}

/// Parameters for accepting and following a connection.
#[derive(Clone, Copy)]
pub(crate) struct ServeParams {
    /// READ limits that were agreed on.
    pub(crate) limits: ReadLimits,
    /// Private data of the answer, for a client that understands it.
    pub(crate) answer: Option<PrivateData>,
    /// The number of the client's unreliable queue pair, if it has one.
    pub(crate) data_queue_pair: u32,
    /// The multicast group that the client sends to, if any.
    pub(crate) group: Option<MulticastGroup>,
    /// Method of finding completions that is asked for: see [`Polling::for_peer`].
    pub(crate) polling: Polling,
    /// Bytes that each receive needs room for, for a workload that takes shared receives.
    pub(crate) shares: Option<u32>,
    /// Timeout without activity of the client, in ms.
    pub(crate) timeout: u32,
    /// Keepalive interval in ms: the longest time without a message from this side.
    pub(crate) keepalive_ms: u32,
    /// True if an rkey for all memory may be given to the client.
    pub(crate) unsafe_global_rkey: bool,
}

/// Responder of a server that accepts a client, with a workload created by `build`.
struct Following<'a, B> {
    params: &'a ServeParams,
    build: Option<B>,
}

impl<W, B> Responder for Following<'_, B>
where
    W: Follow,
    B: FnOnce(&QueueLimits, &mut Memory, Arc<Traffic>) -> Result<KBox<W>>,
{
    type Workload = W;

    fn opens_all_memory(&self) -> bool {
        self.params.unsafe_global_rkey
    }

    fn shares(&self) -> Option<u32> {
        self.params.shares
    }

    fn build(
        &mut self,
        _: &Device<'_>,
        room: &QueueLimits,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<(KBox<W>, Depths)> {
        let build = self.build.take().ok_or(EINVAL)?;
        let server = build(room, memory, traffic)?;
        let depths = server.depths();
        Ok((server, depths))
    }

    fn poll_mode(&self) -> PollMode {
        self.params.polling.mode()
    }

    fn early(&self, queue_pair: &QueuePair<W>) -> Result<(), Failure> {
        W::early(queue_pair, Opening::Asked, self.params.timeout)
    }

    fn prepare(server: &mut W, queue: &mut Queue<'_>) -> Result<(), Failure> {
        server.prepare(queue)
    }
}

/// Returns the operations and the nanoseconds that `side` or its peer has measured, and the bytes
/// of these, which have `size` each where neither knows better.
#[inline(never)]
fn measured<W: Follow>(side: &W, size: u32) -> ((u64, u64), u64) {
    let summary = side.summary();
    let measured = summary.measured();
    let bytes = summary.measured_bytes();
    let each = measured.0.saturating_mul(size.into());
    (measured, bytes.unwrap_or(each))
}
