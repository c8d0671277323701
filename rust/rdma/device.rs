// SPDX-License-Identifier: GPL-2.0

//! RDMA devices: their ports, transports, limits and capabilities.
//!
//! C header: `include/rdma/ib_verbs.h`

mod attributes;
mod hw_stats;
mod performance;

pub(crate) use attributes::{
    device_cap,
    kernel_cap,
    AtomicScope,
    Attributes, //
};
#[allow(unused_imports, reason = "for the users of the module")]
pub(crate) use hw_stats::{
    HwStats,
    StatsOf, //
};

use self::attributes::limit;
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
    /// iWARP, RDMA over TCP.
    Iwarp,
    /// Another one.
    Other,
}

impl Transport {
    /// Returns the name of the transport.
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

/// The kernel's limit for the version of a firmware, with its NUL.
const MAX_FIRMWARE: usize = bindings::IB_FW_VERSION_NAME_MAX as usize;

/// A short text of a device, of 255 bytes at most. Results on the stack have several.
#[derive(Clone, Copy)]
pub(crate) struct ShortText<const N: usize> {
    bytes: [u8; N],
    len: u8,
}

/// The name of a device, such as `rxe0`.
pub(crate) type DeviceName = ShortText<MAX_NAME>;

impl<const N: usize> ShortText<N> {
    /// Copies `bytes` up to the first NUL.
    fn new(bytes: [u8; N]) -> Self {
        let len = bytes.iter().position(|byte| *byte == 0).unwrap_or(N);
        Self {
            bytes,
            len: u8::try_from(len).unwrap_or(u8::MAX),
        }
    }

    /// Returns the text; empty where it is not UTF-8.
    pub(crate) fn as_str(&self) -> &str {
        self.bytes
            .get(..usize::from(self.len))
            .and_then(|bytes| core::str::from_utf8(bytes).ok())
            .unwrap_or("")
    }
}

/// Bytes of the name of a driver, which has 14 at most so far (`hns_roce_hw_v2`).
const MAX_DRIVER: usize = 24;

/// The name of the module that is a device's driver, such as `mlx5_ib`.
pub(crate) type DriverName = ShortText<MAX_DRIVER>;

/// The driver of a device, as far as it matters to the users of the verbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driver {
    /// Soft-RoCE.
    Rxe,
    /// Soft-iWARP.
    Siw,
    /// Another one: `enum rdma_driver_id`.
    Other(u32),
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

    /// Returns the raw device.
    pub(super) fn as_ptr(&self) -> *mut bindings::ib_device {
        self.raw.as_ptr()
    }

    /// Returns the number of the port.
    pub(crate) fn port(&self) -> u32 {
        self.port
    }

    fn attrs(&self) -> &bindings::ib_device_attr {
        // SAFETY: By the type invariant the device is registered, after which
        // its attributes do not change.
        unsafe { &(*self.as_ptr()).attrs }
    }

    /// Returns the device's name.
    pub(crate) fn name(&self) -> DeviceName {
        // SAFETY: By the type invariant the device is registered. A rename may
        // run at the same time and mix both names, which is harmless in print.
        ShortText::new(unsafe { (&raw const (*self.as_ptr()).name).read_volatile() })
    }

    /// Returns the version of the device's firmware; empty where it has none.
    pub(crate) fn firmware(&self) -> ShortText<MAX_FIRMWARE> {
        let mut text = [0u8; MAX_FIRMWARE];
        // SAFETY: By the type invariant; there is room for the longest version.
        unsafe { bindings::ib_get_device_fw_str(self.as_ptr(), text.as_mut_ptr().cast()) };
        ShortText::new(text)
    }

    /// Returns the device's driver.
    pub(crate) fn driver(&self) -> Driver {
        // SAFETY: By the type invariant the device is registered, after which
        // its operations do not change.
        match unsafe { (*self.as_ptr()).ops.driver_id } {
            bindings::rdma_driver_id_RDMA_DRIVER_RXE => Driver::Rxe,
            bindings::rdma_driver_id_RDMA_DRIVER_SIW => Driver::Siw,
            other => Driver::Other(other),
        }
    }

    /// Returns the name of the module that is the device's driver, cut where it is longer than all
    /// there are; empty where it is built into the kernel.
    pub(crate) fn driver_name(&self) -> DriverName {
        let mut text = [0u8; MAX_DRIVER];
        // SAFETY: By the type invariant the device is registered, after which its operations do not
        // change, and their module stays.
        if let Some(owner) = unsafe { (*self.as_ptr()).ops.owner.as_ref() } {
            for (byte, letter) in text.iter_mut().zip(&owner.name) {
                *byte = *letter;
            }
        }
        ShortText::new(text)
    }

    /// Returns the protocol below the verbs.
    pub(crate) fn transport(&self) -> Transport {
        // SAFETY: By the type invariant; the port is the device's.
        match unsafe { bindings::rust_helper_transport(self.as_ptr(), self.port) } {
            0 => Transport::InfiniBand,
            1 => Transport::Roce,
            2 => Transport::Iwarp,
            _ => Transport::Other,
        }
    }

    /// Returns true where the device has READ_WITH_INV.
    pub(crate) fn has_read_with_invalidate(&self) -> bool {
        // SAFETY: By the type invariant; the port is the device's.
        unsafe { bindings::rust_helper_cap_read_inv(self.as_ptr(), self.port) }
    }

    /// Returns true where an RDMA READ writes to this side by a key that is open to the peer:
    /// with iWARP the answer names it, as a WRITE would (RFC 5040, section 5.2).
    pub(crate) fn read_sink_needs_remote_write(&self) -> bool {
        self.transport() == Transport::Iwarp
    }

