// SPDX-License-Identifier: GPL-2.0

//! The making of a connection that a client has asked the server of messages for.

#![forbid(unsafe_code)]

use super::{
    connection::{
        depths,
        sends,
        Connection,
        Part, //
    },
    pool::Pool, //
};
use crate::{
    cm::CmId,
    engine::{
        accept::Responder,
        depths::Depths,
        limits::QueueLimits,
        queue::Queue,
        session::Session,
        traffic::Traffic,
        worker::Worker, //
    },
    logic::{
        failure::Failure,
        messenger::hello::Hello, //
    },
    mr::Memory,
    rdma::{
        cq::PollMode,
        device::Device, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Responder that makes a connection.
pub(super) struct Answering<'a> {
    pub(super) session: &'a Session,
    pub(super) pool: Option<&'a Arc<Pool>>,
    pub(super) traffic: &'a Arc<Traffic>,
    pub(super) number: u32,
    pub(super) hello: Hello,
}

impl Responder for Answering<'_> {
    type Workload = Connection;

    fn new_memory(&self, id: &CmId) -> Result<Memory> {
        self.pool.ok_or(EINVAL)?.new_memory(id)
    }

    fn traffic(&self, _: &Worker) -> Result<Arc<Traffic>> {
        Ok(self.traffic.clone())
    }

    fn build(
        &mut self,
        _: &Device<'_>,
        _: &QueueLimits,
        _: &mut Memory,
        traffic: Arc<Traffic>,
    ) -> Result<(KBox<Connection>, Depths)> {
        let pool = self.pool.ok_or(EINVAL)?;
        let (command, hello) = (&self.session.command, &self.hello);
        let part = Part::Answering(0);
        let connection = Connection::new(command, pool, traffic, self.number, hello, part)?;
        Ok((connection, depths(sends(hello, pool.room()))))
    }

    fn poll_mode(&self) -> PollMode {
        PollMode::Notified
    }

    fn prepare(_: &mut Connection, _: &mut Queue<'_>) -> Result<(), Failure> {
        Ok(())
    }
}
