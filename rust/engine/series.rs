// SPDX-License-Identifier: GPL-2.0

//! The series of a thread, which all of its connections record.
//!
//! The lock is a leaf: it may be taken with any other lock held, and no lock is taken under it.

#![forbid(unsafe_code)]

use super::histogram;
use crate::{
    kernel_ext::{
        spinlock::SpinLockIrq,
        time::unix_ns, //
    },
    logic::measure::series::{
        Series,
        WORST, //
    }, //
};
use kernel::{
    prelude::*,
    static_lock_class,
    sync::Arc, //
};

/// Series of one thread.
#[pin_data]
pub(crate) struct ThreadSeries {
    interval_ns: u64,
    /// Bytes of each operation, where all have the same.
    size: u32,
    /// The series; `None` once it is taken.
    #[pin]
    series: SpinLockIrq<Option<KVBox<Series>>>,
}

impl ThreadSeries {
    /// Creates a series of intervals of `interval_ms`, which has not begun, of operations of `size`
    /// bytes. May sleep.
    pub(crate) fn new(interval_ms: u32, size: u32) -> Result<Arc<Self>> {
        let series = KVBox::init(
            init!(Series {
                interval_ns: 0,
                began_ns: 0,
                unix_ns: 0,
                ended_ns: 0,
                open: 0,
                operations: 0,
                bytes: 0,
                timed: 0,
                latencies <- histogram::empty(),
                kept <- pin_init::init_zeroed(),
                worst: [[0; 2]; WORST],
                fewest: [0; 2],
                highest: [0; 2],
            }),
            GFP_KERNEL,
        )?;
        Arc::pin_init(
            pin_init!(Self {
                interval_ns: u64::from(interval_ms) * 1_000_000,
                size,
                series <- SpinLockIrq::new(
                    Some(series),
                    c"krping_series",
                    static_lock_class!(),
                ),
            }),
            GFP_KERNEL,
        )
    }

    /// Begins the series at `now`, as [`monotonic_ns`] has it. Does nothing if another connection
    /// of the thread has begun it. Any context.
    ///
    /// [`monotonic_ns`]: crate::kernel_ext::time::monotonic_ns
    pub(crate) fn begin(&self, now: u64) {
        match &mut *self.series.lock() {
            Some(series) if !series.has_begun() => series.begin(now, unix_ns(), self.interval_ns),
            Some(_) | None => (),
        }
    }

    /// Counts `operations` that ended at `now`, each after `latency` nanoseconds if that was
    /// measured. Any context.
    pub(crate) fn record(&self, now: u64, operations: u64, latency: Option<u64>) {
        let bytes = operations.saturating_mul(self.size.into());
        self.record_bytes(now, operations, bytes, latency);
    }

    /// Counts the same of operations that have so many `bytes` together. Any context.
    pub(crate) fn record_bytes(&self, now: u64, operations: u64, bytes: u64, latency: Option<u64>) {
        if let Some(series) = &mut *self.series.lock() {
            series.record(now, operations, bytes, latency);
        }
    }

    /// Takes the series, if it has begun. Nothing is counted from then on. Process context; may
    /// sleep.
    pub(crate) fn take(&self) -> Option<KVBox<Series>> {
        // One that has not begun is freed without the lock.
        let series = self.series.lock().take();
        series.filter(|series| series.has_begun())
    }
}
