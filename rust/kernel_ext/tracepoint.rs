// SPDX-License-Identifier: GPL-2.0

//! Probes: functions that the kernel calls at its tracepoints.
//!
//! Register a probe last and remove it first: the drop of a [`Registration`] waits until no call is
//! in progress. A probe runs in the context of its tracepoint, so it must not sleep, allocate or
//! wait.
//!
//! Only the tracepoints of the kernel itself are found. Those of modules disappear with their
//! modules.
//!
//! C header: `include/linux/tracepoint.h`

use crate::bindings;
use core::ptr::NonNull;
use kernel::{
    error::to_result,
    ffi::c_void,
    prelude::*,
    sync::Arc, //
};

/// A registered probe, removed when dropped.
///
/// # Invariants
///
/// `function` is registered at `tracepoint` with the address of `data`'s contents.
pub(super) struct Registration<T> {
    tracepoint: NonNull<bindings::tracepoint>,
    function: NonNull<c_void>,
    data: Arc<T>,
}

// SAFETY: A probe may be removed by any task; `T` is sent and shared with it.
unsafe impl<T: Send + Sync> Send for Registration<T> {}
// SAFETY: No method takes `&self`.
unsafe impl<T: Send + Sync> Sync for Registration<T> {}

impl<T: Send + Sync + 'static> Registration<T> {
    /// Registers `function` at the tracepoint `name`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOENT` if this kernel has no such tracepoint; `ENOMEM`.
    ///
    /// # Safety
    ///
    /// `function` is a C function without a result. Its first parameter is a `void *`, in which
    /// it gets a pointer to a `T`, and the others are exactly those of the tracepoint `name`.
    /// With what the kernel passes there, it is sound in any context.
    pub(super) unsafe fn new(name: &CStr, function: NonNull<c_void>, data: Arc<T>) -> Result<Self> {
        let tracepoint = find(name).ok_or(ENOENT)?;
        // SAFETY: The tracepoint is the kernel's and stays. By the function's
        // requirements the probe suits it; the data is held until it has been removed
        // and no call is in progress.
        to_result(unsafe {
            bindings::tracepoint_probe_register(
                tracepoint.as_ptr(),
                function.as_ptr(),
                Arc::as_ptr(&data).cast_mut().cast(),
            )
        })?;
        // INVARIANT: Registered just now.
        Ok(Self {
            tracepoint,
            function,
            data,
        })
    }
}

impl<T> Drop for Registration<T> {
    fn drop(&mut self) {
        // SAFETY: By the type invariant. It only fails for what is not registered.
        // Once the second call has returned, no probe runs, so the data may go.
        unsafe {
            bindings::tracepoint_probe_unregister(
                self.tracepoint.as_ptr(),
                self.function.as_ptr(),
                Arc::as_ptr(&self.data).cast_mut().cast(),
            );
            bindings::rust_helper_settle_tracepoints();
        }
    }
}

/// Argument of [`compare`]: the name to look for, and the tracepoint found.
struct Search<'a> {
    name: &'a CStr,
    found: Option<NonNull<bindings::tracepoint>>,
}

/// Returns true where the kernel has the tracepoint `name`. May sleep.
pub(super) fn exists(name: &CStr) -> bool {
    find(name).is_some()
}

/// Finds the kernel's tracepoint `name`.
fn find(name: &CStr) -> Option<NonNull<bindings::tracepoint>> {
    let mut search = Search { name, found: None };
    // SAFETY: `compare` gets what it expects, and is called during the call only.
    unsafe {
        bindings::for_each_kernel_tracepoint(
            Some(compare),
            core::ptr::from_mut(&mut search).cast(),
        );
    }
    search.found
}

/// Compares the name of one tracepoint.
///
/// # Safety
///
/// `tracepoint` is the kernel's, and `search` a [`Search`] that nobody else uses.
unsafe extern "C" fn compare(tracepoint: *mut bindings::tracepoint, search: *mut c_void) {
    // SAFETY: By the function's requirements; names are static and end with a NUL.
    let (search, name) = unsafe {
        (
            &mut *search.cast::<Search<'_>>(),
            CStr::from_char_ptr((*tracepoint).name),
        )
    };
    if name == search.name {
        search.found = NonNull::new(tracepoint);
    }
}
