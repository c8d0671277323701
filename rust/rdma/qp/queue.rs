// SPDX-License-Identifier: GPL-2.0

//! The locked view of a queue pair, through which its handler posts.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_post_send()`, `ib_post_recv()`)

use super::{
    entry::Entry,
    unreliable::{
        Unreliable,
        GRH_BYTES, //
    }, //
};
use crate::{
    bindings,
    rdma::{
        cq::WorkCompletion,
        memory::{
            BufferId,
            ForeignMemory,
            Memory,
            RegionId, //
        },
        mr::Remote,
        rw::{
            Entries,
            Part,
            Target,
            TransferId, //
        },
        wr::{
            atomic::Atomic,
            build_receive,
            chain::{
                post_send,
                Chain,
                Checks, //
            },
            prepared::{
                Form,
                Notify,
                PreparedList,
                Request, //
            },
            Local,
            WorkRequest, //
        }, //
    }, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// The locked view of a queue pair: its memory, and the posting of requests.
///
/// Requests name completion entries by their numbers, which are those of the tags that the queue
/// pair was created with. All methods may be called wherever there is a `Queue`; none sleeps.
pub(crate) struct Queue<'a, T, F: ForeignMemory> {
    target: Target,
    unreliable: Option<&'a Unreliable>,
    entries: &'a [Entry<T>],
    memory: &'a mut Memory<F>,
}

impl<'a, T, F: ForeignMemory> Queue<'a, T, F> {
    /// Makes the view of the queue pair `target`, which is alive for `'a`, and of the unreliable
    /// one beside it.
    pub(super) fn new(
        target: Target,
        unreliable: Option<&'a Unreliable>,
        entries: &'a [Entry<T>],
        memory: &'a mut Memory<F>,
    ) -> Self {
        Self {
            target,
            unreliable,
            entries,
            memory,
        }
    }

