// SPDX-License-Identifier: GPL-2.0

//! Parameters of one side of a microbenchmark, and the choices that follow from them.

#![forbid(unsafe_code)]

use super::{
    control_channel::{
        self,
        Receives,
        CONTROL_RECEIVES,
        CONTROL_SENDS, //
    },
    numbered::Numbered,
    verb, //
};
use crate::{
    engine::{
        depths::Depths,
        limits::QueueLimits, //
    },
    logic::{
        command::{
            Load,
            Test, //
        },
        data::pattern::{
            Data,
            Pattern, //
        },
        measure::{
            places::{
                shuffled,
                turn,
                Place,
                Places, //
            },
            schedule::Share,
            sizes::Sizes,
            slots::Slots,
            window::warmup, //
        },
        spec::{
            service::Service,
            tests::Verb, //
        }, //
    },
    rdma::{
        qp::{
            UnreliableCaps,
            GRH_BYTES, //
        },
        qp_type::QpType, //
    }, //
};

/// Most receives that are kept posted for data, so that the client does not decide how much memory
/// its server uses. A sender that finds no receive retries.
const MOST_RECEIVES: u32 = 512;

/// Receives for messages of a latency that are sent again before this side has handled the first:
/// on a busy machine that takes a while.
const MOST_AGAIN: u32 = 32;

/// Parameters of one side of a microbenchmark.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// The test.
    pub(crate) test: Test,
    /// The operation that the test measures.
    pub(crate) verb: Verb,
    /// This side leads: it begins and ends the test.
    pub(crate) leading: bool,
    /// Size of the data of each operation, in bytes.
    pub(crate) size: u32,
    /// Sizes of the operations of the leading side, if they have several; the largest is `size`.
    pub(crate) sizes: Sizes,
    /// Number of operations to measure; 0 if the test runs until it is stopped.
    pub(crate) count: u64,
    /// Duration of the measurement in ms, if it is limited.
    pub(crate) duration_ms: Option<u32>,
    /// Time in ms after which this side gives up, if it leads and no message is answered.
    pub(crate) timeout_ms: u32,
    /// Parameters that operations are posted with.
    pub(crate) load: Load,
    /// Share of the command's rate that this side's queue pair has, if it posts operations when
    /// they are due.
    pub(crate) share: Option<Share>,
    /// Limits of the queues.
    pub(crate) room: QueueLimits,
    /// Pattern of the data.
    pub(crate) pattern: Pattern,
    /// Compare the data that has arrived with the pattern.
    pub(crate) validate: bool,
    /// Number of receives for data that are to be posted; `None` for as many as the test needs.
    pub(crate) recvs: Option<u32>,
    /// Take the receives of a shared queue.
    pub(crate) shared: bool,
    /// Open all memory to the peer, by the unsafe global rkey.
    pub(crate) unsafe_global_rkey: bool,
}

impl Plan {
    /// Returns the data, which is the same in each operation.
    pub(crate) fn data(&self) -> Data {
        Data::new(self.pattern, 0, self.size as usize)
    }

    /// Returns the numbers and places of messages, if they are all compared.
    pub(super) fn numbered(&self) -> Option<Numbered> {
        let full = self.load.full;
        full.then(|| Numbered::new(self.pattern.seed, self.size))
    }

    /// Returns the places of the data of operations.
    fn slots(&self) -> Slots {
        self.numbered()
            .map_or(Slots::ONE, |numbered| numbered.slots)
    }

    /// Returns the data of operation number `number`, which tells its place from others.
    pub(super) fn data_of(&self, number: u64) -> Data {
        match self.load.buffers > 1 && !self.is_received() {
            true => Data::new(self.pattern, number, self.size as usize),
            false => self.data(),
        }
    }

    /// Returns the places of operations that take several buffers in turn.
    pub(super) fn places(&self) -> Places {
        Places::new(self.load.buffers, self.load.mrs, self.size)
    }

    /// Returns the place of the data of operation number `number`.
    pub(super) fn place(&self, number: u64) -> Place {
        match self.numbered() {
            None => self.places().place(number),
            Some(numbered) => Place {
                region: 0,
                offset: numbered.slots.offset(number) as u32,
            },
        }
    }

