// SPDX-License-Identifier: GPL-2.0

//! Tasks that a sleep was disturbed for, and what disturbed them.
//!
//! An interruptible sleep ends early for much that is no signal to the program: the
//! freezer of tasks and that of control groups, a debugger, task work of io_uring or of
//! a live patch. All of that is dealt with on the way to user space, after which the
//! kernel restarts a system call that has returned `ERESTARTSYS`.
//!
//! C header: `include/linux/sched/signal.h`

use crate::bindings;
use kernel::{
    sync::aref::ARef,
    task::Task, //
};

/// What ended an interruptible sleep of the calling task early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Disturbance {
    /// Nothing that ends a system call: it may be restarted.
    Passing,
    /// A signal with a handler that ends system calls, or one that ends the program.
    Signal,
    /// The task is being killed.
    Kill,
}

impl Disturbance {
    /// The gravest one that is pending for the calling task. Process context.
    pub(crate) fn pending() -> Self {
        let task = Task::current_raw();
        // SAFETY: A task's own `flags`, `sighand` and `signal` do not change while it runs
        // here. What is pending and how it is handled is read under the lock for it.
        unsafe {
            // It does not return to user space, where a call would be restarted.
            if (*task).flags & (bindings::PF_KTHREAD | bindings::PF_USER_WORKER) != 0 {
                return Self::Signal;
            }
            let sighand = (*task).sighand;
            let lock = &raw mut (*sighand).siglock;
            let flags = bindings::krping_spin_lock_irqsave(lock);
            let own = (*task).pending.signal.sig[0];
            let shared = (*(*task).signal).shared_pending.signal.sig[0];
            let found = (own | shared) & !(*task).blocked.sig[0];
            let mut gravest = Self::Passing;
            for (number, action) in (1..).zip(&(*sighand).action) {
                if found & (1 << (number - 1)) != 0 {
                    gravest = gravest.max(Self::of(number, &action.sa));
                }
            }
            bindings::krping_spin_unlock_irqrestore(lock, flags);
            gravest
        }
    }

    /// What signal `number` does, for which the task has this `action`.
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
            // Ignored, or the task stops and goes on later.
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
    /// The calling task. Process context.
    pub(crate) fn current() -> Self {
        Self(ARef::from(&**kernel::current!()))
    }

    /// Whether it is the calling task.
    pub(crate) fn is_current(&self) -> bool {
        self.0.as_ptr() == Task::current_raw()
    }

    /// Whether it has ended, or is about to. Any context.
    pub(crate) fn is_exiting(&self) -> bool {
        let task = self.0.as_ptr();
        // SAFETY: The task is held; a mere number is read, which others may write.
        let flags = unsafe { (&raw const (*task).flags).read_volatile() };
        flags & bindings::PF_EXITING != 0
    }

    /// Whether it is frozen, stopped or traced, so that it cannot return by itself. Any
    /// context.
    pub(crate) fn is_halted(&self) -> bool {
        const HALTED: u32 =
            bindings::__TASK_STOPPED | bindings::__TASK_TRACED | bindings::TASK_FROZEN;

        let task = self.0.as_ptr();
        // SAFETY: The task is held; mere numbers are read, which others may write.
        unsafe {
            (&raw const (*task).__state).read_volatile() & HALTED != 0
                || bindings::krping_task_frozen(task)
        }
    }
}
