// SPDX-License-Identifier: GPL-2.0

//! The sizes of operations that are a mix of several.

use crate::logic::measure::sizes::{
    Sizes,
    MOST, //
};
use std::collections::BTreeMap;

fn mix(parts: &[(u32, u16)]) -> Option<Sizes> {
    let mut sizes = Sizes::NONE;
    parts
        .iter()
        .try_for_each(|(size, weight)| sizes.push(*size, *weight))?;
    Some(sizes)
}

#[test]
fn each_size_has_its_part_of_the_operations() {
    let sizes = mix(&[(64, 90), (4096, 9), (1, 1)]).unwrap();
    assert_eq!(sizes.weight(), 100);
    for turns in [1, 7] {
        let mut found = BTreeMap::new();
        for rank in 0..100 * turns {
            *found.entry(sizes.at(rank, 100 * turns)).or_insert(0) += 1;
        }
        let expected = [(1, turns), (64, 90 * turns), (4096, 9 * turns)];
        assert_eq!(found, expected.into());
    }
    // As near as it can be.
    let few = (0..10).map(|rank| sizes.at(rank, 10)).collect::<Vec<_>>();
    assert_eq!(few, [64, 64, 64, 64, 64, 64, 64, 64, 64, 4096]);
    assert_eq!(sizes.to_string(), "64:90+4096:9+1:1");
}

#[test]
fn there_is_room_for_some_and_nothing_is_0() {
    let one = (1..=MOST as u32)
        .map(|size| (size, 125))
        .collect::<Vec<_>>();
    assert_eq!(mix(&one).unwrap().sizes().count(), MOST);
    assert_eq!(mix(&one).unwrap().weight(), 1000);
    assert!(mix(&[(1, 1); MOST + 1]).is_none());
    assert!(mix(&[(1, 1000), (2, 1)]).is_none());
    assert!(mix(&[(0, 1)]).is_none());
    assert!(mix(&[(1, 0)]).is_none());
    assert!(Sizes::NONE.is_empty());
    assert_eq!(Sizes::NONE.at(0, 0), 0);
}
