// SPDX-License-Identifier: GPL-2.0

//! Traffic counters of a connection, updated while it runs and readable by anybody.

#![forbid(unsafe_code)]

use super::series::ThreadSeries;
use crate::{
    kernel_ext::time::monotonic_ns,
    logic::{
        failure::Operation,
        measure::stats::Counters, //
    }, //
};
use kernel::sync::{
    atomic::{
        Atomic,
        Relaxed, //
    },
    Arc, //
};

/// Traffic counters of one connection. One writer at a time, any number of readers.
#[derive(Default)]
pub(crate) struct Traffic {
    send: Direction,
    receive: Direction,
    write: Direction,
    read: Direction,
    /// Messages whose data was compared with what was sent, and was that.
    validated: Direction,
    /// The series of the connection's thread, if it has one.
    series: Option<Arc<ThreadSeries>>,
}

struct Direction {
    bytes: Atomic<u64>,
    messages: Atomic<u64>,
}

impl Default for Direction {
    fn default() -> Self {
        Self {
            bytes: Atomic::new(0),
            messages: Atomic::new(0),
        }
    }
}

impl Direction {
    fn add(&self, count: u32, bytes: u64) {
        // The queue pair's lock makes its holder the only writer, so no
        // read-modify-write is needed.
        let sum = self.bytes.load(Relaxed);
        self.bytes.store(sum.wrapping_add(bytes), Relaxed);
        let sum = self.messages.load(Relaxed);
        self.messages.store(sum.wrapping_add(count.into()), Relaxed);
    }
}

impl Traffic {
    /// Creates counters of a connection whose operations `series` records.
    pub(crate) fn new(series: Option<Arc<ThreadSeries>>) -> Self {
        Self {
            series,
            ..Self::default()
        }
    }

    /// Notes that the connection's operations are measured from `now` on. Any context.
    pub(crate) fn measuring(&self, now: u64) {
        if let Some(series) = &self.series {
            series.begin(now);
        }
    }

    /// Notes that `operations` that are measured ended at `now`, each after `latency` nanoseconds
    /// if that is known. Any context.
    pub(crate) fn ended(&self, now: u64, operations: u64, latency: Option<u64>) {
        if let Some(series) = &self.series {
            series.record(now, operations, latency);
        }
    }

    /// Notes the same of operations that have so many `bytes` together. Any context.
    pub(crate) fn ended_bytes(
        &self,
        now: u64,
        (operations, bytes): (u64, u64),
        latency: Option<u64>,
    ) {
        if let Some(series) = &self.series {
            series.record_bytes(now, operations, bytes, latency);
        }
    }

    /// Notes that `operations` ended now. The clock is read only where there is a series. Any
    /// context.
    pub(crate) fn ended_now(&self, operations: u64) {
        if let Some(series) = &self.series {
            series.record(monotonic_ns(), operations, None);
        }
    }

    /// Notes that a request of `bytes` ended at `now`, after `latency` nanoseconds. Any context.
    pub(crate) fn ended_request(&self, now: u64, bytes: u32, latency: u64) {
        self.ended_bytes(now, (1, bytes.into()), Some(latency));
    }

    /// Counts a SEND that has been posted. Any context.
    pub(crate) fn sent(&self, bytes: u32) {
        self.send.add(1, bytes.into());
    }

    /// Counts a message that has arrived. Any context.
    pub(crate) fn received(&self, bytes: u32) {
        self.receive.add(1, bytes.into());
    }

    /// Counts an RDMA WRITE that has been posted. Any context.
    pub(crate) fn written(&self, bytes: u32) {
        self.write.add(1, bytes.into());
    }

    /// Counts an RDMA READ that has completed. Any context.
    pub(crate) fn read(&self, bytes: u32) {
        self.read.add(1, bytes.into());
    }

    /// Counts `count` operations of `bytes` together: SENDs and WRITEs that have been
    /// posted, READs that have completed. Any context.
    pub(crate) fn moved(&self, operation: Operation, count: u32, bytes: u64) {
        match operation {
            Operation::Send => self.send.add(count, bytes),
            Operation::Write => self.write.add(count, bytes),
            // An atomic operation brings a value back.
            Operation::Read | Operation::Atomic => self.read.add(count, bytes),
            Operation::Register
            | Operation::Invalidate
            | Operation::Receive
            | Operation::Control => {}
        }
    }

    /// Counts a message whose `bytes` of data have been compared with what was sent, and are that.
    /// Any context.
    pub(crate) fn validated(&self, bytes: u32) {
        self.validated.add(1, bytes.into());
    }

    /// Returns the current values of the counters.
    pub(crate) fn snapshot(&self) -> Counters {
        Counters {
            send_bytes: self.send.bytes.load(Relaxed),
            send_msgs: self.send.messages.load(Relaxed),
            recv_bytes: self.receive.bytes.load(Relaxed),
            recv_msgs: self.receive.messages.load(Relaxed),
            write_bytes: self.write.bytes.load(Relaxed),
            write_msgs: self.write.messages.load(Relaxed),
            read_bytes: self.read.bytes.load(Relaxed),
            read_msgs: self.read.messages.load(Relaxed),
            validated_bytes: self.validated.bytes.load(Relaxed),
            validated_msgs: self.validated.messages.load(Relaxed),
        }
    }
}
