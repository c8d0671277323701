// SPDX-License-Identifier: GPL-2.0

//! The claims of a device and its port, as results show them.

#![forbid(unsafe_code)]

use crate::{
    logic::{
        device::claims::{
            Atomics,
            Claims,
            Feature,
            Features,
            Port, //
        },
        text::Text,
        wire::server_port::ServerPort, //
    },
    rdma::device::{
        device_cap,
        kernel_cap,
        AtomicScope,
        Attributes,
        Device, //
    }, //
};
use kernel::prelude::*;

/// The bits of the device's flags that are known here.
const DEVICE_FLAGS: [(u64, Feature); 12] = [
    (device_cap::MEM_MGT_EXTENSIONS, Feature::MemMgtExtensions),
    // By the definition of these extensions.
    (device_cap::MEM_MGT_EXTENSIONS, Feature::SendWithInv),
    (device_cap::MEM_WINDOW, Feature::MemWindow),
    (device_cap::MEM_WINDOW_TYPE_2A, Feature::MemWindowType2A),
    (device_cap::MEM_WINDOW_TYPE_2B, Feature::MemWindowType2B),
    (device_cap::ATOMIC_WRITE, Feature::AtomicWrite),
    (device_cap::FLUSH_GLOBAL, Feature::FlushGlobal),
    (device_cap::FLUSH_PERSISTENT, Feature::FlushPersistent),
    (device_cap::RC_RNR_NAK_GEN, Feature::RcRnrNakGen),
    (device_cap::AUTO_PATH_MIG, Feature::AutoPathMig),
    (device_cap::SRQ_RESIZE, Feature::SrqResize),
    (device_cap::XRC, Feature::Xrc),
];

/// The bits of the driver's flags that are known here.
const KERNEL_FLAGS: [(u64, Feature); 4] = [
    (kernel_cap::LOCAL_DMA_LKEY, Feature::LocalDmaLkey),
    (kernel_cap::SG_GAPS_REG, Feature::SgGaps),
    (kernel_cap::INTEGRITY_HANDOVER, Feature::IntegrityHandover),
    (kernel_cap::ON_DEMAND_PAGING, Feature::OnDemandPaging),
];

/// Returns the claims of `device`. Any context.
pub(crate) fn claims(device: &Device<'_>) -> Claims {
    let attributes = device.attributes();
    Claims {
        firmware: Text::new(device.firmware().as_str()).unwrap_or(Text::EMPTY),
        node_guid: attributes.node_guid,
        vendor_id: attributes.vendor_id,
        vendor_part_id: attributes.vendor_part_id,
        hw_ver: attributes.hw_ver,
        ports: attributes.phys_port_cnt,
        max_qp: attributes.max_qp,
        max_qp_wr: attributes.max_qp_wr,
        max_cq: attributes.max_cq,
        max_cqe: attributes.max_cqe,
        max_srq: attributes.max_srq,
        max_srq_wr: attributes.max_srq_wr,
        max_mr: attributes.max_mr,
        max_pd: attributes.max_pd,
        max_mcast_grp: attributes.max_mcast_grp,
        max_mcast_qp_attach: attributes.max_mcast_qp_attach,
        max_send_sge: attributes.max_send_sge,
        max_recv_sge: attributes.max_recv_sge,
        max_sge_rd: attributes.max_sge_rd,
        max_qp_rd_atom: attributes.max_qp_rd_atom,
        max_qp_init_rd_atom: attributes.max_qp_init_rd_atom,
        max_fast_reg_pages: attributes.max_fast_reg_page_list_len,
        max_mr_size: attributes.max_mr_size,
        page_size_cap: attributes.page_size_cap,
        device_cap_flags: attributes.device_cap_flags,
        features: features(device, &attributes),
        atomics: match attributes.atomic_cap {
            AtomicScope::None => Atomics::None,
            AtomicScope::Device => Atomics::Device,
            AtomicScope::Global => Atomics::Global,
        },
    }
}

fn features(device: &Device<'_>, attributes: &Attributes) -> Features {
    let mut features = Features::default();
    let flags = [
        (attributes.device_cap_flags, &DEVICE_FLAGS[..]),
        (attributes.kernel_cap_flags, &KERNEL_FLAGS[..]),
    ];
    for (set, known) in flags {
        for (bit, feature) in known {
            if set & bit != 0 {
                features.insert(*feature);
            }
        }
    }
    if device.has_read_with_invalidate() {
        features.insert(Feature::ReadWithInv);
    }
    if device.is_software() {
        features.insert(Feature::VirtDma);
    }
    features
}

/// Returns the port of `device` as a server tells its clients of it. May sleep.
pub(crate) fn server_port(device: &Device<'_>) -> Result<ServerPort> {
    let port = port(device)?;
    Ok(ServerPort {
        active_mtu: u16::try_from(port.active_mtu)?,
        max_mtu: u16::try_from(port.max_mtu)?,
        rate: port.rate,
    })
}

/// Returns the port of `device` as it is now. May sleep.
pub(crate) fn port(device: &Device<'_>) -> Result<Port> {
    let port = device.query_port()?;
    Ok(Port {
        number: port.number,
        state: port.state,
        ethernet: port.is_ethernet,
        max_mtu: Port::mtu(port.max_mtu),
        active_mtu: Port::mtu(port.active_mtu),
        max_message: port.max_msg_sz,
        rate: port.speed,
    })
}
