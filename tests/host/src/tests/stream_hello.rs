// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::{
    stream::{
        hello::{
            Hello,
            HelloError, //
        },
        ByteOrder,
        Segment, //
    },
    wire::{
        hello::announced,
        PrivateData, //
    }, //
};
use proptest::prelude::*;

/// The private data of a side like rsocket's with its defaults.
pub(super) const PLAIN: Hello = Hello {
    order: ByteOrder::Little,
    credits: 384,
    mappings: 0,
    list: Segment {
        addr: 0x7f00_1122_3344_5000,
        rkey: 0x0a0b_0c0d,
        len: 2,
    },
    ring: Segment {
        addr: 0x7f00_5566_7788_9000,
        rkey: 0x0102_0304,
        len: 1 << 16,
    },
};

#[test]
fn the_layout_is_that_of_rsocket() {
    // Offsets from a compiler's layout of its structures, and numbers in network order.
    let bytes = PLAIN.encode();
    assert_eq!(bytes.len(), 40);
    assert_eq!(bytes[..8], [1, 2, 1, 0x80, 0, 0, 0, 0]);
    assert_eq!(
        bytes[8..24],
        [0x7f, 0, 0x11, 0x22, 0x33, 0x44, 0x50, 0, 0x0a, 0x0b, 0x0c, 0x0d, 0, 0, 0, 2]
    );
    assert_eq!(
        bytes[24..],
        [0x7f, 0, 0x55, 0x66, 0x77, 0x88, 0x90, 0, 1, 2, 3, 4, 0, 1, 0, 0]
    );
    let big = Hello {
        order: ByteOrder::Big,
        mappings: 512,
        ..PLAIN
    };
    // The order of memory does not change that of the private data.
    assert_eq!(big.encode()[..8], [1, 3, 1, 0x80, 0, 0, 0, 0x82]);
    assert_eq!(big.encode()[8..], bytes[8..]);
}

#[test]
fn numbers_of_mappings_are_scaled() {
    for (mappings, byte, back) in [
        (0, 0, 0),
        (1, 1, 1),
        (127, 127, 127),
        (128, 128, 128),
        (129, 128, 128),
        (256, 0x81, 256),
        (300, 0x81, 256),
        (0x7fff, 0xff, 0x7f00),
    ] {
        let bytes = Hello { mappings, ..PLAIN }.encode();
        assert_eq!(bytes[7], byte, "{mappings}");
        assert_eq!(Hello::decode(&bytes).unwrap().mappings, back, "{mappings}");
    }
    // Without the flag there are none.
    let mut bytes = Hello {
        mappings: 8,
        ..PLAIN
    }
    .encode();
    bytes[1] = 0;
    assert_eq!(Hello::decode(&bytes).unwrap().mappings, 0);
}

#[test]
fn what_no_stream_can_be_had_with_is_refused() {
    let refused = |hello: Hello| Hello::decode(&hello.encode()).unwrap_err();
    let list = |addr, len| Segment {
        addr,
        len,
        ..PLAIN.list
    };
    let ring = |addr, len| Segment {
        addr,
        len,
        ..PLAIN.ring
    };
    assert_eq!(
        refused(Hello {
            credits: 0,
            ..PLAIN
        }),
        HelloError::Credits
    );
    for len in [0, 1] {
        let list = list(0, len);
        assert_eq!(refused(Hello { list, ..PLAIN }), HelloError::Entries(len));
    }
    let last = list(u64::MAX - 31, 2);
    assert_eq!(
        refused(Hello {
            list: last,
            ..PLAIN
        }),
        HelloError::List(last.addr)
    );
    let fits = list(u64::MAX - 32, 2);
    assert!(Hello::decode(
        &Hello {
            list: fits,
            ..PLAIN
        }
        .encode()
    )
    .is_ok());
    let mapped = Hello {
        list: fits,
        mappings: 1,
        ..PLAIN
    };
    assert_eq!(refused(mapped), HelloError::List(fits.addr));
    let all = list(1 << 63, u32::MAX);
    assert!(Hello::decode(&Hello { list: all, ..PLAIN }.encode()).is_ok());
    assert_eq!(
        refused(Hello {
            ring: ring(0, 0),
            ..PLAIN
        }),
        HelloError::Ring
    );
    assert_eq!(
        refused(Hello {
            ring: ring(u64::MAX, 1),
            ..PLAIN
        }),
        HelloError::RingAddress(u64::MAX)
    );
    let bytes = PLAIN.encode();
    assert_eq!(Hello::decode(&bytes[..39]), Err(HelloError::Length(39)));
    assert_eq!(Hello::decode(&[]), Err(HelloError::Length(0)));
    for version in [0, 2, b'k'] {
        let mut bytes = bytes;
        bytes[0] = version;
        assert_eq!(Hello::decode(&bytes), Err(HelloError::Version(version)));
    }
}

#[test]
fn what_a_later_rsocket_may_say_is_ignored() {
    let mut bytes = PLAIN.encode().to_vec();
    bytes[1] |= 0xfc;
    bytes[4..7].copy_from_slice(&[1, 2, 3]);
    // The transport pads it.
    bytes.extend([0; 16]);
    assert_eq!(Hello::decode(&bytes), Ok(PLAIN));
}

#[test]
fn the_first_byte_tells_protocols_apart() {
    assert!(Hello::may_be(&PLAIN.encode()));
    assert!(!Hello::may_be(&[]));
    assert!(!Hello::may_be(&PrivateData::MAGIC));
    // Neither does private data of a stream look like krping's own.
    assert_eq!(announced(&PLAIN.encode()), Ok(None));
}

#[test]
fn entries_lie_one_behind_the_other() {
    let hello = Hello {
        mappings: 2,
        ..PLAIN
    };
    let base = hello.list.addr;
    assert_eq!([hello.entry(0), hello.entry(1)], [base, base + 16]);
    assert_eq!(hello.entry(2), base, "there is no such entry");
    assert_eq!(
        [0, 1, 2].map(|index| hello.mapping(index)),
        [Some(base + 32), Some(base + 56), None]
    );
}

fn segments() -> impl Strategy<Value = Segment> {
    (any::<u64>(), any::<u32>(), any::<u32>()).prop_map(|(addr, rkey, len)| Segment {
        addr,
        rkey,
        len,
    })
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn whatever_is_decoded_was_encoded(
        big: bool, credits: u16, mappings in 0u16..=128, list in segments(), ring in segments(),
    ) {
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        let hello = Hello { order, credits, mappings, list, ring };
        if let Ok(decoded) = Hello::decode(&hello.encode()) {
            prop_assert_eq!(decoded, hello);
            prop_assert!(ring.addr.checked_add(ring.len.into()).is_some());
            // No entry is beyond the last address.
            for index in [0, 1, list.len - 1] {
                prop_assert!(hello.entry(index) >= list.addr);
            }
        }
    }

    #[test]
    fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let _ = Hello::decode(&bytes);
    }
}
