// SPDX-License-Identifier: GPL-2.0

//! Measures what a run uses of the CPUs: `usage` of results.

#![forbid(unsafe_code)]

use crate::{
    kernel_ext::{
        cpu_time::{
            online_cpus,
            softirq_ns,
            softirq_step_ns,
            TaskAccount, //
        },
        time::monotonic_ns, //
    },
    logic::measure::usage::Usage, //
};

/// Calls `run` in this thread, and stores what that has used in `usage`. Process context.
pub(crate) fn metered<R>(usage: &mut Option<Usage>, run: impl FnOnce() -> R) -> R {
    let meter = UsageMeter::begin();
    let result = run();
    *usage = Some(meter.used());
    result
}

/// The accounts of the calling thread and of the host when a run began.
struct UsageMeter {
    began_ns: u64,
    task: TaskAccount,
    softirq_ns: u64,
}

impl UsageMeter {
    /// Begins to measure the calling thread.
    #[inline(never)]
    fn begin() -> Self {
        Self {
            began_ns: monotonic_ns(),
            task: TaskAccount::current(),
            softirq_ns: softirq_ns(),
        }
    }

    /// Returns what has been used since. In the thread that has begun.
    #[inline(never)]
    fn used(&self) -> Usage {
        let task = TaskAccount::current();
        Usage {
            wall_ns: monotonic_ns().saturating_sub(self.began_ns),
            cpu_ns: task.runtime_ns.saturating_sub(self.task.runtime_ns),
            voluntary_switches: task.voluntary.wrapping_sub(self.task.voluntary),
            involuntary_switches: task.involuntary.wrapping_sub(self.task.involuntary),
            softirq_ns: softirq_ns().saturating_sub(self.softirq_ns),
            softirq_step_ns: softirq_step_ns(),
            cpus: online_cpus(),
        }
    }
}
