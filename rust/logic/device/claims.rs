// SPDX-License-Identifier: GPL-2.0

//! The claims of a device: the attributes that it reports, before anything is tried.

use crate::logic::text::{
    json::Object,
    Text, //
};
use core::fmt;

/// Something that a device or its kernel driver can do.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Feature {
    MemMgtExtensions,
    SendWithInv,
    ReadWithInv,
    LocalDmaLkey,
    SgGaps,
    IntegrityHandover,
    OnDemandPaging,
    MemWindow,
    MemWindowType2A,
    MemWindowType2B,
    AtomicWrite,
    FlushGlobal,
    FlushPersistent,
    RcRnrNakGen,
    AutoPathMig,
    SrqResize,
    Xrc,
    VirtDma,
}

/// All features, by the names that verbs have for them.
const FEATURES: [(Feature, &str); 18] = [
    (Feature::MemMgtExtensions, "mem_mgt_extensions"),
    (Feature::SendWithInv, "send_with_inv"),
    (Feature::ReadWithInv, "read_with_inv"),
    (Feature::LocalDmaLkey, "local_dma_lkey"),
    (Feature::SgGaps, "sg_gaps"),
    (Feature::IntegrityHandover, "integrity_handover"),
    (Feature::OnDemandPaging, "on_demand_paging"),
    (Feature::MemWindow, "mem_window"),
    (Feature::MemWindowType2A, "mem_window_type_2a"),
    (Feature::MemWindowType2B, "mem_window_type_2b"),
    (Feature::AtomicWrite, "atomic_write"),
    (Feature::FlushGlobal, "flush_global"),
    (Feature::FlushPersistent, "flush_persistent"),
    (Feature::RcRnrNakGen, "rc_rnr_nak_gen"),
    (Feature::AutoPathMig, "auto_path_mig"),
    (Feature::SrqResize, "srq_resize"),
    (Feature::Xrc, "xrc"),
    (Feature::VirtDma, "virt_dma"),
];

/// A set of features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features(u32);

impl Features {
    /// Adds `feature`.
    pub(crate) fn insert(&mut self, feature: Feature) {
        self.0 |= 1 << (feature as u8);
    }

    /// Returns true where `feature` is in the set.
    pub(crate) const fn has(self, feature: Feature) -> bool {
        self.0 & (1 << (feature as u8)) != 0
    }

    /// Returns the names of the features in the set.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        FEATURES
            .iter()
            .filter(move |(feature, _)| self.has(*feature))
            .map(|(_, name)| *name)
    }
}

/// The scope in which the device's atomic operations are atomic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Atomics {
    /// There are none.
    #[default]
    None,
    /// Among the queue pairs of the device.
    Device,
    /// With the CPU's, too.
    Global,
}

impl Atomics {
    const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Device => "hca",
            Self::Global => "global",
        }
    }
}

/// The attributes that a device reports. Numbers have the names of the verbs' attributes, and are
/// the most that there can be, not what is free.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claims {
    /// The version of its firmware; empty where it has none.
    pub(crate) firmware: Text<32>,
    pub(crate) node_guid: u64,
    pub(crate) vendor_id: u32,
    pub(crate) vendor_part_id: u32,
    pub(crate) hw_ver: u32,
    pub(crate) ports: u32,
    pub(crate) max_qp: u32,
    pub(crate) max_qp_wr: u32,
    pub(crate) max_cq: u32,
    pub(crate) max_cqe: u32,
    /// Shared receive queues.
    pub(crate) max_srq: u32,
    /// Receives of a shared receive queue.
    pub(crate) max_srq_wr: u32,
    pub(crate) max_mr: u32,
    /// Multicast groups that queue pairs are attached to at a time.
    pub(crate) max_mcast_grp: u32,
    /// Queue pairs that are attached to one of them.
    pub(crate) max_mcast_qp_attach: u32,
    pub(crate) max_pd: u32,
    pub(crate) max_send_sge: u32,
    pub(crate) max_recv_sge: u32,
    pub(crate) max_sge_rd: u32,
    pub(crate) max_qp_rd_atom: u32,
    pub(crate) max_qp_init_rd_atom: u32,
    /// Pages that a fast registration covers.
    pub(crate) max_fast_reg_pages: u32,
    /// Bytes that a region covers.
    pub(crate) max_mr_size: u64,
    /// Bit N: regions can have pages of 2^N bytes.
    pub(crate) page_size_cap: u64,
    /// `enum ib_device_cap_flags`, whether known here or not.
    pub(crate) device_cap_flags: u64,
    pub(crate) features: Features,
    pub(crate) atomics: Atomics,
}

