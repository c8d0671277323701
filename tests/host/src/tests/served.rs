// SPDX-License-Identifier: GPL-2.0

use crate::logic::{
    measure::served::{
        credible,
        Served, //
    },
    text::json::Object, //
};
use serde_json::{
    json,
    Value, //
};

fn written(served: &Served) -> Value {
    let mut out = String::new();
    let mut object = Object::new(&mut out).unwrap();
    served.write(&mut object).unwrap();
    object.finish().unwrap();
    serde_json::from_str(&out).unwrap()
}

#[test]
fn connections_are_summed_up() {
    let mut served = Served::default();
    served.add(false, 100, 6400, 1_000_000_000);
    served.add(false, 300, 19200, 1_000_000_000);
    // One that failed, and one that did nothing, have no rate.
    served.add(true, 5, 320, 1);
    served.add(false, 0, 0, 0);
    assert_eq!(
        written(&served),
        json!({"served": {
            "connections": 4, "failed": 1, "operations": 405, "bytes": 405 * 64, "measured": 2,
            "slowest_per_s": 100, "fastest_per_s": 300,
        }})
    );
}

#[test]
fn what_peers_claim_does_not_wrap() {
    let mut served = Served::default();
    for _ in 0..2 {
        served.add(false, u64::MAX, u64::MAX, 1);
    }
    let found = written(&served);
    assert_eq!(found["served"]["operations"], json!(u64::MAX));
    assert_eq!(found["served"]["bytes"], json!(u64::MAX));
}

#[test]
fn what_no_link_carries_does_not_count() {
    const SECOND: u64 = 1_000_000_000;
    for (said, size) in [
        ((u64::MAX, 1), u32::MAX.into()),
        ((u64::MAX, u64::MAX), 1),
        ((u64::MAX, 0), 1),
        // More than one a nanosecond, and more than 128 bytes in one.
        ((SECOND + 1, SECOND), 1),
        ((SECOND, SECOND), 129),
        ((1, 1), 129),
        // For longer than the client was there.
        ((1, SECOND + 1), 64),
    ] {
        let bytes = said.0.saturating_mul(size);
        assert_eq!(
            credible(said, bytes, SECOND),
            ((0, 0), 0),
            "{said:?} of {size}"
        );
    }
    for (said, size) in [
        ((0, 0), 64),
        ((1, 0), 64),
        ((SECOND, SECOND), 128),
        ((SECOND / 32, SECOND), 4096),
        ((1, 500), 64_000),
    ] {
        let bytes = said.0 * size;
        assert_eq!(
            credible(said, bytes, SECOND),
            (said, bytes),
            "{said:?} of {size}"
        );
    }
}
