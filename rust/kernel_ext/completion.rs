// SPDX-License-Identifier: GPL-2.0

//! Completions with deadlines and signals.
//!
//! The kernel crate's own `Completion` can neither time out nor be interrupted.
//!
//! C header: `include/linux/completion.h`

use super::time::Deadline;
use crate::bindings;
use kernel::{
    prelude::*,
    types::Opaque, //
};

/// A `struct completion`: a counter of events that a task can sleep on.
///
/// # Invariants
///
/// `inner` is initialised and pinned.
#[pin_data]
pub(crate) struct Completion {
    #[pin]
    inner: Opaque<bindings::completion>,
}

// SAFETY: A completion is made to be used by many tasks; it holds its own lock.
unsafe impl Send for Completion {}
// SAFETY: As above.
unsafe impl Sync for Completion {}

/// Reason why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// An event was available and has been consumed.
    Completed,
    /// The deadline passed.
    TimedOut,
    /// A signal is pending for the calling task.
    Interrupted,
}

impl Completion {
    /// Returns an initialiser of a completion without events.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            // INVARIANT: Initialised here; `pin_init!` pins it.
            inner <- Opaque::ffi_init(|slot: *mut bindings::completion| {
                // SAFETY: `slot` is valid for writes and will stay where it is.
                unsafe { bindings::init_completion(slot) };
            }),
        })
    }

    /// Adds one event and wakes one waiter. May be called in any context.
    pub(crate) fn complete(&self) {
        // SAFETY: By the type invariant `inner` is initialised.
        unsafe { bindings::complete(self.inner.get()) };
    }

    /// Wakes all current and future waiters. May be called in any context.
    pub(crate) fn complete_all(&self) {
        // SAFETY: By the type invariant `inner` is initialised.
        unsafe { bindings::complete_all(self.inner.get()) };
    }

    /// Waits for an event until `deadline`, ignoring signals. May sleep.
    pub(crate) fn wait(&self, deadline: Deadline) -> Waited {
        // SAFETY: By the type invariant `inner` is initialised.
        match unsafe {
            bindings::wait_for_completion_timeout(self.inner.get(), deadline.remaining())
        } {
            0 => Waited::TimedOut,
            _ => Waited::Completed,
        }
    }

    /// Waits for an event until `deadline` or a signal. May sleep.
    pub(crate) fn wait_interruptible(&self, deadline: Deadline) -> Waited {
        // SAFETY: By the type invariant `inner` is initialised.
        match unsafe {
            bindings::wait_for_completion_interruptible_timeout(
                self.inner.get(),
                deadline.remaining(),
            )
        } {
            0 => Waited::TimedOut,
            n if n < 0 => Waited::Interrupted,
            _ => Waited::Completed,
        }
    }
}
