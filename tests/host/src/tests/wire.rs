// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::{
    command::{MemMode, PatternKind, Test},
    wire::{Advertisement, PeerRole, PrivateData, PrivateDataError, Reject, RejectReason},
};
use proptest::{collection::vec, prelude::*};

const REASONS: [RejectReason; 6] = [
    RejectReason::Version,
    RejectReason::TooLarge,
    RejectReason::Test,
    RejectReason::Busy,
    RejectReason::Stopping,
    RejectReason::Resources,
];

fn example() -> PrivateData {
    PrivateData {
        role: PeerRole::Client,
        test: Test::FastReg,
        mem_mode: MemMode::Reg,
        server_inv: true,
        read_inv: false,
        validate: true,
        pattern: PatternKind::Binary,
        size: 0x0102_0304,
        count: 0x1112_1314_1516_1718,
        seed: 0x2122_2324,
        max_size: 0x3132_3334,
    }
}

#[rustfmt::skip]
const EXAMPLE: [u8; 56] = [
    0x6b, 0x72, 0x70, 0x67, 1, 1, 2, 2,
    0, 0, 0, 0b1101, 1, 2, 3, 4,
    0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
    0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x33, 0x34,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];

fn example_with(place: usize, byte: u8) -> Result<Option<PrivateData>, PrivateDataError> {
    let mut bytes = EXAMPLE;
    bytes[place] = byte;
    PrivateData::decode(&bytes)
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
fn private_data_layout() {
    assert_eq!(example().encode(), EXAMPLE);
    assert_eq!(PrivateData::decode(&EXAMPLE), Ok(Some(example())));
}

#[test]
fn each_flag_has_its_bit() {
    let none = PrivateData {
        server_inv: false,
        validate: false,
        pattern: PatternKind::Text,
        ..example()
    };
    let flags = |data: PrivateData| u32::from_be_bytes(data.encode()[8..12].try_into().unwrap());
    assert_eq!(flags(none), 0);
    assert_eq!(
        flags(PrivateData {
            server_inv: true,
            ..none
        }),
        1
    );
    assert_eq!(
        flags(PrivateData {
            read_inv: true,
            ..none
        }),
        2
    );
    assert_eq!(
        flags(PrivateData {
            validate: true,
            ..none
        }),
        4
    );
    let pattern = PatternKind::Binary;
    assert_eq!(flags(PrivateData { pattern, ..none }), 8);
}

#[test]
fn what_is_not_ours_is_a_legacy_peer() {
    for bytes in [
        &b""[..],
        b"k",
        b"krp",
        b"krph and more",
        &[0; 56],
        &[0xff; 196],
    ] {
        assert_eq!(PrivateData::decode(bytes), Ok(None), "{bytes:?}");
    }
    for place in 0..4 {
        assert_eq!(example_with(place, 0), Ok(None));
    }
}

#[test]
fn transports_pad() {
    for padding in [1, 40, 140] {
        for byte in [0, 0xff] {
            let padded = [&EXAMPLE[..], &vec![byte; padding]].concat();
            assert_eq!(PrivateData::decode(&padded), Ok(Some(example())));
        }
    }
}

#[test]
fn each_error_is_found() {
    let sentence = |error: PrivateDataError| error.to_string();
    for len in 4..56 {
        let error = PrivateData::decode(&EXAMPLE[..len]).unwrap_err();
        assert_eq!(error, PrivateDataError::Truncated(len));
    }
    for version in (0..=255).filter(|v| *v != 1) {
        assert_eq!(
            example_with(4, version),
            Err(PrivateDataError::Version(version))
        );
    }
    // Of another version even the length may be another.
    let short = PrivateData::decode(b"krpg\x02").unwrap_err();
    assert_eq!(short, PrivateDataError::Version(2));
    assert!(sentence(short).ends_with("is of version 2, and this side speaks version 1"));
    for other in [0, 3, 255] {
        assert_eq!(example_with(5, other), Err(PrivateDataError::Role(other)));
        assert_eq!(example_with(6, other), Err(PrivateDataError::Test(other)));
        assert_eq!(
            example_with(7, other),
            Err(PrivateDataError::MemMode(other))
        );
    }
    for bit in 4..32 {
        let mut bytes = EXAMPLE;
        bytes[8..12].copy_from_slice(&(1u32 << bit | 3).to_be_bytes());
        let error = PrivateDataError::Flags(1 << bit);
        assert_eq!(PrivateData::decode(&bytes), Err(error));
    }
    let mut bytes = EXAMPLE;
    bytes[12..16].fill(0);
    assert_eq!(PrivateData::decode(&bytes), Err(PrivateDataError::Size));
    for place in 32..56 {
        assert_eq!(example_with(place, 1), Err(PrivateDataError::Reserved));
    }
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
    for reason in (0..=255).filter(|r| !(1..=6).contains(r)) {
        let mut bytes = bytes;
        bytes[5] = reason;
        assert_eq!(Reject::decode(&bytes), None);
    }
    assert_eq!(Reject::decode(&EXAMPLE), None);
    // A later version's is understood, and so is one in a padded message.
    let mut later = [&bytes[..], &[0; 132]].concat();
    later[4] = 2;
    assert_eq!(Reject::decode(&later).map(|r| r.value), Some(0x0020_0000));
}

fn private_data() -> impl Strategy<Value = PrivateData> {
    let sizes = (1u32.., any::<u64>(), any::<u32>(), any::<u32>());
    (any::<[bool; 7]>(), sizes).prop_map(|(bits, (size, count, seed, max_size))| {
        let [server, fr, reg, server_inv, read_inv, validate, binary] = bits;
        PrivateData {
            role: if server {
                PeerRole::Server
            } else {
                PeerRole::Client
            },
            test: if fr { Test::FastReg } else { Test::PingPong },
            mem_mode: if reg { MemMode::Reg } else { MemMode::Dma },
            server_inv,
            read_inv,
            validate,
            pattern: if binary {
                PatternKind::Binary
            } else {
                PatternKind::Text
            },
            size,
            count,
            seed,
            max_size,
        }
    })
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn advertisements_come_back(addr: u64, rkey: u32, size: u32) {
        let advertisement = Advertisement { addr, rkey, size };
        prop_assert_eq!(Advertisement::decode(&advertisement.encode()), advertisement);
    }

    #[test]
    fn private_data_comes_back(data in private_data()) {
        prop_assert_eq!(PrivateData::decode(&data.encode()), Ok(Some(data)));
    }

    #[test]
    fn rejects_come_back(reason in prop::sample::select(&REASONS[..]), value: u32) {
        let reject = Reject { reason, value };
        prop_assert_eq!(Reject::decode(&reject.encode()), Some(reject));
    }

    #[test]
    fn any_bytes_are_digested(
        bytes in vec(any::<u8>(), 0..200),
        data in private_data(),
        places in vec(any::<prop::sample::Index>(), 0..4),
        len in 0usize..70,
    ) {
        // Nearly right ones lead further than random ones.
        let mut near = data.encode().to_vec();
        near.resize(len, 0);
        for (place, byte) in places.iter().zip(&bytes) {
            if let Some(place) = len.checked_sub(1).map(|_| place.index(len)) {
                near[place] = *byte;
            }
        }
        for bytes in [&bytes[..], &near] {
            match PrivateData::decode(bytes) {
                Ok(Some(data)) => prop_assert_eq!(&bytes[..56], data.encode()),
                Ok(None) => prop_assert!(!bytes.starts_with(b"krpg")),
                Err(error) => {
                    let sentence = error.to_string();
                    prop_assert!(sentence.starts_with("the peer's private data "));
                    prop_assert!(sentence.len() > 30);
                }
            }
            Reject::decode(bytes);
        }
    }
}
