// SPDX-License-Identifier: GPL-2.0

//! The attributes that a device and its port report.
//!
//! C header: `include/rdma/ib_verbs.h` (`struct ib_device_attr`, `struct ib_port_attr`)

use super::Device;
use crate::bindings;
use kernel::{
    error::to_result,
    prelude::*, //
};

/// The scope in which atomic operations are atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicScope {
    /// There are none.
    None,
    /// Among the queue pairs of the device (`IB_ATOMIC_HCA`).
    Device,
    /// With the CPU's, too (`IB_ATOMIC_GLOB`).
    Global,
}

/// The attributes that a device reports, by the names that C has for them.
#[allow(missing_docs, reason = "the names are those of the verbs")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes {
    pub(crate) node_guid: u64,
    pub(crate) vendor_id: u32,
    pub(crate) vendor_part_id: u32,
    pub(crate) hw_ver: u32,
    /// The number of ports.
    pub(crate) phys_port_cnt: u32,
    pub(crate) max_qp: u32,
    pub(crate) max_qp_wr: u32,
    pub(crate) max_cq: u32,
    pub(crate) max_cqe: u32,
    /// 0 for a device without shared receive queues.
    pub(crate) max_srq: u32,
    pub(crate) max_srq_wr: u32,
    pub(crate) max_mr: u32,
    pub(crate) max_pd: u32,
    /// 0 for a device without multicast.
    pub(crate) max_mcast_grp: u32,
    pub(crate) max_mcast_qp_attach: u32,
    pub(crate) max_send_sge: u32,
    pub(crate) max_recv_sge: u32,
    pub(crate) max_sge_rd: u32,
    pub(crate) max_qp_rd_atom: u32,
    pub(crate) max_qp_init_rd_atom: u32,
    pub(crate) max_fast_reg_page_list_len: u32,
    pub(crate) max_mr_size: u64,
    pub(crate) page_size_cap: u64,
    /// `enum ib_device_cap_flags`.
    pub(crate) device_cap_flags: u64,
    /// `enum ib_kernel_cap_flags`.
    pub(crate) kernel_cap_flags: u64,
    pub(crate) atomic_cap: AtomicScope,
}

/// The attributes that a port reports, by the names that C has for them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortAttributes {
    /// The number of the port, from 1.
    pub(crate) number: u32,
    /// `enum ib_port_state`.
    pub(crate) state: u32,
    /// True where the link below is Ethernet.
    pub(crate) is_ethernet: bool,
    /// `enum ib_mtu`.
    pub(crate) max_mtu: u32,
    /// `enum ib_mtu`.
    pub(crate) active_mtu: u32,
    /// Bytes.
    pub(crate) max_msg_sz: u32,
    /// Speed of the link in Mbit/s; 0 where the core does not know it.
    pub(crate) speed: u32,
}

/// Converts a limit, which is a signed number up to Linux 7.2, and unsigned in some cases since.
pub(super) fn limit(limit: impl TryInto<u32>) -> u32 {
    limit.try_into().unwrap_or(0)
}

