// SPDX-License-Identifier: GPL-2.0

use super::{
    cases,
    sentences::TESTS, //
};
use crate::logic::{
    command::{
        Load,
        Test, //
    },
    measure::window::Window, //
};
use proptest::prelude::*;

#[test]
fn tests_and_what_they_are() {
    let of = |is: fn(&Test) -> bool| -> Vec<&str> {
        TESTS
            .iter()
            .filter(|test| is(test))
            .map(|test| test.as_str())
            .collect()
    };
    for name in ["wlat", "rlat", "slat"] {
        assert!(of(|t| t.is_latency()).contains(&name));
    }
    for name in ["bw", "rbw", "sbw"] {
        assert!(of(|t| t.is_bandwidth()).contains(&name));
    }
    assert_eq!(
        of(|t| !t.is_microbench()),
        ["pingpong", "fastreg", "rwread", "rwwrite"]
    );
    assert!(TESTS.iter().all(|test| !test.is_block()));
    for (test, name) in [(Test::Block, "blk"), (Test::Tap, "tap")] {
        assert!(test.is_block() && !test.is_microbench());
        assert_eq!(test.as_str(), name);
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn with_its_depth_every_wait_for_room_ends(
        postlist in 1u16..40,
        signal_every in 1u16..40,
        lists in 0u16..40,
    ) {
        let load = Load { postlist, signal_every, ..Load::new(TESTS[0]) };
        let window = |depth| {
            let mut window = Window::new(depth, postlist.into(), signal_every.into(), None);
            for _ in 0..lists {
                while window.room() == 0 {
                    if window.completed() == 0 {
                        return false;
                    }
                }
                window.post(window.room());
            }
            true
        };
        prop_assert!(window(load.depth()));
        prop_assert!(lists == 0 || !window(u32::from(postlist) - 1));
    }
}
