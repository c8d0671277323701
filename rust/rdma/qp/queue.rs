// SPDX-License-Identifier: GPL-2.0

//! What a workload may do on its queue pair, while it holds the lock.

use super::{
    entry_index,
    Entry, //
};
use crate::{
    bindings,
    engine::outcome::Outcome,
    kernel_ext::blk::request::Request,
    logic::{
        data::pattern::Data,
        failure::{
            Failure,
            Operation, //
        },
        wire::Advertisement, //
    },
    mr::{
        BufferId,
        Memory,
        RegionId, //
    },
    rdma::{
        cq::WorkCompletion,
        wr::{
            batch::{
                Batch,
                Template, //
            },
            probe::Probe,
            Chain,
            Local,
            WorkRequest, //
        }, //
    }, //
};
use core::ptr::NonNull;
use kernel::{
    error::to_result,
    prelude::*, //
};

const POSTING: &str = "posting to the send queue";

/// The locked view of a queue pair: what a workload may do.
pub(crate) struct Queue<'a> {
    pub(super) raw: NonNull<bindings::ib_qp>,
    pub(super) entries: &'a [Entry],
    pub(super) memory: &'a mut Memory,
    pub(super) batch: &'a mut Batch,
    /// Where the workload reports its end and signs of life.
    pub(crate) outcome: &'a Outcome,
}