    /// Returns the number of requests that a list of operations has room for.
    pub(crate) fn list_capacity(&self) -> usize {
        let places = match self.load.full {
            true => self.slots().count,
            false => self.places().count(),
        };
        let turn = turn(places, self.sizes.weight());
        u32::from(self.load.postlist).next_multiple_of(turn.max(1)) as usize
    }

    /// Returns the bytes of request number `number` of a list of operations.
    pub(super) fn size_of(&self, number: usize) -> u32 {
        if self.sizes.is_empty() {
            return self.size;
        }
        let count = self.list_capacity() as u32;
        // Another order than that of the places.
        let rank = shuffled(shuffled(number as u32, count), count);
        self.sizes.at(rank, count)
    }

    /// Returns true where operations differ in the place or in the size of their data.
    pub(super) fn takes_turns(&self) -> bool {
        self.load.full || self.load.buffers > 1 || self.load.mixed
    }

    /// Returns the number of regions that each side's memory is in.
    pub(super) fn regions(&self) -> usize {
        self.places().regions() as usize
    }

    /// Returns true where there are several, and this side's operations name its own memory by
    /// their keys.
    pub(super) fn has_regions(&self) -> bool {
        self.load.mrs > 1
    }

    /// Returns true where this side reads the peer's table of regions.
    pub(super) fn reads_table(&self) -> bool {
        self.has_regions() && self.posts() && !self.is_received()
    }

    /// Returns the bytes of the memory of one region.
    pub(super) fn region_bytes(&self) -> usize {
        match self.load.full {
            true => self.slots().bytes(self.size),
            false => self.places().region_bytes().unwrap_or(u32::MAX) as usize,
        }
    }

    /// Returns true if an operation brings data to the side that posts it.
    pub(crate) fn fetches(&self) -> bool {
        verb::fetches(self.verb)
    }

    /// Returns true if an operation itself consumes a receive of the target.
    pub(crate) fn is_received(&self) -> bool {
        verb::access(self.verb).is_none()
    }

    /// Returns true if this side posts operations. The side that does not lead posts them in
    /// answer, or at the same time.
    pub(crate) fn posts(&self) -> bool {
        self.leading || self.peer_posts_too()
    }

    /// Returns true if each message carries its number, by which one that is lost is missed.
    pub(super) fn numbers_messages(&self) -> bool {
        self.is_unreliable() && (self.is_received() || self.load.imm)
    }

    fn peer_posts_too(&self) -> bool {
        self.load.duplex || (self.test.is_latency() && !self.fetches())
    }

    /// Returns true if the peer posts operations to this side, or reads from it.
    pub(crate) fn is_target(&self) -> bool {
        !self.leading || self.peer_posts_too()
    }

    /// Returns true if each operation of the peer consumes a receive here.
    pub(crate) fn counts_arrivals(&self) -> bool {
        self.is_target() && (self.is_received() || self.load.imm)
    }

    /// Returns true if the target of an operation notices it, by a receive or in memory.
    fn is_seen(&self) -> bool {
        self.load.imm || self.is_received() || self.watches_memory()
    }

