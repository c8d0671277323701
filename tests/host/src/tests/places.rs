// SPDX-License-Identifier: GPL-2.0

//! The places of the data of operations that take several buffers in turn.

use crate::logic::measure::places::{
    shuffled,
    turn,
    Place,
    Places, //
};
use std::collections::BTreeSet;

#[test]
fn an_order_has_each_number_once_and_none_beside_the_one_before() {
    for count in (0..200).chain([255, 256, 257, 1000, 4095, 4096, 65535, 65536]) {
        let order: Vec<_> = (0..count).map(|index| shuffled(index, count)).collect();
        let all: BTreeSet<_> = order.iter().copied().collect();
        assert_eq!(all, (0..count).collect(), "{count}");
        let near = order.windows(2).filter(|pair| pair[0] + 1 == pair[1]);
        assert!(
            near.count() <= 3 + count as usize / 20,
            "{count}: {order:?}"
        );
    }
}

#[test]
fn places_lie_apart_within_their_regions() {
    for (buffers, mrs, size) in [
        (1, 1, 1),
        (2, 1, 64),
        (7, 3, 100),
        (64, 64, 4096),
        (4096, 9, 65),
    ] {
        let places = Places::new(buffers, mrs, size);
        let bytes = places.region_bytes().unwrap();
        let all: Vec<_> = (0..u64::from(buffers)).map(|n| places.place(n)).collect();
        for (number, place) in all.iter().enumerate() {
            assert!(place.region < u32::from(mrs), "{place:?}");
            assert!(place.offset + size <= bytes, "{place:?} of {bytes}");
            assert_eq!(place.offset % 64, 0);
            // The order repeats itself.
            let again = number as u64 + 5 * u64::from(buffers);
            assert_eq!(places.place(again), *place);
        }
        let apart: BTreeSet<_> = all
            .iter()
            .map(|place| (place.region, place.offset))
            .collect();
        assert_eq!(apart.len(), usize::from(buffers));
        // No region is without.
        let regions: BTreeSet<_> = all.iter().map(|place| place.region).collect();
        assert_eq!(regions.len(), usize::from(mrs));
        assert_eq!(places.taken(3), 3.min(u32::from(buffers)));
        assert_eq!(places.taken(1 << 40), u32::from(buffers));
    }
}

#[test]
fn a_turn_has_each_place_with_each_size() {
    for (places, weight, expected) in [
        (1, 0, 1),
        (1, 10, 10),
        (64, 0, 64),
        (64, 10, 320),
        (6, 4, 12),
        (4096, 2, 4096),
        // As near as there is room for.
        (4096, 1000, 4096),
        (4095, 1000, 4095),
        (3001, 1000, 6002),
    ] {
        assert_eq!(turn(places, weight), expected, "{places} {weight}");
    }
    for places in 1..=4096 {
        for weight in [0, 1, 7, 999, 1000] {
            let turn = turn(places, weight);
            assert!(
                turn % places == 0 && turn >= weight && turn <= 8192,
                "{places} {weight}"
            );
        }
    }
}

#[test]
fn one_buffer_is_as_large_as_its_data() {
    let places = Places::new(1, 1, 100);
    assert_eq!(places.region_bytes(), Some(100));
    let first = Place {
        region: 0,
        offset: 0,
    };
    assert_eq!(places.place(12345), first);
    assert_eq!(Places::new(4096, 1, 1 << 20).region_bytes(), None);
    assert_eq!(Places::new(2, 1, u32::MAX).region_bytes(), None);
}
