// SPDX-License-Identifier: GPL-2.0

//! What the data of writes comes through on iWARP, where the answer to a READ names its
//! sink by a key, as a WRITE would.
//!
//! Each request has a region of its own. It is registered over the place of the data in
//! one list with the READ, which invalidates it again: so the client, who may guess the
//! key, can write nowhere but where its own data is about to come, and not any more when
//! that is looked at.

#![forbid(unsafe_code)]

use crate::{
    logic::wire::Advertisement,
    mr::{
        Memory,
        RegionId, //
    },
    rdma::{
        cq::WorkCompletion,
        qp::Queue,
        wr::{
            List,
            Local,
            WorkRequest, //
        }, //
    }, //
};
use kernel::prelude::*;

/// The regions of a connection, one for each slot.
pub(super) struct Sinks(KVec<RegionId>);

impl Sinks {
    /// Requests to the send queue that come before each READ to `memory`.
    pub(super) fn before(memory: &Memory) -> u32 {
        u32::from(memory.sink_needs_region())
    }

    /// Allocates `count` of them in `memory`, for requests of up to `bytes` bytes;
    /// `None` where READs to it need none. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; what the device says.
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

    /// Adds to `list` what has the data at `remote` come to `parts` of this side, for
    /// the request in `slot`.
    ///
    /// # Errors
    ///
    /// `EINVAL` where its last READ has not been [closed](Self::close).
    pub(super) fn open(
        &self,
        queue: &mut Queue<'_>,
        slot: usize,
        parts: impl Iterator<Item = Result<Local>>,
        remote: Advertisement,
        list: &mut List,
    ) -> Result {
        let region = *self.0.get(slot).ok_or(EINVAL)?;
        queue.cover(region, parts)?;
        list.push(WorkRequest::Register {
            region,
            access: queue.memory().sink_access(),
            renew_key: false,
        });
        list.push(WorkRequest::ReadInto { region, remote });
        Ok(())
    }

    /// Notes that the READ has completed whose completion is `wc`.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there was none.
    pub(super) fn close(&self, queue: &mut Queue<'_>, wc: &WorkCompletion) -> Result {
        queue.read_into(*self.0.get(wc.slot).ok_or(EINVAL)?, wc)
    }
}
