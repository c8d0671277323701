// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::measure::stats::{
    BlockFigures,
    Counters, //
};
use proptest::prelude::*;

fn counters(n: [u64; 8]) -> Counters {
    Counters {
        send_bytes: n[0],
        send_msgs: n[1],
        recv_bytes: n[2],
        recv_msgs: n[3],
        write_bytes: n[4],
        write_msgs: n[5],
        read_bytes: n[6],
        read_msgs: n[7],
        ..Counters::default()
    }
}

#[test]
fn what_was_validated_is_added_up_and_not_shown() {
    let one = Counters {
        validated_bytes: 128,
        validated_msgs: 2,
        ..Counters::default()
    };
    let sum = one + one;
    assert_eq!((sum.validated_bytes, sum.validated_msgs), (256, 4));
    assert_eq!(sum - one, one);
    assert_eq!(one.to_string(), Counters::default().to_string());
}

#[test]
fn shown_in_the_order_of_c_krping() {
    let shown = counters([1, 2, 3, 4, 5, 6, 7, u64::MAX]).to_string();
    assert_eq!(shown, "1 2 3 4 5 6 7 18446744073709551615");
    assert_eq!(Counters::default().to_string(), "0 0 0 0 0 0 0 0");
}

fn figures(n: [u64; 9]) -> BlockFigures {
    BlockFigures {
        disk: None,
        size: 0,
        requests: n[0],
        reads: n[1],
        writes: n[2],
        others: n[3],
        read_bytes: n[4],
        write_bytes: n[5],
        errors: n[6],
        reconnects: n[7],
        dropped: n[8],
    }
}

#[test]
fn figures_of_one_disk_are_added() {
    let of = |disk, size| BlockFigures {
        disk,
        size,
        ..figures([1; 9])
    };
    for (one, other, sum) in [
        ((None, 0), (None, 0), (None, 0)),
        ((Some(0), 5), (None, 0), (Some(0), 5)),
        ((None, 0), (Some(7), 5), (Some(7), 5)),
        ((Some(1), 6), (Some(2), 5), (Some(1), 6)),
    ] {
        let added = of(one.0, one.1) + of(other.0, other.1);
        assert_eq!((added.disk, added.size), sum);
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn each_figure_is_added_to_its_like(a: [u64; 9], b: [u64; 9]) {
        let sum = figures(std::array::from_fn(|i| a[i].wrapping_add(b[i])));
        prop_assert_eq!(figures(a) + figures(b), sum);
    }

    #[test]
    fn each_counter_is_added_to_its_like(a: [u64; 8], b: [u64; 8]) {
        let sum = counters(std::array::from_fn(|i| a[i].wrapping_add(b[i])));
        prop_assert_eq!(counters(a) + counters(b), sum);
        let mut assigned = counters(a);
        assigned += counters(b);
        prop_assert_eq!(assigned, sum);
        prop_assert_eq!(sum - counters(a), counters(b));
    }
}
