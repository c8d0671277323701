// SPDX-License-Identifier: GPL-2.0

//! Regions of READs: the registered memory that the data of writes arrives in on iWARP. There, the
//! answer to a READ names its sink by a key, as a WRITE would.
//!
//! Each slot has a region of its own. One list registers the region over the destination of the
//! data and posts the READ, which invalidates the region again. So a client that guesses the key
//! can write only to memory that its own data is about to arrive in, and no longer when the server
//! looks at the data.

#![forbid(unsafe_code)]

use crate::{
    engine::{
        completion::WorkCompletion,
        queue::Queue, //
    },
    logic::wire::Advertisement,
    mr::{
        Memory,
        RegionId, //
    },
    rdma::wr::{
        List,
        Local,
        WorkRequest, //
    }, //
};
use kernel::prelude::*;

/// The regions of a connection, one for each slot.
pub(super) struct ReadRegions(KVec<RegionId>);

impl ReadRegions {
    /// Returns the number of work requests that must precede each READ into `memory`.
    pub(super) fn before(memory: &Memory) -> u32 {
        u32::from(memory.sink_needs_region())
    }

    /// Allocates `count` regions in `memory`, each for requests of up to `bytes` bytes. Returns
    /// `None` if READs need no region. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, or the error of the device.
    pub(super) fn new(memory: &mut Memory, count: usize, bytes: u32) -> Result<Option<Self>> {
        if Self::before(memory) == 0 {
            return Ok(None);
        }
        let mut regions = KVec::with_capacity(count, GFP_KERNEL)?;
        for _ in 0..count {
            regions.push(memory.add_sink(bytes)?, GFP_KERNEL)?;
        }
        Ok(Some(Self(regions)))
    }

    /// Adds to `list` the work requests that fetch the data at `remote` into `parts` of local
    /// memory, for the request in `slot`: a registration and a READ.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the last READ of the slot has not been [closed](Self::close).
    pub(super) fn open(
        &self,
        queue: &mut Queue<'_>,
        slot: usize,
        parts: impl Iterator<Item = Result<Local>>,
        remote: Advertisement,
        list: &mut List,
    ) -> Result {
        let region = *self.0.get(slot).ok_or(EINVAL)?;
        queue.map_sink(region, parts)?;
        list.push(WorkRequest::Register {
            region,
            access: queue.memory().sink_access(),
            renew_key: false,
            signaled: false,
        });
        list.push(WorkRequest::ReadInto {
            region,
            remote: remote.into(),
        });
        Ok(())
    }

    /// Handles `wc`, the completion of the READ of a slot.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the slot has no READ in flight.
    pub(super) fn close(&self, queue: &mut Queue<'_>, wc: &WorkCompletion<'_>) -> Result {
        queue.read_completed(*self.0.get(wc.slot).ok_or(EINVAL)?, wc)
    }
}
