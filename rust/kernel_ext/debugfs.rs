// SPDX-License-Identifier: GPL-2.0

//! Files in debugfs that print when read.
//!
//! An open file keeps the module loaded: its operations are in the module, and debugfs calls the
//! last of them, `release`, when the file is closed, even after the file was removed. The kernel
//! crate's `debugfs` gives its operations no owner, so there such a call finds the module gone.
//!
//! The kernel frees a module whose initialization fails without regard to open files. So files
//! are prepared first, and become visible by [`File::publish`] when nothing can fail any more.
//!
//! C header: `include/linux/debugfs.h`

use crate::bindings;
use core::ptr::NonNull;
use kernel::{
    ffi::{
        c_int,
        c_void, //
    },
    fmt,
    prelude::*,
    seq_file::SeqFile,
    seq_print,
    sync::Arc,
    types::ForeignOwnable, //
};

/// Contents of a file in debugfs.
pub(crate) trait Contents: Send + Sync + 'static {
    /// Prints the whole file. Process context of the reader; may sleep.
    fn show(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// A dentry of debugfs, removed when dropped, with all that is below it.
///
/// # Invariants
///
/// `raw` is a dentry that `debugfs_create_*()` returned, or its error, and this object alone
/// removes it.
struct Entry {
    raw: *mut bindings::dentry,
}

// SAFETY: debugfs takes its dentries from any task.
unsafe impl Send for Entry {}
// SAFETY: As above.
unsafe impl Sync for Entry {}

impl Drop for Entry {
    fn drop(&mut self) {
        // SAFETY: By the type invariant; errors are ignored. Returns once no call is in progress.
        unsafe { bindings::rust_helper_debugfs_remove(self.raw) }
    }
}

/// A directory of debugfs, removed when dropped.
pub(crate) struct Dir(Entry);

impl Dir {
    /// Creates the directory `name`. Without it, which only the kernel's log tells, files in it are
    /// missing, too. May sleep.
    pub(crate) fn new(name: &CStr) -> Self {
        // SAFETY: `name` ends with a NUL and is copied.
        let raw = unsafe { bindings::rust_helper_debugfs_dir(name.as_char_ptr()) };
        // INVARIANT: Created just now.
        Self(Entry { raw })
    }
}

/// A file in debugfs, removed when dropped. Fields are in drop order.
///
/// # Invariants
///
/// `operations` has the function for a `T`, and the data of an `Arc<T>` that this object owns. Both
/// stay where they are until the entry has been removed.
pub(crate) struct File<T: Contents> {
    entry: Option<Entry>,
    operations: KBox<bindings::rust_helper_debugfs_operations>,
    data: NonNull<c_void>,
    _data: core::marker::PhantomData<Arc<T>>,
}

// SAFETY: The file may be removed by any task; the data is sent with it.
unsafe impl<T: Contents> Send for File<T> {}
// SAFETY: No method takes `&self`.
unsafe impl<T: Contents> Sync for File<T> {}

impl<T: Contents> File<T> {
    /// Prepares a file that prints `data`. It is not visible yet. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(data: Arc<T>) -> Result<Self> {
        let mut operations = KBox::new(
            bindings::rust_helper_debugfs_operations {
                show: Some(show::<T>),
                data: core::ptr::null_mut(),
            },
            GFP_KERNEL,
        )?;
        let data = NonNull::new(data.into_foreign()).ok_or(EINVAL)?;
        operations.data = data.as_ptr();
        // INVARIANT: The function is that for a `T`, and `data` comes from an `Arc<T>`.
        Ok(Self {
            entry: None,
            operations,
            data,
            _data: core::marker::PhantomData,
        })
    }

    /// Makes the file visible as `name` in `dir`, readable by its owner. An error is in the
    /// kernel's log only, and the file is missing. May sleep.
    pub(crate) fn publish(mut self, dir: &Dir, name: &CStr) -> Self {
        // SAFETY: `name` ends with a NUL and is copied; by the type invariant of `Entry` the
        // directory is there, or is an error, which debugfs accepts. The operations stay until the
        // entry has been removed, by which no call is in progress, and an open file keeps the
        // module.
        let raw = unsafe {
            bindings::rust_helper_debugfs_file(name.as_char_ptr(), dir.0.raw, &*self.operations)
        };
        // INVARIANT: Created just now.
        self.entry = Some(Entry { raw });
        self
    }
}

impl<T: Contents> Drop for File<T> {
    fn drop(&mut self) {
        self.entry = None;
        // SAFETY: By the type invariant; nobody uses it now that the entry has been removed.
        drop(unsafe { Arc::<T>::from_foreign(self.data.as_ptr()) });
    }
}

/// Prints a `T` as a file shows it.
struct Shown<'a, T>(&'a T);

impl<T: Contents> fmt::Display for Shown<'_, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show(out)
    }
}

/// Prints a file.
///
/// # Safety
///
/// Called by a seq_file whose private data is that of an `Arc<T>`, which is there during the call.
unsafe extern "C" fn show<T: Contents>(seq: *mut bindings::seq_file, _: *mut c_void) -> c_int {
    // SAFETY: By the function's requirements, for both; `seq` is this thread's.
    let (data, out) = unsafe { (Arc::<T>::borrow((*seq).private), SeqFile::from_raw(seq)) };
    seq_print!(out, "{}", Shown(&*data));
    0
}
