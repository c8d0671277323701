// SPDX-License-Identifier: GPL-2.0

//! Creation of the queue pair for one connection of a disk or tap, at the server.

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
        depths::Depths,
        limits::QueueLimits,
        outcome::WaitQueue,
        queue::Queue,
        traffic::Traffic, //
    },
    logic::{
        block::Request as BlockRequest,
        failure::Failure,
        wire::hello::Hello, //
    },
    mr::Memory,
    rdma::device::Device, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The server's responder for one connection: builds the workload and prepares it.
pub(super) struct Making<'a> {
    /// The store.
    pub(super) store: &'a Arc<Store>,
    /// Private data of the client.
    pub(super) hello: &'a Hello,
    /// The connection's membership of its client.
    pub(super) membership: &'a Membership,
    /// Wait queue that the workload wakes when there are jobs.
    pub(super) wait_queue: &'a WaitQueue,
    /// Maximum number of data bytes per request.
    pub(super) max_bytes: u32,
    /// Keepalive interval of the server: the longest that it is silent, in ms.
    pub(super) alive_ms: u32,
    /// True if jobs need a thread of their own. Set when the workload is built.
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
            client_close: membership.client_close().clone(),
            wait_queue: self.wait_queue.clone(),
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
