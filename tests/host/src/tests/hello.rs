// SPDX-License-Identifier: GPL-2.0

//! What disks, taps and their servers say while they connect; `hello_any` has any of it.

use crate::logic::{
    block::Limits,
    command::Test,
    wire::{
        extensions::Extensions,
        extras::{
            Extras,
            Topology, //
        },
        hello::{
            announced,
            Geometry,
            Hello, //
        },
        PrivateData,
        PrivateDataError, //
    }, //
};

const HELLO: Hello = Hello {
    test: Test::Block,
    disk: 0x0102_0304_0506_0708,
    generation: 0x1112_1314,
    index: 0x0021,
    queues: 0x0032,
    depth: 0x0141,
    max_bytes: 0x5152_5354,
    alive_ms: 0x0001_6263,
    hold_ms: 0x0071_7273,
};

#[rustfmt::skip]
const HELLO_BYTES: [u8; 56] = [
    0x6b, 0x72, 0x70, 0x67, 1, 1, 9, 0, 0, 0, 0, 0,
    1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14,
    0x00, 0x21, 0x00, 0x32, 0x01, 0x41, 0, 0, 0x51, 0x52, 0x53, 0x54,
    0x00, 0x01, 0x62, 0x63, 0x00, 0x71, 0x72, 0x73, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0,
];

const GEOMETRY: Geometry = Geometry {
    test: Test::Tap,
    read_only: true,
    log_only: true,
    size: 0x0102_0304_0506_0000,
    store: 0x1112_1314_1516_1718,
    block: 0x0800,
    max_bytes: 0x2122_2000,
    max_discard: 0x3132_3000,
    depth: 0x0142,
    inline: 0x0543,
    alive_ms: 0x0005_5152,
    extras: Extras {
        volatile: false,
        keeps_space: true,
        boot: 0x6162_6364_6566_6768,
        topology: Topology {
            physical: 0x1000,
            minimum: 0x0004_9000,
            optimal: 0x0102_a000,
            discard: 0xb000,
        },
    },
};

#[rustfmt::skip]
const GEOMETRY_BYTES: [u8; 92] = [
    0x6b, 0x72, 0x70, 0x67, 1, 2, 10, 0, 0, 0, 0, 3,
    1, 2, 3, 4, 5, 6, 0, 0, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
    0, 0, 0x08, 0, 0x21, 0x22, 0x20, 0, 0x31, 0x32, 0x30, 0,
    0x01, 0x42, 0, 0, 0, 0, 0x05, 0x43, 0x00, 0x05, 0x51, 0x52,
    0, 0, 0, 0, 0x2b, 0x66, 0, 1,
    0x6b, 0x72, 0x70, 0x78, 0, 0, 0, 7,
    0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68,
    0, 0, 0x10, 0, 0, 4, 0x90, 0, 1, 2, 0xa0, 0, 0, 0, 0xb0, 0,
];

fn hello_with(place: usize, bytes: &[u8]) -> Result<Hello, PrivateDataError> {
    let mut whole = HELLO_BYTES;
    whole[place..place + bytes.len()].copy_from_slice(bytes);
    Hello::decode(&whole)
}

fn geometry_with(place: usize, bytes: &[u8]) -> Result<Geometry, PrivateDataError> {
    let mut whole = GEOMETRY_BYTES;
    whole[place..place + bytes.len()].copy_from_slice(bytes);
    Geometry::decode(&whole)
}

#[test]
fn layouts() {
    assert_eq!(HELLO.encode(), HELLO_BYTES);
    assert_eq!(Hello::decode(&HELLO_BYTES), Ok(HELLO));
    assert_eq!(GEOMETRY.encode(), GEOMETRY_BYTES[..56]);
    let before = Extensions { surveys: true }.encode(GEOMETRY.encode());
    assert_eq!(GEOMETRY.extras.encode(before), GEOMETRY_BYTES);
    assert_eq!(Geometry::decode(&GEOMETRY_BYTES), Ok(GEOMETRY));
    let writable = Geometry {
        read_only: false,
        ..GEOMETRY
    };
    assert_eq!(writable.encode()[11], 2);
    let stored = Geometry {
        log_only: false,
        ..GEOMETRY
    };
    assert_eq!(stored.encode()[11], 1);
}

#[test]
fn transports_pad() {
    for byte in [0, 0xff] {
        let padded = [&HELLO_BYTES[..], &[byte; 140]].concat();
        assert_eq!(Hello::decode(&padded), Ok(HELLO));
        let padded = [&GEOMETRY_BYTES[..], &[byte; 140]].concat();
        assert_eq!(Geometry::decode(&padded), Ok(GEOMETRY));
    }
}

