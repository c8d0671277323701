// SPDX-License-Identifier: GPL-2.0

//! Allocates histograms, which are too large for a stack.

use crate::logic::measure::histogram::Histogram;
use kernel::prelude::*;

/// Makes an empty histogram in its place.
pub(super) fn empty() -> impl Init<Histogram> {
    init!(Histogram {
        sum_of_squares: 0,
        sum: 0,
        count: 0,
        max: 0,
        min_complement: 0,
        buckets <- pin_init::init_zeroed(),
    })
}

/// Allocates an empty histogram, without a copy of it on the stack. May sleep.
pub(crate) fn new_histogram() -> Result<KBox<Histogram>> {
    KBox::init(empty(), GFP_KERNEL)
}
