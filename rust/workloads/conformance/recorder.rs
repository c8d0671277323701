// SPDX-License-Identifier: GPL-2.0

//! What completions have come, in their order: the workload of conformance tests.

#![forbid(unsafe_code)]

use crate::{
    logic::{
        conformance::observation::{
            Ended,
            Tally, //
        },
        failure::{
            Failure,
            Operation,
            STATUS_FLUSHED, //
        }, //
    },
    rdma::{
        cq::{
            RawCompletion,
            WorkCompletion, //
        },
        qp::{
            Queue,
            Workload, //
        }, //
    }, //
};
use core::ops::Range;
use kernel::prelude::*;

/// Keeps completions, and does nothing else about them.
pub(crate) struct Recorder {
    /// Has room for all that can be posted, and for some that come twice.
    records: KVVec<RawCompletion>,
    /// Completions without room.
    beyond: u32,
}

impl Recorder {
    /// One with room for `count` completions. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    #[inline(never)]
    pub(super) fn new(count: usize) -> Result<KBox<Self>> {
        Ok(KBox::new(
            Self {
                records: KVVec::with_capacity(count, GFP_KERNEL)?,
                beyond: 0,
            },
            GFP_KERNEL,
        )?)
    }

    /// How the request to the send queue, or the receive, number `slot` ended.
    pub(super) fn ended(&self, receive: bool, slot: usize) -> Ended {
        self.of(receive)
            .find(|record| record.slot == slot)
            .map_or(Ended::Missing, |record| Ended::Status(record.status))
    }

    /// How many completions there are of one queue.
    pub(super) fn count(&self, receive: bool) -> usize {
        self.of(receive).count()
    }

    /// What became of the requests to one queue that have the numbers of `slots`;
    /// without number `except`.
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

    fn of(&self, receive: bool) -> impl Iterator<Item = &RawCompletion> {
        self.records
            .iter()
            .filter(move |record| (record.op == Operation::Receive) == receive)
    }
}

impl Workload for Recorder {
    type Done = ();

    /// A device under test may not flush its queues.
    const PATIENCE_MS: u32 = 2000;

    fn takes(&mut self, completion: &RawCompletion) -> bool {
        if self.records.push_within_capacity(*completion).is_err() {
            self.beyond = self.beyond.saturating_add(1);
        }
        true
    }

    fn completed(&mut self, _: &mut Queue<'_>, _: &WorkCompletion) -> Result<(), Failure> {
        Ok(())
    }

    fn iteration(&self) -> u64 {
        0
    }
}
