// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::{
    measure::loss::Arrived,
    wire::{
        control::Control,
        Advertisement, //
    }, //
};
use proptest::prelude::*;

const READY: [u8; 25] =
    *b"krpc\x01\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08\x11\x12\x13\x14\x21\x22\x23\x24\0";
const ALIVE: [u8; 25] = *b"krpc\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
const DONE: [u8; 25] =
    *b"krpc\x03\x01\0\0\x31\x32\x33\x34\x35\x36\x37\x38\x41\x42\x43\x44\x45\x46\x47\x48\0";
const ARRIVED: [u8; 25] =
    *b"krpc\x04\0\0\0\x51\x52\x53\x54\x55\x56\x57\x58\x61\x62\x63\x64\x71\x72\x73\x74\0";
const MOVED: [u8; 25] = *b"krpc\x05\0\0\0\x81\x82\x83\x84\x85\x86\x87\x88\0\0\0\0\0\0\0\0\0";

#[test]
fn layouts() {
    let ready = Control::Ready(Advertisement {
        addr: 0x0102_0304_0506_0708,
        rkey: 0x1112_1314,
        size: 0x2122_2324,
    });
    let done = Control::Done {
        iterations: 0x3132_3334_3536_3738,
        elapsed_ns: 0x4142_4344_4546_4748,
        mismatch: true,
    };
    let arrived = Control::Arrived(Arrived {
        messages: 0x5152_5354_5556_5758,
        late: 0x6162_6364,
        repeated: 0x7172_7374,
    });
    for (message, bytes) in [
        (ready, READY),
        (Control::Alive, ALIVE),
        (done, DONE),
        (arrived, ARRIVED),
        (Control::Moved(0x8182_8384_8586_8788), MOVED),
    ] {
        assert_eq!(message.encode(), bytes, "{message:?}");
        assert_eq!(Control::decode(&bytes), Some(message));
    }
}

#[test]
fn its_length_is_never_that_of_the_data() {
    assert_eq!((Control::len(24, false), Control::len(25, false)), (25, 24));
    for size in (1..100).chain([u32::MAX]) {
        assert_eq!(Control::len(size, true), 25);
        let len = Control::len(size, false);
        assert!(len != size && (24..=25).contains(&len), "{size}");
    }
}

#[test]
fn what_makes_no_sense_is_none() {
    let with = |message: [u8; 25], place: usize, byte: u8| {
        let mut bytes = message;
        bytes[place] = byte;
        Control::decode(&bytes)
    };
    assert_eq!(Control::decode(&[0; 25]), None);
    for message in [READY, ALIVE, DONE, ARRIVED, MOVED] {
        for place in [0, 1, 2, 3, 6, 7, 24] {
            assert_eq!(with(message, place, 1), None, "byte {place}");
        }
        for kind in (0..=255).filter(|kind| !(1..=5).contains(kind)) {
            assert_eq!(with(message, 4, kind), None, "kind {kind}");
        }
    }
    for mismatch in 1..=255 {
        assert_eq!(with(READY, 5, mismatch), None);
        assert_eq!(with(ARRIVED, 5, mismatch), None);
        assert_eq!(with(MOVED, 5, mismatch), None);
        assert_eq!(with(ALIVE, 5, mismatch), None);
        assert!(mismatch == 1 || with(DONE, 5, mismatch).is_none());
    }
    for place in 8..24 {
        assert_eq!(with(ALIVE, place, 1), None);
        assert_eq!(with(MOVED, place, 1).is_none(), place >= 16);
    }
}

fn control() -> impl Strategy<Value = Control> {
    prop_oneof![
        any::<(u64, u32, u32)>().prop_map(|(addr, rkey, size)| Control::Ready(Advertisement {
            addr,
            rkey,
            size
        })),
        Just(Control::Alive),
        any::<u64>().prop_map(Control::Moved),
        any::<(u64, u32, u32)>().prop_map(|(messages, late, repeated)| {
            Control::Arrived(Arrived {
                messages,
                late,
                repeated,
            })
        }),
        any::<(u64, u64, bool)>().prop_map(|(iterations, elapsed_ns, mismatch)| Control::Done {
            iterations,
            elapsed_ns,
            mismatch,
        }),
    ]
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn messages_come_back(message in control()) {
        prop_assert_eq!(Control::decode(&message.encode()), Some(message));
    }

    #[test]
    fn any_bytes_are_digested(
        message in control(),
        random: [u8; 25],
        place in 0usize..25,
        byte: u8,
    ) {
        // Nearly right ones lead further than random ones.
        let mut near = message.encode();
        near[place] = byte;
        for bytes in [random, near] {
            if let Some(message) = Control::decode(&bytes) {
                prop_assert_eq!(message.encode(), bytes);
            }
        }
    }
}
