// SPDX-License-Identifier: GPL-2.0

//! Another connection request of this host to itself, beside the connection of a case.

#![forbid(unsafe_code)]

use super::End;
use crate::{
    cm::{
        listener::{
            Listener,
            Request, //
        },
        CmId,
        ReadLimits,
        Retries, //
    },
    engine::outcome::Progress,
    logic::{
        conformance::answer::Answer,
        failure::Failure,
        wire::PrivateData, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// READ limits of the request, which no READ uses.
const LIMITS: ReadLimits = ReadLimits {
    responder_resources: 1,
    initiator_depth: 1,
};

/// READ limits of a request that is compared, which tell one from the other.
const UNEQUAL: ReadLimits = ReadLimits {
    responder_resources: 1,
    initiator_depth: 2,
};

/// Number of the first bytes of private data by which a request is known.
const KNOWN: usize = 16;

/// One side of a connection request, which is ready to ask. Dropping it withdraws the request, and
/// sleeps. Fields are in drop order.
pub(crate) struct Caller<'a> {
    /// The queue pair, if there is one.
    _end: Option<KBox<End>>,
    id: Arc<CmId>,
    /// The private data of the request, which no other has.
    hello: [u8; PrivateData::LEN],
    listener: &'a Listener,
}

impl<'a> Caller<'a> {
    /// Creates a caller that asks `listener` by `id`, whose route to it is known.
    pub(crate) fn new(
        id: Arc<CmId>,
        end: Option<KBox<End>>,
        hello: [u8; PrivateData::LEN],
        listener: &'a Listener,
    ) -> Self {
        Self {
            _end: end,
            id,
            hello,
            listener,
        }
    }

    /// Asks for a connection of the queue pair. Sleeps until the port is active, `timeout` ms at
    /// most.
    ///
    /// # Errors
    ///
    /// [`Failure::PortDown`], or the error of the kernel.
    pub(super) fn ask(&self, timeout: u32) -> Result<(), Failure> {
        self.id
            .begin_connect(&self.hello, LIMITS, Retries::MOST, timeout)
    }

    /// Asks for a connection in the name of the queue pair that has the number `qp_num`, without
    /// having one. Sleeps until the port is active, `timeout` ms at most.
    ///
    /// # Errors
    ///
    /// [`Failure::PortDown`], or the error of the kernel.
    pub(super) fn ask_as(&self, qp_num: u32, timeout: u32) -> Result<(), Failure> {
        self.id
            .begin_connect_as(qp_num, &self.hello, LIMITS, timeout)
    }

    /// Asks as [`ask`](Self::ask) does, with private data of which no byte behind those by which it
    /// is known is 0. Sleeps until the port is active, `timeout` ms at most.
    ///
    /// # Errors
    ///
    /// [`Failure::PortDown`], or the error of the kernel.
    pub(super) fn ask_in_full(&self, timeout: u32) -> Result<(), Failure> {
        self.id
            .begin_connect(&self.in_full(), UNEQUAL, Retries::MOST, timeout)
    }

    /// Returns the private data of that request.
    fn in_full(&self) -> [u8; PrivateData::LEN] {
        let mut data = self.hello;
        for (number, byte) in (1..).zip(data.iter_mut()).skip(KNOWN) {
            *byte = number;
        }
        data
    }

    /// Returns true if `request` has all the private data of that one, and its READ limits, if
    /// these are to be compared.
    pub(super) fn is_in_full(&self, request: &Request, compares_limits: bool) -> bool {
        // What one side asks for is what the other one offers.
        let limits = &request.limits;
        let is_same = limits.responder_resources == UNEQUAL.initiator_depth
            && limits.initiator_depth == UNEQUAL.responder_resources;
        request.data.as_slice() == self.in_full() && (is_same || !compares_limits)
    }

    /// Takes the request from the listener, once it has come. Rejects all others. May sleep.
    pub(super) fn taken(&self) -> Option<Request> {
        loop {
            let request = self.listener.take()?;
            if request.data.as_slice().get(..KNOWN) == self.hello.get(..KNOWN) {
                return Some(request);
            }
            // Dropping a request rejects it.
        }
    }

    /// Returns the answer to the request, if one has come, or the CM has given up.
    pub(super) fn answer(&self) -> Option<Answer> {
        let outcome = self.id.outcome();
        match outcome.failure() {
            Some(failure) => Some(failure.into()),
            None => outcome
                .reached(Progress::Established)
                .then_some(Answer::Accepted),
        }
    }
}