#[test]
fn an_older_server_says_nothing_more() {
    let silent = Geometry {
        extras: Extras::NONE,
        ..GEOMETRY
    };
    for len in 56..76 {
        assert_eq!(Geometry::decode(&GEOMETRY_BYTES[..len]), Ok(silent));
    }
    for byte in [0, 0xff] {
        let padded = [&GEOMETRY_BYTES[..56], &[byte; 140]].concat();
        assert_eq!(Geometry::decode(&padded), Ok(silent));
    }
    let without = Geometry {
        extras: Extras {
            topology: Topology::default(),
            ..GEOMETRY.extras
        },
        ..GEOMETRY
    };
    for byte in [0, 0xff] {
        let mut padded = [&GEOMETRY_BYTES[..76], &[byte; 140]].concat();
        padded[67] = 3;
        assert_eq!(Geometry::decode(&padded), Ok(without));
    }
    // Of a later server, whose flags mean nothing here.
    assert_eq!(geometry_with(64, &[0xff, 0xff, 0xff]), Ok(GEOMETRY));
    let decoded = geometry_with(67, &[1]).unwrap().extras;
    assert!(!decoded.volatile && !decoded.keeps_space);
    let decoded = geometry_with(67, &[2]).unwrap().extras;
    assert!(decoded.volatile && decoded.keeps_space);
}

#[test]
fn sizes_that_no_block_device_has_are_refused() {
    let refused = |place, bytes: u32, field| {
        let found = geometry_with(place, &bytes.to_be_bytes());
        assert_eq!(found, Err(PrivateDataError::Range(field)), "{bytes}");
    };
    for bytes in [1, 512, 0x1800, 0xffff_f800, 0x8000_0000] {
        refused(76, bytes, "physical_block");
    }
    for (place, field) in [
        (80, "minimum_io"),
        (84, "optimal_io"),
        (88, "discard_granularity"),
    ] {
        for bytes in [1, 512, 0x801, 0x4000_0800, u32::MAX] {
            refused(place, bytes, field);
        }
        for bytes in [0_u32, 0x800, 0x1800, 0x4000_0000] {
            assert!(
                geometry_with(place, &bytes.to_be_bytes()).is_ok(),
                "{bytes}"
            );
        }
    }
}

#[test]
fn who_wants_what_is_known_first() {
    use PrivateDataError as Error;

    assert_eq!(announced(&HELLO_BYTES), Ok(Some(Test::Block)));
    assert_eq!(announced(&GEOMETRY_BYTES), Ok(Some(Test::Tap)));
    for bytes in [&b""[..], b"krp", b"krpr\x01", &[0; 56], &[0xff; 196]] {
        assert_eq!(announced(bytes), Ok(None));
        assert_eq!(Hello::decode(bytes), Err(Error::Missing));
        assert_eq!(Geometry::decode(bytes), Err(Error::Missing));
        assert_eq!(PrivateData::decode(bytes), Ok(None));
    }
    let errors = |bytes: &[u8], error: Error| {
        assert_eq!(announced(bytes), Err(error));
        assert_eq!(Hello::decode(bytes), Err(error));
        assert_eq!(Geometry::decode(bytes), Err(error));
        assert_eq!(PrivateData::decode(bytes), Err(error));
    };
    for len in 5..56 {
        errors(&HELLO_BYTES[..len], Error::Truncated(len));
    }
    for version in (0..=255).filter(|version| *version != 1) {
        let mut bytes = HELLO_BYTES;
        bytes[4] = version;
        errors(&bytes, Error::Version(version));
    }
    for number in 0..=255 {
        let mut bytes = HELLO_BYTES;
        bytes[6] = number;
        match Test::numbered(number) {
            Some(test) => {
                assert_eq!(announced(&bytes), Ok(Some(test)));
                if test.is_messenger() {
                    assert_eq!(PrivateData::decode(&bytes), Err(Error::OtherTest(test)));
                } else if !test.is_block() {
                    assert_eq!(Hello::decode(&bytes), Err(Error::OtherTest(test)));
                    bytes[5] = 2;
                    assert_eq!(Geometry::decode(&bytes), Err(Error::OtherTest(test)));
                } else {
                    assert_eq!(PrivateData::decode(&bytes), Err(Error::OtherTest(test)));
                }
            }
            None => {
                assert_eq!(announced(&bytes), Err(Error::Test(number)));
                assert_eq!(Hello::decode(&bytes), Err(Error::Test(number)));
            }
        }
    }
}

