// SPDX-License-Identifier: GPL-2.0

//! Entry points of the ping/pong, through which the engine starts and serves it.

#![forbid(unsafe_code)]

use super::{
    client::PingPongClient,
    server::{
        PingPongServer,
        Service, //
    }, //
};
use crate::{
    engine::{
        accept::Accepting,
        asked::Asked,
        client::{
            self,
            Client, //
        },
        entry::{
            Client as ClientEntry,
            Entry, //
        },
        limits::{
            adapt_ack_timeout,
            check_size, //
        },
        polling::Polling,
        results::Report,
        server,
        serving::ServeParams, //
    },
    logic::{
        command::{
            Command,
            Test, //
        },
        data::pattern::Pattern,
        device::caps,
        failure::Failure,
        spec::tests::Family,
        wire::{
            PeerRole,
            PrivateData, //
        }, //
    },
    rdma::device::Device, //
};

/// Workload that runs the ping/pong.
pub(crate) static ENTRY: Entry = Entry {
    families: &[Family::PingPong],
    client: ClientEntry::Threads(|session, addr| client::start(session, addr, lead)),
    listen: Some(server::start),
    serve: Some(serve),
    depths: None,
    states: &[],
};

fn lead(client: &Client<'_>, report: &mut Report<'_>) -> Result<(), Failure> {
    let command = &client.session.command;
    let check = |device: &Device<'_>| check_read_inv(command.read_inv, device);
    client.lead(report, check, |limits, memory, traffic| {
        PingPongClient::new(command, client.pattern, limits.txdepth, memory, traffic)
    })
}

/// Checks that `device` has READ_WITH_INV where that is wanted.
///
/// # Errors
///
/// [`Failure::Unsupported`].
pub(crate) fn check_read_inv(wanted: bool, device: &Device<'_>) -> Result<(), Failure> {
    if wanted && !device.has_read_with_invalidate() {
        return Err(Failure::Unsupported(caps::NO_READ_INV));
    }
    Ok(())
}

/// Least buffer size, in bytes, for a client that does not announce its size: what `rping` can be
/// told to use.
const LEGACY_BUFFER: u32 = 64 * 1024;

/// Returns the service for a client that announced `peer`, or announced nothing.
///
/// # Errors
///
/// [`Failure::Unsupported`] if the service needs READ_WITH_INV and the device lacks it.
fn service(
    command: &Command,
    peer: Option<&PrivateData>,
    device: &Device<'_>,
) -> Result<Service, Failure> {
    let read_inv = peer.map_or(command.read_inv, |peer| peer.read_inv);
    check_read_inv(read_inv, device)?;
    Ok(match peer {
        Some(peer) => Service {
            size: peer.size,
            count: match peer.test.spec().family {
                // Its client sends nothing that could be counted.
                Family::FastReg => 0,
                Family::PingPong
                | Family::Latency
                | Family::Bandwidth
                | Family::Disk
                | Family::Tap
                | Family::Caps
                | Family::Conformance
                | Family::Rw
                | Family::Stream
                | Family::Messenger => peer.count,
            },
            mem_mode: peer.mem_mode,
            server_inv: peer.server_inv,
            read_inv,
            local_dma_lkey: command.local_dma_lkey,
            check: peer.validate.then_some(Pattern {
                kind: peer.pattern,
                seed: peer.seed,
            }),
            verbose: command.verbose,
            silent: peer.test == Test::FastReg,
        },
        None => Service {
            size: command.size.max(LEGACY_BUFFER),
            count: 0,
            mem_mode: command.mem_mode,
            server_inv: command.server_inv,
            read_inv,
            local_dma_lkey: command.local_dma_lkey,
            check: None,
            verbose: command.verbose,
            silent: false,
        },
    })
}

/// Returns the service for the client if the device supports it, and adapts the connection to it.
fn check(accepting: &Accepting<'_>, peer: Option<&PrivateData>) -> Result<Service, Failure> {
    let device = accepting.device()?;
    let service = service(&accepting.session.command, peer, &device)?;
    check_size(&device, service.size)?;
    adapt_ack_timeout(accepting.id, &device, service.mem_mode);
    Ok(service)
}

/// Serves a client of the ping/pong, or of the fast registration stress.
pub(crate) fn serve(
    accepting: &Accepting<'_>,
    asked: Asked,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let session = accepting.session;
    let Asked { peer, limits, .. } = asked;
    let service = check(accepting, peer.as_ref()).map_err(|failure| accepting.refuse(failure))?;
    report.size = service.size;
    // The longest that the client is silent.
    let silence_ms = peer.map_or(0, |peer| peer.alive_ms);
    // A legacy client does not expect private data.
    let answer = peer.map(|peer| PrivateData {
        role: PeerRole::Server,
        mem_mode: service.mem_mode,
        server_inv: service.server_inv,
        read_inv: service.read_inv,
        validate: service.check.is_some(),
        size: service.size,
        count: service.count,
        seed: 0,
        max_size: service.size,
        ..peer
    });
    let params = ServeParams {
        limits,
        answer,
        data_queue_pair: 0,
        group: None,
        polling: Polling::of(&session.command),
        timeout: session.allowance.timeout_of_silent(silence_ms),
        keepalive_ms: session.keepalive_ms(),
        shares: None,
        unsafe_global_rkey: false,
    };
    accepting.follow(&params, report, |room, memory, traffic| {
        PingPongServer::new(service, room.txdepth, memory, traffic)
    })
}
