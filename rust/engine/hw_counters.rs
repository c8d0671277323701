// SPDX-License-Identifier: GPL-2.0

//! The device's own counters before and after a run: `hw_counters` of results.

#![forbid(unsafe_code)]

use crate::{
    cm::CmId,
    logic::text::json::Object,
    rdma::device::HwStats, //
};
use core::fmt;
use kernel::{
    prelude::*,
    str::CString, //
};

/// A counter that has moved.
pub(crate) struct Moved {
    name: CString,
    by: u64,
}

/// The counters of a device at the beginning of a run.
pub(crate) struct HwCounters {
    /// `None` for a driver without counters, without memory for them, or where the device is gone:
    /// a run does not fail for these.
    before: Option<KVec<u64>>,
}

impl HwCounters {
    /// Reads the counters of the device of `id`. Process context; may sleep.
    pub(crate) fn begin(id: &CmId) -> Self {
        Self {
            before: values(id).ok(),
        }
    }

    /// Returns the counters of the device of `id` that have moved since, whoever has used it; none
    /// where it cannot be said. Process context; may sleep.
    pub(crate) fn moved(&self, id: &CmId) -> KVec<Moved> {
        let before = self.before.as_deref();
        let moved = before.and_then(|before| difference(before, id).ok());
        moved.unwrap_or_default()
    }
}

fn values(id: &CmId) -> Result<KVec<u64>> {
    let stats = HwStats::read(&id.device()?)?;
    let mut values = KVec::new();
    for (_, value) in stats.counters() {
        values.push(value, GFP_KERNEL)?;
    }
    Ok(values)
}

fn difference(before: &[u64], id: &CmId) -> Result<KVec<Moved>> {
    let stats = HwStats::read(&id.device()?)?;
    let mut moved = KVec::new();
    for ((name, after), before) in stats.counters().zip(before) {
        // One that has been reset is what it has come to since.
        let by = after.checked_sub(*before).unwrap_or(after);
        if by > 0 {
            let name = CString::try_from(name)?;
            moved.push(Moved { name, by }, GFP_KERNEL)?;
        }
    }
    Ok(moved)
}

/// Writes the counters that have moved as member `hw_counters` of `object`.
pub(crate) fn write(moved: &[Moved], object: &mut Object<'_>) -> fmt::Result {
    let mut counters = object.object("hw_counters")?;
    for Moved { name, by } in moved {
        counters.num(name.to_str().unwrap_or("unnamed"), by)?;
    }
    counters.finish()
}
