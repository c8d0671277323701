// SPDX-License-Identifier: GPL-2.0

//! Deadlines, in jiffies: a clock that costs one load to read.

use crate::bindings;
use kernel::time::msecs_to_jiffies;

/// Longest time of one sleep, in jiffies; longer waits sleep again.
const LONGEST: usize = (isize::MAX >> 1) as usize;

/// Point in time at which a wait times out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Option<usize>);

/// Returns the current count of jiffies, which wraps around.
pub(crate) fn jiffies() -> usize {
    // SAFETY: Reads a global counter; no requirements.
    unsafe { bindings::rust_helper_jiffies() }
}

/// Returns the monotonic clock in nanoseconds. Any context.
pub(crate) fn monotonic_ns() -> u64 {
    // SAFETY: Reads a clock; no requirements.
    u64::try_from(unsafe { bindings::ktime_get() }).unwrap_or(0)
}

/// Returns the time of day in nanoseconds since 1970. Any context.
pub(crate) fn unix_ns() -> u64 {
    // SAFETY: Reads a clock; no requirements.
    u64::try_from(unsafe { bindings::ktime_get_real() }).unwrap_or(0)
}

/// Returns the monotonic clock in milliseconds. Any context.
pub(crate) fn monotonic_ms() -> u64 {
    monotonic_ns() / 1_000_000
}

impl Deadline {
    /// Returns a deadline `ms` milliseconds from now.
    pub(crate) fn after_ms(ms: u32) -> Self {
        Self::since(jiffies(), ms)
    }

    /// Returns a deadline like [`after_ms`](Self::after_ms); `None` is never.
    pub(crate) fn after(ms: Option<u32>) -> Self {
        ms.map_or(Self::never(), Self::after_ms)
    }

    /// Returns the earlier of two deadlines.
    pub(crate) fn sooner(self, other: Self) -> Self {
        if other.remaining() < self.remaining() {
            other
        } else {
            self
        }
    }

    /// Returns a deadline `ms` milliseconds after `start`, a value of [`jiffies`].
    pub(crate) fn since(start: usize, ms: u32) -> Self {
        Self(Some(start.wrapping_add(msecs_to_jiffies(ms))))
    }

    /// Returns no deadline: for waits that a person ends.
    pub(crate) const fn never() -> Self {
        Self(None)
    }

    /// Returns true if the deadline has passed.
    pub(crate) fn passed(self) -> bool {
        self.remaining() == 0
    }

    /// Returns the jiffies left until the deadline; 0 if it has passed.
    pub(crate) fn remaining(self) -> usize {
        match self.0 {
            None => LONGEST,
            Some(end) => {
                let left = end.wrapping_sub(jiffies());
                // A difference past the middle of the range is negative.
                if left > LONGEST {
                    0
                } else {
                    left
                }
            }
        }
    }
}

/// Returns true if other threads wait for the CPU of the calling thread.
pub(crate) fn cpu_contended() -> bool {
    // SAFETY: Reads a counter of this CPU's; no requirements.
    !unsafe { bindings::rust_helper_single_task_running() }
}

/// Sleeps for `ns` nanoseconds or a little longer, whatever happens meanwhile, without a part in
/// the load average. Process context, without any spinlock held.
pub(crate) fn nap(ns: u64) {
    // SAFETY: Process context, in which the task may sleep.
    unsafe { bindings::rust_helper_nap(ns) }
}

/// Yields the CPU to any other thread that wants it, for loops that find nothing to do. Process
/// context, without any spinlock held.
pub(crate) fn yield_cpu() {
    // SAFETY: The task is running and stays so; as for `relax`.
    unsafe { bindings::schedule() }
}

/// Lets other threads run if the scheduler requires it, for busy loops. Process context, without
/// any spinlock held.
pub(crate) fn relax() {
    // SAFETY: May be called at any time; where it must not be, the kernel says
    // so ("sleeping function called from invalid context") and does nothing else.
    unsafe { bindings::rust_helper_cond_resched() }
}
