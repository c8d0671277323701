// SPDX-License-Identifier: GPL-2.0

//! Entry points of the microbenchmarks, through which the engine starts and serves them.

#![forbid(unsafe_code)]

use super::{
    plan::Plan,
    team::Team,
    verb,
    Microbench, //
};
use crate::{
    engine::{
        accept::Accepting,
        asked::Asked,
        client::{
            self,
            Client, //
        },
        drive::failed,
        entry::{
            Client as ClientEntry,
            Entry, //
        },
        limits::{
            check_size,
            QueueLimits, //
        },
        polling::Polling,
        results::Report,
        server,
        serving::ServeParams, //
    },
    logic::{
        command::{
            Load,
            MulticastGroup,
            Test, //
        },
        data::pattern::Pattern,
        device::caps,
        failure::Failure,
        measure::{
            places::Places,
            sizes::Sizes, //
        },
        pingpong::Violation,
        spec::{
            service::Service,
            tests::{
                Family,
                Verb, //
            }, //
        },
        wire::{
            PeerRole,
            PrivateData, //
        }, //
    },
    rdma::device::Device, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Requests that a send queue has room for beside the registrations.
const BESIDE: u32 = 256;

/// Workload that runs the microbenchmarks.
pub(crate) static ENTRY: Entry = Entry {
    families: &[Family::Latency, Family::Bandwidth],
    client: ClientEntry::Threads(|session, addr| client::start(session, addr, lead)),
    listen: Some(server::start),
    serve: Some(serve),
    depths: None,
    states: &[],
};

/// Runs the leading side, on queue pairs that are measured together.
fn lead(client: &Client<'_>, report: &mut Report<'_>) -> Result<(), Failure> {
    let command = &client.session.command;
    let verb = verb_of(command.test)?;
    let share = command.share();
    let team = (command.load.qps > 1 || share.is_some())
        .then(|| Arc::new(Team::new(), GFP_KERNEL))
        .transpose()
        .map_err(|e| failed("starting the client")(e.into()))?;
    let check = |device: &Device<'_>| {
        verb::check(verb, &command.load, device)?;
        check_buffers(&command.load, command.size, device)?;
        check_multicast(device, command.mcast)
    };
    client.lead(report, check, |room, memory, traffic| {
        let plan = Plan {
            test: command.test,
            verb,
            leading: true,
            size: command.size,
            sizes: command.sizes,
            count: command.count,
            duration_ms: command.duration_ms(),
            timeout_ms: client.session.timeout(),
            load: command.load,
            share,
            room: *room,
            pattern: client.pattern,
            validate: command.validate,
            recvs: command.recvs,
            shared: false,
            unsafe_global_rkey: command.unsafe_global_rkey,
        };
        Microbench::new(plan, memory, traffic, team.clone())
    })
}

/// Returns the operation that `test` measures.
fn verb_of(test: Test) -> Result<Verb, Failure> {
    let verb = test.spec().verb;
    verb.ok_or(Failure::Unsupported("that is no microbenchmark"))
}

/// Checks that the device supports the test that the client announced, and returns the announcement
/// and the operation to measure.
fn check(accepting: &Accepting<'_>, asked: &Asked) -> Result<(PrivateData, Verb), Failure> {
    let peer = asked.peer.ok_or(Failure::Protocol(Violation::Early, 0))?;
    let device = accepting.device()?;
    check_size(&device, peer.size)?;
    let verb = verb_of(peer.test)?;
    verb::check(verb, &peer.load, &device)?;
    check_buffers(&peer.load, peer.size, &device)?;
    if peer.load.mrs > 1 && accepting.session.command.unsafe_global_rkey {
        return Err(Failure::Unsupported(
            "mrs: this server opens its memory by one key, with unsafe_global_rkey",
        ));
    }
    if peer.load.service == Service::Ud {
        accepting.id.check_datagram(peer.size)?;
    }
    check_multicast(&device, group_of(accepting, &peer)?)?;
    Ok((peer, verb))
}

