// SPDX-License-Identifier: GPL-2.0

use crate::logic::command::allow::AllowList;

fn list(text: &str) -> AllowList {
    AllowList::parse(text).unwrap_or_else(|| panic!("{text}"))
}

fn allows(text: &str, addr: &str) -> bool {
    list(text).allows(addr.parse().unwrap())
}

#[test]
fn nothing_given_is_everybody() {
    for addr in ["192.0.2.1", "2001:db8::1"] {
        assert!(AllowList::ALL.allows(addr.parse().unwrap()));
    }
}

#[test]
fn an_address_is_itself_only() {
    for (one, other) in [("192.0.2.1", "192.0.2.2"), ("2001:db8::1", "2001:db8::2")] {
        assert!(allows(one, one) && !allows(one, other));
    }
    assert!(!allows("0.0.0.0", "::") && !allows("::", "0.0.0.0"));
}

#[test]
fn a_prefix_counts_bits() {
    assert!(allows("192.0.2.128/25", "192.0.2.255"));
    assert!(!allows("192.0.2.128/25", "192.0.2.127"));
    // What follows the prefix does not count.
    assert!(allows("10.1.2.3/8", "10.255.0.0"));
    assert!(allows("2001:db8::/33", "2001:db8:7fff::1"));
    assert!(!allows("2001:db8::/33", "2001:db8:8000::1"));
    for (text, addr, other) in [
        ("0.0.0.0/0", "255.255.255.255", "::1"),
        ("::/0", "ff::", "1.1.1.1"),
    ] {
        assert!(allows(text, addr) && !allows(text, other));
    }
}

#[test]
fn an_ipv4_address_within_ipv6_is_ipv4() {
    assert!(allows("192.0.2.0/24", "::ffff:192.0.2.9"));
    assert!(!allows("192.0.2.0/24", "::ffff:192.0.3.9"));
}

#[test]
fn several_are_joined_by_plus() {
    let text = "192.0.2.1+2001:db8::/32+10.0.0.0/8";
    for addr in ["192.0.2.1", "2001:db8::7", "10.9.8.7"] {
        assert!(allows(text, addr));
    }
    assert!(!allows(text, "192.0.2.2"));
    assert_eq!(list(text).to_string(), text);
    assert_eq!(list("192.0.2.1/32+::1/128").to_string(), "192.0.2.1+::1");
}

#[test]
fn what_is_no_list_is_refused() {
    let nine = ["10.0.0.1"; 9].join("+");
    for text in [
        "",
        "+",
        "192.0.2.1+",
        "+192.0.2.1",
        "192.0.2",
        "host",
        "192.0.2.1/33",
        "192.0.2.1/",
        "192.0.2.1/-1",
        "192.0.2.1/08",
        "::ffff:192.0.2.1",
        "::ffff:0:0/96",
        "::/129",
        "fe80::1%eth0",
        "192.0.2.1 +::1",
        &nine,
    ] {
        assert_eq!(AllowList::parse(text), None, "{text}");
    }
    assert!(AllowList::parse(&nine[9..]).is_some());
}
