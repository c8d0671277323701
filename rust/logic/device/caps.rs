// SPDX-License-Identifier: GPL-2.0

//! What a device can do: what it says, what became of trying, and what a command can ask for then.

use super::{
    claims::{
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

/// Why a device that is not iWARP has no `read_inv`.
pub(crate) const NO_READ_INV: &str =
    "read_inv: only iWARP devices have READ_WITH_INV, and this is none";
/// Why an iWARP device has no `imm`.
pub(crate) const NO_IMM: &str = "imm: iWARP devices have no immediate data; wlat works with poll";
/// Why a device has nothing at all.
pub(crate) const NO_REGISTRATION: &str = "the device has no fast registration";

/// The most that commands can ask of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Of `size=`, in either memory mode.
    size: u32,
    /// Of `txdepth=`.
    txdepth: u32,
    /// Of `qps=`, where nothing else has queue pairs.
    qps: u32,
    /// Of `sge=`, and of it in a READ.
    sge: u32,
    sge_read: u32,
    /// Of `size=` with `inline`.
    inline: u32,
    /// Of `depth=` of a disk.
    depth: u32,
    /// Why there is no `server_inv`, `read_inv`, `imm`, or disk.
    refusals: [(&'static str, Option<&'static str>); 4],
}

impl Limits {
    /// Those of a device that makes these claims, with what became of trying them.
    pub(crate) fn new(claims: &Claims, preflight: &Preflight, iwarp: bool, drains: u32) -> Self {
        let registers = claims.features.has(Feature::MemMgtExtensions);
        let unregistered = (!registers).then_some(NO_REGISTRATION);
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
            refusals: [
                ("server_inv", unregistered),
                (
                    "read_inv",
                    (!claims.features.has(Feature::ReadWithInv)).then_some(NO_READ_INV),
                ),
                ("imm", iwarp.then_some(NO_IMM)),
                ("blk", unregistered),
            ],
        }
    }

    /// By name.
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
        for (name, refusal) in self.refusals {
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
        for (i, (name, refusal)) in self.refusals.iter().enumerate() {
            let answer = if refusal.is_none() { "yes" } else { "no" };
            write!(f, "{}{name}={answer}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

/// Whether the device's connection management answers a request to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Management {
    /// It does.
    Answers,
    /// It does not, and no connection can be made.
    Silent,
    /// It was not asked: the port is down, or TCP makes the connections.
    NotAsked,
}

impl Management {
    /// The word for it.
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
    /// What it says.
    pub(crate) claims: Claims,
    /// The port that leads to the address.
    pub(crate) port: Port,
    /// Whether connections can be made.
    pub(crate) management: Management,
    /// What became of trying.
    pub(crate) preflight: Preflight,
    /// What commands can ask for; only where what must work does.
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
