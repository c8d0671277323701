// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::stream::turns::{
    Turns,
    GREETING, //
};
use proptest::prelude::*;

#[test]
fn the_first_turns_are_those_of_riostream() {
    assert_eq!((GREETING, Turns::BEFORE), (16, 255));
    let mut turns = Turns::new(64);
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push((turns.number(), turns.mark(), turns.position()));
        turns.pass();
    }
    // The last byte is in no position: each side has bytes of its own.
    assert_eq!(seen, [(0, 0, 0), (1, 1, 0), (2, 2, 63), (3, 3, 63)]);
    assert_eq!(turns.content(), 63);
    assert_eq!(Turns::new(1).content(), 0);
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn no_mark_is_that_of_the_write_before(size in 1u32.., count in 1usize..600) {
        let mut turns = Turns::new(size);
        // That of the peer's last write is what the target holds.
        let mut before = [Turns::BEFORE; 2];
        for _ in 0..count {
            let side = turns.number() as usize % 2;
            prop_assert_ne!(turns.mark(), before[side]);
            prop_assert!(turns.content() < size);
            before[side] = turns.mark();
            turns.pass();
        }
    }
}
