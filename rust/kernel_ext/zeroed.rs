// SPDX-License-Identifier: GPL-2.0

//! Large values that begin as zeroes, made in place.

use crate::logic::measure::histogram::Histogram;
use kernel::prelude::*;
use pin_init::Zeroable;

// SAFETY: A histogram is made of integers only, and all zeroes is its documented
// empty value.
unsafe impl Zeroable for Histogram {}

/// Allocates a zeroed `T` without a copy of it on the stack. May sleep.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn zeroed_box<T: Zeroable>() -> Result<KBox<T>> {
    KBox::init(pin_init::init_zeroed(), GFP_KERNEL)
}
