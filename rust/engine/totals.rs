// SPDX-License-Identifier: GPL-2.0

//! Totals over all connections of one thread.

#![forbid(unsafe_code)]

use super::side::{
    elapsed_ns,
    Figures,
    Summary, //
};
use crate::{
    engine::histogram::{
        new_histogram,
        new_open_loop_figures, //
    },
    logic::{
        measure::{
            histogram::Histogram,
            pace::Pace,
            schedule::OpenLoopFigures, //
        },
        stream::figures::StreamFigures, //
    }, //
};
use kernel::prelude::*;

/// Sum of the results of several connections.
pub(crate) struct Totals {
    /// Finished iterations.
    pub(crate) iterations: u64,
    /// Figures of a microbenchmark.
    pub(crate) figures: Option<Figures>,
    /// Figures of streams.
    pub(crate) stream: Option<StreamFigures>,
    /// First start and last end, in nanoseconds.
    times: Option<(u64, u64)>,
    pace: Pace,
    histogram: KBox<Histogram>,
    /// Figures of operations that have moments at which they are due.
    open_loop: Option<KBox<OpenLoopFigures>>,
}

impl Totals {
    /// Creates empty totals, with figures of an open loop if it is `paced`. May sleep.
    pub(crate) fn new(paced: bool) -> Result<Self> {
        Ok(Self {
            iterations: 0,
            figures: None,
            stream: None,
            times: None,
            pace: Pace::default(),
            histogram: new_histogram()?,
            open_loop: paced.then(new_open_loop_figures).transpose()?,
        })
    }

    /// Adds the result of one connection.
    pub(crate) fn add(&mut self, summary: &Summary<'_>) {
        self.iterations = self.iterations.saturating_add(summary.iterations);
        if let Some(figures) = &summary.figures {
            self.figures = Some(match &self.figures {
                Some(sum) => sum.and(figures),
                None => *figures,
            });
        }
        if let Some(stream) = &summary.stream {
            self.stream = Some(self.stream.unwrap_or_default().and(stream));
        }
        if let Some((started, ended)) = summary.times.filter(|_| summary.iterations > 0) {
            let (first, last) = self.times.unwrap_or((started, ended));
            self.times = Some((first.min(started), last.max(ended)));
            if let Some((began, halves)) = summary.stretch {
                self.pace.add(began, ended, halves);
            }
        }
        if let Some(histogram) = summary.histogram {
            self.histogram.merge(histogram);
        }
        if let Some((sum, open_loop)) = self.open_loop.as_mut().zip(summary.open_loop) {
            sum.merge(open_loop);
        }
    }

    /// Returns the time in nanoseconds that all iterations take at the joint pace of the
    /// connections. Without such a pace, returns the time from the first connection's start to the
    /// last one's end.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.pace
            .time_of(self.iterations)
            .unwrap_or_else(|| self.times.map_or(0, elapsed_ns))
    }

    /// Returns the figures of the open loop of all connections, if it is one.
    pub(crate) fn open_loop(&self) -> Option<&OpenLoopFigures> {
        self.open_loop.as_deref()
    }

    /// Returns the latencies of all connections; empty if none were measured.
    pub(crate) fn histogram(&self) -> &Histogram {
        &self.histogram
    }
}
