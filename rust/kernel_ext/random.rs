// SPDX-License-Identifier: GPL-2.0

//! Random numbers.
//!
//! C header: `include/linux/random.h`

use crate::bindings;

/// Returns an unpredictable number. Any context.
pub(crate) fn random() -> u64 {
    // SAFETY: May be called at any time.
    unsafe { bindings::get_random_u64() }
}