    /// Returns true where a SEND or WRITE can have immediate data. iWARP has none that devices
    /// do.
    pub(crate) fn has_immediates(&self) -> bool {
        self.transport() != Transport::Iwarp
    }

    /// Returns true where the transport has unreliable queue pairs.
    #[allow(dead_code, reason = "for the users of the module")]
    pub(crate) fn has_unreliable(&self) -> bool {
        matches!(self.transport(), Transport::InfiniBand | Transport::Roce)
    }

    /// Returns true where queue pairs can be attached to multicast groups.
    #[allow(dead_code, reason = "for the users of the module")]
    pub(crate) fn has_multicast(&self) -> bool {
        let attrs = self.attrs();
        self.has_unreliable() && attrs.max_mcast_grp > 0 && attrs.max_mcast_qp_attach > 0
    }

    /// Returns true where the device has atomic operations, if only among its own queue pairs.
    #[allow(dead_code, reason = "for the users of the module")]
    pub(crate) fn has_atomics(&self) -> bool {
        self.attrs().atomic_cap != bindings::ib_atomic_cap_IB_ATOMIC_NONE
    }

    /// Returns true where the device has atomic operations with masks.
    pub(crate) fn has_masked_atomics(&self) -> bool {
        self.attrs().masked_atomic_cap != bindings::ib_atomic_cap_IB_ATOMIC_NONE
    }

    /// Returns true where the port carries packets: to others where it is active, and `within`
    /// this host also without a carrier, as long as it is not disabled. May sleep.
    pub(crate) fn carries(&self, within: bool) -> bool {
        let mut attr = bindings::ib_port_attr::default();
        // SAFETY: By the type invariant; the port is the device's.
        let ret = unsafe { bindings::ib_query_port(self.as_ptr(), self.port, &mut attr) };
        let disabled = bindings::ib_port_phys_state_IB_PORT_PHYS_STATE_DISABLED;
        ret == 0
            && (attr.state == bindings::ib_port_state_IB_PORT_ACTIVE
                || within && u32::from(attr.phys_state) != disabled)
    }

    /// Returns the largest number of bytes of one buffer: what one fast registration covers, and
    /// what is contiguous in memory.
    pub(crate) fn max_buffer(&self) -> usize {
        self.max_fast_reg_len().min(MAX_CONTIGUOUS)
    }

    /// Returns the largest number of bytes that one fast registration covers.
    pub(crate) fn max_fast_reg_len(&self) -> usize {
        self.attrs().max_fast_reg_page_list_len as usize * PAGE_SIZE
    }

    /// Returns true where the driver works on the CPU's addresses, and no hardware on memory.
    pub(crate) fn is_software(&self) -> bool {
        // SAFETY: By the type invariant.
        unsafe { bindings::rust_helper_uses_virt_dma(self.as_ptr()) }
    }

    /// Returns the largest number of bytes that can be mapped for the device in one piece.
    pub(crate) fn max_segment(&self) -> u64 {
        // SAFETY: By the type invariant. What works on the CPU's addresses has no device of
        // the bus behind it; any other has.
        let (segment, mapping) = unsafe {
            let mapping = if self.is_software() {
                usize::MAX
            } else {
                bindings::rust_helper_max_dma_mapping(self.as_ptr())
            };
            (
                bindings::rust_helper_max_dma_segment(self.as_ptr()),
                mapping,
            )
        };
        u64::from(segment).min(mapping as u64)
    }

    /// Returns the largest number of work requests in a queue.
    pub(crate) fn max_qp_wr(&self) -> u32 {
        limit(self.attrs().max_qp_wr)
    }

    /// Returns the largest number of receives in a shared receive queue; 0 for a device without.
    pub(crate) fn max_srq_wr(&self) -> u32 {
        match self.attrs().max_srq {
            0 => 0,
            _ => limit(self.attrs().max_srq_wr),
        }
    }

    /// Returns true where regions can have pages of `size` bytes.
    #[allow(dead_code, reason = "for the users of the module")]
    pub(crate) fn has_pages_of(&self, size: usize) -> bool {
        self.attrs().page_size_cap & size as u64 != 0
    }

    /// Returns true where `other` is the same device, whatever the port.
    pub(crate) fn is(&self, other: &Device<'_>) -> bool {
        self.as_ptr() == other.as_ptr()
    }

    /// Returns the largest number of scatter/gather elements of a request to the send queue.
    pub(crate) fn max_send_sge(&self) -> u32 {
        limit(self.attrs().max_send_sge)
    }

    /// Returns the largest number of scatter/gather elements of an RDMA READ.
    pub(crate) fn max_sge_rd(&self) -> u32 {
        limit(self.attrs().max_sge_rd).min(self.max_send_sge())
    }

    /// Returns the largest number of entries of a completion queue.
    pub(crate) fn max_cqe(&self) -> u32 {
        limit(self.attrs().max_cqe)
    }

    /// Returns the number of RDMA READs that this side can serve at a time on one queue pair.
    pub(crate) fn max_qp_rd_atom(&self) -> u8 {
        u8::try_from(self.attrs().max_qp_rd_atom).unwrap_or(u8::MAX)
    }

    /// Returns the number of RDMA READs that this side can have under way on one queue pair.
    pub(crate) fn max_qp_init_rd_atom(&self) -> u8 {
        u8::try_from(self.attrs().max_qp_init_rd_atom).unwrap_or(u8::MAX)
    }
}
