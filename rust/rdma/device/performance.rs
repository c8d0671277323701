// SPDX-License-Identifier: GPL-2.0

//! Performance management of a port, which the driver answers in place of an agent on the fabric.
//!
//! C header: `include/rdma/ib_pma.h`

use super::Device;
use crate::bindings;
use core::ptr::null;
use kernel::prelude::*;

/// Bytes of a message that are reserved before its attribute.
const RESERVED: usize = 40;

/// Place of the port's number in an attribute.
const PORT_SELECT: usize = 1;

/// Version of the messages and of their class.
const VERSION: u8 = 1;

/// An attribute of performance management, in network byte order.
pub(crate) struct PerformanceAttribute(KBox<bindings::ib_mad>);

impl PerformanceAttribute {
    /// Returns its bytes.
    #[allow(dead_code, reason = "for the users of the module")]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.data.get(RESERVED..).unwrap_or(&[])
    }
}

impl Device<'_> {
    /// Asks for `attribute` of the device's port, as sysfs does. Process context; may sleep, as the
    /// driver may ask its firmware.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` for a driver or an agent that does not know it; `ENOMEM`.
    #[allow(dead_code, reason = "for the users of the module")]
    pub(crate) fn performance(&self, attribute: u16) -> Result<PerformanceAttribute> {
        const ANSWERED: u32 = bindings::ib_mad_result_IB_MAD_RESULT_SUCCESS
            | bindings::ib_mad_result_IB_MAD_RESULT_REPLY;

        let unknown = Error::from_errno(-(bindings::EOPNOTSUPP as i32));
        // SAFETY: By the type invariant the device is registered, after which its operations do
        // not change.
        let process = unsafe { (*self.as_ptr()).ops.process_mad }.ok_or(unknown)?;
        let mut asked = KBox::new(bindings::ib_mad::default(), GFP_KERNEL)?;
        let mut answer = KBox::new(bindings::ib_mad::default(), GFP_KERNEL)?;
        asked.mad_hdr.base_version = VERSION;
        asked.mad_hdr.mgmt_class = bindings::IB_MGMT_CLASS_PERF_MGMT as u8;
        asked.mad_hdr.class_version = VERSION;
        asked.mad_hdr.method = bindings::IB_MGMT_METHOD_GET as u8;
        asked.mad_hdr.attr_id = attribute.to_be();
        asked.data[RESERVED + PORT_SELECT] = self.port() as u8;
        let mut size = size_of::<bindings::ib_mad>();
        let mut pkey_index = 0;
        // SAFETY: The device is alive, and the port is its own. Both messages are of the size that
        // drivers expect, and live until the call returns; without a work completion and a GRH the
        // message counts as the host's own, as that of the core does.
        let result = unsafe {
            process(
                self.as_ptr(),
                bindings::ib_process_mad_flags_IB_MAD_IGNORE_MKEY as i32,
                self.port(),
                null(),
                null(),
                &*asked,
                &mut *answer,
                &mut size,
                &mut pkey_index,
            )
        };
        match result as u32 & ANSWERED == ANSWERED && answer.mad_hdr.status == 0 {
            true => Ok(PerformanceAttribute(answer)),
            false => Err(unknown),
        }
    }
}