    /// Returns the same view for a shorter time.
    pub(crate) fn reborrow(&mut self) -> Queue<'_, T, F> {
        Queue::new(self.target, self.unreliable, self.entries, self.memory)
    }

    /// Returns the number of the queue pair.
    pub(crate) fn number(&self) -> u32 {
        // SAFETY: It is alive for as long as this view; its number does not change.
        unsafe { (*self.target.qp.as_ptr()).qp_num }
    }

    /// Returns the memory that work requests name. It can be looked at, but not be replaced: the
    /// device uses it.
    pub(crate) fn memory(&self) -> &Memory<F> {
        self.memory
    }

    /// Copies into a buffer ([`Memory::write`]).
    ///
    /// # Errors
    ///
    /// `EINVAL` where the range is not within the buffer.
    pub(crate) fn write(&mut self, buffer: BufferId, offset: usize, from: &[u8]) -> Result {
        self.memory.write(buffer, offset, from)
    }

    /// Gives a region a new key ([`Memory::renew_key`]).
    ///
    /// # Errors
    ///
    /// `EINVAL` where it is still valid.
    pub(crate) fn renew_key(&mut self, region: RegionId) -> Result {
        self.memory.renew_key(region)
    }

    /// Notes that the peer has invalidated a region ([`Memory::invalidated`]).
    ///
    /// # Errors
    ///
    /// `EINVAL` where `wc` does not say so.
    pub(crate) fn invalidated(&mut self, region: RegionId, wc: &WorkCompletion<'_>) -> Result {
        self.memory.invalidated(region, wc)
    }

    /// Maps a sink over parts of buffers ([`Memory::map_sink`]).
    ///
    /// # Errors
    ///
    /// `EINVAL` for a sink in use, and for parts that it cannot cover.
    pub(crate) fn map_sink(
        &mut self,
        region: RegionId,
        parts: impl Iterator<Item = Result<Local>>,
    ) -> Result {
        self.memory.map_sink(region, parts)
    }

    /// Notes that the READ into a sink has completed ([`Memory::read_completed`]).
    ///
    /// # Errors
    ///
    /// `EINVAL` where `wc` does not say so.
    pub(crate) fn read_completed(&mut self, region: RegionId, wc: &WorkCompletion<'_>) -> Result {
        self.memory.read_completed(region, wc)
    }

    /// Maps a region over `object`, which it owns from then on ([`Memory::open`]).
    ///
    /// # Errors
    ///
    /// The object, with `EINVAL` for a region that is still valid, or an object that it cannot
    /// cover; `EBUSY` for a region that has one; `ENOMEM`.
    pub(crate) fn open(
        &mut self,
        region: RegionId,
        object: F,
    ) -> core::result::Result<Remote, (F, Error)> {
        self.memory.open(region, object)
    }

    /// Takes back the object of a region that the peer has invalidated ([`Memory::close`]).
    ///
    /// # Errors
    ///
    /// `EINVAL` where `wc` does not say so, or there is no object.
    pub(crate) fn close(&mut self, region: RegionId, wc: &WorkCompletion<'_>) -> Result<F> {
        self.memory.close(region, wc)
    }

    /// Posts a list of requests to the send queue, all or up to the first that the device
    /// refuses. `entry_of` gives each its completion entry.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an empty or too long list, a request that makes no sense, or an entry that
    /// there is not; the driver's error, `ENOMEM` where the queue is full.
    pub(crate) fn post(
        &mut self,
        list: &[WorkRequest],
        entry_of: impl Fn(&WorkRequest) -> usize,
    ) -> Result {
        self.post_checked(list, Checks::State, entry_of)
    }

    /// Posts one request that may be wrong: regions over buffers may be in any state, and keys
    /// may be any number; in the key of the local memory the bits `flipped` are changed. The device
    /// is to find out; the worst that it can make of it is an error, as local memory is always the
    /// queue pair's own.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an entry that there is not, an operand outside its buffer, or a region that
    /// is not over a buffer; the driver's error, `ENOMEM` where the queue is full.
    pub(crate) fn post_unchecked(
        &mut self,
        entry: usize,
        request: WorkRequest,
        flipped: u32,
    ) -> Result {
        let region = request.changes();
        let key = region.map(|region| (region, self.memory.key(region)));
        self.post_checked(&[request], Checks::None { flipped }, |_| entry)
            .inspect_err(|_| {
                if let Some((region, Ok(key))) = key {
                    self.memory.restore_key(region, key);
                }
            })
    }

    fn post_checked(
        &mut self,
        list: &[WorkRequest],
        checks: Checks,
        entry_of: impl Fn(&WorkRequest) -> usize,
    ) -> Result {
        let entries = self.entries;
        let qp = self.target.qp.as_ptr();
        Chain::new().build(
            list,
            self.memory,
            checks,
            |request| {
                let entry = entries.get(entry_of(request)).ok_or(EINVAL)?;
                Ok((entry.cqe(), entry.index))
            },
            // SAFETY: The queue pair is alive while a `Queue` is, and connected, for which all
            // requests have this form. The list, the entries and the memory that it names are
            // valid; the latter two until the queue pair has been drained or destroyed.
            |head| unsafe { post_send(qp, head) },
        )
    }

    /// Posts the context of transfer `id`, and then `answer`, which must be `Some` request that
    /// completes on success too, with its completion entry, or `None`. Without an answer the last
    /// request that moves data completes. `entry_of` gives the others their entries, which only
    /// errors come to.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is no context, it has been posted, an answer makes no sense, or an
    /// entry that there is not; the driver's error, `ENOMEM` where the queue is full.
    pub(crate) fn post_transfer(
        &mut self,
        id: TransferId,
        entry_of: impl Fn(Part) -> usize,
        answer: Option<(WorkRequest, usize)>,
    ) -> Result {
        let entry = |index: usize| self.entries.get(index).ok_or(EINVAL);
        let mut transfer = self.memory.take_transfer(id)?;
        let direction = transfer.direction().ok_or(EINVAL);
        let target = self.target;
        let result = direction.and_then(|direction| {
            let moving = entry_of(Part::moving(direction));
            let entries = Entries {
                register: entry(entry_of(Part::Register))?.cqe(),
                invalidate: entry(entry_of(Part::Invalidate))?.cqe(),
                moving: entry(moving)?.cqe(),
            };
            let tag = entry(answer.map_or(moving, |(_, index)| index))?.index;
            let (last, number) = transfer.last(tag)?;
            let Some((answer, _)) = answer else {
                // SAFETY: The queue pair is alive while a `Queue` is, and the transfer is of its
                // memory. The entries live until it has been drained or destroyed.
                return Ok(unsafe { transfer.post(target, &entries, core::ptr::null(), last) }?);
            };
            Chain::new().build(
                &[answer],
                self.memory,
                Checks::State,
                |_| Ok((last, number)),
                // SAFETY: As above; the answer has just been translated.
                |head| unsafe { transfer.post(target, &entries, head, last) },
            )
        });
        self.memory.put_transfer(id, transfer);
        result
    }

    /// Notes that a transfer has completed ([`Memory::transfer_completed`]).
    ///
    /// # Errors
    ///
    /// `EINVAL` where `wc` does not say so.
    pub(crate) fn transfer_completed(&mut self, id: TransferId, wc: &WorkCompletion<'_>) -> Result {
        self.memory.transfer_completed(id, wc)
    }

    /// Posts one atomic request.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an entry that there is not, or an operand outside its buffer; the driver's
    /// error, `ENOMEM` where the queue is full.
    pub(crate) fn post_atomic(&mut self, entry: usize, atomic: &Atomic) -> Result {
        let cqe = self.entries.get(entry).ok_or(EINVAL)?.cqe();
        let qp = self.target.qp.as_ptr();
        atomic.build(self.memory, cqe, |head| {
            // SAFETY: The queue pair is alive while a `Queue` is, and connected, for which atomic
            // requests have this form. The entry and the local memory live until it has been
            // drained or destroyed. The remote memory is for the peer's device to check.
            Ok(unsafe { post_send(qp, head) }?)
        })
    }

    /// Fills `list` with requests, of which `request` returns each by its number, from 0. Their
    /// completions have entry `entry`. They are for the unreliable queue pair, where there is one,
    /// which must be connected.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the list has been filled before, for an entry that there is not, an operand
    /// outside its buffer, operations of different kinds, and datagrams that are no SENDs;
    /// `ENOTCONN`.
    pub(crate) fn fill_list(
        &mut self,
        list: &mut PreparedList,
        entry: usize,
        form: Form,
        request: impl Fn(usize) -> Result<Request>,
    ) -> Result {
        let cqe = self.entries.get(entry).ok_or(EINVAL)?.cqe();
        let datagram = match self.unreliable {
            Some(unreliable) => unreliable.datagram()?,
            None => None,
        };
        list.fill(form, self.memory, cqe, datagram, request)
    }

    /// Posts the first `count` requests of `list`, to the unreliable queue pair where there is one;
    /// `notify` says what each of them asks for.
    ///
    /// # Errors
    ///
    /// `EINVAL` for no requests or more than there are, or a list that was filled for another
    /// queue pair; the driver's error, `ENOMEM` where the queue is full.
    pub(crate) fn post_list(
        &mut self,
        list: &mut PreparedList,
        count: usize,
        notify: impl Fn(u32) -> Notify,
    ) -> Result {
        self.post_part_of_list(list, count, notify)
            .map_err(|(_, error)| error)
    }

    /// Posts as [`post_list`](Self::post_list) does.
    ///
    /// # Errors
    ///
    /// As there, with the number of requests that have been posted, of a list that is no ring.
    pub(crate) fn post_part_of_list(
        &mut self,
        list: &mut PreparedList,
        count: usize,
        notify: impl Fn(u32) -> Notify,
    ) -> Result<(), (usize, Error)> {
        let head = list
            .link(self.memory.owner(), count, notify)
            .map_err(|error| (0, error))?;
        let qp = match self.unreliable {
            Some(unreliable) => unreliable.as_ptr(),
            None => self.target.qp.as_ptr(),
        };
        // SAFETY: Both queue pairs are alive while a `Queue` is. The list was filled for the same
        // of them, in the form that its type has: it names its entries, its memory and its address
        // handle, which live until it has been drained or destroyed.
        let posted = unsafe { post_send(qp, head) };
        posted.map_err(|refused| (list.before(refused.first()).unwrap_or(0), refused.into()))
    }

    /// Posts a receive into `local`, with completion entry `entry`.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an entry that there is not, or an operand outside its buffer; the driver's
    /// error, `ENOMEM` where the queue is full.
    pub(crate) fn post_receive(&mut self, entry: usize, local: &Local) -> Result {
        self.post_receive_to(self.target.qp.as_ptr(), entry, local, 0)
    }

    /// Posts a receive as [`post_receive`](Self::post_receive) does, with the bits `flipped` of the
    /// key of its memory changed. The device is to find out; the memory is the queue pair's own.
    ///
    /// # Errors
    ///
    /// As there.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    pub(crate) fn post_receive_unchecked(
        &mut self,
        entry: usize,
        local: &Local,
        flipped: u32,
    ) -> Result {
        self.post_receive_to(self.target.qp.as_ptr(), entry, local, flipped)
    }

    /// Returns true where `wc`, which is successful, shows that the peer is there: by its message,
    /// or by its acknowledgment. On an unreliable queue pair nothing is acknowledged, and datagrams
    /// can come from anywhere.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    pub(crate) fn is_of_peer(&self, wc: &WorkCompletion<'_>) -> bool {
        let Some(unreliable) = self.unreliable.filter(|other| wc.qp() == other.as_ptr()) else {
            return true;
        };
        match unreliable.peer() {
            _ if wc.is_send() => false,
            Ok(Some(peer)) => wc.src_qp() == Some(peer),
            // Nobody is the peer yet.
            Err(_) => false,
            Ok(None) => true,
        }
    }

    /// Returns false where the datagram in `buffer`, whose receive has completed and whose queue
    /// pair has the number of the peer's, was sent to the multicast group by another host, where a
    /// queue pair may have the same number.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a buffer that such a receive has not.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    pub(crate) fn is_of_peers_host(
        &self,
        wc: &WorkCompletion<'_>,
        buffer: BufferId,
    ) -> Result<bool> {
        let of_group = |other: &&Unreliable| wc.qp() == other.as_ptr() && other.is_attached();
        let Some(unreliable) = self.unreliable.filter(of_group) else {
            return Ok(true);
        };
        if !wc.has_routing_header() {
            return Ok(true);
        }
        let mut header = [0; GRH_BYTES as usize];
        self.memory.read(buffer, 0, &mut header)?;
        Ok(unreliable.is_of_peers_host(&header))
    }

    /// Returns true where there is an unreliable queue pair.
    pub(crate) fn has_unreliable(&self) -> bool {
        self.unreliable.is_some()
    }

    /// Posts a receive of the unreliable queue pair, as [`post_receive`](Self::post_receive) does
    /// of the other.
    ///
    /// # Errors
    ///
    /// As there, and `EINVAL` where there is none.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    pub(crate) fn post_unreliable_receive(&mut self, entry: usize, local: &Local) -> Result {
        let unreliable = self.unreliable.ok_or(EINVAL)?;
        self.post_receive_to(unreliable.as_ptr(), entry, local, 0)
    }

    fn post_receive_to(
        &mut self,
        qp: *mut bindings::ib_qp,
        entry: usize,
        local: &Local,
        flipped: u32,
    ) -> Result {
        let entry = self.entries.get(entry).ok_or(EINVAL)?;
        build_receive(local, flipped, self.memory, entry.cqe(), |wr| {
            // SAFETY: Both queue pairs are alive while a `Queue` is. The entry and the memory live
            // until they have been drained or destroyed; the request is copied.
            to_result(unsafe { bindings::rust_helper_post_recv(qp, wr) })
        })
    }
}
