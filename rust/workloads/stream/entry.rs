// SPDX-License-Identifier: GPL-2.0

//! Entry points of the streams, through which the engine starts and serves them.

#![forbid(unsafe_code)]

use super::{
    client::StreamClient,
    server::StreamServer, //
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
        command::MemMode,
        failure::Failure,
        pingpong::Violation,
        spec::tests::Family,
        stream::hello::Hello, //
    },
    rdma::device::{
        Device,
        Transport, //
    }, //
};

/// Workload that runs the streams.
pub(crate) static ENTRY: Entry = Entry {
    families: &[Family::Stream],
    client: ClientEntry::Threads(|session, addr| client::start(session, addr, lead)),
    listen: Some(server::start),
    serve: Some(serve),
    depths: None,
    states: &[],
};

fn lead(client: &Client<'_>, report: &mut Report<'_>) -> Result<(), Failure> {
    let command = &client.session.command;
    client.lead(report, check, |room, memory, traffic| {
        StreamClient::new(command, room, memory, traffic)
    })
}

fn check(device: &Device<'_>) -> Result<(), Failure> {
    match device.transport() {
        Transport::Iwarp => Err(Failure::Unsupported(
            "a stream needs immediate data, which iWARP does not have",
        )),
        Transport::InfiniBand | Transport::Roce | Transport::Other => Ok(()),
    }
}

/// Returns what the client has said, if the device of the connection can serve it, and adapts the
/// connection to it.
fn adapt(accepting: &Accepting<'_>, asked: &Asked) -> Result<Hello, Failure> {
    let theirs = asked.stream.ok_or(Failure::Protocol(Violation::Early, 0))?;
    let device = accepting.device()?;
    check(&device)?;
    check_size(&device, accepting.session.command.largest_buffer())?;
    // The memory that the client writes is registered.
    adapt_ack_timeout(accepting.id, &device, MemMode::Reg);
    Ok(theirs)
}

fn serve(accepting: &Accepting<'_>, asked: Asked, report: &mut Report<'_>) -> Result<(), Failure> {
    let session = accepting.session;
    // The client does not tell.
    report.size = 0;
    let theirs = adapt(accepting, &asked).map_err(|failure| accepting.refuse(failure))?;
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
        StreamServer::new(&session.command, &theirs, room, memory, traffic)
    })
}
