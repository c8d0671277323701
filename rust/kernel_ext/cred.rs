// SPDX-License-Identifier: GPL-2.0

//! Credentials of a task that another task can act with.
//!
//! C header: `include/linux/cred.h`

use crate::bindings;
use core::ptr::NonNull;

/// Credentials that a task had at some time.
///
/// # Invariants
///
/// Owns one reference on the credentials.
pub(crate) struct Credentials(NonNull<bindings::cred>);

// SAFETY: The reference count is atomic, and credentials do not change once a task has them.
unsafe impl Send for Credentials {}
// SAFETY: As above.
unsafe impl Sync for Credentials {}

impl Credentials {
    /// Returns the credentials of the calling task. Process context.
    pub(crate) fn current() -> Option<Self> {
        // SAFETY: Called by a task for itself; the helper takes a reference.
        // INVARIANT: That reference is this object's.
        NonNull::new(unsafe { bindings::rust_helper_get_current_cred() }.cast_mut()).map(Self)
    }

    /// Calls `f`, during which the calling task acts with these credentials. Process context.
    pub(crate) fn assume<R>(&self, f: impl FnOnce() -> R) -> R {
        // SAFETY: By the type invariant the credentials are held, and so they are until the task
        // has its former ones again, as `self` is borrowed for so long.
        let before = unsafe { bindings::rust_helper_override_creds(self.0.as_ptr()) };
        let result = f();
        // SAFETY: The task had these before, and holds a reference on them by its objective
        // credentials, or somebody further up in its stack has them borrowed. What was assumed
        // meanwhile has been reverted, as calls end in the reverse order of their beginning; and a
        // panic, which would leave this one, ends the kernel.
        unsafe { bindings::rust_helper_revert_creds(before) };
        result
    }
}

impl Drop for Credentials {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the reference is ours to give back.
        unsafe { bindings::put_cred(self.0.as_ptr()) }
    }
}
