// SPDX-License-Identifier: GPL-2.0

//! Datagrams of an end, which go by an unreliable queue pair beside that of the connection.

#![forbid(unsafe_code)]

use super::{
    content::{
        piece,
        PIECE, //
    },
    failed,
    seed,
    End,
    Place,
    Taken, //
};
use crate::{
    engine::{
        queue_pair::{
            using_group,
            CONNECTING_UNRELIABLE, //
        },
        tag::Layout, //
    },
    logic::failure::{
        Failure,
        Operation, //
    },
    rdma::{
        cm::Membership,
        qp::GRH_BYTES,
        wr::prepared::{
            self,
            Form, //
        }, //
    },
    workloads::conformance::Recorder, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

impl End {
    const DATAGRAMS: Layout = Layout::new(Recorder::OPERATIONS);

    /// Returns the number of the queue pair for datagrams.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(in crate::workloads::conformance) fn datagram_number(&self) -> Result<u32, Failure> {
        let number = self
            .queue_pair()
            .ok()
            .and_then(|queue_pair| queue_pair.unreliable_number());
        number.ok_or_else(|| failed(EINVAL))
    }

    /// Connects the queue pair for datagrams to the peer's. Sleeps.
    ///
    /// # Errors
    ///
    /// The device refuses.
    pub(in crate::workloads::conformance) fn connect_datagrams(
        &self,
        peer: u32,
    ) -> Result<(), Failure> {
        let connected = self
            .queue_pair()
            .and_then(|queue_pair| queue_pair.connect_unreliable(peer));
        connected.map_err(|e| Failure::Kernel(CONNECTING_UNRELIABLE, e.to_errno()))
    }

    /// Gives the queue pair for datagrams another Q_Key. May sleep.
    ///
    /// # Errors
    ///
    /// The device refuses.
    pub(in crate::workloads::conformance) fn set_datagram_qkey(
        &self,
        qkey: u32,
    ) -> Result<(), Failure> {
        let set = self
            .queue_pair()
            .and_then(|queue_pair| queue_pair.set_datagram_qkey(qkey));
        set.map_err(|e| Failure::Kernel("setting the Q_Key", e.to_errno()))
    }

    /// Has datagrams go to an address that nobody has. May sleep.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsupported`] where they do not go by IPv4; the device refuses.
    pub(in crate::workloads::conformance) fn misdirect_datagrams(&self) -> Result<(), Failure> {
        self.queue_pair()
            .and_then(|queue_pair| queue_pair.misdirect_datagrams())
            .map_err(|error| match error {
                EINVAL => Failure::Unsupported("datagrams do not go by IPv4 there"),
                error => Failure::Kernel("creating an address handle", error.to_errno()),
            })
    }

    /// Has datagrams go to `group`. May sleep.
    ///
    /// # Errors
    ///
    /// The device refuses.
    pub(in crate::workloads::conformance) fn send_to_group(
        &self,
        group: &Arc<Membership>,
    ) -> Result<(), Failure> {
        self.queue_pair()
            .and_then(|queue_pair| queue_pair.send_to_group(group.clone()))
            .map_err(using_group)
    }

    /// Attaches the queue pair for datagrams to `group`. May sleep.
    ///
    /// # Errors
    ///
    /// The device refuses.
    pub(in crate::workloads::conformance) fn receive_from_group(
        &self,
        group: &Arc<Membership>,
    ) -> Result<(), Failure> {
        self.queue_pair()
            .and_then(|queue_pair| queue_pair.receive_from_group(group.clone()))
            .map_err(using_group)
    }

    /// Posts a datagram of the first `len` bytes of [`Place::Exposed`]. May sleep.
    pub(in crate::workloads::conformance) fn post_datagram(&mut self, len: u32) -> Taken {
        let request = self.request(prepared::Operation::Send, Place::Exposed, len);
        self.post_prepared(Operation::Send, Form::default(), request)
    }

    /// Posts a receive for a datagram into the first `len` bytes of the inbox, and returns its slot
    /// number.
    pub(in crate::workloads::conformance) fn receive_datagram(
        &mut self,
        len: u32,
    ) -> Result<usize, Failure> {
        let local = self.local(Place::Inbox, len);
        let entry = Self::DATAGRAMS.entry(Operation::Receive, self.received);
        self.with(|_, queue| queue.post_unreliable_receive(entry, &local))
            .and_then(|posted| posted)
            .map_err(|e| Failure::Kernel("posting to the receive queue", e.to_errno()))?;
        self.received += 1;
        Ok(self.received - 1)
    }

    /// Returns true if a datagram in the inbox has the first `len` bytes that are derived from
    /// `seed`, a multiple of 64, behind its header.
    pub(in crate::workloads::conformance) fn holds_datagram(
        &self,
        len: u32,
        seed: u8,
    ) -> Result<bool, Failure> {
        for offset in (0..len as usize).step_by(PIECE) {
            let mut bytes = [0; PIECE];
            let place = offset.saturating_add(GRH_BYTES as usize);
            self.with(|_, queue| queue.memory().read(self.inbox, place, &mut bytes))
                .and_then(|read| read)
                .map_err(failed)?;
            if bytes != piece(seed, offset) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Gives the inbox of a responder its initial content again.
    pub(in crate::workloads::conformance) fn clear_inbox(&mut self) -> Result<(), Failure> {
        self.fill(Place::Inbox, seed(false, Place::Inbox))
            .map_err(failed)
    }
}
