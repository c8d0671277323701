// SPDX-License-Identifier: GPL-2.0

//! Entry points of the streams, through which the engine serves them.

#![forbid(unsafe_code)]

use super::{
    memory::RING,
    server::{
        Service,
        StreamServer, //
    }, //
};
use crate::{
    engine::{
        accept::Accepting,
        asked::Asked,
        entry::{
            Client,
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
        command::MemMode,
        failure::Failure,
        pingpong::Violation,
        spec::tests::Family, //
    },
    rdma::device::Transport, //
};

/// Workload that runs the streams.
pub(crate) static ENTRY: Entry = Entry {
    families: &[Family::Stream],
    // Its option is a server's.
    client: Client::Threads(|_, _| Err(Failure::Unsupported("a stream has no client"))),
    listen: Some(server::start),
    serve: Some(serve),
    depths: None,
    states: &[],
};

/// Returns the service for a client, if the device of the connection can do it, and adapts the
/// connection to it.
fn check(accepting: &Accepting<'_>, asked: &Asked) -> Result<Service, Failure> {
    let theirs = asked.stream.ok_or(Failure::Protocol(Violation::Early, 0))?;
    let device = accepting.device()?;
    if device.transport() == Transport::Iwarp {
        return Err(Failure::Unsupported(
            "a stream needs immediate data, which iWARP does not have",
        ));
    }
    check_size(&device, RING)?;
    // The memory that the client writes is registered.
    adapt_ack_timeout(accepting.id, &device, MemMode::Reg);
    let command = &accepting.session.command;
    Ok(Service {
        theirs,
        echo: command.echo,
        validate: command.validate,
    })
}

fn serve(accepting: &Accepting<'_>, asked: Asked, report: &mut Report<'_>) -> Result<(), Failure> {
    let session = accepting.session;
    let service = check(accepting, &asked).map_err(|failure| accepting.refuse(failure))?;
    let params = ServeParams {
        limits: asked.limits,
        answer: None,
        data_queue_pair: 0,
        group: None,
        polling: Polling::of(&session.command),
        timeout: session.timeout(),
        keepalive_ms: session.keepalive_ms(),
        shares: None,
        unsafe_global_rkey: false,
    };
    accepting.follow(&params, report, |room, memory, traffic| {
        StreamServer::new(service, room, memory, traffic)
    })
}
