// SPDX-License-Identifier: GPL-2.0

//! Files in `/proc` that run a command when written and print when read.
//!
//! Register an entry last and remove it first: the drop of a [`ProcEntry`] waits until no call is
//! in progress. The operations are tied to the type of the file's data, so a call always gets the
//! data that it expects.
//!
//! C header: `include/linux/proc_fs.h`

use crate::bindings;
use core::{
    marker::PhantomData,
    ptr::NonNull, //
};
use kernel::{
    error::from_result,
    ffi::{
        c_char,
        c_int,
        c_void, //
    },
    prelude::*,
    seq_file::SeqFile,
    types::ForeignOwnable,
    uaccess::{
        UserPtr,
        UserSlice,
        UserSliceReader, //
    }, //
};

/// Identifier of an open file, unique among the files that are open at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileId(usize);

/// Operations of a file in `/proc`.
pub(crate) trait ProcFile: Sync + Send + 'static {
    /// Prints the whole file. Process context, may sleep.
    fn show(&self, out: &SeqFile);

    /// Handles one `write()` to `file`, and returns the number of bytes used. Process context of
    /// the writer; may sleep. The callee must watch for signals.
    ///
    /// # Errors
    ///
    /// The errno that the writer gets. After `ERESTARTSYS` the kernel handles what is pending for
    /// the writer, and may then call again with the same arguments.
    fn write(&self, file: FileId, data: &mut UserSliceReader) -> Result<usize>;

    /// Called when nobody has `file` open any more. Process context, may sleep.
    fn released(&self, file: FileId);
}

/// A file in `/proc`, removed when dropped.
///
/// # Invariants
///
/// `entry` is registered, with operations for `P` and `data` from
/// `P::into_foreign()`.
pub(crate) struct ProcEntry<P: ForeignOwnable> {
    entry: NonNull<bindings::proc_dir_entry>,
    data: *mut c_void,
    _data: PhantomData<P>,
}

// SAFETY: The entry may be removed by any task; `P` is sent with it.
unsafe impl<P: ForeignOwnable + Send> Send for ProcEntry<P> {}
// SAFETY: No method takes `&self`.
unsafe impl<P: ForeignOwnable + Sync> Sync for ProcEntry<P> {}

impl<T: ProcFile> ProcEntry<kernel::sync::Arc<T>> {
    /// Creates `/proc/NAME` with access rights `mode`.
    ///
    /// # Errors
    ///
    /// `ENOMEM` without memory, or if the name is taken.
    pub(crate) fn new(name: &CStr, mode: u16, data: kernel::sync::Arc<T>) -> Result<Self> {
        let data = data.into_foreign();
        // SAFETY: `name` is NUL-terminated and copied; the operations are
        // static and match the type behind `data`, which lives until
        // `proc_remove()` has returned.
        let entry = unsafe {
            bindings::proc_create_data(
                name.as_char_ptr(),
                mode,
                core::ptr::null_mut(),
                &Operations::<T>::TABLE,
                data,
            )
        };
        match NonNull::new(entry) {
            // INVARIANT: Registered just now with operations for `T`.
            Some(entry) => Ok(Self {
                entry,
                data,
                _data: PhantomData,
            }),
            None => {
                // SAFETY: From `into_foreign()` above, and not registered.
                drop(unsafe { kernel::sync::Arc::<T>::from_foreign(data) });
                Err(ENOMEM)
            }
        }
    }
}

impl<P: ForeignOwnable> Drop for ProcEntry<P> {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the entry is registered. After
        // `proc_remove()` no call is in progress and none will come, so the
        // data may go.
        unsafe {
            bindings::proc_remove(self.entry.as_ptr());
            drop(P::from_foreign(self.data));
        }
    }
}

/// C operations of files whose data is an `Arc<T>`.
struct Operations<T>(PhantomData<T>);

impl<T: ProcFile> Operations<T> {
    const TABLE: bindings::proc_ops = bindings::proc_ops {
        proc_open: Some(Self::open),
        proc_read: Some(bindings::seq_read),
        proc_write: Some(Self::write),
        proc_lseek: Some(bindings::seq_lseek),
        proc_release: Some(Self::release),
        ..pin_init::zeroed()
    };

    /// # Safety
    ///
    /// Called by procfs for an entry whose data is an `Arc<T>`.
    unsafe extern "C" fn open(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: The inode is procfs's own, and the entry is in use.
        let data = unsafe { bindings::rust_helper_pde_data(inode) };
        // SAFETY: `file` is being opened. `show` gets the data that it expects
        // and is called only while the entry is in use.
        unsafe { bindings::single_open(file, Some(Self::show), data) }
    }

    /// # Safety
    ///
    /// Called by the seq_file that `open` set up.
    unsafe extern "C" fn show(seq: *mut bindings::seq_file, _: *mut c_void) -> c_int {
        // SAFETY: `open` put the entry's data there; it outlives the call, as
        // `proc_remove()` waits for it.
        let data = unsafe { kernel::sync::Arc::<T>::borrow((*seq).private) };
        // SAFETY: `seq` is valid and this thread's for the duration of the call.
        data.show(unsafe { SeqFile::from_raw(seq) });
        0
    }

    /// # Safety
    ///
    /// Called by procfs, once, for a file that `open` set up.
    unsafe extern "C" fn release(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
        // SAFETY: The file's private data is the seq_file, whose private data is the
        // entry's; `proc_remove()` waits for this call. Nobody uses the file any more.
        unsafe {
            let seq = (*file).private_data.cast::<bindings::seq_file>();
            kernel::sync::Arc::<T>::borrow((*seq).private).released(FileId(file.addr()));
            bindings::single_release(inode, file)
        }
    }

    /// # Safety
    ///
    /// Called by procfs for a file that `open` set up.
    unsafe extern "C" fn write(
        file: *mut bindings::file,
        buf: *const c_char,
        len: usize,
        _: *mut bindings::loff_t,
    ) -> isize {
        // SAFETY: The file is open, its private data the seq_file, whose
        // private data is the entry's; `proc_remove()` waits for this call.
        let data = unsafe {
            let seq = (*file).private_data.cast::<bindings::seq_file>();
            kernel::sync::Arc::<T>::borrow((*seq).private)
        };
        let mut user = UserSlice::new(UserPtr::from_ptr(buf.cast_mut().cast()), len).reader();
        from_result(|| {
            let written = data.write(FileId(file.addr()), &mut user);
            written.map(|n| n as isize)
        })
    }
}

/// Returns true if the calling task has `CAP_SYS_ADMIN` in the initial user namespace.
pub(crate) fn capable_sys_admin() -> bool {
    // SAFETY: Process context, in which every caller of a `ProcFile` is.
    unsafe { bindings::rust_helper_capable_sys_admin() }
}

/// Returns true if the calling task has `CAP_SYS_RAWIO` in the initial user namespace.
pub(crate) fn capable_sys_rawio() -> bool {
    // SAFETY: Process context, in which every caller of a `ProcFile` is.
    unsafe { bindings::rust_helper_capable_sys_rawio() }
}

/// Returns true if lockdown denies raw access to memory to all users, including root.
pub(crate) fn memory_is_locked_down() -> bool {
    // SAFETY: Process context, in which every caller of a `ProcFile` is.
    unsafe { bindings::rust_helper_memory_locked_down() != 0 }
}

/// Returns true if the calling task has `CAP_NET_ADMIN` in the initial user namespace.
pub(crate) fn capable_net_admin() -> bool {
    // SAFETY: Process context, in which every caller of a `ProcFile` is.
    unsafe { bindings::rust_helper_capable_net_admin() }
}
