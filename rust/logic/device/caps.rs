// SPDX-License-Identifier: GPL-2.0

//! The capabilities of a device: its claims, the results of trying them, and the limits of commands
//! that follow.

use super::{
    claims::{
        Atomics,
        Claims,
        Feature,
        Port, //
    },
    preflight::{
        Item,
        Preflight, //
    }, //
};
use crate::logic::{
    command::limits::MOST_QPS,
    text::json::Object, //
};
use core::fmt;

/// The refusal of `read_inv` by a device that is not iWARP.
pub(crate) const NO_READ_INV: &str =
    "read_inv: only iWARP devices have READ_WITH_INV, and this is none";
/// The refusal of `imm` by an iWARP device.
pub(crate) const NO_IMM: &str = "imm: iWARP devices have no immediate data; wlat works with poll";
/// The refusal of fetch-and-add by a device without atomic operations.
pub(crate) const NO_FETCH_ADD: &str = "fetch-and-add: the device has no atomic operations";
/// The refusal of compare-and-swap by a device without atomic operations.
pub(crate) const NO_COMPARE_SWAP: &str = "compare-and-swap: the device has no atomic operations";
/// The refusal of `qp=uc` by an iWARP device.
pub(crate) const NO_UC: &str = "qp=uc: iWARP devices have reliable queue pairs only";
/// The refusal of `qp=ud` by an iWARP device.
pub(crate) const NO_UD: &str = "qp=ud: iWARP devices have reliable queue pairs only";
/// The refusal of `mcast` by a device without multicast.
pub(crate) const NO_MCAST: &str = "mcast: the device has no multicast groups";
/// The refusal of an IPv6 group where the RDMA CM joins none.
pub(crate) const NO_MCAST_V6: &str =
    "mcast: the kernel joins no IPv6 group on RoCE v2, but IPv4 ones";
/// The refusal of `mtu` by an iWARP device.
pub(crate) const NO_PATH_MTU: &str = "mtu: iWARP devices have no path MTU";
/// The refusal of `flow` where packets have no flow label.
pub(crate) const NO_FLOW_LABEL: &str =
    "flow: packets of this path have no flow label, as with iWARP and within an InfiniBand subnet";
/// The refusal of `ack_timeout`, `retry`, `rnr_retry` and `min_rnr` by an iWARP device.
pub(crate) const NO_RETRIES: &str =
    "ack_timeout, retry, rnr_retry, min_rnr: iWARP devices leave retransmission to TCP";
/// The refusal of `biovec` by a kernel whose contexts for READ and WRITE take scatterlists only.
pub(crate) const NO_BIO_VECS: &str =
    "biovec: this kernel's rdma_rw takes scatterlists only; leave biovec out";
/// The refusal of `comm` by a kernel that does not tell who begins a request, as before Linux 6.5.
pub(crate) const NO_COMM: &str =
    "comm: this kernel does not tell which program begins a request; leave comm= out";
/// The refusal of a device without fast registration, which no test can use.
pub(crate) const NO_REGISTRATION: &str = "the device has no fast registration";

/// The most that commands can ask of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The largest `size=`, in either memory mode.
    size: u32,
    /// The largest `txdepth=`.
    txdepth: u32,
    /// The largest `qps=`, where nothing else has queue pairs.
    qps: u32,
    /// The largest `sge=`.
    sge: u32,
    /// The largest `sge=` of an RDMA READ.
    sge_read: u32,
    /// The largest `size=` with `inline`.
    inline: u32,
    /// The largest `depth=` of a disk.
    depth: u32,
    registers: bool,
    reads_with_inv: bool,
    has_atomics: bool,
    has_multicast: bool,
    iwarp: bool,
    kernel: Kernel,
}

/// The kernel's own part in what commands can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// Contexts for READ and WRITE take `struct bio_vec`s.
    pub(crate) takes_bio_vecs: bool,
    /// It tells which program begins a request of a disk.
    pub(crate) tells_programs: bool,
}

