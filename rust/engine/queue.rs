// SPDX-License-Identifier: GPL-2.0

//! The locked view of a queue pair that a workload posts through.

#![forbid(unsafe_code)]

use super::{
    outcome::Outcome,
    tag::{
        Layout,
        Tag, //
    }, //
};
use crate::{
    engine::completion::WorkCompletion,
    kernel_ext::blk::request::Request as BlockRequest,
    logic::{
        data::pattern::Data,
        failure::{
            Failure,
            Operation, //
        },
        wire::Advertisement, //
    },
    mr::{
        self,
        BufferId,
        Memory,
        RegionId, //
    },
    rdma::{
        cq,
        qp,
        rw::{
            Part,
            TransferId, //
        },
        wr::{
            prepared::{
                Form,
                Notify,
                PreparedList,
                Request, //
            },
            Local,
            WorkRequest, //
        }, //
    },
    trace, //
};
use kernel::prelude::*;

const POSTING: &str = "posting to the send queue";

/// The locked view of a queue pair: what a workload may do.
pub(crate) struct Queue<'a> {
    inner: qp::Queue<'a, Tag, BlockRequest>,
    layout: &'static Layout,
    /// The fate of the connection, to which the workload reports progress and failures.
    pub(crate) outcome: &'a Outcome,
}

fn posting(error: Error) -> Failure {
    Failure::Kernel(POSTING, error.to_errno())
}

/// Returns the operation that the completion of `request` is to name.
fn operation(request: &WorkRequest) -> Operation {
    match request {
        WorkRequest::Send { .. } | WorkRequest::SendImmediate { .. } => Operation::Send,
        WorkRequest::Read { .. } | WorkRequest::ReadInto { .. } => Operation::Read,
        WorkRequest::Write { .. } | WorkRequest::WriteImmediate { .. } => Operation::Write,
        WorkRequest::Register { .. } => Operation::Register,
        WorkRequest::Invalidate { .. } => Operation::Invalidate,
    }
}

/// Returns the operation of the last request of `list`.
fn last(list: &[WorkRequest]) -> Operation {
    list.last().map_or(Operation::Send, operation)
}

/// Returns the operation that the completion of a part of a transfer is to name.
fn part_of(part: Part) -> Operation {
    match part {
        Part::Register => Operation::Register,
        Part::Invalidate => Operation::Invalidate,
        Part::Read => Operation::Read,
        Part::Write => Operation::Write,
    }
}

impl<'a> Queue<'a> {
    /// Wraps the view of a queue pair whose entries are in the order of `layout`.
    pub(super) fn new(
        inner: qp::Queue<'a, Tag, BlockRequest>,
        layout: &'static Layout,
        outcome: &'a Outcome,
    ) -> Self {
        Self {
            inner,
            layout,
            outcome,
        }
    }

    /// Returns the memory that work requests name.
    pub(crate) fn memory(&self) -> &Memory {
        self.inner.memory()
    }

    /// Copies what has arrived in shared receive number `slot`, whose completion is being handled.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is no such receive, or it has less room.
    pub(crate) fn read_shared(&self, slot: usize, to: &mut [u8]) -> Result {
        let receive = u32::try_from(slot).map_err(|_| EINVAL)?;
        self.memory().shared().ok_or(EINVAL)?.read(receive, 0, to)
    }

    /// Copies `len` bytes that have arrived in shared receive number `slot`, whose completion is
    /// being handled, to a buffer.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is no such receive, or either has less room.
    pub(crate) fn copy_shared(&self, slot: usize, buffer: BufferId, len: u32) -> Result {
        let receive = u32::try_from(slot).map_err(|_| EINVAL)?;
        self.memory().copy_shared(receive, buffer, len as usize)
    }

    /// Copies into a buffer.
    pub(crate) fn write(&mut self, buffer: BufferId, offset: usize, from: &[u8]) -> Result {
        self.inner.write(buffer, offset, from)
    }

    /// Fills a buffer with the data of an iteration.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the buffer has less room.
    pub(crate) fn fill(&mut self, buffer: BufferId, data: &Data) -> Result {
        mr::fill(self.memory(), buffer, 0, data.size(), |words| {
            data.fill(words)
        })
    }

