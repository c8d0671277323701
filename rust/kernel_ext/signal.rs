// SPDX-License-Identifier: GPL-2.0

//! Causes of an interrupted sleep, and the tasks that were interrupted.
//!
//! An interruptible sleep ends early for many reasons that are not signals to the program: the task
//! freezer, the freezer of control groups, a debugger, or task work of io_uring or of a live patch.
//! The kernel handles all of these on the way to user space, and then restarts a system call that
//! has returned `ERESTARTSYS`.
//!
//! C header: `include/linux/sched/signal.h`

use crate::bindings;
use kernel::{
    sync::aref::ARef,
    task::Task, //
};

/// Reason why an interruptible sleep of the calling task ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Disturbance {
    /// Nothing that ends a system call: the call may be restarted.
    Passing,
    /// A signal with a handler that ends system calls, or one that ends the program.
    Signal,
    /// The task is being killed.
    Kill,
}

impl Disturbance {
    /// Returns the most severe disturbance that is pending for the calling task. Process context.
    pub(crate) fn pending() -> Self {
        let task = Task::current_raw();
        // SAFETY: A task's own `flags`, `sighand` and `signal` do not change while it runs
        // here. What is pending and how it is handled is read under the lock for it.
        unsafe {
            // Such a task does not return to user space, where a call would be restarted.
            if (*task).flags & (bindings::PF_KTHREAD | bindings::PF_USER_WORKER) != 0 {
                return Self::Signal;
            }
            let sighand = (*task).sighand;
            let lock = &raw mut (*sighand).siglock;
            let flags = bindings::rust_helper_spin_lock_irqsave(lock);
            let own = (*task).pending.signal.sig[0];
            let shared = (*(*task).signal).shared_pending.signal.sig[0];
            let found = (own | shared) & !(*task).blocked.sig[0];
            let mut gravest = Self::Passing;
            for (number, action) in (1..).zip(&(*sighand).action) {
                if found & (1 << (number - 1)) != 0 {
                    gravest = gravest.max(Self::of(number, &action.sa));
                }
            }
            bindings::rust_helper_spin_unlock_irqrestore(lock, flags);
            gravest
        }
    }

    /// Returns the effect of signal `number`, given the task's `action` for it.
    fn of(number: u32, action: &bindings::sigaction) -> Self {
        const DEFAULT: usize = 0;
        const IGNORED: usize = 1;

        match (
            number,
            action
                .sa_handler
                .map_or(DEFAULT, |handler| handler as usize),
        ) {
            (bindings::SIGKILL, _) => Self::Kill,
            (_, IGNORED) => Self::Passing,
            // Ignored, or the task stops and continues later.
            (
                bindings::SIGCHLD
                | bindings::SIGCONT
                | bindings::SIGURG
                | bindings::SIGWINCH
                | bindings::SIGSTOP
                | bindings::SIGTSTP
                | bindings::SIGTTIN
                | bindings::SIGTTOU,
                DEFAULT,
            ) => Self::Passing,
            (_, DEFAULT) => Self::Signal,
            _ if action.sa_flags & SA_RESTART != 0 => Self::Passing,
            _ => Self::Signal,
        }
    }
}

const SA_RESTART: kernel::ffi::c_ulong = bindings::SA_RESTART as kernel::ffi::c_ulong;

/// A task that is expected to restart a system call.
pub(crate) struct Caller(ARef<Task>);

impl Caller {
    /// Returns the calling task. Process context.
    pub(crate) fn current() -> Self {
        Self(ARef::from(&**kernel::current!()))
    }

    /// Returns true if this is the calling task.
    pub(crate) fn is_current(&self) -> bool {
        self.0.as_ptr() == Task::current_raw()
    }

    /// Returns true if the task has ended or is about to. Any context.
    pub(crate) fn is_exiting(&self) -> bool {
        let task = self.0.as_ptr();
        // SAFETY: The task is held; a mere number is read, which others may write.
        let flags = unsafe { (&raw const (*task).flags).read_volatile() };
        flags & bindings::PF_EXITING != 0
    }

    /// Returns true if the task is frozen, stopped or traced, so that it cannot return by itself.
    /// Any context.
    pub(crate) fn is_halted(&self) -> bool {
        const HALTED: u32 =
            bindings::__TASK_STOPPED | bindings::__TASK_TRACED | bindings::TASK_FROZEN;

        let task = self.0.as_ptr();
        // SAFETY: The task is held; mere numbers are read, which others may write.
        unsafe {
            (&raw const (*task).__state).read_volatile() & HALTED != 0
                || bindings::rust_helper_task_frozen(task)
        }
    }
}
