// SPDX-License-Identifier: GPL-2.0

//! The device's own counters before and after a run: `hw_counters` of results.

#![forbid(unsafe_code)]

use crate::{
    logic::text::json::Object,
    rdma::device::{
        Device,
        HwStats, //
    }, //
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
    /// `None` for a driver without counters, or without memory for them: a run does not fail for
    /// these.
    before: Option<KVec<u64>>,
}

impl HwCounters {
    /// Reads the counters of `device`. Process context; may sleep.
    pub(crate) fn begin(device: &Device<'_>) -> Self {
        Self {
            before: values(device).ok(),
        }
    }

    /// Returns the counters of `device` that have moved since, whoever has used it; none where it
    /// cannot be said. Process context; may sleep.
    pub(crate) fn moved(&self, device: &Device<'_>) -> KVec<Moved> {
        let before = self.before.as_deref();
        let moved = before.and_then(|before| difference(before, device).ok());
        moved.unwrap_or_default()
    }
}

fn values(device: &Device<'_>) -> Result<KVec<u64>> {
    let stats = HwStats::read(device)?;
    let mut values = KVec::new();
    for (_, value) in stats.counters() {
        values.push(value, GFP_KERNEL)?;
    }
    Ok(values)
}

fn difference(before: &[u64], device: &Device<'_>) -> Result<KVec<Moved>> {
    let stats = HwStats::read(device)?;
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
