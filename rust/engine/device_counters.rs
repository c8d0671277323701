// SPDX-License-Identifier: GPL-2.0

//! The counters of a device and its port before and after a run: `hw_counters` and `port_counters`
//! of results.

#![forbid(unsafe_code)]

use crate::{
    cm::CmId,
    logic::{
        device::port_counters::{
            self,
            Extended, //
        },
        text::json::Object, //
    },
    rdma::device::{
        Device,
        DeviceName,
        HwStats,
        StatsOf, //
    }, //
};
use core::fmt;
use kernel::{
    prelude::*,
    str::CString, //
};

/// Counters that have moved, and by how much.
#[derive(Default)]
pub(crate) struct Moved {
    hw: KVec<(CString, u64)>,
    port: KVec<(&'static str, u64)>,
}

/// The counters of a device at the beginning of a run; `None` where nothing can be said of them.
#[derive(Default)]
pub(crate) struct DeviceCounters(Option<KBox<Before>>);

/// Counters of a device. One that cannot be read, without memory for it or because the device has
/// none, is left out: a run does not fail for these.
struct Before {
    /// The device that they are of.
    device: DeviceName,
    /// Counters that the driver keeps, of each of [`StatsOf::ALL`].
    hw: [Option<KVec<u64>>; 2],
    /// Counters of 64 bits that the port's agent has.
    extended: Extended,
    /// Counters that the transport demands of each port.
    port: KVec<(&'static str, u64)>,
}

impl DeviceCounters {
    /// Reads the counters of the device of `id`. Process context; may sleep.
    #[inline(never)]
    pub(crate) fn begin(id: &CmId) -> Self {
        let before = id.device().and_then(|device| Before::of(&device));
        Self(before.ok())
    }

    /// Returns the counters of the device of `id` that have moved since, whoever has used it; none
    /// where it cannot be said, or where it is another device now. Process context; may sleep.
    #[inline(never)]
    pub(crate) fn moved(&self, id: &CmId) -> Moved {
        let device = id.device().ok();
        match self.0.as_ref().zip(device) {
            Some((before, device)) if device.name().as_str() == before.device.as_str() => {
                before.moved_on(&device)
            }
            Some(_) | None => Moved::default(),
        }
    }
}

impl Before {
    fn of(device: &Device<'_>) -> Result<KBox<Self>> {
        let info = device.performance(port_counters::CLASS_PORT_INFO);
        let extended = info.map_or(Extended::None, |info| Extended::of(info.bytes()));
        let before = Self {
            device: device.name(),
            hw: StatsOf::ALL.map(|of| hw_values(device, of).ok()),
            extended,
            port: port_values(device, extended).unwrap_or_default(),
        };
        Ok(KBox::new(before, GFP_KERNEL)?)
    }

    fn moved_on(&self, device: &Device<'_>) -> Moved {
        let mut moved = Moved::default();
        for (before, of) in self.hw.iter().zip(StatsOf::ALL) {
            if let Some(before) = before {
                // Those that there is no memory for are left out.
                let _ = hw_difference(before, device, of, &mut moved.hw);
            }
        }
        let after = port_values(device, self.extended).unwrap_or_default();
        for ((name, before), (same, after)) in self.port.iter().zip(&after) {
            let by = difference(*before, *after);
            if by > 0 && name == same && moved.port.push((*name, by), GFP_KERNEL).is_err() {
                break;
            }
        }
        moved
    }
}

/// Returns by how much a counter has moved: one that has been reset, by what it has come to since.
fn difference(before: u64, after: u64) -> u64 {
    after.checked_sub(before).unwrap_or(after)
}

fn hw_values(device: &Device<'_>, of: StatsOf) -> Result<KVec<u64>> {
    let stats = HwStats::read(device, of)?;
    let mut values = KVec::new();
    for (_, value) in stats.counters() {
        values.push(value, GFP_KERNEL)?;
    }
    Ok(values)
}

fn hw_difference(
    before: &[u64],
    device: &Device<'_>,
    of: StatsOf,
    moved: &mut KVec<(CString, u64)>,
) -> Result {
    let stats = HwStats::read(device, of)?;
    for ((name, after), before) in stats.counters().zip(before) {
        let by = difference(*before, after);
        if by > 0 {
            moved.push((CString::try_from(name)?, by), GFP_KERNEL)?;
        }
    }
    Ok(())
}

fn port_values(device: &Device<'_>, extended: Extended) -> Result<KVec<(&'static str, u64)>> {
    let plain = device.performance(port_counters::PORT_COUNTERS)?;
    let wide = match extended {
        Extended::None => None,
        Extended::Data | Extended::All => {
            Some(device.performance(port_counters::PORT_COUNTERS_EXTENDED)?)
        }
    };
    let wide = wide.as_ref().map_or(&[][..], |wide| wide.bytes());
    let mut values = KVec::new();
    for counter in port_counters::values(plain.bytes(), extended, wide) {
        values.push(counter, GFP_KERNEL)?;
    }
    Ok(values)
}

impl Moved {
    /// Writes them as members of `object`; no member where none have moved.
    pub(crate) fn write(&self, object: &mut Object<'_>) -> fmt::Result {
        if !self.hw.is_empty() {
            let mut counters = object.object("hw_counters")?;
            for (name, by) in &self.hw {
                counters.num(name.to_str().unwrap_or("unnamed"), by)?;
            }
            counters.finish()?;
        }
        if !self.port.is_empty() {
            let mut counters = object.object("port_counters")?;
            for (name, by) in &self.port {
                counters.num(name, by)?;
            }
            counters.finish()?;
        }
        Ok(())
    }
}
