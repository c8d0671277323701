// SPDX-License-Identifier: GPL-2.0

//! Requests of an end that are posted as prepared lists: datagrams, and those with inline data.

#![forbid(unsafe_code)]

use super::{
    content::piece,
    failed,
    flatten,
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
    rdma::wr::prepared::{
        self,
        Notify,
        PreparedList,
        Template, //
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
        let template = Template {
            operation,
            buffer: self.buffer(Place::Own),
            region: None,
            len,
            stride: 0,
            inline: true,
            numbered: false,
        };
        self.post_prepared(op, &template)
    }

    /// Posts a list of `count` WRITEs of `len` bytes of [`Place::Own`], of which the first asks for
    /// a completion, whether or not the queue has room for all. May sleep.
    pub(in crate::workloads::conformance) fn post_writes(
        &mut self,
        remote: Advertisement,
        len: u32,
        count: usize,
    ) -> Taken {
        const LAYOUT: Layout = Layout::new(Recorder::OPERATIONS);
        let template = Template {
            operation: prepared::Operation::Write(remote.into()),
            buffer: self.buffer(Place::Own),
            region: None,
            len,
            stride: 0,
            inline: false,
            numbered: false,
        };
        let entry = LAYOUT.entry(Operation::Write, self.sent);
        let posted = PreparedList::new(count, 1).and_then(|mut list| {
            self.with(|_, queue| {
                queue.fill_list(&mut list, entry, &template)?;
                queue.post_list(&mut list, count, |number| Notify {
                    signaled: number == 0,
                    solicited: false,
                })
            })
        });
        match flatten(posted) {
            // The first has room.
            Ok(()) | Err(errno::ENOMEM) => {
                self.sent += 1;
                Ok(self.sent - 1)
            }
            other => other.map(|()| 0),
        }
    }

    /// Posts a request whose completion names `op`. May sleep.
    pub(super) fn post_prepared(&mut self, op: Operation, template: &Template) -> Taken {
        const LAYOUT: Layout = Layout::new(Recorder::OPERATIONS);
        if self.sent >= self.slots {
            return Err(errno::ENOSPC);
        }
        let entry = LAYOUT.entry(op, self.sent);
        // The device copies the list when it is posted.
        let posted = PreparedList::new(1, 1).and_then(|mut list| {
            self.with(|_, queue| {
                queue.fill_list(&mut list, entry, template)?;
                queue.post_list(&mut list, 1, |_| Notify::SIGNALED)
            })
        });
        flatten(posted)?;
        self.sent += 1;
        Ok(self.sent - 1)
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
