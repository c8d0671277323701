// SPDX-License-Identifier: GPL-2.0

use crate::logic::device::port_counters::{
    values,
    Extended, //
};
use std::collections::HashMap;

/// Returns the attribute whose bytes are their own places, counted from `first`.
fn places(first: u8) -> Vec<u8> {
    (first..).take(72).collect()
}

fn found(extended: Extended) -> HashMap<&'static str, u64> {
    let (plain, wide) = (places(0), places(100));
    let all: Vec<_> = values(&plain, extended, &wide).collect();
    let by_name: HashMap<_, _> = all.iter().copied().collect();
    assert_eq!(by_name.len(), all.len(), "{all:?}");
    by_name
}

#[test]
fn what_an_agent_has_is_in_its_capability_mask() {
    let with = |mask: u16| {
        let mut info = vec![1, 1];
        info.extend(mask.to_be_bytes());
        Extended::of(&info)
    };
    assert_eq!(with(0), Extended::None);
    assert_eq!(with(1 << 8), Extended::None);
    assert_eq!(with(1 << 9), Extended::All);
    assert_eq!(with(1 << 10), Extended::Data);
    assert_eq!(Extended::of(&[]), Extended::None);
}

/// The places are those of `struct ib_pma_portcounters`.
#[test]
fn counters_are_where_the_specification_has_them() {
    let found = found(Extended::None);
    assert_eq!(found.len(), 17);
    for (name, value) in [
        ("symbol_error", 0x0405),
        ("link_error_recovery", 6),
        ("link_downed", 7),
        ("port_rcv_errors", 0x0809),
        ("port_rcv_remote_physical_errors", 0x0a0b),
        ("port_rcv_switch_relay_errors", 0x0c0d),
        ("port_xmit_discards", 0x0e0f),
        ("port_xmit_constraint_errors", 16),
        ("port_rcv_constraint_errors", 17),
        ("local_link_integrity_errors", 1),
        ("excessive_buffer_overrun_errors", 3),
        ("VL15_dropped", 0x1617),
        ("port_xmit_data", 0x1819_1a1b),
        ("port_rcv_data", 0x1c1d_1e1f),
        ("port_xmit_packets", 0x2021_2223),
        ("port_rcv_packets", 0x2425_2627),
        ("port_xmit_wait", 0x2829_2a2b),
    ] {
        assert_eq!(found[name], value, "{name}");
    }
}

/// The places are those of `struct ib_pma_portcounters_ext`.
#[test]
fn counters_of_64_bits_replace_those_of_32() {
    let first = |byte: u8| u64::from_be_bytes(core::array::from_fn(|at| byte + at as u8));
    let (data, all) = (found(Extended::Data), found(Extended::All));
    assert_eq!((data.len(), all.len()), (17, 21));
    for found in [&data, &all] {
        assert_eq!(found["port_xmit_data"], first(108));
        assert_eq!(found["port_rcv_data"], first(116));
        assert_eq!(found["port_xmit_packets"], first(124));
        assert_eq!(found["port_rcv_packets"], first(132));
        assert_eq!(found["port_xmit_wait"], 0x2829_2a2b);
    }
    assert_eq!(all["unicast_xmit_packets"], first(140));
    assert_eq!(all["unicast_rcv_packets"], first(148));
    assert_eq!(all["multicast_xmit_packets"], first(156));
    assert_eq!(all["multicast_rcv_packets"], first(164));
}

#[test]
fn an_attribute_that_is_cut_off_has_zeros() {
    assert!(values(&[], Extended::All, &[]).all(|(_, value)| value == 0));
    let cut: HashMap<_, _> = values(&places(0)[..5], Extended::None, &[]).collect();
    assert_eq!(cut["symbol_error"], 0x0400);
}
