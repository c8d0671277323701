// SPDX-License-Identifier: GPL-2.0

//! The tags by which krping tells completions apart: an operation and a slot.

#![forbid(unsafe_code)]

use crate::logic::failure::Operation;
use kernel::prelude::*;

/// The number of operations that there are.
const OPERATIONS: usize = Operation::ALL.len();

/// The tag of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tag {
    /// The operation.
    pub(crate) op: Operation,
    /// The number of the request among those of the same operation.
    pub(crate) slot: u32,
}

impl Tag {
    /// Makes the tag of receive number `receive` of a shared receive queue.
    pub(crate) const fn shared(receive: u32) -> Self {
        Self {
            op: Operation::Receive,
            slot: receive,
        }
    }
}

/// The order of a workload's completion entries: those of a slot stand together, one for each
/// operation of the workload.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// The place of each operation in a slot.
    places: [usize; OPERATIONS],
    /// The number of operations.
    count: usize,
}

impl Layout {
    /// Lays out the entries of a workload with `operations`.
    pub(crate) const fn new(operations: &[Operation]) -> Self {
        // Beyond the entries that there are.
        let mut places = [usize::MAX / 2; OPERATIONS];
        let mut place = 0;
        while place < operations.len() {
            places[operations[place] as usize] = place;
            place += 1;
        }
        Self {
            places,
            count: operations.len(),
        }
    }

    /// Returns the number of the entry of `op` in `slot`, which is beyond those that there are
    /// where the workload has no such operation.
    pub(crate) fn entry(&self, op: Operation, slot: usize) -> usize {
        let place = self.places.get(op as usize).copied();
        slot.saturating_mul(self.count)
            .saturating_add(place.unwrap_or(usize::MAX))
    }
}

/// Returns the tags of `slots` slots of a workload with `operations`, in the order of their
/// entries. May sleep.
///
/// # Errors
///
/// `ENOMEM`; `ERANGE` for more slots than can be counted.
pub(crate) fn tags(operations: &[Operation], slots: usize) -> Result<KVVec<Tag>> {
    let count = slots.checked_mul(operations.len()).ok_or(ERANGE)?;
    let mut tags = KVVec::with_capacity(count, GFP_KERNEL)?;
    for slot in 0..u32::try_from(slots).map_err(|_| ERANGE)? {
        for op in operations {
            tags.push_within_capacity(Tag { op: *op, slot })
                .map_err(|_| ENOMEM)?;
        }
    }
    Ok(tags)
}
