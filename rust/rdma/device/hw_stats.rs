// SPDX-License-Identifier: GPL-2.0

//! Counters that a driver keeps of a device and of its ports: `hw_counters` in sysfs.
//!
//! C header: `include/rdma/ib_verbs.h` (`struct rdma_hw_stats`)

use super::Device;
use crate::bindings;
use core::ptr::NonNull;
use kernel::{
    prelude::*,
    str::CStr, //
};

/// The object that counters are of. A driver has either, both or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatsOf {
    /// The port.
    Port,
    /// The device.
    Device,
}

impl StatsOf {
    /// Both.
    #[allow(dead_code, reason = "for the users of the module")]
    pub(crate) const ALL: [Self; 2] = [Self::Port, Self::Device];
}

/// Counters of a port or device, as they were at one moment, whoever uses it.
///
/// # Invariants
///
/// `raw` was allocated by the driver of the device, which is alive for `'a`, and is freed by this
/// object alone. Its values have been read.
pub(crate) struct HwStats<'a> {
    raw: NonNull<bindings::rdma_hw_stats>,
    _device: Device<'a>,
}

impl<'a> HwStats<'a> {
    /// Reads the counters of the device or of its port. Process context; may sleep, as the driver
    /// may ask its firmware.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` for a driver that has none; `ENOMEM`; the driver's.
    #[allow(dead_code, reason = "for the users of the module")]
    pub(crate) fn read(device: &Device<'a>, of: StatsOf) -> Result<Self> {
        // SAFETY: By the type invariant the device is registered, after which its operations do
        // not change.
        let ops = unsafe { &(*device.as_ptr()).ops };
        let none = Error::from_errno(-(bindings::EOPNOTSUPP as i32));
        let get = ops.get_hw_stats.ok_or(none)?;
        // SAFETY: The device is alive, and the port is its own.
        let (port, raw) = unsafe {
            match of {
                StatsOf::Port => {
                    let allocate = ops.alloc_hw_port_stats.ok_or(none)?;
                    (device.port(), allocate(device.as_ptr(), device.port()))
                }
                StatsOf::Device => {
                    let allocate = ops.alloc_hw_device_stats.ok_or(none)?;
                    // To drivers, port 0 is the device.
                    (0, allocate(device.as_ptr()))
                }
            }
        };
        let raw = NonNull::new(raw).ok_or(ENOMEM)?;
        // INVARIANT: Allocated just now; the values are read before anybody sees them.
        let stats = Self {
            raw,
            _device: *device,
        };
        // SAFETY: As above. Nobody else has the counters; the core, too, asks for all by an index
        // behind the last one.
        let read = unsafe { get(device.as_ptr(), raw.as_ptr(), port, stats.len()) };
        if read < 0 {
            return Err(Error::from_errno(read));
        }
        Ok(stats)
    }

    fn len(&self) -> i32 {
        // SAFETY: By the type invariant.
        unsafe { (*self.raw.as_ptr()).num_counters }
    }

    /// Returns the names and the values of the counters, without those that are switched off
    /// unless somebody asks for them.
    #[allow(dead_code, reason = "for the users of the module")]
    pub(crate) fn counters(&self) -> impl Iterator<Item = (&CStr, u64)> {
        let optional = bindings::ib_stat_flag_IB_STAT_FLAG_OPTIONAL;
        (0..usize::try_from(self.len()).unwrap_or(0)).filter_map(move |index| {
            // SAFETY: By the type invariant there are as many descriptions and values; the
            // descriptions, and the names in them, are the driver's and stay while the device is
            // there.
            unsafe {
                let raw = self.raw.as_ptr();
                let desc = &*(*raw).descs.add(index);
                let value = *(&raw const (*raw).value).cast::<u64>().add(index);
                (desc.flags & optional == 0).then(|| (CStr::from_char_ptr(desc.name), value))
            }
        })
    }
}

impl Drop for HwStats<'_> {
    fn drop(&mut self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::rdma_free_hw_stats_struct(self.raw.as_ptr()) };
    }
}