    /// Zeroes bytes of a buffer, for the device to see.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the range is not within the buffer.
    pub(crate) fn clear(&mut self, buffer: BufferId, offset: usize, len: usize) -> Result {
        let memory = self.memory();
        memory.pages(buffer)?.zero(offset, len)?;
        memory.sync_for_device(buffer, offset, len)
    }

    /// Maps a region over a block request, which it owns from then on, and returns what to tell
    /// the peer.
    ///
    /// # Errors
    ///
    /// The request, with `EINVAL` for a region that is still valid, or a request that it cannot
    /// cover; `EBUSY` for a region that has one; `ENOMEM`.
    pub(crate) fn open_request(
        &mut self,
        region: RegionId,
        request: BlockRequest,
    ) -> core::result::Result<Advertisement, (BlockRequest, Error)> {
        self.inner.open(region, request).map(Advertisement::from)
    }

    /// Takes back the request of a region that the peer has invalidated, as `wc` says.
    pub(crate) fn close_request(
        &mut self,
        region: RegionId,
        wc: &WorkCompletion<'_>,
    ) -> Result<BlockRequest> {
        self.inner.close(region, &wc.raw)
    }

    /// Maps a sink over parts of buffers, and gives it a new key.
    pub(crate) fn map_sink(
        &mut self,
        region: RegionId,
        parts: impl Iterator<Item = Result<Local>>,
    ) -> Result {
        self.inner.map_sink(region, parts)
    }

    /// Notes that the READ into a sink has completed, as `wc` says.
    pub(crate) fn read_completed(&mut self, region: RegionId, wc: &WorkCompletion<'_>) -> Result {
        self.inner.read_completed(region, &wc.raw)
    }

    /// Gives a region, which is not valid, a new key.
    pub(crate) fn renew_key(&mut self, region: RegionId) -> Result {
        self.inner.renew_key(region)
    }

    /// Notes that the peer has invalidated a region, as `wc` says.
    pub(crate) fn invalidated(&mut self, region: RegionId, wc: &WorkCompletion<'_>) -> Result {
        self.inner.invalidated(region, &wc.raw)
    }

    /// Posts a list of requests to the send queue, all or up to the first that the device
    /// refuses.
    pub(crate) fn post(&mut self, list: &[WorkRequest]) -> Result<(), Failure> {
        self.post_for(0, list)
    }

    /// Posts a list of requests whose completions carry `slot`.
    pub(crate) fn post_for(&mut self, slot: usize, list: &[WorkRequest]) -> Result<(), Failure> {
        let layout = self.layout;
        self.traced(last(list), list.len(), |inner| {
            inner.post(list, |request| layout.entry(operation(request), slot))
        })
    }

