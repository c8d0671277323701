// SPDX-License-Identifier: GPL-2.0

//! The tap's hooks in the path of the disk's I/O: they find out which program a request belongs
//! to, and put it into the ring.

#![forbid(unsafe_code)]

use super::{
    record::Record,
    ring::Ring, //
};
use crate::{
    kernel_ext::{
        tapped::{
            caller_is,
            Disk,
            Operation,
            Request,
            Watch, //
        },
        time::monotonic_ns, //
    },
    logic::{
        block::Action,
        command::Comm, //
    }, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// Hooks that take the requests of a disk, or of one program, into a ring.
pub(crate) struct Intake {
    ring: Arc<Ring>,
    program: Option<Program>,
}

impl Intake {
    /// Creates hooks that put the requests of `disk` into `ring`. With `name`, they take only
    /// those begun by a program of that name. May sleep.
    pub(crate) fn new(ring: &Arc<Ring>, disk: &Disk, name: Option<Comm>) -> Result<Self> {
        Ok(Self {
            ring: ring.clone(),
            program: match name {
                Some(name) => Some(Program::new(name, disk.places())?),
                None => None,
            },
        })
    }
}

impl Watch for Intake {
    fn started(&self, request: &Request<'_>) {
        let Some(program) = &self.program else {
            return;
        };
        let is_its = caller_is(program.name.as_str().as_bytes());
        if !program.note(request.place(), is_its) && is_its {
            // The request could not be recognised later.
            self.ring.miss();
        }
    }

    fn issued(&self, request: &Request<'_>) {
        let its = self.program.as_ref();
        if its.is_some_and(|program| !program.began(request.place())) {
            return;
        }
        let action = match request.operation() {
            // Commands to the drive that do not concern its blocks.
            None => return,
            Some(Operation::Read) => Action::Note,
            Some(Operation::Write) => Action::Write,
            Some(Operation::Flush) => Action::Flush,
            Some(Operation::Discard) => Action::Discard,
            // Zeroed blocks are unrecoverable, too.
            Some(Operation::SecureErase | Operation::WriteZeroes) => Action::WriteZeroes,
        };
        let record = Record {
            action,
            fua: action != Action::Note && action != Action::Flush && request.is_fua(),
            offset: 0,
            bytes: 0,
            issued_ns: monotonic_ns(),
        };
        if action == Action::Flush {
            // A flush has no range, and covers all partitions.
            if let Some(mut room) = self.ring.reserve(1, 0) {
                room.put(&record);
            }
            return;
        }
        let data = match action {
            Action::Write => request.ranges().next().map_or(0, |range| range.bytes),
            _ => 0,
        };
        let Some(mut room) = self.ring.reserve(request.ranges().count(), data) else {
            return;
        };
        for range in request.ranges() {
            let record = Record {
                offset: range.offset,
                bytes: range.bytes,
                ..record
            };
            room.put_data(&record, |to, place, done, len| {
                request.copy((range.skip as usize).saturating_add(done), to, place, len)
            });
        }
    }
}

/// Number of bits in a word.
const BITS: usize = u64::BITS as usize;

/// Tracks which of the requests under way were begun by one program.
struct Program {
    name: Comm,
    /// One bit for each place that a request can have.
    begun: KVVec<Atomic<u64>>,
}

impl Program {
    fn new(name: Comm, places: usize) -> Result<Self> {
        let words = places.div_ceil(BITS);
        let mut begun = KVVec::with_capacity(words, GFP_KERNEL)?;
        for _ in 0..words {
            begun.push(Atomic::new(0), GFP_KERNEL)?;
        }
        Ok(Self { name, begun })
    }

    fn word(&self, place: usize) -> Option<(&Atomic<u64>, u64)> {
        Some((self.begun.get(place / BITS)?, 1 << (place % BITS)))
    }

    /// Records whether the program has begun the request that is in `place` now. Returns false if
    /// there is no such place.
    fn note(&self, place: usize, its: bool) -> bool {
        let Some((word, bit)) = self.word(place) else {
            return false;
        };
        let mut now = word.load(Relaxed);
        // The request reaches its driver in order with this update: a CPU that has the request
        // also sees the update. So only the bits of other places can change meanwhile.
        while (now & bit != 0) != its {
            match word.cmpxchg(now, now ^ bit, Relaxed) {
                Ok(_) => break,
                Err(changed) => now = changed,
            }
        }
        true
    }

    /// Returns true if the program has begun the request that is in `place` now.
    fn began(&self, place: usize) -> bool {
        self.word(place)
            .is_some_and(|(word, bit)| word.load(Relaxed) & bit != 0)
    }
}
