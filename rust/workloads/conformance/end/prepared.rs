// SPDX-License-Identifier: GPL-2.0

//! Requests of an end that are posted as prepared lists: datagrams, and those with inline data.

#![forbid(unsafe_code)]

use super::{
    content::piece,
    failed,
    End,
    Place,
    Taken, //
};
use crate::{
    engine::tag::Layout,
    logic::{
        failure::{
            errno,
            Failure,
            Operation, //
        },
        wire::Advertisement, //
    },
    rdma::wr::{
        prepared::{
            self,
            Form,
            Notify,
            PreparedList,
            Request, //
        },
        Local, //
    },
    workloads::conformance::Recorder, //
};
use kernel::prelude::*;

impl End {
    /// Posts a SEND or a WRITE that holds the first `len` bytes of [`Place::Own`] itself. May
    /// sleep.
    pub(in crate::workloads::conformance) fn post_inline(
        &mut self,
        operation: prepared::Operation,
        len: u32,
    ) -> Taken {
        let op = match operation {
            prepared::Operation::Write(_) => Operation::Write,
            _ => Operation::Send,
        };
        let form = Form {
            inline: true,
            ..Form::default()
        };
        self.post_prepared(op, form, self.request(operation, Place::Own, len))
    }

    /// Posts a list of `count` WRITEs of `len` bytes of [`Place::Own`], of which the first asks for
    /// a completion, whether or not the queue has room for all. Returns the result of posting the
    /// first. May sleep.
    ///
    /// # Errors
    ///
    /// There is no memory for the list.
    pub(in crate::workloads::conformance) fn post_writes(
        &mut self,
        remote: Advertisement,
        len: u32,
        count: usize,
    ) -> Result<Taken, Failure> {
        let write = prepared::Operation::Write(remote.into());
        let request = self.request(write, Place::Own, len);
        self.post_list(Operation::Write, Form::default(), request, count)
            .map_err(failed)
    }

    /// Returns a request of the first `len` bytes of a buffer.
    pub(super) fn request(
        &self,
        operation: prepared::Operation,
        place: Place,
        len: u32,
    ) -> Request {
        Request {
            operation,
            local: Local {
                buffer: self.buffer(place),
                offset: 0,
                len,
                region: None,
            },
        }
    }

    /// Posts a request whose completion names `op`. May sleep.
    pub(super) fn post_prepared(&mut self, op: Operation, form: Form, request: Request) -> Taken {
        self.post_list(op, form, request, 1)
            .unwrap_or_else(|error| Err(-error.to_errno()))
    }

    /// Posts a list of `count` equal requests, of which the first asks for a completion, which
    /// names `op`. Returns the result of posting the first, which has a slot number. May sleep.
    fn post_list(
        &mut self,
        op: Operation,
        form: Form,
        request: Request,
        count: usize,
    ) -> Result<Taken> {
        const LAYOUT: Layout = Layout::new(Recorder::OPERATIONS);
        if self.sent >= self.slots {
            return Ok(Err(errno::ENOSPC));
        }
        let entry = LAYOUT.entry(op, self.sent);
        // The device copies the list when it is posted.
        let mut list = PreparedList::new(count, 1)?;
        let posted = self.with(|_, queue| {
            queue.fill_list(&mut list, entry, form, |_| Ok(request))?;
            let notify = |number| Notify {
                signaled: number == 0,
                solicited: false,
            };
            Ok::<_, Error>(queue.post_part_of_list(&mut list, count, notify))
        })??;
        match posted {
            Err((0, error)) => Ok(Err(-error.to_errno())),
            _ => {
                self.sent += 1;
                Ok(Ok(self.sent - 1))
            }
        }
    }

    /// Fills the first 64 bytes of a buffer with those that are derived from `seed`.
    pub(in crate::workloads::conformance) fn overwrite(
        &mut self,
        place: Place,
        seed: u8,
    ) -> Result<(), Failure> {
        let buffer = self.buffer(place);
        self.with(|_, queue| queue.write(buffer, 0, &piece(seed, 0)))
            .and_then(|written| written)
            .map_err(failed)
    }
}
