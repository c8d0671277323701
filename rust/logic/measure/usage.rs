// SPDX-License-Identifier: GPL-2.0

//! CPU time and context switches of a run, as its kernel accounts for them.

use crate::logic::text::json::Object;
use core::fmt;

/// Use of the CPUs by a thread between two moments, and by the host's softirqs meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Time between the moments, in nanoseconds.
    pub(crate) wall_ns: u64,
    /// The thread's time on a CPU, in nanoseconds.
    pub(crate) cpu_ns: u64,
    /// Context switches because the thread slept.
    pub(crate) voluntary_switches: u64,
    /// Context switches because another task was to run.
    pub(crate) involuntary_switches: u64,
    /// Time of all CPUs in softirqs, in nanoseconds.
    pub(crate) softirq_ns: u64,
    /// Steps in which that grows, in nanoseconds.
    pub(crate) softirq_step_ns: u32,
    /// CPUs that are online.
    pub(crate) cpus: u32,
}

impl Usage {
    /// Writes it as member `usage` of `object`.
    pub(crate) fn write(&self, object: &mut Object<'_>) -> fmt::Result {
        let mut usage = object.object("usage")?;
        usage
            .num("wall_ns", self.wall_ns)?
            .num("cpu_ns", self.cpu_ns)?
            .num("voluntary_switches", self.voluntary_switches)?
            .num("involuntary_switches", self.involuntary_switches)?
            .num("softirq_ns", self.softirq_ns)?
            .num("softirq_step_ns", self.softirq_step_ns)?
            .num("cpus", self.cpus)?;
        usage.finish()
    }
}
