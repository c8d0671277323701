// SPDX-License-Identifier: GPL-2.0

//! The search for the most that a device makes, and what is said of it.

use super::cases;
use crate::logic::{
    device::preflight::{
        Attempt,
        Item,
        Preflight, //
    },
    text::json::Object, //
};
use core::convert::Infallible;
use proptest::prelude::*;
use serde_json::{
    json,
    Value, //
};

/// What a device makes that takes `limit` at most, and says `errno` beyond it; and how often it
/// was asked.
fn search(asked: u32, limit: u32, errno: i32) -> (Attempt, u32) {
    let mut calls = 0;
    let attempt = Attempt::most::<Infallible>(asked, |number| {
        calls += 1;
        Ok(if number <= limit { 0 } else { errno })
    });
    let Ok(attempt) = attempt;
    (attempt, calls)
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn the_most_is_found(asked: u32, limit: u32, errno in 1i32..130) {
        let (attempt, calls) = search(asked, limit, errno);
        prop_assert_eq!((attempt.asked, attempt.made), (asked, asked.min(limit)));
        prop_assert_eq!(attempt.errno, if limit < asked { errno } else { 0 });
        prop_assert!(calls <= 33, "{} calls", calls);
    }
}

#[test]
fn what_is_there_at_once_is_asked_for_once() {
    for (asked, limit, made, most_calls) in [
        (64, 64, 64, 1),
        (1, 1, 1, 1),
        (1, 0, 0, 1),
        (0, 0, 0, 0),
        (0, 7, 0, 0),
        (4096, 512, 512, 13),
        (u32::MAX, 0, 0, 32),
    ] {
        let (attempt, calls) = search(asked, limit, 22);
        assert_eq!(
            (attempt.made, calls),
            (made, most_calls),
            "{asked} of {limit}"
        );
    }
}

#[test]
fn a_search_can_be_ended() {
    let mut calls = 0;
    let ended = Attempt::most(1000, |_| {
        calls += 1;
        if calls < 3 {
            Ok(12)
        } else {
            Err("interrupted")
        }
    });
    assert_eq!((ended, calls), (Err("interrupted"), 3));
}

#[test]
fn each_item_says_what_became_of_it() {
    let mut preflight = Preflight::default();
    preflight.note(Item::ProtectionDomain, Attempt::of(1, 0));
    preflight.note(Item::Requests, Attempt::of(66, 12));
    preflight.note(Item::MostInline, search(4096, 512, 22).0);
    // What has been tried later is no reason to be said first.
    preflight.note(Item::Completions, Attempt::of(70, 0));
    let mut text = String::new();
    let mut object = Object::new(&mut text).unwrap();
    preflight.write(&mut object).unwrap();
    object.finish().unwrap();
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        found["preflight"],
        json!([
            {"item": "pd", "status": "ok", "asked": 1, "made": 1},
            {"item": "cq_entries", "status": "ok", "asked": 70, "made": 70},
            {"item": "send_requests", "status": "failed", "asked": 66, "made": 0,
             "errno": "ENOMEM", "errno_number": 12},
            {"item": "most_inline_bytes", "status": "less", "asked": 4096, "made": 512,
             "errno": "EINVAL", "errno_number": 22},
        ])
    );
    assert_eq!(
        preflight.to_string(),
        "pd=1 cq_entries=70 send_requests=0 (ENOMEM for 66) most_inline_bytes=512 (EINVAL for 4096)"
    );
    assert_eq!(preflight.made(Item::MostInline), 512);
    assert_eq!(preflight.made(Item::MostDepth), 0);
}

#[test]
fn a_failure_says_what_was_being_done() {
    for (item, what) in [
        (Item::ProtectionDomain, "allocating a protection domain"),
        (Item::Completions, "allocating a completion queue"),
        (Item::Requests, "creating a queue pair"),
        (Item::Region, "allocating and mapping a region"),
    ] {
        assert_eq!(item.what(), what);
    }
}
