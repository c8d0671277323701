// SPDX-License-Identifier: GPL-2.0

//! Allocates histograms, and what has some, which are too large for a stack.

use crate::logic::measure::{
    histogram::Histogram,
    schedule::OpenLoopFigures, //
};
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

/// Allocates the figures of an open loop that has not begun. May sleep.
pub(crate) fn new_open_loop_figures() -> Result<KBox<OpenLoopFigures>> {
    KBox::init(
        init!(OpenLoopFigures {
            late: 0,
            unposted: 0,
            lateness <- empty(),
        }),
        GFP_KERNEL,
    )
}
