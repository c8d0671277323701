// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::wire::{
    server_port::ServerPort,
    Advertisement,
    Reject,
    RejectReason, //
};
use proptest::{
    collection::vec,
    prelude::*, //
};

const REASONS: [RejectReason; 9] = [
    RejectReason::Version,
    RejectReason::TooLarge,
    RejectReason::Test,
    RejectReason::Busy,
    RejectReason::Stopping,
    RejectReason::Resources,
    RejectReason::OldWork,
    RejectReason::NotAllowed,
    RejectReason::Silent,
];

#[test]
fn a_server_tells_of_its_port_behind_its_private_data() {
    let private = [0x5a; 56];
    let port = ServerPort {
        active_mtu: 1024,
        max_mtu: 4096,
        rate: 100_000,
    };
    let bytes = port.encode(private);
    assert_eq!(bytes[..56], private);
    assert_eq!(bytes[56..], *b"+p\x04\x00\x10\x00\x00\x01\x86\xa0");
    // Transports pad.
    let padded = [&bytes[..], &[0xff; 130]].concat();
    for told in [&bytes[..], &padded] {
        assert_eq!(ServerPort::decode(told), Some(port));
    }
    for len in 0..bytes.len() {
        assert_eq!(ServerPort::decode(&bytes[..len]), None);
    }
    // An older server, and MTUs that are none.
    for rest in [
        &[0; 140][..],
        &[0xff; 140],
        b"+p\x05\x00\x10\x00\0\0\0\0",
        b"+p\x04\x00\0\0\0\0\0\0",
    ] {
        assert_eq!(ServerPort::decode(&[&private[..], rest].concat()), None);
    }
}

#[test]
fn advertisement_layout() {
    let advertisement = Advertisement {
        addr: 0x0102_0304_0506_0708,
        rkey: 0x1112_1314,
        size: 0x2122_2324,
    };
    let bytes = [
        1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24,
    ];
    assert_eq!(advertisement.encode(), bytes);
    assert_eq!(Advertisement::decode(&bytes), advertisement);
}

#[test]
fn reject_layout_and_sentences() {
    let reject = |reason, value| Reject { reason, value };
    let large = reject(RejectReason::TooLarge, 0x0020_0000);
    let bytes = *b"krpr\x01\x02\0\0\0\x20\0\0\0\0\0\0";
    assert_eq!(large.encode(), bytes);
    assert_eq!(Reject::decode(&bytes), Some(large));
    assert_eq!(
        large.to_string(),
        "the server takes a size of at most 2097152 bytes"
    );
    assert_eq!(
        reject(RejectReason::Version, 2).to_string(),
        "the server speaks version 2 of the protocol, and this side version 1"
    );
    for (i, reason) in REASONS.into_iter().enumerate() {
        let bytes = reject(reason, 0).encode();
        assert_eq!(usize::from(bytes[5]), i + 1);
        assert_eq!(Reject::decode(&bytes), Some(reject(reason, 0)));
        assert!(reject(reason, 0).to_string().starts_with("the server "));
    }
}

#[test]
fn what_is_no_reject_is_none() {
    let bytes = *b"krpr\x01\x02\0\0\0\x20\0\0\0\0\0\0";
    for len in 0..16 {
        assert_eq!(Reject::decode(&bytes[..len]), None);
    }
    for reason in (0..=255).filter(|r| !(1..=9).contains(r)) {
        let mut bytes = bytes;
        bytes[5] = reason;
        assert_eq!(Reject::decode(&bytes), None);
    }
    assert_eq!(Reject::decode(&[0; 56]), None);
    // A later version's is understood, and so is one in a padded message.
    let mut later = [&bytes[..], &[0; 132]].concat();
    later[4] = 2;
    assert_eq!(Reject::decode(&later).map(|r| r.value), Some(0x0020_0000));
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn advertisements_come_back(addr: u64, rkey: u32, size: u32) {
        let advertisement = Advertisement { addr, rkey, size };
        prop_assert_eq!(Advertisement::decode(&advertisement.encode()), advertisement);
    }

    #[test]
    fn rejects_come_back(reason in prop::sample::select(&REASONS[..]), value: u32) {
        let reject = Reject { reason, value };
        prop_assert_eq!(Reject::decode(&reject.encode()), Some(reject));
    }

    #[test]
    fn any_bytes_are_digested(
        bytes in vec(any::<u8>(), 0..200),
        reason in prop::sample::select(&REASONS[..]),
        value: u32,
        place in 0usize..16,
        byte: u8,
    ) {
        // Nearly right ones lead further than random ones.
        let mut near = Reject { reason, value }.encode();
        near[place] = byte;
        for bytes in [&bytes[..], &near] {
            if let Some(reject) = Reject::decode(bytes) {
                prop_assert_eq!(Reject::decode(&reject.encode()), Some(reject));
                prop_assert!(reject.to_string().len() > 20, "{}", reject);
            }
        }
    }
}
