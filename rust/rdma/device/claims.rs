// SPDX-License-Identifier: GPL-2.0

//! What the RDMA core knows of a device and its port.
//!
//! C header: `include/rdma/ib_verbs.h`

use super::Device;
use crate::{
    bindings,
    logic::{
        device::claims::{
            Atomics,
            Claims,
            Feature,
            Features,
            Port, //
        },
        text::Text, //
    }, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// The kernel's limit for the version of a firmware, with its NUL.
const FIRMWARE: usize = bindings::IB_FW_VERSION_NAME_MAX as usize;

/// The bits of the device's flags that are known here.
const DEVICE_FLAGS: [(bindings::ib_device_cap_flags, Feature); 12] = [
    (
        bindings::ib_device_cap_flags_IB_DEVICE_MEM_MGT_EXTENSIONS,
        Feature::MemMgtExtensions,
    ),
    // By the definition of these extensions.
    (
        bindings::ib_device_cap_flags_IB_DEVICE_MEM_MGT_EXTENSIONS,
        Feature::SendWithInv,
    ),
    (
        bindings::ib_device_cap_flags_IB_DEVICE_MEM_WINDOW,
        Feature::MemWindow,
    ),
    (
        bindings::ib_device_cap_flags_IB_DEVICE_MEM_WINDOW_TYPE_2A,
        Feature::MemWindowType2A,
    ),
    (
        bindings::ib_device_cap_flags_IB_DEVICE_MEM_WINDOW_TYPE_2B,
        Feature::MemWindowType2B,
    ),
    (
        bindings::ib_device_cap_flags_IB_DEVICE_ATOMIC_WRITE,
        Feature::AtomicWrite,
    ),
    (
        bindings::ib_device_cap_flags_IB_DEVICE_FLUSH_GLOBAL,
        Feature::FlushGlobal,
    ),
    (
        bindings::ib_device_cap_flags_IB_DEVICE_FLUSH_PERSISTENT,
        Feature::FlushPersistent,
    ),
    (
        bindings::ib_device_cap_flags_IB_DEVICE_RC_RNR_NAK_GEN,
        Feature::RcRnrNakGen,
    ),
    (
        bindings::ib_device_cap_flags_IB_DEVICE_AUTO_PATH_MIG,
        Feature::AutoPathMig,
    ),
    (
        bindings::ib_device_cap_flags_IB_DEVICE_SRQ_RESIZE,
        Feature::SrqResize,
    ),
    (bindings::ib_device_cap_flags_IB_DEVICE_XRC, Feature::Xrc),
];

/// Those of the driver's.
const KERNEL_FLAGS: [(bindings::ib_kernel_cap_flags, Feature); 4] = [
    (
        bindings::ib_kernel_cap_flags_IBK_LOCAL_DMA_LKEY,
        Feature::LocalDmaLkey,
    ),
    (
        bindings::ib_kernel_cap_flags_IBK_SG_GAPS_REG,
        Feature::SgGaps,
    ),
    (
        bindings::ib_kernel_cap_flags_IBK_INTEGRITY_HANDOVER,
        Feature::IntegrityHandover,
    ),
    (
        bindings::ib_kernel_cap_flags_IBK_ON_DEMAND_PAGING,
        Feature::OnDemandPaging,
    ),
];

/// A limit that the core has as a signed number up to 7.2, and some as unsigned ones
/// since 7.3.
fn most(limit: impl TryInto<u32>) -> u32 {
    limit.try_into().unwrap_or(0)
}

impl Device<'_> {
    /// What the device says of itself.
    pub(crate) fn claims(&self) -> Claims {
        let attrs = self.attrs();
        // SAFETY: By the type invariant the device is registered, after which these
        // do not change.
        let (guid, ports) = unsafe { ((*self.as_ptr()).node_guid, (*self.as_ptr()).phys_port_cnt) };
        Claims {
            firmware: self.firmware(),
            node_guid: u64::from_be(guid),
            vendor_id: attrs.vendor_id,
            vendor_part_id: attrs.vendor_part_id,
            hw_ver: attrs.hw_ver,
            ports,
            max_qp: most(attrs.max_qp),
            max_qp_wr: most(attrs.max_qp_wr),
            max_cq: most(attrs.max_cq),
            max_cqe: most(attrs.max_cqe),
            max_mr: most(attrs.max_mr),
            max_pd: most(attrs.max_pd),
            max_send_sge: most(attrs.max_send_sge),
            max_recv_sge: most(attrs.max_recv_sge),
            max_sge_rd: most(attrs.max_sge_rd),
            max_qp_rd_atom: most(attrs.max_qp_rd_atom),
            max_qp_init_rd_atom: most(attrs.max_qp_init_rd_atom),
            max_fast_reg_pages: attrs.max_fast_reg_page_list_len,
            max_mr_size: attrs.max_mr_size,
            page_size_cap: attrs.page_size_cap,
            device_cap_flags: attrs.device_cap_flags,
            features: self.features(),
            atomics: match attrs.atomic_cap {
                bindings::ib_atomic_cap_IB_ATOMIC_HCA => Atomics::Device,
                bindings::ib_atomic_cap_IB_ATOMIC_GLOB => Atomics::Global,
                _ => Atomics::None,
            },
        }
    }

    fn features(&self) -> Features {
        let attrs = self.attrs();
        let device = DEVICE_FLAGS
            .iter()
            .filter(|(bit, _)| attrs.device_cap_flags & *bit as u64 != 0)
            .map(|(_, feature)| *feature);
        let driver = KERNEL_FLAGS
            .iter()
            .filter(|(bit, _)| attrs.kernel_cap_flags & u64::from(*bit) != 0)
            .map(|(_, feature)| *feature);
        let mut features = Features::default();
        device.for_each(|each| features.insert(each));
        driver.for_each(|each| features.insert(each));
        if self.can_read_with_invalidate() {
            features.insert(Feature::ReadWithInv);
        }
        if self.is_software() {
            features.insert(Feature::VirtDma);
        }
        features
    }

    /// The version of its firmware; empty where it has none, or one that is no text.
    fn firmware(&self) -> Text<FIRMWARE> {
        let mut text = [0u8; FIRMWARE];
        // SAFETY: By the type invariant; there is room for the longest version.
        unsafe { bindings::ib_get_device_fw_str(self.as_ptr(), text.as_mut_ptr().cast()) };
        text.split(|byte| *byte == 0)
            .next()
            .and_then(|text| core::str::from_utf8(text).ok())
            .and_then(Text::new)
            .unwrap_or(Text::EMPTY)
    }

    /// How its port is now. May sleep.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn query_port(&self) -> Result<Port> {
        let mut attr = bindings::ib_port_attr::default();
        // SAFETY: By the type invariant; the port is the device's.
        to_result(unsafe { bindings::ib_query_port(self.as_ptr(), self.port, &mut attr) })?;
        let mut speed = bindings::ib_port_speed_info::default();
        // SAFETY: Both are ours.
        let known = unsafe { bindings::ib_port_attr_to_speed_info(&mut attr, &mut speed) } == 0;
        // SAFETY: By the type invariant; the port is the device's.
        let layer = unsafe { bindings::rdma_port_get_link_layer(self.as_ptr(), self.port) };
        Ok(Port {
            number: self.port,
            state: attr.state,
            ethernet: layer == bindings::rdma_link_layer_IB_LINK_LAYER_ETHERNET,
            max_mtu: Port::mtu(attr.max_mtu),
            active_mtu: Port::mtu(attr.active_mtu),
            max_message: attr.max_msg_sz,
            // It is in tenths of Gbit/s.
            rate: if known {
                most(speed.rate).saturating_mul(100)
            } else {
                0
            },
        })
    }
}
