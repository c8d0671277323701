// SPDX-License-Identifier: GPL-2.0

//! Whatever disks, taps and their servers say while they connect: it comes back, or has a sentence.

use super::cases;
use crate::logic::{
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
        PrivateDataError, //
    }, //
};
use proptest::{
    collection::vec,
    prelude::*,
    sample::select, //
};

fn hello() -> impl Strategy<Value = Hello> {
    let is_tap = any::<bool>();
    let numbers = (1u16..=64, any::<u16>(), 1u16..=1024);
    let times = (1u32..=1_200_000, 0u32..=86_400_000);
    (is_tap, any::<u64>(), 1u32.., numbers, 4096u32.., times).prop_map(
        |(is_tap, disk, generation, (queues, index, depth), max_bytes, times)| {
            let queues = if is_tap { 1 } else { queues };
            Hello {
                test: if is_tap { Test::Tap } else { Test::Block },
                disk,
                generation,
                index: index % queues,
                queues,
                depth,
                max_bytes,
                alive_ms: times.0,
                hold_ms: times.1,
            }
        },
    )
}

fn geometry() -> impl Strategy<Value = Geometry> {
    let block = select(&[512u32, 1024, 2048, 4096]);
    let numbers = (
        1u64..=(1 << 63) / 4096 - 1,
        8u32..=0x000f_ffff,
        0u32..=0x000f_ffff,
    );
    let rest = (1u16..=1024, 0u32..=4096, 1u32..=1_200_000);
    let sizes = (
        0u32..=8,
        [0u32..=0x0003_ffff, 0..=0x0003_ffff, 0..=0x0003_ffff],
    );
    (
        any::<[bool; 5]>(),
        any::<[u64; 2]>(),
        block,
        numbers,
        rest,
        sizes,
    )
        .prop_map(
            |(flags, [store, boot], block, numbers, (depth, inline, alive_ms), (shift, sizes))| {
                let [minimum, optimal, discard] = sizes.map(|size| size * block);
                let topology = Topology {
                    physical: block << shift,
                    minimum,
                    optimal,
                    discard,
                };
                let [is_tap, read_only, log_only, volatile, keeps_space] = flags;
                let (blocks, max_bytes, max_discard) = numbers;
                Geometry {
                    test: if is_tap { Test::Tap } else { Test::Block },
                    read_only,
                    log_only: log_only && is_tap,
                    size: blocks * u64::from(block),
                    store,
                    block,
                    max_bytes: max_bytes * block,
                    max_discard: max_discard * block,
                    depth,
                    inline,
                    alive_ms,
                    extras: Extras {
                        volatile,
                        keeps_space,
                        boot,
                        topology,
                    },
                }
            },
        )
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn hellos_come_back(hello in hello()) {
        let bytes = hello.encode();
        prop_assert_eq!(Hello::decode(&bytes), Ok(hello));
        prop_assert_eq!(announced(&bytes), Ok(Some(hello.test)));
        prop_assert_eq!(Geometry::decode(&bytes), Err(PrivateDataError::Side));
    }

    #[test]
    fn geometries_come_back(geometry in geometry()) {
        let before = Extensions { surveys: true }.encode(geometry.encode());
        let bytes = geometry.extras.encode(before);
        prop_assert_eq!(Geometry::decode(&bytes), Ok(geometry));
        prop_assert_eq!(announced(&bytes), Ok(Some(geometry.test)));
        prop_assert_eq!(Hello::decode(&bytes), Err(PrivateDataError::Side));
    }

    #[test]
    fn any_bytes_are_digested(
        hello in hello(),
        geometry in geometry(),
        bytes in vec(any::<u8>(), 0..70),
        place in any::<prop::sample::Index>(),
        len in 50usize..80,
    ) {
        // Nearly right ones lead further than random ones.
        let near = |encoded: &[u8]| {
            let mut near = encoded.to_vec();
            near.resize(len, 0);
            near[place.index(len)] = bytes.first().copied().unwrap_or(0);
            near
        };
        for bytes in [&bytes[..], &near(&hello.encode()), &near(&geometry.encode())] {
            match Hello::decode(bytes) {
                Ok(hello) => prop_assert_eq!(&bytes[..56], hello.encode()),
                Err(error) => prop_assert!(error.to_string().len() > 30, "{}", error),
            }
            match Geometry::decode(bytes) {
                Ok(geometry) => {
                    prop_assert_eq!(&bytes[..56], &geometry.encode()[..56]);
                    prop_assert_eq!(geometry.continues(&geometry), None);
                }
                Err(error) => prop_assert!(error.to_string().len() > 30, "{}", error),
            }
        }
    }
}