#[test]
fn each_side_has_its_own() {
    use PrivateDataError as Error;

    assert_eq!(Hello::decode(&GEOMETRY_BYTES), Err(Error::Side));
    assert_eq!(Geometry::decode(&HELLO_BYTES), Err(Error::Side));
    for role in [0, 3, 255] {
        assert_eq!(hello_with(5, &[role]), Err(Error::Role(role)));
        assert_eq!(geometry_with(5, &[role]), Err(Error::Role(role)));
    }
}

#[test]
fn what_must_be_zero() {
    let reserved = PrivateDataError::Reserved;
    for place in [7, 30, 31].into_iter().chain(44..56) {
        assert_eq!(hello_with(place, &[1]), Err(reserved), "{place}");
    }
    for place in [7, 42, 43].into_iter().chain(52..56) {
        assert_eq!(geometry_with(place, &[1]), Err(reserved), "{place}");
    }
    for bit in 0..32 {
        let flags = 1u32 << bit;
        let error = PrivateDataError::Flags(flags);
        assert_eq!(hello_with(8, &flags.to_be_bytes()), Err(error));
        let decoded = geometry_with(8, &(flags | 3).to_be_bytes());
        match bit {
            0 | 1 => assert_eq!(decoded, Ok(GEOMETRY)),
            _ => assert_eq!(decoded, Err(error)),
        }
    }
    // A disk has somewhere to keep its blocks.
    let mut disk = GEOMETRY_BYTES;
    disk[6] = 9;
    assert_eq!(Geometry::decode(&disk), Err(PrivateDataError::Flags(2)));
}

