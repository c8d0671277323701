// SPDX-License-Identifier: GPL-2.0

//! Kernel threads that are joined when dropped, and detached threads that hold the module.
//!
//! C header: `include/linux/kthread.h`

use super::{
    cred::Credentials,
    module::ModuleRef, //
};
use crate::bindings;
use core::ptr::NonNull;
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    ffi::{
        c_int,
        c_void, //
    },
    fmt,
    prelude::*,
    str::CString,
    sync::Arc, //
};

/// A running kernel thread, joined when dropped.
///
/// Joining waits until the thread has left this module's code for good, so a module that has
/// dropped all its `Kthread`s may be unloaded. The thread must end by itself: whoever drops a
/// `Kthread` must have told its closure to end, or know that it will. A thread that is joined
/// before it first runs never runs: its closure is dropped.
///
/// # Invariants
///
/// `task` is a kthread that this object holds a reference on and has not
/// stopped yet. Where its function has not run when it is stopped, `body` is
/// still owned and `discard` drops it.
pub(crate) struct Kthread {
    task: NonNull<bindings::task_struct>,
    body: *mut c_void,
    discard: unsafe fn(*mut c_void),
}

// SAFETY: A task may be stopped and released from any other task, and the
// closure is `Send`.
unsafe impl Send for Kthread {}
// SAFETY: No method takes `&self`.
unsafe impl Sync for Kthread {}

impl Kthread {
    /// Starts a kernel thread that runs `body` with `credentials`. At most 15 characters of its
    /// `name` are shown. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINTR` if the caller is being killed.
    pub(crate) fn run_as<F: FnOnce() + Send + 'static>(
        name: fmt::Arguments<'_>,
        credentials: &Arc<Credentials>,
        body: F,
    ) -> Result<Self> {
        let credentials = credentials.clone();
        Self::run_with_all_rights(name, move || credentials.assume(body))
    }

    /// Starts a kernel thread like [`run_as`](Self::run_as) that has all rights: for work that is
    /// no user's. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINTR` if the caller is being killed.
    pub(crate) fn run_with_all_rights<F: FnOnce() + Send + 'static>(
        name: fmt::Arguments<'_>,
        body: F,
    ) -> Result<Self> {
        let name = CString::try_from_fmt(name)?;
        let body: *mut c_void = KBox::into_raw(KBox::new(body, GFP_KERNEL)?).cast();
        // SAFETY: `trampoline::<F>` takes over `body`, which came from
        // `KBox::<F>::into_raw()`, once, if the thread runs. The name is copied.
        let task = unsafe {
            bindings::rust_helper_kthread_run(Some(trampoline::<F>), body, name.as_char_ptr())
        };
        match from_err_ptr(task).map(NonNull::new) {
            // INVARIANT: The helper took a reference and woke the thread up.
            Ok(Some(task)) => Ok(Self {
                task,
                body,
                discard: discard::<F>,
            }),
            other => {
                // SAFETY: No thread was made, so the closure is still ours.
                unsafe { discard::<F>(body) };
                Err(other.err().unwrap_or(ENOMEM))
            }
        }
    }
}

impl Drop for Kthread {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the task is a kthread, held, and not
        // stopped before. `kthread_stop()` returns once it has exited, with
        // what `trampoline` returned, or an error where that never ran: then,
        // by the invariant, the closure is ours to drop.
        unsafe {
            if bindings::kthread_stop(self.task.as_ptr()) != RAN {
                (self.discard)(self.body);
            }
            bindings::rust_helper_put_task(self.task.as_ptr());
        }
    }
}

/// Starts a kernel thread like [`Kthread::run_with_all_rights`] that is never joined. The thread
/// holds `module` until it has left this module's code. May sleep.
pub(crate) fn run_detached<F: FnOnce() + Send + 'static>(
    name: fmt::Arguments<'_>,
    module: ModuleRef,
    body: F,
) -> Result {
    let name = CString::try_from_fmt(name)?;
    let data: *mut c_void = KBox::into_raw(KBox::new((module, body), GFP_KERNEL)?).cast();
    // SAFETY: `detached_trampoline::<F>` takes over `data`, which came from
    // `KBox::into_raw()` with that type, once, if the thread runs; nobody stops it
    // before, so it does. The name is copied.
    let task = unsafe {
        bindings::rust_helper_kthread_run(Some(detached_trampoline::<F>), data, name.as_char_ptr())
    };
    match from_err_ptr(task).map(NonNull::new) {
        Ok(Some(task)) => {
            // SAFETY: The helper took this reference, and nobody needs it.
            unsafe { bindings::rust_helper_put_task(task.as_ptr()) };
            Ok(())
        }
        other => {
            // SAFETY: No thread was made, so the closure is still ours.
            unsafe { discard::<(ModuleRef, F)>(data) };
            Err(other.err().unwrap_or(ENOMEM))
        }
    }
}

/// Returns true if `cpu` is online.
pub(crate) fn is_online(cpu: u32) -> bool {
    // SAFETY: Reads a mask of the kernel's; no requirements.
    unsafe { bindings::rust_helper_cpu_online(cpu) }
}

/// Binds the calling kernel thread to `cpu`. May sleep.
///
/// # Errors
///
/// `EINVAL` if the CPU does not exist or is offline.
pub(crate) fn run_on(cpu: u32) -> Result {
    // SAFETY: For a kernel thread itself, at any time.
    to_result(unsafe { bindings::rust_helper_run_on(cpu) })
}

/// Return value of a thread that ran its closure.
const RAN: c_int = 0;

/// Drops a closure that did not run.
///
/// # Safety
///
/// `body` came from `KBox::<F>::into_raw()` and is owned by the caller.
unsafe fn discard<F>(body: *mut c_void) {
    // SAFETY: By the function's requirements.
    drop(unsafe { KBox::from_raw(body.cast::<F>()) });
}

/// Runs the closure of a thread.
///
/// # Safety
///
/// `data` came from `KBox::<F>::into_raw()`, and this is called once with it.
unsafe extern "C" fn trampoline<F: FnOnce() + Send + 'static>(data: *mut c_void) -> c_int {
    // SAFETY: By the function's requirements.
    let body = unsafe { KBox::from_raw(data.cast::<F>()) };
    (KBox::into_inner(body))();
    RAN
}

/// Runs the closure of a detached thread, and does not return.
///
/// # Safety
///
/// `data` came from `KBox::<(ModuleRef, F)>::into_raw()`, and this is called once
/// with it.
unsafe extern "C" fn detached_trampoline<F: FnOnce() + Send + 'static>(data: *mut c_void) -> c_int {
    // SAFETY: By the function's requirements.
    let data = unsafe { KBox::from_raw(data.cast::<(ModuleRef, F)>()) };
    let (module, body) = KBox::into_inner(data);
    body();
    module.put_and_exit()
}
