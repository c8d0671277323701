// SPDX-License-Identifier: GPL-2.0

//! Makes the queue pair of one connection of a disk or tap, at its server.

#![forbid(unsafe_code)]

use super::{
    store::Store,
    ServerParams, //
};
use crate::{
    block::server::{
        clients::Membership,
        BlockServer, //
    },
    engine::{
        accept::Responder,
        limits::QueueLimits,
        outcome::Bell,
        traffic::Traffic, //
    },
    logic::{
        block::Request as BlockRequest,
        failure::Failure,
        wire::hello::Hello, //
    },
    mr::Memory,
    rdma::{
        device::Device,
        qp::{
            Depths,
            Queue, //
        }, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A server that makes the queue pair of one connection.
pub(super) struct Making<'a> {
    /// The store.
    pub(super) store: &'a Arc<Store>,
    /// What the client has said.
    pub(super) hello: &'a Hello,
    /// Its place among the clients.
    pub(super) membership: &'a Membership,
    /// What the queue pair rings for jobs.
    pub(super) bell: &'a Bell,
    /// The most bytes of a request.
    pub(super) max_bytes: u32,
    /// How long this side is silent at most, in ms.
    pub(super) alive_ms: u32,
    /// True where jobs need a thread of their own; known when it is built.
    pub(super) needs_thread: bool,
}

impl Responder for Making<'_> {
    type Workload = BlockServer;

    fn build(
        &mut self,
        device: &Device<'_>,
        room: &QueueLimits,
        memory: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<(KBox<BlockServer>, Depths)> {
        let membership = self.membership;
        let params = ServerParams {
            hello: self.hello,
            farewell: membership.farewell().clone(),
            bell: self.bell.clone(),
            account: membership.account().cloned(),
            requests: room.requests,
            completions: room.completions,
            max_bytes: self.max_bytes,
            inline: if device.has_immediates() {
                BlockRequest::INLINE
            } else {
                0
            },
            alive_ms: self.alive_ms,
        };
        let store = self.store.clone();
        let server = BlockServer::new(params, store, memory, traffic)?;
        let depths = server.depths();
        self.needs_thread = server.needs_thread();
        Ok((server, depths))
    }

    fn prepare(server: &mut BlockServer, queue: &mut Queue<'_>) -> Result<(), Failure> {
        server.prepare(queue)
    }
}