/// A field: its name, its first byte, its bytes, the least and the most that it takes.
type Field = (&'static str, usize, usize, u64, u64);

fn out_of_range<T: std::fmt::Debug + PartialEq>(
    fields: &[Field],
    step: impl Fn(&str) -> u64,
    with: impl Fn(usize, &[u8]) -> Result<T, PrivateDataError>,
) {
    for &(name, place, len, min, max) in fields {
        let decode = |value: u64| with(place, &value.to_be_bytes()[8 - len..]);
        for inside in [min, max] {
            assert!(decode(inside).is_ok(), "{name}: {inside}");
        }
        let step = step(name);
        let below = min.checked_sub(step);
        let limit = u64::MAX >> (64 - 8 * len);
        let above = max.checked_add(step).filter(|above| *above <= limit);
        let odd = (step > 1).then(|| [min + 1, max - 1, min + step / 2]);
        let odd = odd.into_iter().flatten();
        for outside in below.into_iter().chain(above).chain(odd) {
            let error = PrivateDataError::Range(name);
            assert_eq!(decode(outside), Err(error), "{name}: {outside}");
        }
    }
}

#[test]
fn no_more_than_was_asked_for() {
    let most = |max_bytes| Geometry {
        max_bytes,
        ..GEOMETRY
    };
    for max_bytes in [4096, HELLO.max_bytes - 1, HELLO.max_bytes] {
        assert_eq!(most(max_bytes).keeps_to(&HELLO), Ok(()));
    }
    for max_bytes in [HELLO.max_bytes + 1, u32::MAX] {
        let beyond = Err(PrivateDataError::Range("max_bytes"));
        assert_eq!(most(max_bytes).keeps_to(&HELLO), beyond);
    }
}

#[test]
fn numbers_out_of_range() {
    let fields = [
        ("generation", 20, 4, 1, u64::from(u32::MAX)),
        ("index", 24, 2, 0, 0x31),
        ("queues", 26, 2, 0x22, 64),
        ("depth", 28, 2, 1, 1024),
        ("max_bytes", 32, 4, 4096, u64::from(u32::MAX)),
        ("alive_ms", 36, 4, 1, 1_200_000),
        ("hold_ms", 40, 4, 0, 86_400_000),
    ];
    out_of_range(
        &fields,
        |_| 1,
        |place, bytes| match (place, bytes) {
            // One less is no more than the index.
            (26, [0, 0x21]) => Err(PrivateDataError::Range("queues")),
            _ => hello_with(place, bytes),
        },
    );
    let error = PrivateDataError::Range("index");
    assert_eq!(hello_with(26, &[0, 0x21]), Err(error));
    let none = PrivateDataError::Range("queues");
    assert_eq!(hello_with(24, &[0, 0, 0, 0]), Err(none));
    let most = 0x7fff_ffff_ffff_f800;
    let fields = [
        ("size", 12, 8, 2048, most),
        ("max_bytes", 32, 4, 4096, 0xffff_f800),
        ("max_discard", 36, 4, 0, 0xffff_f800),
        ("depth", 40, 2, 1, 1024),
        ("inline", 44, 4, 0, 4096),
        ("alive_ms", 48, 4, 1, 1_200_000),
    ];
    let in_blocks = ["size", "max_bytes", "max_discard"];
    out_of_range(
        &fields,
        |name| if in_blocks.contains(&name) { 2048 } else { 1 },
        geometry_with,
    );
    for block in (0..=8192u32).chain([1 << 16, 1 << 31, u32::MAX]) {
        let decoded = geometry_with(28, &block.to_be_bytes());
        if [512, 1024, 2048, 4096].contains(&block) {
            assert_eq!(decoded, Ok(Geometry { block, ..GEOMETRY }));
        } else {
            let error = PrivateDataError::Range("block");
            assert_eq!(decoded, Err(error), "{block}");
        }
    }
}

#[test]
fn a_tap_has_one_connection() {
    let tap = |index: u8, queues: u8| {
        let mut bytes = HELLO_BYTES;
        (bytes[6], bytes[25], bytes[27]) = (10, index, queues);
        Hello::decode(&bytes).map(|hello| hello.test)
    };
    assert_eq!(tap(0, 1), Ok(Test::Tap));
    assert_eq!(tap(0, 2), Err(PrivateDataError::Range("queues")));
    assert_eq!(tap(1, 1), Err(PrivateDataError::Range("index")));
}

#[test]
fn each_error_has_a_sentence() {
    for (error, end) in [
        (
            PrivateDataError::Missing,
            "is missing, or not that of a krping",
        ),
        (PrivateDataError::Side, "announces the wrong side"),
        (
            PrivateDataError::OtherTest(Test::Block),
            "is of another test (blk)",
        ),
        (
            PrivateDataError::Range("depth"),
            "has a number out of range (depth)",
        ),
    ] {
        assert_eq!(error.to_string(), format!("the peer's private data {end}"));
    }
}

#[test]
fn what_requests_may_ask_for() {
    let limits = Limits {
        size: GEOMETRY.size,
        block: GEOMETRY.block,
        max_bytes: GEOMETRY.max_bytes,
        max_discard: GEOMETRY.max_discard,
        read_only: true,
    };
    assert_eq!(GEOMETRY.limits(), limits);
    let writable = Geometry {
        read_only: false,
        ..GEOMETRY
    };
    assert!(!writable.limits().read_only);
}

#[test]
fn what_a_disk_can_go_on_with() {
    let same: [fn(&mut Geometry); 3] = [|_| (), |g| g.inline = 0, |g| g.alive_ms = 1];
    for change in same {
        let mut other = GEOMETRY;
        change(&mut other);
        assert_eq!(GEOMETRY.continues(&other), None);
        assert_eq!(other.continues(&GEOMETRY), None);
    }
    let less: [fn(&mut Geometry); 3] = [
        |g| g.max_bytes = 4096,
        |g| g.max_discard = 0,
        |g| g.depth = 1,
    ];
    for change in less {
        let mut other = GEOMETRY;
        change(&mut other);
        let why = Some("it takes fewer or smaller requests");
        assert_eq!(GEOMETRY.continues(&other), why);
        assert_eq!(other.continues(&GEOMETRY), None);
    }
    let volatile = Geometry {
        extras: Extras::NONE,
        ..GEOMETRY
    };
    let why = Some("it has a volatile cache now, which the disk does not flush");
    assert_eq!(GEOMETRY.continues(&volatile), why);
    assert_eq!(volatile.continues(&GEOMETRY), None);
    let others: [(fn(&mut Geometry), &str); 4] = [
        (|g| g.store += 1, "it is another store"),
        (|g| g.size += 4096, "its size is another one"),
        (|g| g.block = 512, "its blocks have another size"),
        (
            |g| g.read_only = false,
            "whether it can be written to has changed",
        ),
    ];
    for (change, why) in others {
        let mut other = GEOMETRY;
        change(&mut other);
        assert_eq!(GEOMETRY.continues(&other), Some(why));
        assert_eq!(other.continues(&GEOMETRY), Some(why));
    }
}