impl Claims {
    /// Returns the limits by name.
    fn numbers(&self) -> [(&'static str, u64); 17] {
        [
            ("max_qp", self.max_qp.into()),
            ("max_qp_wr", self.max_qp_wr.into()),
            ("max_cq", self.max_cq.into()),
            ("max_cqe", self.max_cqe.into()),
            ("max_srq", self.max_srq.into()),
            ("max_srq_wr", self.max_srq_wr.into()),
            ("max_mr", self.max_mr.into()),
            ("max_pd", self.max_pd.into()),
            ("max_mcast_grp", self.max_mcast_grp.into()),
            ("max_mcast_qp_attach", self.max_mcast_qp_attach.into()),
            ("max_send_sge", self.max_send_sge.into()),
            ("max_recv_sge", self.max_recv_sge.into()),
            ("max_sge_rd", self.max_sge_rd.into()),
            ("max_qp_rd_atom", self.max_qp_rd_atom.into()),
            ("max_qp_init_rd_atom", self.max_qp_init_rd_atom.into()),
            ("max_fast_reg_pages", self.max_fast_reg_pages.into()),
            ("max_mr_size_bytes", self.max_mr_size),
        ]
    }

    pub(crate) fn write(&self, object: &mut Object<'_>) -> fmt::Result {
        let mut device = object.object("device")?;
        device
            .str("firmware", self.firmware)?
            .str("node_guid", Guid(self.node_guid))?
            .num("vendor_id", self.vendor_id)?
            .num("vendor_part_id", self.vendor_part_id)?
            .num("hw_ver", self.hw_ver)?
            .num("ports", self.ports)?;
        device.finish()?;
        let mut claims = object.object("claims")?;
        for (name, number) in self.numbers() {
            claims.num(name, number)?;
        }
        claims
            .str("page_size_cap", format_args!("{:#x}", self.page_size_cap))?
            .str(
                "device_cap_flags",
                format_args!("{:#x}", self.device_cap_flags),
            )?
            .str("atomics", self.atomics.as_str())?;
        let mut features = claims.array("features")?;
        for name in self.features.names() {
            features.str(name)?;
        }
        features.finish()?;
        claims.finish()
    }
}

impl fmt::Display for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, number) in self.numbers() {
            write!(f, "{name}={number} ")?;
        }
        write!(f, "atomics={} features=", self.atomics.as_str())?;
        let mut between = "";
        for name in self.features.names() {
            write!(f, "{between}{name}")?;
            between = "+";
        }
        Ok(())
    }
}

/// A GUID as sysfs shows it.
struct Guid(u64);

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g, h, i] = self.0.to_be_bytes();
        write!(
            f,
            "{a:02x}{b:02x}:{c:02x}{d:02x}:{e:02x}{g:02x}:{h:02x}{i:02x}"
        )
    }
}

/// The state of a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    /// Its number.
    pub(crate) number: u32,
    /// `enum ib_port_state`.
    pub(crate) state: u32,
    /// True where the link layer is Ethernet, not InfiniBand.
    pub(crate) ethernet: bool,
    /// The largest MTU that the port can have: bytes of data in a packet.
    pub(crate) max_mtu: u32,
    /// The active MTU: bytes of data in a packet.
    pub(crate) active_mtu: u32,
    /// Bytes of the longest message.
    pub(crate) max_message: u32,
    /// The rate in Mbit/s; 0 where it is not known.
    pub(crate) rate: u32,
}

/// The names of `enum ib_port_state`.
const STATES: [&str; 6] = ["NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"];

impl Port {
    /// Returns the bytes of an `enum ib_mtu` code; 0 where it is none.
    pub(crate) const fn mtu(code: u32) -> u32 {
        match code {
            1..=5 => 128 << code,
            _ => 0,
        }
    }

    fn state(&self) -> &'static str {
        let state = STATES.get(self.state as usize);
        state.copied().unwrap_or("unknown")
    }

    fn link_layer(&self) -> &'static str {
        if self.ethernet {
            "Ethernet"
        } else {
            "InfiniBand"
        }
    }

    pub(crate) fn write(&self, object: &mut Object<'_>) -> fmt::Result {
        let mut port = object.object("port")?;
        port.num("number", self.number)?
            .str("state", self.state())?
            .str("link_layer", self.link_layer())?
            .num("max_mtu_bytes", self.max_mtu)?
            .num("active_mtu_bytes", self.active_mtu)?
            .num("max_message_bytes", self.max_message)?
            .num("rate_mbit_per_s", self.rate)?;
        port.finish()
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "port {} is {}, {}, MTU {} of {}",
            self.number,
            self.state(),
            self.link_layer(),
            self.active_mtu,
            self.max_mtu
        )
    }
}
