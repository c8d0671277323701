// SPDX-License-Identifier: GPL-2.0

//! Figures of a shared receive queue.

use super::rate::Rates;
use crate::logic::text::json::Object;
use core::fmt;

/// Figures of a shared receive queue since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SharingFigures {
    /// Receives that it has.
    pub(crate) receives: u32,
    /// Receives below which the device tells that few are posted.
    pub(crate) limit: u32,
    /// Bytes that a receive has room for.
    pub(crate) room: u32,
    /// Connections that share it.
    pub(crate) connections: u32,
    /// Times that the device has told that fewer than the limit were posted.
    pub(crate) limit_events: u64,
    /// Times that receives were posted again.
    pub(crate) refills: u64,
    /// Receives that were posted again, each time that they were.
    pub(crate) reposted: u64,
    /// Rates of the connections that have ended.
    pub(crate) rates: Rates,
}

impl SharingFigures {
    /// Writes them as member `srq` of `object`.
    pub(crate) fn write(&self, object: &mut Object<'_>) -> fmt::Result {
        let mut srq = object.object("srq")?;
        srq.num("receives", self.receives)?
            .num("limit", self.limit)?
            .num("room", self.room)?
            .num("connections", self.connections)?
            .num("limit_events", self.limit_events)?
            .num("refills", self.refills)?
            .num("reposted", self.reposted)?
            .num("measured", self.rates.count())?
            .num("slowest_per_s", self.rates.slowest())?
            .num("fastest_per_s", self.rates.fastest())?;
        srq.finish()
    }
}
