// SPDX-License-Identifier: GPL-2.0

use super::{
    any_command::client,
    cases,
    sentences::TESTS, //
};
use crate::logic::{
    command::{
        Command,
        Load,
        MemMode,
        PatternKind,
        Test, //
    },
    spec::service::Service,
    wire::{
        PeerRole,
        PrivateData,
        PrivateDataError, //
    }, //
};
use proptest::{
    collection::vec,
    prelude::*, //
};

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
        group: None,
        load: Load::new(Test::FastReg),
        index: 0,
        data_queue_pair: 0,
        txdepth: 0,
        duration_ms: 0,
        alive_ms: 0,
    }
}

/// The same of a transfer.
fn transfer() -> PrivateData {
    PrivateData {
        test: Test::RwWrite,
        load: Load {
            segs: 0x0e,
            offset: 0x0a0b,
            biovec: true,
            ..Load::new(Test::RwWrite)
        },
        index: 0,
        ..loaded()
    }
}

/// The same of a microbenchmark.
fn loaded() -> PrivateData {
    PrivateData {
        test: Test::WriteBandwidth,
        mem_mode: MemMode::Dma,
        server_inv: false,
        load: Load {
            service: Service::Rc,
            duplex: true,
            imm: false,
            inline: true,
            untimed: false,
            solicited: false,
            full: false,
            sig_all: false,
            paced: false,
            qps: 0x0100,
            postlist: 0x0304,
            signal_every: 0x0102,
            sge: 0x0d,
            mixed: false,
            buffers: 0x0234,
            mrs: 0x0124,
            segs: 1,
            offset: 0,
            biovec: false,
        },
        index: 0x00fe,
        txdepth: 0xfedc,
        duration_ms: 0x5152_5354,
        alive_ms: 0x0011_6364,
        ..example()
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

#[rustfmt::skip]
const LOADED: [u8; 56] = [
    0x6b, 0x72, 0x70, 0x67, 1, 1, 6, 1,
    0, 0, 0, 0b0101_1100, 1, 2, 3, 4,
    0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
    0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x33, 0x34,
    1, 0, 0, 0xfe, 0, 0, 0xfe, 0xdc, 3, 4, 1, 2,
    0x0d, 0x23, 0x31, 0x23, 0x51, 0x52, 0x53, 0x54, 0x00, 0x11, 0x63, 0x64,
];

#[rustfmt::skip]
const TRANSFER: [u8; 56] = [
    0x6b, 0x72, 0x70, 0x67, 1, 1, 16, 1,
    0, 0, 0x10, 0b1100, 1, 2, 3, 4,
    0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
    0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x33, 0x34,
    0, 1, 0, 0, 0, 0, 0xfe, 0xdc, 0, 1, 0, 1,
    1, 0x0e, 0x0a, 0x0b, 0x51, 0x52, 0x53, 0x54, 0x00, 0x11, 0x63, 0x64,
];

fn example_with(place: usize, byte: u8) -> Result<Option<PrivateData>, PrivateDataError> {
    let mut bytes = EXAMPLE;
    bytes[place] = byte;
    PrivateData::decode(&bytes)
}

#[test]
fn private_data_layout() {
    assert_eq!(example().encode(), EXAMPLE);
    assert_eq!(PrivateData::decode(&EXAMPLE), Ok(Some(example())));
    assert_eq!(loaded().encode(), LOADED);
    assert_eq!(PrivateData::decode(&LOADED), Ok(Some(loaded())));
    assert_eq!(transfer().encode(), TRANSFER);
    assert_eq!(PrivateData::decode(&TRANSFER), Ok(Some(transfer())));
}

#[test]
fn each_test_has_its_number() {
    // Those that peers of before know.
    for (i, name) in [
        "pingpong", "fastreg", "wlat", "rlat", "slat", "bw", "rbw", "sbw",
    ]
    .iter()
    .enumerate()
    {
        assert_eq!(Test::numbered(i as u8 + 1).unwrap().as_str(), *name);
    }
    for test in TESTS.iter().copied() {
        let data = PrivateData {
            test,
            load: Load::new(test),
            txdepth: 1,
            alive_ms: 1,
            index: 0,
            ..loaded()
        };
        let bytes = data.encode();
        assert_eq!(Some(bytes[6]), test.spec().number);
        let back = PrivateData::decode(&bytes).unwrap().unwrap();
        assert_eq!(back.test, test);
        // Only tests with a load have what the others must leave 0.
        assert_eq!(back == data, test.has_load());
        assert_eq!(bytes[32..] == [0; 24], !test.has_load());
    }
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
    let sets: [fn(&mut Load); 6] = [
        |load| load.duplex = true,
        |load| load.imm = true,
        |load| load.inline = true,
        |load| load.untimed = true,
        |load| load.full = true,
        |load| load.sig_all = true,
    ];
    let sets = sets.into_iter().enumerate().map(|(i, set)| (4 + i, set));
    let solicited: (usize, fn(&mut Load)) = (13, |load| load.solicited = true);
    let paced: (usize, fn(&mut Load)) = (15, |load| load.paced = true);
    let mixed: (usize, fn(&mut Load)) = (16, |load| load.mixed = true);
    for (bit, set) in sets.chain([solicited, paced, mixed]) {
        let mut data = PrivateData {
            load: Load::new(Test::WriteBandwidth),
            validate: false,
            pattern: PatternKind::Text,
            ..loaded()
        };
        set(&mut data.load);
        assert_eq!(flags(data), 1 << bit);
        data.test = Test::FastReg;
        assert_eq!(flags(data), 0);
    }
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
        assert_eq!(
            example_with(7, other),
            Err(PrivateDataError::MemMode(other))
        );
    }
    for other in (0..=255).filter(|number| Test::numbered(*number).is_none()) {
        assert_eq!(example_with(6, other), Err(PrivateDataError::Test(other)));
    }
    for (number, test) in [(9, Test::Block), (10, Test::Tap)] {
        assert_eq!(
            example_with(6, number),
            Err(PrivateDataError::OtherTest(test))
        );
    }
    for bit in 4..32 {
        let mut bytes = EXAMPLE;
        bytes[8..12].copy_from_slice(&(1u32 << bit | 3).to_be_bytes());
        let error = PrivateDataError::Flags(1 << bit);
        assert_eq!(PrivateData::decode(&bytes), Err(error));
        let mut bytes = LOADED;
        bytes[8..12].copy_from_slice(&(1u32 << bit | 3).to_be_bytes());
        // That of a group is looked at by `check_request`.
        let is_known = bit < 12 || (13..=16).contains(&bit);
        assert_eq!(PrivateData::decode(&bytes).is_ok(), is_known, "{bit}");
    }
    let mut bytes = EXAMPLE;
    bytes[12..16].fill(0);
    assert_eq!(PrivateData::decode(&bytes), Err(PrivateDataError::Size));
    for place in 32..56 {
        assert_eq!(example_with(place, 1), Err(PrivateDataError::Reserved));
    }
    // More regions than buffers.
    let mut bytes = LOADED;
    bytes[45..48].copy_from_slice(&[0, 0x10, 2]);
    assert_eq!(PrivateData::decode(&bytes), Err(PrivateDataError::Load));
    bytes[45..48].copy_from_slice(&[0, 0x10, 1]);
    let load = PrivateData::decode(&bytes).unwrap().unwrap().load;
    assert_eq!((load.buffers, load.mrs), (2, 2));
}

#[test]
fn a_paced_pingpong_says_how_long_it_is_silent() {
    let mut data = PrivateData {
        test: Test::PingPong,
        load: Load::new(Test::PingPong),
        ..example()
    };
    (data.load.paced, data.alive_ms) = (true, 0x0011_6364);
    let mut bytes = EXAMPLE;
    (bytes[6], bytes[10]) = (1, 0x80);
    bytes[52..].copy_from_slice(&[0x00, 0x11, 0x63, 0x64]);
    assert_eq!(data.encode(), bytes);
    assert_eq!(PrivateData::decode(&bytes), Ok(Some(data)));
    // Without the flag nothing is there, and with it only this.
    let decoded = |change: fn(&mut [u8; 56])| {
        let mut bytes = bytes;
        change(&mut bytes);
        PrivateData::decode(&bytes)
    };
    let reserved = Err(PrivateDataError::Reserved);
    assert_eq!(decoded(|bytes| bytes[10] = 0), reserved);
    assert_eq!(decoded(|bytes| bytes[32] = 1), reserved);
    assert_eq!(decoded(|bytes| bytes[51] = 1), reserved);
    let load = Err(PrivateDataError::Load);
    assert_eq!(decoded(|bytes| bytes[52..].fill(0)), load);
    assert_eq!(decoded(|bytes| bytes[52] = 1), load);
    assert_eq!(
        decoded(|bytes| bytes[6] = 2),
        Err(PrivateDataError::Flags(1 << 15))
    );
}

#[test]
fn unreliable_queue_pairs() {
    for (service, flag) in [(Service::Uc, 0b100), (Service::Ud, 0b1000)] {
        let data = PrivateData {
            load: Load {
                service,
                buffers: 1,
                mrs: 1,
                ..loaded().load
            },
            data_queue_pair: 0x00a1_b2c3,
            ..loaded()
        };
        let mut bytes = LOADED;
        bytes[10] = flag;
        bytes[45..48].copy_from_slice(&[0xa1, 0xb2, 0xc3]);
        assert_eq!(
            (data.encode(), PrivateData::decode(&bytes)),
            (bytes, Ok(Some(data)))
        );
        // Those below are of management.
        for number in [0, 1] {
            bytes[45..48].copy_from_slice(&[0, 0, number]);
            assert_eq!(PrivateData::decode(&bytes), Err(PrivateDataError::Load));
        }
    }
    let data = PrivateData {
        load: Load {
            service: Service::Ud,
            buffers: 1,
            mrs: 1,
            ..loaded().load
        },
        data_queue_pair: 2,
        // It takes the place of the largest size.
        group: Some(0xa1a2_a3a4),
        max_size: loaded().size,
        ..loaded()
    };
    let mut bytes = LOADED;
    bytes[10] = 0b100_1000;
    bytes[28..32].copy_from_slice(&[0xa1, 0xa2, 0xa3, 0xa4]);
    bytes[45..48].copy_from_slice(&[0, 0, 2]);
    assert_eq!(
        (data.encode(), PrivateData::decode(&bytes)),
        (bytes, Ok(Some(data)))
    );
    let mut both = LOADED;
    both[10] = 0b1100;
    assert_eq!(
        PrivateData::decode(&both),
        Err(PrivateDataError::Flags(0b1100 << 8))
    );
}

#[test]
fn loads_out_of_range() {
    // Each field with its first byte, its bytes, and the least and the most that it takes.
    for (place, len, min, max) in [
        (32, 2, 255u32, 256u32),
        (34, 2, 0, 255),
        (36, 4, 1, 65536),
        (40, 2, 1, 1024),
        (42, 2, 1, 1024),
        (44, 1, 1, 16),
        (48, 4, 0, u32::MAX),
        (52, 4, 1, 1_200_000),
    ] {
        let decode = |value: u32| {
            let mut bytes = LOADED;
            bytes[place..place + len].copy_from_slice(&value.to_be_bytes()[4 - len..]);
            PrivateData::decode(&bytes)
        };
        for inside in [min, max] {
            assert!(decode(inside).is_ok(), "{place}: {inside}");
        }
        let below = min.checked_sub(1);
        for outside in below.into_iter().chain(max.checked_add(1)) {
            assert_eq!(
                decode(outside),
                Err(PrivateDataError::Load),
                "{place}: {outside}"
            );
        }
    }
}

pub(super) fn private_data() -> impl Strategy<Value = PrivateData> {
    let fields = (any::<u64>(), any::<u32>(), any::<u32>());
    let own = (any::<u16>(), 1u32..=65536, any::<u32>(), 1u32..=1_200_000);
    (any::<[bool; 6]>(), fields, client(), own).prop_map(
        |(bits, (count, seed, max_size), command, (index, txdepth, duration_ms, alive_ms))| {
            let [server, reg, server_inv, read_inv, validate, binary] = bits;
            let Command {
                test, size, load, ..
            } = command;
            let own = |value: u32| if test.has_load() { value } else { 0 };
            let group = (load.service == Service::Ud && test.takes_multicast() && server)
                .then_some(max_size);
            PrivateData {
                role: if server {
                    PeerRole::Server
                } else {
                    PeerRole::Client
                },
                test,
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
                max_size: if group.is_some() { size } else { max_size },
                group,
                load,
                index: index % load.qps,
                data_queue_pair: if load.service.is_unreliable() {
                    2 + max_size % 0x00ff_fffe
                } else {
                    0
                },
                txdepth: own(txdepth),
                duration_ms: own(duration_ms),
                alive_ms: if test.has_load() || load.paced {
                    alive_ms
                } else {
                    0
                },
            }
        },
    )
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn private_data_comes_back(data in private_data()) {
        prop_assert_eq!(PrivateData::decode(&data.encode()), Ok(Some(data)));
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
                Ok(Some(data)) => {
                    prop_assert_eq!(&bytes[..56], data.encode());
                }
                Ok(None) => prop_assert!(!bytes.starts_with(b"krpg")),
                Err(error) => {
                    let sentence = error.to_string();
                    prop_assert!(sentence.starts_with("the peer's private data "));
                    prop_assert!(sentence.len() > 30);
                }
            }
        }
    }
}
