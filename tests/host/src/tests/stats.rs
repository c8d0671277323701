// SPDX-License-Identifier: GPL-2.0

use super::cases;
use crate::logic::stats::Counters;
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
    }
}

#[test]
fn shown_in_the_order_of_c_krping() {
    let shown = counters([1, 2, 3, 4, 5, 6, 7, u64::MAX]).to_string();
    assert_eq!(shown, "1 2 3 4 5 6 7 18446744073709551615");
    assert_eq!(Counters::default().to_string(), "0 0 0 0 0 0 0 0");
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn each_counter_is_added_to_its_like(a: [u64; 8], b: [u64; 8]) {
        let sum = counters(std::array::from_fn(|i| a[i].wrapping_add(b[i])));
        prop_assert_eq!(counters(a) + counters(b), sum);
        let mut assigned = counters(a);
        assigned += counters(b);
        prop_assert_eq!(assigned, sum);
    }
}
