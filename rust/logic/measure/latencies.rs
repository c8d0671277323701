// SPDX-License-Identifier: GPL-2.0

//! Latencies in results.

use super::histogram::Histogram;
use crate::logic::text::json::Object;
use core::fmt;

/// Writes the latencies of a stage, in nanoseconds, as member `name` of `object`.
pub(crate) fn write_stage(
    object: &mut Object<'_>,
    name: &str,
    histogram: &Histogram,
) -> fmt::Result {
    let mut stage = object.object(name)?;
    stage
        .num("count", histogram.count())?
        .num("min", histogram.min())?
        .num("mean", histogram.mean())?
        .num("p50", histogram.percentile(50_000))?
        .num("p90", histogram.percentile(90_000))?
        .num("p99", histogram.percentile(99_000))?
        .num("p99_9", histogram.percentile(99_900))?
        .num("max", histogram.max())?;
    stage.finish()
}

/// Writes the latencies of a run as members of `object`, with all that were counted.
pub(crate) fn write_latency(object: &mut Object<'_>, histogram: &Histogram) -> fmt::Result {
    object
        .num("min_ns", histogram.min())?
        .num("mean_ns", histogram.mean())?
        .num("stddev_ns", histogram.stddev())?
        .num("p50_ns", histogram.percentile(50_000))?
        .num("p90_ns", histogram.percentile(90_000))?
        .num("p99_ns", histogram.percentile(99_000))?
        .num("p99_9_ns", histogram.percentile(99_900))?
        .num("p99_99_ns", histogram.percentile(99_990))?
        .num("max_ns", histogram.max())?;
    let mut buckets = object.array("histogram_ns")?;
    for bucket in histogram.buckets() {
        let mut entry = buckets.array()?;
        entry.num(bucket.low)?.num(bucket.high)?.num(bucket.count)?;
        entry.finish()?;
    }
    buckets.finish()
}
