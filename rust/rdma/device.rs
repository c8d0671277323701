// SPDX-License-Identifier: GPL-2.0

//! What an RDMA device is and can do.
//!
//! C header: `include/rdma/ib_verbs.h`

mod claims;

use crate::{
    bindings,
    kernel_ext::pages::MAX_CONTIGUOUS, //
};
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};
use kernel::page::PAGE_SIZE;

/// The protocol below the verbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// InfiniBand proper.
    InfiniBand,
    /// RDMA over converged Ethernet, of either version.
    Roce,
    /// RDMA over TCP.
    Iwarp,
    /// One that krping does not know.
    Other,
}

impl Transport {
    /// Its name in results.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::InfiniBand => "InfiniBand",
            Self::Roce => "RoCE",
            Self::Iwarp => "iWARP",
            Self::Other => "unknown",
        }
    }
}

/// The kernel's limit for names of devices.
const MAX_NAME: usize = bindings::IB_DEVICE_NAME_MAX as usize;

/// The name of a device, for print.
#[derive(Clone, Copy)]
pub(crate) struct DeviceName {
    bytes: [u8; MAX_NAME],
    len: usize,
}

impl DeviceName {
    /// The name; empty where there is no device yet.
    pub(crate) fn as_str(&self) -> &str {
        self.bytes
            .get(..self.len)
            .and_then(|bytes| core::str::from_utf8(bytes).ok())
            .unwrap_or("")
    }
}

/// One port of a device that is alive for `'a`.
///
/// # Invariants
///
/// `raw` is a registered device for `'a`.
#[derive(Clone, Copy)]
pub(crate) struct Device<'a> {
    raw: NonNull<bindings::ib_device>,
    port: u32,
    _alive: PhantomData<&'a ()>,
}

