// SPDX-License-Identifier: GPL-2.0

//! Entry points of the transfers, through which the engine starts and serves them.

#![forbid(unsafe_code)]

use super::{
    client::RwClient,
    server::{
        RwServer,
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
            MemMode,
            Test, //
        },
        data::pattern::Pattern,
        device::caps,
        failure::Failure,
        pingpong::Violation,
        spec::tests::Family,
        wire::{
            PeerRole,
            PrivateData, //
        }, //
    },
    rdma::{
        device::Device,
        memory::DmaDirection,
        rw::{
            contexts_of_one,
            ListKind,
            Shape,
            TAKES_BIO_VECS, //
        }, //
    }, //
};

/// Workload that runs the transfers.
pub(crate) static ENTRY: Entry = Entry {
    families: &[Family::Rw],
    client: ClientEntry::Threads(|session, addr| client::start(session, addr, lead)),
    listen: Some(server::start),
    serve: Some(serve),
    depths: None,
    states: &[],
};

fn lead(client: &Client<'_>, report: &mut Report<'_>) -> Result<(), Failure> {
    let command = &client.session.command;
    let check = |_: &Device<'_>| Ok(());
    client.lead(report, check, |room, memory, traffic| {
        RwClient::new(command, client.pattern, room, memory, traffic)
    })
}

/// Returns the service for a client, if the device of the connection can do it, and adapts the
/// connection to it.
fn check(accepting: &Accepting<'_>, peer: &PrivateData) -> Result<Service, Failure> {
    let device = accepting.device()?;
    let load = &peer.load;
    if load.biovec && !TAKES_BIO_VECS {
        return Err(Failure::Unsupported(caps::NO_BIO_VECS));
    }
    check_size(&device, peer.size.saturating_add(load.offset.into()))?;
    let direction = if peer.test == Test::RwWrite {
        DmaDirection::ToDevice
    } else {
        DmaDirection::FromDevice
    };
    let elements = match direction {
        DmaDirection::ToDevice => device.max_send_sge(),
        DmaDirection::FromDevice => device.max_sge_rd(),
    };
    // The core registers memory where the device needs it.
    adapt_ack_timeout(accepting.id, &device, MemMode::Reg);
    Ok(Service {
        direction,
        count: peer.count,
        txdepth: peer.txdepth,
        shape: Shape {
            size: peer.size as usize,
            offset: load.offset.into(),
            count: load.segs.into(),
        },
        kind: if load.biovec {
            ListKind::BioVec
        } else {
            ListKind::Scatterlist
        },
        elements: u8::try_from(elements)
            .unwrap_or(u8::MAX)
            .min(load.segs)
            .max(1),
        contexts: contexts_of_one(&device, load.segs.into()),
        pattern: Pattern {
            kind: peer.pattern,
            seed: peer.seed,
        },
    })
}

fn serve(accepting: &Accepting<'_>, asked: Asked, report: &mut Report<'_>) -> Result<(), Failure> {
    let session = accepting.session;
    let service = asked
        .peer
        .ok_or(Failure::Protocol(Violation::Early, 0))
        .and_then(|peer| Ok((peer, check(accepting, &peer)?)));
    let (peer, service) = service.map_err(|failure| accepting.refuse(failure))?;
    let answer = PrivateData {
        role: PeerRole::Server,
        seed: 0,
        alive_ms: session.keepalive_ms(),
        ..peer
    };
    let params = ServeParams {
        limits: asked.limits,
        answer: Some(answer),
        data_queue_pair: 0,
        group: None,
        polling: Polling::of(&session.command),
        timeout: session.allowance.timeout_of_silent(peer.alive_ms),
        keepalive_ms: session.keepalive_ms(),
        shares: None,
        unsafe_global_rkey: false,
    };
    accepting.follow(&params, report, |room, memory, traffic| {
        RwServer::new(service, room, memory, traffic)
    })
}
