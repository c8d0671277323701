// SPDX-License-Identifier: GPL-2.0

//! Deadlines, in jiffies: a clock that costs one load to read.

use crate::bindings;
use kernel::time::msecs_to_jiffies;

/// The longest that one sleep lasts; whoever waits longer sleeps again.
const LONGEST: usize = (isize::MAX >> 1) as usize;

/// A point in time after which a wait is given up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Option<usize>);

/// The current count of jiffies, which wraps around.
pub(crate) fn jiffies() -> usize {
    // SAFETY: Reads a global counter; no requirements.
    unsafe { bindings::krping_jiffies() }
}

/// The monotonic clock, in nanoseconds. Any context.
pub(crate) fn monotonic_ns() -> u64 {
    // SAFETY: Reads a clock; no requirements.
    u64::try_from(unsafe { bindings::ktime_get() }).unwrap_or(0)
}

/// The monotonic clock, in milliseconds. Any context.
pub(crate) fn monotonic_ms() -> u64 {
    monotonic_ns() / 1_000_000
}

impl Deadline {
    /// A deadline `ms` milliseconds from now.
    pub(crate) fn after_ms(ms: u32) -> Self {
        Self::since(jiffies(), ms)
    }

    /// [`after_ms`](Self::after_ms), or none.
    pub(crate) fn after(ms: Option<u32>) -> Self {
        ms.map_or(Self::never(), Self::after_ms)
    }

    /// The one of two that comes first.
    pub(crate) fn sooner(self, other: Self) -> Self {
        if other.remaining() < self.remaining() {
            other
        } else {
            self
        }
    }

    /// A deadline `ms` milliseconds after `start`, a value of [`jiffies`].
    pub(crate) fn since(start: usize, ms: u32) -> Self {
        Self(Some(start.wrapping_add(msecs_to_jiffies(ms))))
    }

    /// No deadline: for a wait that a person ends.
    pub(crate) const fn never() -> Self {
        Self(None)
    }

    /// Whether the deadline has passed.
    pub(crate) fn passed(self) -> bool {
        self.remaining() == 0
    }

    /// The jiffies left until the deadline; 0 where it has passed.
    pub(crate) fn remaining(self) -> usize {
        match self.0 {
            None => LONGEST,
            Some(end) => {
                let left = end.wrapping_sub(jiffies());
                // A difference past the middle of the range is a negative one.
                if left > LONGEST {
                    0
                } else {
                    left
                }
            }
        }
    }
}

/// Whether other threads wait for the CPU that the calling one runs on.
pub(crate) fn others_wait() -> bool {
    // SAFETY: Reads a counter of this CPU's; no requirements.
    !unsafe { bindings::krping_single_task_running() }
}

/// Gives up the CPU to any other thread that wants it, for loops that find
/// nothing to do. Process context, without any spinlock held.
pub(crate) fn give_way() {
    // SAFETY: The task is running and stays so; as for `relax`.
    unsafe { bindings::schedule() }
}

/// Lets other threads run where they must, for loops that spin. Process context, without any
/// spinlock held.
pub(crate) fn relax() {
    // SAFETY: May be called at any time; where it must not be, the kernel says
    // so ("sleeping function called from invalid context") and does nothing else.
    unsafe { bindings::krping_cond_resched() }
}