impl Device<'_> {
    /// Wraps port `port` of a device.
    ///
    /// # Safety
    ///
    /// `raw` is a registered device for as long as the result is used.
    pub(crate) unsafe fn from_raw(raw: NonNull<bindings::ib_device>, port: u32) -> Self {
        // INVARIANT: By the function's requirements.
        Self {
            raw,
            port,
            _alive: PhantomData,
        }
    }

    /// The raw device.
    pub(crate) fn as_ptr(&self) -> *mut bindings::ib_device {
        self.raw.as_ptr()
    }

    fn attrs(&self) -> &bindings::ib_device_attr {
        // SAFETY: By the type invariant the device is registered, after which
        // its attributes do not change.
        unsafe { &(*self.as_ptr()).attrs }
    }

    /// The device's name, such as `rxe0`.
    pub(crate) fn name(&self) -> DeviceName {
        let mut name = DeviceName {
            bytes: [0; MAX_NAME],
            len: 0,
        };
        // SAFETY: By the type invariant the device is registered. A rename may
        // run at the same time and mix both names, which is harmless in print.
        let raw = unsafe { (*self.as_ptr()).name };
        for (to, from) in name.bytes.iter_mut().zip(raw) {
            if from == 0 {
                break;
            }
            *to = from;
            name.len += 1;
        }
        name
    }

    /// The protocol below the verbs.
    pub(crate) fn transport(&self) -> Transport {
        // SAFETY: By the type invariant; the port is the device's.
        match unsafe { bindings::krping_transport(self.as_ptr(), self.port) } {
            0 => Transport::InfiniBand,
            1 => Transport::Roce,
            2 => Transport::Iwarp,
            _ => Transport::Other,
        }
    }

    /// Whether the device has READ_WITH_INV.
    pub(crate) fn can_read_with_invalidate(&self) -> bool {
        // SAFETY: By the type invariant; the port is the device's.
        unsafe { bindings::krping_cap_read_inv(self.as_ptr(), self.port) }
    }

    /// Whether an RDMA READ writes to this side by a key that is open to the peer:
    /// with iWARP the answer names it, as a WRITE would (RFC 5040, section 5.2).
    pub(crate) fn read_needs_rkey(&self) -> bool {
        self.transport() == Transport::Iwarp
    }

    /// Whether what it sends must not change until the peer has it: the checksum is made of the
    /// memory that is sent later. Soft-iWARP gives TCP the pages themselves, behind the CRC of
    /// the frame.
    pub(crate) fn checksums_in_place(&self) -> bool {
        self.transport() == Transport::Iwarp && self.is_software()
    }

    /// Whether a SEND or WRITE can have immediate data. iWARP has none that devices do.
    pub(crate) fn has_immediates(&self) -> bool {
        self.transport() != Transport::Iwarp
    }

    /// Whether the device has atomic operations with masks.
    pub(crate) fn has_masked_atomics(&self) -> bool {
        self.attrs().masked_atomic_cap != bindings::ib_atomic_cap_IB_ATOMIC_NONE
    }

    /// Whether the device, when it repeats requests that were not acknowledged in
    /// time, repeats registrations among them too. Soft-RoCE does (seen with 7.2
    /// and 7.3), finds the region registered already, and gives up the queue pair.
    pub(crate) fn repeats_local_operations(&self) -> bool {
        self.is_soft_roce()
    }

    /// Whether a message of the CM's from an address that the device has lost breaks its
    /// connection management. Soft-RoCE's does not survive any that cannot leave (seen with 7.2).
    pub(crate) fn loses_management(&self) -> bool {
        self.is_soft_roce()
    }

    fn is_soft_roce(&self) -> bool {
        // SAFETY: By the type invariant the device is registered, after which
        // its operations do not change.
        unsafe { (*self.as_ptr()).ops.driver_id == bindings::rdma_driver_id_RDMA_DRIVER_RXE }
    }

    /// Whether its port carries packets: to others where it is active, and `within` this host
    /// also without a carrier, as long as it is not disabled. May sleep.
    pub(crate) fn carries(&self, within: bool) -> bool {
        let mut attr = bindings::ib_port_attr::default();
        // SAFETY: By the type invariant; the port is the device's.
        let ret = unsafe { bindings::ib_query_port(self.as_ptr(), self.port, &mut attr) };
        let disabled = bindings::ib_port_phys_state_IB_PORT_PHYS_STATE_DISABLED;
        ret == 0
            && (attr.state == bindings::ib_port_state_IB_PORT_ACTIVE
                || within && u32::from(attr.phys_state) != disabled)
    }

    /// The most bytes that one buffer can have: what one fast registration
    /// covers, and what is contiguous in memory.
    pub(crate) fn max_buffer(&self) -> usize {
        self.max_registered().min(MAX_CONTIGUOUS)
    }

    /// The most bytes that one fast registration covers.
    pub(crate) fn max_registered(&self) -> usize {
        (self.attrs().max_fast_reg_page_list_len as usize).saturating_mul(PAGE_SIZE)
    }

    /// Whether the driver works on the CPU's addresses, and no hardware on memory.
    pub(crate) fn is_software(&self) -> bool {
        // SAFETY: By the type invariant.
        unsafe { bindings::krping_uses_virt_dma(self.as_ptr()) }
    }

    /// The most bytes that can be mapped for it in one piece.
    pub(crate) fn max_segment(&self) -> u64 {
        // SAFETY: By the type invariant. What works on the CPU's addresses has no device of
        // the bus behind it; any other has.
        let (segment, mapping) = unsafe {
            let mapping = if self.is_software() {
                usize::MAX
            } else {
                bindings::krping_max_dma_mapping(self.as_ptr())
            };
            (bindings::krping_max_dma_segment(self.as_ptr()), mapping)
        };
        u64::from(segment).min(mapping as u64)
    }

    /// The most work requests that a queue holds.
    pub(crate) fn max_work_requests(&self) -> u32 {
        u32::try_from(self.attrs().max_qp_wr).unwrap_or(0)
    }

    /// The most scatter/gather elements of a work request, a READ or another.
    pub(crate) fn max_pieces(&self, read: bool) -> u32 {
        let attrs = self.attrs();
        let most = if read {
            attrs.max_send_sge.min(attrs.max_sge_rd)
        } else {
            attrs.max_send_sge
        };
        u32::try_from(most).unwrap_or(0)
    }

    /// The most entries of a completion queue.
    pub(crate) fn max_completions(&self) -> u32 {
        u32::try_from(self.attrs().max_cqe).unwrap_or(0)
    }

    /// RDMA READs that this side can serve at a time on one queue pair.
    pub(crate) fn max_reads_served(&self) -> u8 {
        u8::try_from(self.attrs().max_qp_rd_atom).unwrap_or(u8::MAX)
    }

    /// RDMA READs that this side can have under way on one queue pair.
    pub(crate) fn max_reads_started(&self) -> u8 {
        u8::try_from(self.attrs().max_qp_init_rd_atom).unwrap_or(u8::MAX)
    }
}