    /// Returns true if the side that does not lead posts no operations, and does not notice those
    /// of the leading side.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.peer_posts_too() && !self.is_seen()
    }

    /// Returns true if this side posts operations that the peer does not notice, or may not.
    pub(crate) fn is_unseen(&self) -> bool {
        self.posts() && (!self.is_seen() || self.is_unreliable())
    }

    /// Returns true if messages may be lost. They go by a queue pair of their own.
    pub(crate) fn is_unreliable(&self) -> bool {
        self.load.service.is_unreliable()
    }

    /// Returns true if this side posts operations when they are due.
    pub(crate) fn is_paced(&self) -> bool {
        self.share.is_some()
    }

    /// Returns true if this side takes the time of each operation of a latency test. The side that
    /// answers what the other one posts when it is due would time how long nothing was due.
    pub(crate) fn is_timed(&self) -> bool {
        !self.load.untimed && (self.leading || !self.load.paced)
    }

    /// Returns true if the arrival of an operation can be seen only in memory.
    pub(crate) fn watches_memory(&self) -> bool {
        self.test.shows_in_memory() && !self.load.imm
    }

    /// Returns the number of warm-up operations, which precede the measurement.
    pub(crate) fn warmup(&self) -> u64 {
        warmup(self.size, self.load.signal_every)
    }

    /// Returns the number of operations after which this side waits until it is told to continue;
    /// `None` if it does not wait. A latency test waits one operation before the end of its
    /// warm-up, so that both sides begin to measure after the wait. An open loop begins when the
    /// wait is over.
    pub(crate) fn hold(&self) -> Option<u64> {
        match self.test.is_latency() {
            _ if !self.leading && !self.load.duplex => None,
            true if self.is_paced() => Some(self.warmup()),
            true => (self.load.qps > 1).then(|| self.warmup() - 1),
            false => Some(self.warmup()),
        }
    }

    /// Returns true if this side waits for the other queue pairs before it ends the test, since the
    /// messages at the end would slow them down. In a latency test, queue pairs are measured until
    /// the first one ends, so they do not wait.
    pub(crate) fn ends_together(&self) -> bool {
        self.leading && self.load.qps > 1 && !self.test.is_latency()
    }

    /// Returns the number of all operations, including the warm-up, if it is known.
    pub(crate) fn total(&self) -> Option<u64> {
        (self.count != 0).then(|| self.count.saturating_add(self.warmup()))
    }

    /// Returns the number of operations that may be in flight; at least as many as the load needs.
    pub(crate) fn depth(&self) -> u32 {
        let mut most = self.room.requests.saturating_sub(self.control_sends());
        if self.counts_arrivals() {
            // The completions of receives need room, too.
            most = most.min(self.room.completions / 3);
        }
        if self.load.full {
            most = most.min(self.slots().under_way());
        }
        self.room.txdepth.min(most).max(self.load.depth())
    }

    /// Returns the operations that the send queue has room for.
    fn operations(&self) -> u32 {
        match (self.posts(), self.is_unreliable()) {
            (false, _) => 0,
            (true, false) => self.depth(),
            // One is sent again while no answer comes.
            (true, true) => self.depth().saturating_add(1),
        }
    }

    /// Returns the control messages that the send queue has room for, with registrations.
    fn control_sends(&self) -> u32 {
        // Those of either direction, of a table or its sink, and the READ of a table.
        let opens = self.is_target() && !self.is_received();
        let regions = match self.has_regions() {
            true => u32::from(self.load.mrs) * (u32::from(self.posts()) + u32::from(opens)) + 3,
            false => 0,
        };
        CONTROL_SENDS + regions + u32::from(self.tells_figures())
    }

    /// Returns true where a side tells, before it is done, how many messages have arrived, or how
    /// many bytes they had.
    fn tells_figures(&self) -> bool {
        self.is_unreliable() || self.load.mixed
    }

    /// Returns the receives, and whether they are shared.
    pub(super) fn kind_of_receives(&self) -> Receives {
        if self.shared {
            Receives::Shared {
                copy: self.validate,
            }
        } else {
            Receives::Own(self.receives())
        }
    }

    /// Returns true if data arrives here by SENDs.
    pub(super) fn data_comes(&self) -> bool {
        self.is_target() && self.is_received()
    }

    /// Returns true if data arrives among the control messages.
    pub(super) fn data_comes_with_control(&self) -> bool {
        self.data_comes() && !self.is_unreliable()
    }

    /// Returns the bytes that each receive needs room for.
    pub(super) fn room_of_receive(&self) -> u32 {
        control_channel::room_for(self.size, self.data_comes_with_control())
    }

    /// Returns the number of receives to keep posted for control messages, and for operations that
    /// take the same.
    pub(crate) fn receives(&self) -> u32 {
        match (self.shared, self.is_unreliable()) {
            (true, _) => 0,
            (false, true) => CONTROL_RECEIVES,
            (false, false) => self.receives_beside(CONTROL_RECEIVES),
        }
    }

    /// Returns the number of receives to keep posted of an unreliable queue pair.
    pub(super) fn message_receives(&self) -> u32 {
        if self.is_unreliable() && self.counts_arrivals() {
            self.receives_beside(self.spare_receives())
        } else {
            0
        }
    }

    /// Returns the bytes before the data in the buffer of such a receive.
    pub(super) fn message_header(&self) -> u32 {
        match (self.load.service, self.data_comes()) {
            (Service::Ud, true) => GRH_BYTES,
            _ => 0,
        }
    }

    /// Returns the bytes of the buffer of such a receive.
    pub(super) fn room_of_message(&self) -> u32 {
        let data = if self.data_comes() { self.size } else { 1 };
        data.saturating_add(self.message_header())
    }

    /// Returns the number of buffers that such receives take. Each has its own where all data is
    /// compared, or where others than the peer may send some.
    pub(super) fn message_buffers(&self) -> usize {
        let receives = self.message_receives() as usize;
        if self.data_comes() && (self.load.full || self.load.service == Service::Ud) {
            receives
        } else {
            receives.min(control_channel::SLOTS)
        }
    }

    /// Returns the number of receives to keep posted for operations, beside `others`. If many
    /// operations are in flight, it is twice their number, so that the sender need not wait until a
    /// receive is posted again.
    fn receives_beside(&self, others: u32) -> u32 {
        let data = match (self.counts_arrivals(), self.recvs) {
            (false, _) => 0,
            (true, Some(recvs)) => recvs.max(self.least_receives()),
            (true, None) if self.test.is_latency() => 2,
            (true, None) => {
                let most = MOST_RECEIVES.max(self.least_receives());
                self.depth().saturating_mul(2).min(most)
            }
        };
        let sends = self.control_sends().saturating_add(self.operations());
        let mut most = self.room.completions.saturating_sub(sends);
        if self.load.full {
            most = most.min(self.slots().receives());
        }
        (data + others).min(most).min(self.room.requests)
    }

    /// Returns the number of buffers that receives take in turn, beside that of the first.
    pub(crate) fn receive_buffers(&self) -> usize {
        if self.load.full && !self.shared && !self.is_unreliable() {
            self.receives() as usize
        } else {
            control_channel::SLOTS + usize::from(self.tells_figures())
        }
    }

    /// Returns the least number of receives to keep posted for data: as many as messages come
    /// without an event, since nobody posts others meanwhile.
    fn least_receives(&self) -> u32 {
        match self.load.solicited {
            true => self.load.signal_every.into(),
            false => 1,
        }
    }

    /// Returns the number of receives that are kept posted for data.
    pub(super) fn data_receives(&self) -> u32 {
        match self.is_unreliable() {
            true => self
                .message_receives()
                .saturating_sub(self.spare_receives()),
            false => self.receives().saturating_sub(CONTROL_RECEIVES),
        }
    }

    /// Returns the number of receives of an unreliable queue pair beside those for data.
    fn spare_receives(&self) -> u32 {
        // The data of the last message stays.
        1 + match self.test.is_latency() {
            true => MOST_AGAIN,
            false => 1,
        }
    }

    /// Returns the size that the queue pair must have.
    pub(crate) fn depths(&self) -> Depths {
        let posts = self.posts();
        let sends = match self.is_unreliable() {
            true => self.control_sends(),
            false => self.control_sends().saturating_add(self.operations()),
        };
        let slots = self.receive_buffers() + 1 + self.message_buffers();
        Depths {
            pieces: if posts { self.load.sge } else { 1 },
            inline: if posts && self.load.inline {
                self.size
            } else {
                0
            },
            signal_all: self.load.sig_all,
            unreliable: self.unreliable(),
            ..Depths::plain(sends, self.receives()).with_slots(slots)
        }
    }

    /// Returns the sizes of the unreliable queue pair, if there is to be one.
    fn unreliable(&self) -> Option<UnreliableCaps> {
        let qp_type = match self.load.service {
            Service::Rc => return None,
            Service::Uc => QpType::Uc,
            Service::Ud => QpType::Ud,
        };
        Some(UnreliableCaps {
            qp_type,
            max_send_wr: self.operations(),
            max_recv_wr: self.message_receives(),
        })
    }
}
