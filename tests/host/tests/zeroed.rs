// SPDX-License-Identifier: GPL-2.0

//! The kernel allocates histograms zeroed: that must be an empty one. A file of
//! its own, because making such a one takes what the others forbid.

#![allow(dead_code)]

#[path = "../../../rust/logic/mod.rs"]
mod logic;

use logic::measure::histogram::Histogram;

#[test]
fn zero_bytes_are_an_empty_histogram() {
    // SAFETY: it consists of integers and arrays of them, for which zeros are
    // valid.
    let zeroed: Box<Histogram> = unsafe { Box::new(core::mem::zeroed()) };
    assert!(*zeroed == Histogram::new());
}
