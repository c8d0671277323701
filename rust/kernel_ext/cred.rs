// SPDX-License-Identifier: GPL-2.0

//! Credentials of a task that another task can act with.
//!
//! C header: `include/linux/cred.h`

use crate::bindings;
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};

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

    /// Makes the calling task act with these credentials until the guard is dropped. Process
    /// context.
    pub(crate) fn assume(&self) -> Assumed<'_> {
        // SAFETY: By the type invariant the credentials are held, and the guard does not
        // outlive `self`.
        let before = unsafe { bindings::rust_helper_override_creds(self.0.as_ptr()) };
        Assumed {
            before,
            _of: PhantomData,
        }
    }
}

impl Drop for Credentials {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the reference is ours to give back.
        unsafe { bindings::put_cred(self.0.as_ptr()) }
    }
}

/// Guard for assumed credentials, which reverts them when dropped. Guards must be dropped in the
/// reverse order of their creation, by the task that created them.
pub(crate) struct Assumed<'a> {
    before: *const bindings::cred,
    _of: PhantomData<&'a Credentials>,
}

impl Drop for Assumed<'_> {
    fn drop(&mut self) {
        // SAFETY: The task had these before, and holds a reference on them by its objective
        // credentials or by the guard below this one. A raw pointer in the guard keeps it
        // from being sent to another task.
        unsafe { bindings::rust_helper_revert_creds(self.before) };
    }
}
