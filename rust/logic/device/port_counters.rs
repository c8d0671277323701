// SPDX-License-Identifier: GPL-2.0

//! The counters of a port that performance management has: those of `counters` in sysfs.
//!
//! An agent of the device answers with attributes of fixed layout (InfiniBand Architecture
//! Specification, volume 1, section 16.1).

/// Attribute that says what the agent can do: `ClassPortInfo`.
pub(crate) const CLASS_PORT_INFO: u16 = 0x0001;

/// Attribute with the counters that every port has: `PortCounters`.
pub(crate) const PORT_COUNTERS: u16 = 0x0012;

/// Attribute with counters of 64 bits: `PortCountersExtended`.
pub(crate) const PORT_COUNTERS_EXTENDED: u16 = 0x001d;

/// Bits of the agent's capability mask.
const EXTENDED_WIDTH: u16 = 1 << 9;
const EXTENDED_WIDTH_NOIETF: u16 = 1 << 10;

/// The counters of 64 bits that an agent has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extended {
    /// None.
    None,
    /// Counters of data and packets.
    Data,
    /// The same, and counters of unicast and multicast packets.
    All,
}

impl Extended {
    /// Returns those of an agent whose `ClassPortInfo` is `info`.
    pub(crate) fn of(info: &[u8]) -> Self {
        let mask = number(info, 16, 16) as u16;
        if mask & EXTENDED_WIDTH != 0 {
            Self::All
        } else if mask & EXTENDED_WIDTH_NOIETF != 0 {
            Self::Data
        } else {
            Self::None
        }
    }
}

/// The attribute that a counter is in.
#[derive(Clone, Copy)]
enum Place {
    /// `PortCounters`.
    Plain,
    /// `PortCounters`, of an agent without counters of 64 bits.
    Narrow,
    /// `PortCountersExtended`.
    Wide,
    /// `PortCountersExtended`, of an agent that has [`Extended::All`].
    Cast,
}

/// The counters by the names that sysfs has for them: attribute, first bit, and bits.
const COUNTERS: [(&str, Place, usize, u32); 25] = [
    ("symbol_error", Place::Plain, 32, 16),
    ("link_error_recovery", Place::Plain, 48, 8),
    ("link_downed", Place::Plain, 56, 8),
    ("port_rcv_errors", Place::Plain, 64, 16),
    ("port_rcv_remote_physical_errors", Place::Plain, 80, 16),
    ("port_rcv_switch_relay_errors", Place::Plain, 96, 16),
    ("port_xmit_discards", Place::Plain, 112, 16),
    ("port_xmit_constraint_errors", Place::Plain, 128, 8),
    ("port_rcv_constraint_errors", Place::Plain, 136, 8),
    ("local_link_integrity_errors", Place::Plain, 152, 4),
    ("excessive_buffer_overrun_errors", Place::Plain, 156, 4),
    ("VL15_dropped", Place::Plain, 176, 16),
    ("port_xmit_data", Place::Narrow, 192, 32),
    ("port_rcv_data", Place::Narrow, 224, 32),
    ("port_xmit_packets", Place::Narrow, 256, 32),
    ("port_rcv_packets", Place::Narrow, 288, 32),
    ("port_xmit_wait", Place::Plain, 320, 32),
    ("port_xmit_data", Place::Wide, 64, 64),
    ("port_rcv_data", Place::Wide, 128, 64),
    ("port_xmit_packets", Place::Wide, 192, 64),
    ("port_rcv_packets", Place::Wide, 256, 64),
    ("unicast_xmit_packets", Place::Cast, 320, 64),
    ("unicast_rcv_packets", Place::Cast, 384, 64),
    ("multicast_xmit_packets", Place::Cast, 448, 64),
    ("multicast_rcv_packets", Place::Cast, 512, 64),
];

/// Returns the names and values of the counters in the attributes `plain` and `wide`, of an agent
/// that has `extended`.
pub(crate) fn values<'a>(
    plain: &'a [u8],
    extended: Extended,
    wide: &'a [u8],
) -> impl Iterator<Item = (&'static str, u64)> + 'a {
    COUNTERS.iter().filter_map(move |(name, place, at, bits)| {
        let from = match (place, extended) {
            (Place::Plain, _) | (Place::Narrow, Extended::None) => plain,
            (Place::Wide, Extended::Data | Extended::All) | (Place::Cast, Extended::All) => wide,
            (Place::Narrow | Place::Wide | Place::Cast, _) => return None,
        };
        Some((*name, number(from, *at, *bits)))
    })
}

/// Returns the number of `bits` bits that begins at bit `at` of `bytes`, the highest first; what is
/// behind the end is 0. It begins or ends at a byte's bounds.
fn number(bytes: &[u8], at: usize, bits: u32) -> u64 {
    let end = at.saturating_add(bits as usize);
    let taken = end.div_ceil(8).saturating_sub(at / 8);
    let value = (0..taken).fold(0, |value: u64, place| {
        let byte = bytes.get((at / 8).saturating_add(place)).copied();
        value << 8 | u64::from(byte.unwrap_or(0))
    });
    let unused = end.div_ceil(8).saturating_mul(8).saturating_sub(end) as u32;
    let ones = u64::MAX.checked_shr(u64::BITS.saturating_sub(bits));
    value.checked_shr(unused).unwrap_or(0) & ones.unwrap_or(0)
}