impl Device<'_> {
    /// Returns the attributes of the device. Any context.
    pub(crate) fn attributes(&self) -> Attributes {
        let attrs = self.attrs();
        // SAFETY: By the type invariant the device is registered, after which these
        // do not change.
        let (guid, ports) = unsafe { ((*self.as_ptr()).node_guid, (*self.as_ptr()).phys_port_cnt) };
        Attributes {
            node_guid: u64::from_be(guid),
            vendor_id: attrs.vendor_id,
            vendor_part_id: attrs.vendor_part_id,
            hw_ver: attrs.hw_ver,
            phys_port_cnt: ports,
            max_qp: limit(attrs.max_qp),
            max_qp_wr: limit(attrs.max_qp_wr),
            max_cq: limit(attrs.max_cq),
            max_cqe: limit(attrs.max_cqe),
            max_srq: limit(attrs.max_srq),
            max_srq_wr: limit(attrs.max_srq_wr),
            max_mr: limit(attrs.max_mr),
            max_pd: limit(attrs.max_pd),
            max_mcast_grp: limit(attrs.max_mcast_grp),
            max_mcast_qp_attach: limit(attrs.max_mcast_qp_attach),
            max_send_sge: limit(attrs.max_send_sge),
            max_recv_sge: limit(attrs.max_recv_sge),
            max_sge_rd: limit(attrs.max_sge_rd),
            max_qp_rd_atom: limit(attrs.max_qp_rd_atom),
            max_qp_init_rd_atom: limit(attrs.max_qp_init_rd_atom),
            max_fast_reg_page_list_len: attrs.max_fast_reg_page_list_len,
            max_mr_size: attrs.max_mr_size,
            page_size_cap: attrs.page_size_cap,
            device_cap_flags: attrs.device_cap_flags,
            kernel_cap_flags: attrs.kernel_cap_flags,
            atomic_cap: match attrs.atomic_cap {
                bindings::ib_atomic_cap_IB_ATOMIC_HCA => AtomicScope::Device,
                bindings::ib_atomic_cap_IB_ATOMIC_GLOB => AtomicScope::Global,
                _ => AtomicScope::None,
            },
        }
    }

    /// Returns the attributes of the port as they are now. May sleep.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub(crate) fn query_port(&self) -> Result<PortAttributes> {
        let mut attr = bindings::ib_port_attr::default();
        // SAFETY: By the type invariant; the port is the device's.
        to_result(unsafe { bindings::ib_query_port(self.as_ptr(), self.port, &mut attr) })?;
        // SAFETY: It only reads the attributes, which are ours.
        let rate = unsafe { bindings::rust_helper_port_rate(&mut attr) };
        // SAFETY: By the type invariant; the port is the device's.
        let layer = unsafe { bindings::rdma_port_get_link_layer(self.as_ptr(), self.port) };
        Ok(PortAttributes {
            number: self.port,
            state: attr.state,
            is_ethernet: layer == bindings::rdma_link_layer_IB_LINK_LAYER_ETHERNET,
            max_mtu: attr.max_mtu,
            active_mtu: attr.active_mtu,
            max_msg_sz: attr.max_msg_sz,
            // The core has it in units of 100 Mbit/s.
            speed: rate.saturating_mul(100),
        })
    }
}

/// Bits of [`Attributes::device_cap_flags`], by the names that C has for them.
#[allow(missing_docs, reason = "the names are those of the verbs")]
pub(crate) mod device_cap {
    use crate::bindings;

    pub(crate) const MEM_MGT_EXTENSIONS: u64 =
        bindings::ib_device_cap_flags_IB_DEVICE_MEM_MGT_EXTENSIONS as u64;
    pub(crate) const MEM_WINDOW: u64 = bindings::ib_device_cap_flags_IB_DEVICE_MEM_WINDOW as u64;
    pub(crate) const MEM_WINDOW_TYPE_2A: u64 =
        bindings::ib_device_cap_flags_IB_DEVICE_MEM_WINDOW_TYPE_2A as u64;
    pub(crate) const MEM_WINDOW_TYPE_2B: u64 =
        bindings::ib_device_cap_flags_IB_DEVICE_MEM_WINDOW_TYPE_2B as u64;
    pub(crate) const ATOMIC_WRITE: u64 =
        bindings::ib_device_cap_flags_IB_DEVICE_ATOMIC_WRITE as u64;
    pub(crate) const FLUSH_GLOBAL: u64 =
        bindings::ib_device_cap_flags_IB_DEVICE_FLUSH_GLOBAL as u64;
    pub(crate) const FLUSH_PERSISTENT: u64 =
        bindings::ib_device_cap_flags_IB_DEVICE_FLUSH_PERSISTENT as u64;
    pub(crate) const RC_RNR_NAK_GEN: u64 =
        bindings::ib_device_cap_flags_IB_DEVICE_RC_RNR_NAK_GEN as u64;
    pub(crate) const AUTO_PATH_MIG: u64 =
        bindings::ib_device_cap_flags_IB_DEVICE_AUTO_PATH_MIG as u64;
    pub(crate) const SRQ_RESIZE: u64 = bindings::ib_device_cap_flags_IB_DEVICE_SRQ_RESIZE as u64;
    pub(crate) const XRC: u64 = bindings::ib_device_cap_flags_IB_DEVICE_XRC as u64;
}

/// Bits of [`Attributes::kernel_cap_flags`], by the names that C has for them.
#[allow(missing_docs, reason = "the names are those of the verbs")]
pub(crate) mod kernel_cap {
    use crate::bindings;

    pub(crate) const LOCAL_DMA_LKEY: u64 = bindings::ib_kernel_cap_flags_IBK_LOCAL_DMA_LKEY as u64;
    pub(crate) const SG_GAPS_REG: u64 = bindings::ib_kernel_cap_flags_IBK_SG_GAPS_REG as u64;
    pub(crate) const INTEGRITY_HANDOVER: u64 =
        bindings::ib_kernel_cap_flags_IBK_INTEGRITY_HANDOVER as u64;
    pub(crate) const ON_DEMAND_PAGING: u64 =
        bindings::ib_kernel_cap_flags_IBK_ON_DEMAND_PAGING as u64;
}
