// SPDX-License-Identifier: GPL-2.0

//! What all connections of one thread have done together.

#![forbid(unsafe_code)]

use super::side::{
    Figures,
    Summary, //
};
use crate::{
    engine::histogram::new_histogram,
    logic::measure::{
        histogram::Histogram,
        pace::Pace, //
    }, //
};
use kernel::{
    prelude::*,
    time::{
        Instant,
        Monotonic, //
    }, //
};

/// The sum of summaries.
pub(crate) struct Totals {
    /// Finished iterations.
    pub(crate) iterations: u64,
    /// Of microbenchmarks.
    pub(crate) figures: Option<Figures>,
    /// What times count from.
    epoch: Instant<Monotonic>,
    /// The first beginning and the last end, in nanoseconds.
    times: Option<(i64, i64)>,
    pace: Pace,
    histogram: KBox<Histogram>,
}

impl Totals {
    /// Those of nothing. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            iterations: 0,
            figures: None,
            epoch: Instant::now(),
            times: None,
            pace: Pace::default(),
            histogram: new_histogram()?,
        })
    }

    /// Adds what one connection has done.
    pub(crate) fn add(&mut self, summary: &Summary<'_>) {
        self.iterations = self.iterations.saturating_add(summary.iterations);
        if let Some(figures) = &summary.figures {
            self.figures = Some(match &self.figures {
                Some(sum) => sum.and(figures),
                None => *figures,
            });
        }
        if let Some((started, ended)) = summary.times.filter(|_| summary.iterations > 0) {
            let (started, ended) = (
                (started - self.epoch).as_nanos(),
                (ended - self.epoch).as_nanos(),
            );
            let (first, last) = self.times.unwrap_or((started, ended));
            self.times = Some((first.min(started), last.max(ended)));
            if let Some((began, halves)) = summary.stretch {
                self.pace
                    .add((began - self.epoch).as_nanos(), ended, halves);
            }
        }
        if let Some(histogram) = summary.histogram {
            self.histogram.merge(histogram);
        }
    }

    /// From the first connection's beginning to the last one's end, in nanoseconds.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.pace.time_of(self.iterations).unwrap_or_else(|| {
            self.times.map_or(0, |(started, ended)| {
                u64::try_from(ended.saturating_sub(started)).unwrap_or(0)
            })
        })
    }

    /// The latencies of all; empty where none were measured.
    pub(crate) fn histogram(&self) -> &Histogram {
        &self.histogram
    }
}
