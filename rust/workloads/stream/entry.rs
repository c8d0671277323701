// SPDX-License-Identifier: GPL-2.0

//! Entry points of the streams, through which the engine starts and serves them.

#![forbid(unsafe_code)]

use super::side::Stream;
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
            MemMode, //
        },
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
    client.lead(
        report,
        |device| check(device, command),
        |room, memory, traffic| Stream::new(command, None, room, memory, traffic),
    )
}

fn check(device: &Device<'_>, command: &Command) -> Result<(), Failure> {
    match device.transport() {
        // Memory is registered by a queue pair, and here that has a connection first.
        Transport::Iwarp if !command.unsafe_global_rkey => Err(Failure::Unsupported(
            "a stream on iWARP tells of its memory before that can be registered; give \
             unsafe_global_rkey, too",
        )),
        Transport::Iwarp | Transport::InfiniBand | Transport::Roce | Transport::Other => Ok(()),
    }
}

/// Returns what the client has said, if the device of the connection can serve it, and adapts the
/// connection to it.
fn adapt(accepting: &Accepting<'_>, asked: &Asked) -> Result<Hello, Failure> {
    let theirs = asked.stream.ok_or(Failure::Protocol(Violation::Early, 0))?;
    let device = accepting.device()?;
    let command = &accepting.session.command;
    check(&device, command)?;
    check_size(&device, command.largest_buffer())?;
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
        unsafe_global_rkey: session.command.unsafe_global_rkey,
    };
    accepting.follow(&params, report, |room, memory, traffic| {
        Stream::new(&session.command, Some(&theirs), room, memory, traffic)
    })
}
