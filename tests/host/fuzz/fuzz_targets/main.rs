// SPDX-License-Identifier: GPL-2.0

//! All fuzz targets as one program, so that what they fuzz is compiled once. `KRPING_FUZZ` names
//! the one to run.

#![no_main]
#![allow(dead_code)]

#[path = "../../../../rust/logic/mod.rs"]
mod logic;

#[path = "mod.rs"]
mod targets;

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// The target to run.
static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("KRPING_FUZZ").expect("KRPING_FUZZ names a target");
    let found = targets::TARGETS.iter().find(|(known, _)| *known == name);
    found
        .unwrap_or_else(|| panic!("KRPING_FUZZ={name}: there is no such target"))
        .1
});

fuzz_target!(|bytes: &[u8]| TARGET(bytes));