/// Checks that the device can cover the buffers of `load`, of `size` bytes each, by its regions,
/// and register all of these at once.
fn check_buffers(load: &Load, size: u32, device: &Device<'_>) -> Result<(), Failure> {
    let sides = if load.duplex { 2 } else { 1 };
    if load.mrs > 1 && u32::from(load.mrs) * sides + BESIDE > device.max_qp_wr() {
        return Err(Failure::Unsupported(
            "mrs: the send queues of the device hold fewer requests; give fewer regions",
        ));
    }
    let bytes = Places::new(load.buffers, load.mrs, size).region_bytes();
    let covers = bytes.is_some_and(|bytes| bytes as usize <= device.max_buffer());
    if load.buffers > 1 && !covers {
        return Err(Failure::Unsupported(
            "buffers: the device cannot cover so many with one region; give more regions by mrs=",
        ));
    }
    Ok(())
}

/// Checks that the device has multicast, if there is a `group`.
fn check_multicast(device: &Device<'_>, group: Option<MulticastGroup>) -> Result<(), Failure> {
    match group {
        Some(_) if !device.has_multicast() => Err(Failure::Unsupported(caps::NO_MCAST)),
        Some(_) | None => Ok(()),
    }
}

/// Returns the multicast group that the client sends to, if any, which is the server's own: a peer
/// does not decide what this host joins.
fn group_of(
    accepting: &Accepting<'_>,
    peer: &PrivateData,
) -> Result<Option<MulticastGroup>, Failure> {
    let Some(number) = peer.group else {
        return Ok(None);
    };
    match accepting.session.command.mcast {
        Some(group) if group.number() == number => Ok(Some(group)),
        Some(_) => Err(Failure::Unsupported(
            "mcast: the client sends to another multicast group than the one of this server",
        )),
        None => Err(Failure::Unsupported(
            "mcast: the client sends to a multicast group, and this server was given none",
        )),
    }
}

fn serve(accepting: &Accepting<'_>, asked: Asked, report: &mut Report<'_>) -> Result<(), Failure> {
    let session = accepting.session;
    let (peer, verb) = check(accepting, &asked).map_err(|failure| accepting.refuse(failure))?;
    // Messages that wake nobody would take those of others.
    let may_share = !peer.load.service.is_unreliable() && !peer.load.solicited;
    let plan = |room: &QueueLimits| Plan {
        test: peer.test,
        verb,
        leading: false,
        size: peer.size,
        // The client's alone.
        sizes: Sizes::NONE,
        count: peer.count,
        duration_ms: Some(peer.duration_ms).filter(|ms| *ms > 0),
        timeout_ms: session.timeout(),
        load: peer.load,
        share: None,
        room: *room,
        pattern: Pattern {
            kind: peer.pattern,
            seed: peer.seed,
        },
        validate: peer.validate,
        recvs: session.command.recvs,
        shared: session.command.srq.is_some() && may_share,
        unsafe_global_rkey: session.command.unsafe_global_rkey,
    };
    let answer = PrivateData {
        role: PeerRole::Server,
        alive_ms: session.keepalive_ms(),
        ..peer
    };
    let shape = plan(&QueueLimits::default());
    let params = ServeParams {
        limits: asked.limits,
        answer: Some(answer),
        data_queue_pair: peer.data_queue_pair,
        // It has been compared.
        group: peer.group.and(session.command.mcast),
        polling: match Polling::of_load(&session.command, &peer.load) {
            _ if shape.watches_memory() => Polling::Spin,
            // Polling would find no completions.
            Polling::Spin | Polling::SpinThenSleep(_) if shape.is_quiet() => Polling::Event,
            polling => polling,
        },
        shares: may_share.then(|| shape.room_of_receive()),
        // Keepalives are the only traffic of some clients.
        timeout: session.allowance.timeout_of_silent(peer.alive_ms),
        // The client's timeout is three times its keepalive interval.
        keepalive_ms: session.keepalive_ms().min(peer.alive_ms),
        unsafe_global_rkey: session.command.unsafe_global_rkey,
    };
    accepting.follow(&params, report, |room, memory, traffic| {
        let room = QueueLimits {
            txdepth: room.requests.min(peer.txdepth),
            ..*room
        };
        Microbench::new(plan(&room), memory, traffic, None)
    })
}