    /// Calls `post`, which posts `count` requests of which `op` is the last, between tracepoints.
    fn traced(
        &mut self,
        op: Operation,
        count: usize,
        post: impl FnOnce(&mut qp::Queue<'a, Tag, BlockRequest>) -> Result,
    ) -> Result<(), Failure> {
        let qpn = self.inner.number();
        trace::post(qpn, op, count);
        let result = post(&mut self.inner);
        let errno = result
            .err()
            .map_or(0, |error| error.to_errno().unsigned_abs());
        trace::posted(qpn, op, errno);
        result.map_err(posting)
    }

    /// Posts the context of a transfer, and then `answer`, whose completion carries `slot`; without
    /// one, that of the last READ or WRITE does.
    pub(crate) fn post_transfer(
        &mut self,
        slot: usize,
        id: TransferId,
        answer: Option<WorkRequest>,
    ) -> Result<(), Failure> {
        let layout = self.layout;
        let entry_of = |part| layout.entry(part_of(part), slot);
        let answer = answer.map(|answer| (answer, layout.entry(operation(&answer), slot)));
        let op = answer.map_or(Operation::Read, |(answer, _)| operation(&answer));
        self.traced(op, 1, |inner| inner.post_transfer(id, entry_of, answer))
    }

    /// Notes that a transfer has completed, as `wc` says.
    pub(crate) fn transfer_completed(&mut self, id: TransferId, wc: &WorkCompletion<'_>) -> Result {
        self.inner.transfer_completed(id, &wc.raw)
    }

    /// Wakes the connection's thread to [attend](crate::engine::side::Side::attend) to what is
    /// left to it.
    pub(crate) fn ask_for_attention(&self) {
        self.outcome.wake();
    }

    /// Posts a list of requests whose SENDs complete as [`Operation::Control`], apart from SENDs
    /// of data.
    pub(crate) fn post_control(&mut self, list: &[WorkRequest]) -> Result<(), Failure> {
        let layout = self.layout;
        let entry = |request: &WorkRequest| {
            let op = match operation(request) {
                Operation::Send => Operation::Control,
                other => other,
            };
            layout.entry(op, 0)
        };
        self.traced(Operation::Control, list.len(), |inner| {
            inner.post(list, entry)
        })
    }

    /// Fills `list` with requests, which are `op` and of which `request` returns each by its
    /// number. Their completions carry `slot`.
    pub(crate) fn fill_list(
        &mut self,
        list: &mut PreparedList,
        (op, slot): (Operation, usize),
        form: Form,
        request: impl Fn(usize) -> Result<Request>,
    ) -> Result<(), Failure> {
        self.inner
            .fill_list(list, self.layout.entry(op, slot), form, request)
            .map_err(|e| Failure::Kernel("preparing requests", e.to_errno()))
    }

    /// Posts the first `count` requests of `list`, which are `op`; `notify` says what each of them
    /// asks for.
    pub(crate) fn post_list(
        &mut self,
        op: Operation,
        list: &mut PreparedList,
        count: u32,
        notify: impl Fn(u32) -> Notify,
    ) -> Result<(), Failure> {
        let count = count as usize;
        self.traced(op, count, |inner| inner.post_list(list, count, notify))
    }

    /// Posts a receive into the first `len` bytes of `buffer`, as number `slot`.
    pub(crate) fn post_receive(
        &mut self,
        slot: usize,
        buffer: BufferId,
        len: u32,
    ) -> Result<(), Failure> {
        self.post_receive_at(slot, buffer, 0, len)
    }

    /// Returns true unless `wc` is of a receive that took a datagram of another queue pair than the
    /// peer's: these can come from anywhere.
    pub(crate) fn is_of_peer(&self, wc: &WorkCompletion<'_>) -> bool {
        self.inner.is_of_peer(&wc.raw)
    }

    /// Returns false where the datagram in `buffer`, whose receive has completed, was sent to the
    /// multicast group by another host than the peer's.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a buffer that such a receive has not.
    pub(crate) fn is_of_peers_host(
        &self,
        wc: &WorkCompletion<'_>,
        buffer: BufferId,
    ) -> Result<bool> {
        self.inner.is_of_peers_host(&wc.raw, buffer)
    }

    /// Returns true where the success of an operation is a sign that the peer is at work.
    ///
    /// A completed keepalive of this side is none, but the only one where data goes by an
    /// unreliable queue pair to a peer that has nothing to say.
    pub(super) fn is_sign_of_peer(&self, op: Operation, wc: &cq::WorkCompletion<'_>) -> bool {
        (op != Operation::Control || self.inner.has_unreliable()) && self.inner.is_of_peer(wc)
    }

    /// Posts a receive of the unreliable queue pair into the first `len` bytes of `buffer`, as
    /// number `slot`.
    pub(crate) fn post_unreliable_receive(
        &mut self,
        slot: usize,
        buffer: BufferId,
        len: u32,
    ) -> Result<(), Failure> {
        let local = Local {
            buffer,
            offset: 0,
            len,
            region: None,
        };
        self.inner
            .post_unreliable_receive(self.layout.entry(Operation::Receive, slot), &local)
            .map_err(|e| Failure::Kernel("posting to the receive queue", e.to_errno()))
    }

    /// Posts a receive into `len` bytes from `offset` of `buffer`, as number `slot`.
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
        self.inner
            .post_receive(self.layout.entry(Operation::Receive, slot), &local)
            .map_err(|e| Failure::Kernel("posting to the receive queue", e.to_errno()))
    }
}