impl Queue<'_> {
    /// The memory that work requests name. It can be looked at, but not be
    /// replaced: the device uses it.
    pub(crate) fn memory(&self) -> &Memory {
        self.memory
    }

    /// As [`Memory::write`].
    ///
    /// # Errors
    ///
    /// Those of [`Memory::write`].
    pub(crate) fn write(&mut self, buffer: BufferId, offset: usize, from: &[u8]) -> Result {
        self.memory.write(buffer, offset, from)
    }

    /// As [`Memory::fill`], of the data of an iteration.
    ///
    /// # Errors
    ///
    /// Those of [`Memory::fill`].
    pub(crate) fn fill(&mut self, buffer: BufferId, data: &Data) -> Result {
        self.memory
            .fill(buffer, data.size(), |words| data.fill(words))
    }

    /// As [`Memory::open_request`].
    ///
    /// # Errors
    ///
    /// Those of [`Memory::open_request`].
    pub(crate) fn open_request(
        &mut self,
        region: RegionId,
        request: Request,
    ) -> core::result::Result<Advertisement, (Request, Error)> {
        self.memory.open_request(region, request)
    }

    /// As [`Memory::cover`].
    ///
    /// # Errors
    ///
    /// Those of [`Memory::cover`].
    pub(crate) fn cover(
        &mut self,
        region: RegionId,
        parts: impl Iterator<Item = Result<Local>>,
    ) -> Result {
        self.memory.cover(region, parts)
    }

    /// As [`Memory::close_request`].
    ///
    /// # Errors
    ///
    /// Those of [`Memory::close_request`].
    pub(crate) fn close_request(
        &mut self,
        region: RegionId,
        wc: &WorkCompletion,
    ) -> Result<Request> {
        self.memory.close_request(region, wc)
    }

    /// As [`Memory::renew_key`].
    ///
    /// # Errors
    ///
    /// Those of [`Memory::renew_key`].
    pub(crate) fn renew_key(&mut self, region: RegionId) -> Result {
        self.memory.renew_key(region)
    }

    /// As [`Memory::invalidated`].
    ///
    /// # Errors
    ///
    /// Those of [`Memory::invalidated`].
    pub(crate) fn invalidated(&mut self, region: RegionId, wc: &WorkCompletion) -> Result {
        self.memory.invalidated(region, wc)
    }

    /// As [`Memory::read_into`].
    ///
    /// # Errors
    ///
    /// Those of [`Memory::read_into`].
    pub(crate) fn read_into(&mut self, region: RegionId, wc: &WorkCompletion) -> Result {
        self.memory.read_into(region, wc)
    }

    /// Posts a list of requests to the send queue, all or up to the first that
    /// the device refuses.
    ///
    /// # Errors
    ///
    /// [`Failure::Kernel`] with `EINVAL` for a request that makes no sense, or
    /// what the device says, `ENOMEM` where the queue is full.
    pub(crate) fn post(&mut self, list: &[WorkRequest]) -> Result<(), Failure> {
        self.post_for(0, list)
    }

    /// As [`Self::post`]; the completions carry `slot`.
    ///
    /// # Errors
    ///
    /// Those of [`Self::post`]; `EINVAL` for a slot that the queue pair does not have.
    pub(crate) fn post_for(&mut self, slot: usize, list: &[WorkRequest]) -> Result<(), Failure> {
        let entries = self.entries;
        let qp = self.raw.as_ptr();
        // Each slot has an entry for every operation.
        if entry_index(Operation::Send, slot) >= entries.len() {
            return Err(Failure::Kernel(POSTING, EINVAL.to_errno()));
        }
        Chain::new()
            .build(
                list,
                self.memory,
                slot,
                |op| {
                    // The index is that of an existing entry.
                    let entry = entries.as_ptr().wrapping_add(entry_index(op, slot));
                    entry.cast_mut().cast()
                },
                // SAFETY: The queue pair is alive while a `Queue` is, and the
                // list, the entries and the memory that it names are valid; the
                // latter two until the queue pair has been drained.
                |head| to_result(unsafe { bindings::krping_post_send(qp, head) }),
            )
            .map_err(|e| Failure::Kernel(POSTING, e.to_errno()))
    }

    /// Posts a request that may be wrong, as number `slot`.
    ///
    /// # Errors
    ///
    /// What the device says, `ENOMEM` where the queue is full; `EINVAL` for a slot that
    /// the queue pair does not have, or an operand outside its buffer.
    pub(crate) fn probe(&mut self, slot: usize, probe: &Probe) -> Result {
        let entry = self.entries.get(entry_index(probe.operation(), slot));
        let cqe = core::ptr::from_ref(entry.ok_or(EINVAL)?).cast_mut().cast();
        let qp = self.raw.as_ptr();
        let post = |wr| {
            // SAFETY: The queue pair is alive while a `Queue` is. The entry and the local
            // memory live until it has been drained or destroyed. What else the request
            // names is for the device to check.
            to_result(unsafe { bindings::krping_post_send(qp, wr) })
        };
        probe.build(self.memory, cqe, post)
    }

    /// Fills the batch with copies of `template`.
    ///
    /// # Errors
    ///
    /// None that a caller could cause but by filling it twice, or with an operand
    /// outside its buffer.
    pub(crate) fn fill_batch(&mut self, template: &Template) -> Result<(), Failure> {
        let entry = self.entries.as_ptr();
        let index = entry_index(template.kind.operation(), 0);
        self.batch
            .fill(
                template,
                self.memory,
                entry.wrapping_add(index).cast_mut().cast(),
            )
            .map_err(|e| Failure::Kernel("preparing requests", e.to_errno()))
    }

    /// Posts the first `count` requests of the batch as one list; `signaled` says
    /// which of them ask for a completion.
    ///
    /// # Errors
    ///
    /// As [`Self::post`].
    pub(crate) fn post_batch(
        &mut self,
        count: u32,
        signaled: impl Fn(u32) -> bool,
    ) -> Result<(), Failure> {
        let qp = self.raw.as_ptr();
        self.batch
            .list(count as usize, signaled)
            // SAFETY: The queue pair is alive while a `Queue` is. The batch names
            // its entries and its memory, which live until it has been drained.
            .and_then(|head| to_result(unsafe { bindings::krping_post_send(qp, head) }))
            .map_err(|e| Failure::Kernel(POSTING, e.to_errno()))
    }

    /// Posts a receive into the first `len` bytes of `buffer`, as number `slot`.
    ///
    /// # Errors
    ///
    /// As [`Self::post`].
    pub(crate) fn post_receive(
        &mut self,
        slot: usize,
        buffer: BufferId,
        len: u32,
    ) -> Result<(), Failure> {
        self.post_receive_at(slot, buffer, 0, len)
    }

    /// As [`Self::post_receive`], into `len` bytes from `offset` of `buffer`.
    ///
    /// # Errors
    ///
    /// As [`Self::post`].
    pub(crate) fn post_receive_at(
        &mut self,
        slot: usize,
        buffer: BufferId,
        offset: u32,
        len: u32,
    ) -> Result<(), Failure> {
        let local = Local {
            buffer,
            offset,
            len,
            region: None,
        };
        self.try_post_receive(slot, &local)
            .map_err(|e| Failure::Kernel("posting to the receive queue", e.to_errno()))
    }

    fn try_post_receive(&mut self, slot: usize, local: &Local) -> Result {
        let index = entry_index(Operation::Receive, slot);
        let entry = self.entries.get(index).ok_or(EINVAL)?;
        let mut sge = local.raw(self.memory)?;
        let mut wr = bindings::ib_recv_wr {
            sg_list: &mut sge,
            num_sge: 1,
            ..Default::default()
        };
        // SAFETY: Every bit pattern is valid for either member of this union.
        *unsafe { wr.__bindgen_anon_1.wr_cqe.as_mut() } =
            core::ptr::from_ref(entry).cast_mut().cast();
        // SAFETY: As for `post`.
        to_result(unsafe { bindings::krping_post_recv(self.raw.as_ptr(), &wr) })
    }
}
