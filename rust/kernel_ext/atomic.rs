// SPDX-License-Identifier: GPL-2.0

//! Atomic operations that the kernel crate does not have.

#![forbid(unsafe_code)]

use kernel::sync::atomic::{
    Atomic,
    Relaxed, //
};

/// Raises `value` to `to`, unless it is at least that already. Any context.
pub(crate) fn raise(value: &Atomic<u64>, to: u64) {
    let mut seen = value.load(Relaxed);
    while seen < to {
        match value.cmpxchg(seen, to, Relaxed) {
            Ok(_) => return,
            Err(other) => seen = other,
        }
    }
}
