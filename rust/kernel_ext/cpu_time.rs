// SPDX-License-Identifier: GPL-2.0

//! The kernel's accounts of time: of the calling task, and of softirqs on all CPUs.
//!
//! C headers: `include/linux/sched.h`, `include/linux/kernel_stat.h`

use crate::bindings;
use kernel::{
    cpu::nr_cpu_ids,
    task::Task, //
};

/// Account of a task, from its beginning on.
#[derive(Clone, Copy)]
pub(crate) struct TaskAccount {
    /// Time on a CPU in nanoseconds, as in `/proc/PID/schedstat`. The scheduler adds to it when
    /// the task leaves the CPU, and at each tick.
    pub(crate) runtime_ns: u64,
    /// Context switches because the task slept.
    pub(crate) voluntary: u64,
    /// Context switches because another task was to run.
    pub(crate) involuntary: u64,
}

impl TaskAccount {
    /// Returns that of the calling task. Process context.
    pub(crate) fn current() -> Self {
        let task = Task::current_raw();
        // SAFETY: The calling task is alive. These numbers change when it is switched, by the
        // scheduler on its behalf, and at ticks; each is one aligned word.
        unsafe {
            Self {
                runtime_ns: (&raw const (*task).se.sum_exec_runtime).read_volatile(),
                voluntary: (&raw const (*task).nvcsw).read_volatile() as u64,
                involuntary: (&raw const (*task).nivcsw).read_volatile() as u64,
            }
        }
    }
}

/// Returns the time that all CPUs have spent in softirqs, in nanoseconds, as in `/proc/stat`. Any
/// context.
pub(crate) fn softirq_ns() -> u64 {
    (0..nr_cpu_ids()).fold(0, |sum: u64, cpu| {
        // SAFETY: Reads a number of a CPU's, and 0 for one that is not possible.
        sum.wrapping_add(unsafe { bindings::rust_helper_softirq_ns(cpu) })
    })
}

/// Returns the steps in which [`softirq_ns`] grows, in nanoseconds: 1 where the kernel reads a
/// clock at each interrupt, otherwise the length of a tick, which counts as what it interrupts.
pub(crate) fn softirq_step_ns() -> u32 {
    // SAFETY: Returns a constant of the kernel's configuration.
    unsafe { bindings::rust_helper_softirq_step_ns() }
}

/// Returns the number of CPUs that are online.
pub(crate) fn online_cpus() -> u32 {
    // SAFETY: Reads a counter of the kernel's; no requirements.
    unsafe { bindings::rust_helper_online_cpus() }
}
