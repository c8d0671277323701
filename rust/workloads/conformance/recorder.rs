// SPDX-License-Identifier: GPL-2.0

//! Record of completions in their order, which conformance tests judge.

#![forbid(unsafe_code)]

use crate::{
    engine::{
        queue_pair::say_undrained,
        tag::Tag, //
    },
    kernel_ext::blk::request::Request,
    logic::{
        conformance::observation::{
            Ended,
            Tally,
            Told, //
        },
        failure::{
            Operation,
            STATUS_FLUSHED, //
        }, //
    },
    rdma::{
        cq::{
            Opcode,
            WorkCompletion, //
        },
        qp::{
            Completions,
            Queue, //
        }, //
    }, //
};
use core::ops::Range;
use kernel::prelude::*;

/// Any completion, as the device gives it.
#[derive(Clone, Copy, Debug)]
struct Record {
    op: Operation,
    /// The number that the request was posted with.
    slot: usize,
    /// `enum ib_wc_status`.
    status: u32,
    /// Facts of its message, of a receive.
    told: Told,
    /// False where the device says that it did another operation than the one that was posted.
    names_its_op: bool,
}

impl Record {
    fn new(tag: Tag, wc: &WorkCompletion<'_>) -> Self {
        let opcode = match tag.op {
            Operation::Send | Operation::Control => Opcode::SEND,
            Operation::Read => Opcode::RDMA_READ,
            Operation::Write => Opcode::RDMA_WRITE,
            Operation::Register => Opcode::REG_MR,
            Operation::Invalidate => Opcode::LOCAL_INV,
            Operation::Receive => Opcode::RECV,
            Operation::Atomic => Opcode::FETCH_ADD,
        };
        Self {
            op: tag.op,
            slot: tag.slot as usize,
            status: wc.status(),
            told: Told {
                len: wc.byte_len(),
                immediate: wc.immediate(),
                invalidated: wc.invalidated(),
            },
            // Failed completions need not have an opcode.
            names_its_op: wc.opcode().is_none_or(|own| {
                own == opcode || own == Opcode::RECV_RDMA_WITH_IMM && tag.op == Operation::Receive
            }),
        }
    }
}

/// Records completions, and does nothing else with them.
pub(crate) struct Recorder {
    /// Has room for one completion of each request that can be posted. Repeated completions use the
    /// room that is left.
    records: KVVec<Record>,
    /// Number of completions that did not fit.
    beyond: u32,
}

impl Recorder {
    /// The operations that are tried, and receives.
    pub(super) const OPERATIONS: &'static [Operation] = &[
        Operation::Send,
        Operation::Read,
        Operation::Write,
        Operation::Register,
        Operation::Invalidate,
        Operation::Receive,
        Operation::Atomic,
    ];

    /// Creates a recorder with room for `count` completions. May sleep.
    pub(super) fn new(count: usize) -> Result<Self> {
        Ok(Self {
            records: KVVec::with_capacity(count, GFP_KERNEL)?,
            beyond: 0,
        })
    }

    /// Returns the result of the receive with number `slot`, or of the request with that number in
    /// the send queue if `receive` is false.
    pub(super) fn ended(&self, receive: bool, slot: usize) -> Ended {
        self.of(receive)
            .find(|record| record.slot == slot)
            .map_or(Ended::Missing, |record| Ended::Status(record.status))
    }

    /// Returns what the completion of the receive with number `slot` tells of the message; `None`
    /// where none has arrived.
    pub(super) fn told(&self, slot: usize) -> Option<Told> {
        self.of(true)
            .find(|record| record.slot == slot && record.status == 0)
            .map(|record| record.told)
    }

    /// Returns the number of completions of one queue.
    pub(super) fn count(&self, receive: bool) -> usize {
        self.of(receive).count()
    }

    /// Returns the results of the requests to one queue whose numbers are in `slots`, except number
    /// `except`.
    pub(super) fn tally(&self, receive: bool, slots: Range<usize>, except: Option<usize>) -> Tally {
        let posted = slots.clone().filter(|slot| except != Some(*slot)).count();
        let mut tally = Tally {
            posted: u32::try_from(posted).unwrap_or(u32::MAX),
            repeated: self.beyond,
            ..Tally::default()
        };
        let mut next = 0;
        for (index, record) in self.of(receive).enumerate() {
            let slot = record.slot;
            if self.of(receive).take(index).any(|other| other.slot == slot) {
                tally.repeated = tally.repeated.saturating_add(1);
                continue;
            }
            if slot < next {
                tally.disordered = tally.disordered.saturating_add(1);
            }
            next = slot.saturating_add(1);
            if except == Some(slot) || !slots.contains(&slot) {
                continue;
            }
            let count = match record.status {
                0 if record.names_its_op => &mut tally.done,
                STATUS_FLUSHED => &mut tally.flushed,
                _ => &mut tally.other,
            };
            *count = count.saturating_add(1);
        }
        tally
    }

    /// Returns the results of the requests to one queue whose numbers are in `slots`, of a queue
    /// pair that has been drained, and the status of the one that failed, which is not among them.
    /// A `silent` request asks for a completion only where it fails.
    ///
    /// What succeeds behind another that did not has ended in another way than it may, and so has
    /// a failure behind one.
    pub(super) fn ended_at(
        &self,
        receive: bool,
        slots: Range<usize>,
        silent: impl Fn(usize) -> bool,
    ) -> (Tally, Option<u32>) {
        let end = self.of(receive).find(|record| record.status != 0).copied();
        let failed = end.filter(|record| record.status != STATUS_FLUSHED);
        let end_slot = end.map_or(usize::MAX, |record| record.slot);
        let mut tally = self.tally(receive, slots.clone(), failed.map(|record| record.slot));
        let late = self
            .of(receive)
            .skip_while(|record| record.status == 0)
            .filter(|record| record.status == 0)
            .count() as u32;
        tally.done = tally.done.saturating_sub(late);
        tally.other = tally.other.saturating_add(late);
        let unsaid = slots
            .take_while(|slot| *slot < end_slot)
            .filter(|slot| silent(*slot) && self.ended(receive, *slot) == Ended::Missing)
            .count() as u32;
        tally.done = tally.done.saturating_add(unsaid);
        (tally, failed.map(|record| record.status))
    }

    fn of(&self, receive: bool) -> impl Iterator<Item = &Record> {
        self.records
            .iter()
            .filter(move |record| (record.op == Operation::Receive) == receive)
    }
}

impl Completions for Recorder {
    type Tag = Tag;
    type Foreign = Request;
    type Done = ();

    /// Shorter than the default, since a device under test may not flush its queues.
    const DRAIN_TIMEOUT_MS: u32 = 2000;

    fn completed(&mut self, _: &mut Queue<'_, Tag, Request>, tag: Tag, wc: &WorkCompletion<'_>) {
        let record = Record::new(tag, wc);
        if self.records.push_within_capacity(record).is_err() {
            self.beyond = self.beyond.saturating_add(1);
        }
    }

    fn shared(receive: u32) -> Option<Tag> {
        Some(Tag::shared(receive))
    }

    fn undrained(error: Error) {
        say_undrained(error);
    }
}