impl Limits {
    /// Returns the limits of a device with these claims and these results of trying them on
    /// `kernel`, where `drains` requests of each send queue are kept for draining it.
    pub(crate) fn new(
        claims: &Claims,
        preflight: &Preflight,
        iwarp: bool,
        drains: u32,
        kernel: Kernel,
    ) -> Self {
        let registers = claims.features.has(Feature::MemMgtExtensions);
        let sge = preflight.made(Item::MostSge);
        let depth = preflight.made(Item::MostDepth);
        Self {
            size: preflight.made(Item::MostBytes),
            txdepth: preflight.made(Item::MostRequests).saturating_sub(drains),
            // Each has a protection domain, a completion queue and up to two regions.
            qps: MOST_QPS
                .min(claims.max_qp)
                .min(claims.max_cq)
                .min(claims.max_pd)
                .min(claims.max_mr / 2),
            sge,
            sge_read: sge.min(claims.max_sge_rd),
            inline: preflight.made(Item::MostInline),
            depth: depth.min(claims.max_mr),
            registers,
            reads_with_inv: claims.features.has(Feature::ReadWithInv),
            has_atomics: claims.atomics != Atomics::None,
            has_multicast: claims.max_mcast_grp > 0 && claims.max_mcast_qp_attach > 0,
            iwarp,
            kernel,
        }
    }

    /// Returns the reasons why there is no such option, operation or disk; `None` where there is.
    fn refusals(&self) -> [(&'static str, Option<&'static str>); 12] {
        let refused = |supported: bool, reason| (!supported).then_some(reason);
        [
            ("server_inv", refused(self.registers, NO_REGISTRATION)),
            ("read_inv", refused(self.reads_with_inv, NO_READ_INV)),
            ("imm", refused(!self.iwarp, NO_IMM)),
            ("fetch_add", refused(self.has_atomics, NO_FETCH_ADD)),
            ("compare_swap", refused(self.has_atomics, NO_COMPARE_SWAP)),
            ("qp_uc", refused(!self.iwarp, NO_UC)),
            ("qp_ud", refused(!self.iwarp, NO_UD)),
            ("mcast", refused(self.has_multicast, NO_MCAST)),
            ("mtu", refused(!self.iwarp, NO_PATH_MTU)),
            ("blk", refused(self.registers, NO_REGISTRATION)),
            ("biovec", refused(self.kernel.takes_bio_vecs, NO_BIO_VECS)),
            ("comm", refused(self.kernel.tells_programs, NO_COMM)),
        ]
    }

    /// Returns the numeric limits by name.
    fn numbers(&self) -> [(&'static str, u32); 8] {
        [
            ("size_dma_bytes", self.size),
            ("size_reg_bytes", self.size),
            ("txdepth", self.txdepth),
            ("qps", self.qps),
            ("sge", self.sge),
            ("sge_read", self.sge_read),
            ("inline_bytes", self.inline),
            ("depth", self.depth),
        ]
    }

    fn write(&self, object: &mut Object<'_>) -> fmt::Result {
        let mut limits = object.object("limits")?;
        for (name, number) in self.numbers() {
            limits.num(name, number)?;
        }
        for (name, refusal) in self.refusals() {
            let mut entry = limits.object(name)?;
            entry.bool("supported", refusal.is_none())?;
            if let Some(reason) = refusal {
                entry.str("reason", reason)?;
            }
            entry.finish()?;
        }
        limits.finish()
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, number) in self.numbers() {
            write!(f, "{name}={number} ")?;
        }
        for (i, (name, refusal)) in self.refusals().iter().enumerate() {
            let answer = if refusal.is_none() { "yes" } else { "no" };
            write!(f, "{}{name}={answer}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

/// The reaction of the device's connection management to a connection request to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Management {
    /// It answers.
    Answers,
    /// It does not answer, and no connection can be made.
    Silent,
    /// It was not asked: the port is down, or TCP makes the connections.
    NotAsked,
}

impl Management {
    /// Returns the word for it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Answers => "answers",
            Self::Silent => "does not answer",
            Self::NotAsked => "not asked",
        }
    }
}

/// All that is known of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caps {
    /// The claims of the device.
    pub(crate) claims: Claims,
    /// The port that leads to the address.
    pub(crate) port: Port,
    /// The reaction of its connection management: whether connections can be made.
    pub(crate) management: Management,
    /// The results of trying to create objects.
    pub(crate) preflight: Preflight,
    /// The limits of commands; `None` where an item that must work failed.
    pub(crate) limits: Option<Limits>,
}

impl Caps {
    /// Writes it as a member of a result.
    pub(crate) fn write(&self, object: &mut Object<'_>) -> fmt::Result {
        let mut caps = object.object("caps")?;
        self.claims.write(&mut caps)?;
        self.port.write(&mut caps)?;
        caps.str("connection_management", self.management.as_str())?;
        self.preflight.write(&mut caps)?;
        if let Some(limits) = &self.limits {
            limits.write(&mut caps)?;
        }
        caps.finish()
    }
}
