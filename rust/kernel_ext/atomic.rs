// SPDX-License-Identifier: GPL-2.0

//! What the kernel crate's atomics lack.

#![forbid(unsafe_code)]

use kernel::sync::atomic::{
    Atomic,
    Relaxed, //
};

/// Sets `value` to `to`, unless it is that much or more already. Any context.
pub(crate) fn raise(value: &Atomic<u64>, to: u64) {
    let mut seen = value.load(Relaxed);
    while seen < to {
        match value.cmpxchg(seen, to, Relaxed) {
            Ok(_) => return,
            Err(other) => seen = other,
        }
    }
}
