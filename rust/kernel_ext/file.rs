// SPDX-License-Identifier: GPL-2.0

//! Regular files and block devices that the kernel itself opens and uses.
//!
//! Reads and writes go through the page cache, or bypass it after [`OpenFile::go_direct`]. The
//! caller gives every position, so several threads may use one file at once.
//!
//! C header: `include/linux/fs.h`

use super::pages::Contiguous;
use crate::bindings;
use core::ptr::NonNull;
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    ffi::c_int,
    prelude::*, //
};

/// `FALLOC_FL_*` flags for freeing a range of a file.
const PUNCH_HOLE: u32 = bindings::FALLOC_FL_PUNCH_HOLE | bindings::FALLOC_FL_KEEP_SIZE;

/// `FALLOC_FL_*` flags for zeroing a range of a file.
const ZERO_RANGE: u32 = bindings::FALLOC_FL_ZERO_RANGE | bindings::FALLOC_FL_KEEP_SIZE;

/// Permissions of a file that is created.
const OWNER_ONLY: bindings::umode_t = 0o600;

/// Access mode of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Read only.
    Read,
    /// Read and write. A block device is claimed exclusively: nobody else who claims it, such as a
    /// file system, can use it.
    Write,
    /// Creates a regular file, which must not exist yet, for reading and writing.
    Create,
}

/// Type of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A regular file.
    Regular,
    /// A block device.
    Block,
}

/// Sizes by which a block device does its work best, in bytes; 0 where it does not say.
pub(crate) type IoLimits = bindings::rust_helper_io_limits;

/// File systems whose files do not store data, by their numbers in `linux/magic.h`: proc, sysfs,
/// debugfs, tracefs, securityfs, cgroup, cgroup2, bpf, pstore, efivarfs, devpts, selinuxfs.
const PSEUDO: [u32; 12] = [
    0x9fa0,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0x0027_e0eb,
    0x6367_7270,
    0xcafe_4a11,
    0x6165_676c,
    0xde5e_81e4,
    0x1cd1,
    0xf97c_ff8c,
];

/// Position in a file's sequence of writeback errors, an `errseq_t`.
///
/// The sequence belongs to the file's mapping, which lives in the kernel's memory only: once nobody
/// has the file open, the kernel may forget it, and a later one begins anew.
#[derive(Clone, Copy)]
pub(crate) struct WritebackErrors {
    seen: bindings::errseq_t,
    /// Address of the mapping.
    mapping: usize,
}

impl WritebackErrors {
    /// Checks for writeback errors of `file` since the last check. An error counts even if it was
    /// reported to another open file only. Any context.
    ///
    /// # Errors
    ///
    /// The error; `EIO` if `file` has another mapping than the file that was checked last, since
    /// the errors in between are not known.
    pub(crate) fn look(&mut self, file: &OpenFile) -> Result {
        let now = file.unseen_errors();
        if now.mapping != self.mapping {
            *self = now;
            return Err(EIO);
        }
        // SAFETY: By the type invariant the file is open, so its mapping is there; the kernel
        // changes the member atomically.
        to_result(unsafe {
            let mapping = (*file.as_ptr()).f_mapping;
            bindings::errseq_check_and_advance(&raw mut (*mapping).wb_err, &mut self.seen)
        })
    }
}

/// An open regular file or block device, closed when dropped.
///
/// # Invariants
///
/// Owns one reference on `raw`, an open file of kind `kind`.
pub(crate) struct OpenFile {
    raw: NonNull<bindings::file>,
    kind: Kind,
}

// SAFETY: A `struct file` may be used from any task, and the functions used here
// neither have nor need its position.
unsafe impl Send for OpenFile {}
// SAFETY: As above.
unsafe impl Sync for OpenFile {}

impl OpenFile {
    /// Opens `path` with the rights and in the namespaces of the calling task. Process context;
    /// sleeps.
    ///
    /// # Errors
    ///
    /// The errors of `open(2)`; `EBUSY` for a block device that somebody else has claimed; `EINVAL`
    /// for anything but a regular file or a block device.
    pub(crate) fn open(path: &CStr, mode: Mode) -> Result<Self> {
        let access = match mode {
            Mode::Read => bindings::O_RDONLY,
            Mode::Write => bindings::O_RDWR | bindings::O_EXCL,
            Mode::Create => bindings::O_RDWR | bindings::O_EXCL | bindings::O_CREAT,
        };
        // Do not wait for other kinds of files: the other end of a FIFO, a serial line.
        let flags = access | bindings::O_LARGEFILE | bindings::O_NONBLOCK | bindings::O_NOCTTY;
        // SAFETY: The path ends with a NUL and is only read.
        let raw = from_err_ptr(unsafe {
            bindings::filp_open(path.as_char_ptr(), flags as c_int, OWNER_ONLY)
        })?;
        let mut this = Self {
            raw: NonNull::new(raw).ok_or(ENOENT)?,
            kind: Kind::Regular,
        };
        // SAFETY: The file is open, so it has an inode, whose type never changes.
        let mode = unsafe { (*(*raw).f_inode).i_mode };
        // INVARIANT: Only on success does it become anybody's.
        this.kind = match u32::from(mode) & bindings::S_IFMT {
            bindings::S_IFREG => Kind::Regular,
            bindings::S_IFBLK => Kind::Block,
            _ => return Err(EINVAL),
        };
        Ok(this)
    }

    /// Returns the raw file, valid while `self` lives.
    pub(super) fn as_ptr(&self) -> *mut bindings::file {
        self.raw.as_ptr()
    }

    /// Returns the type of the file.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the current size of the file, in bytes.
    pub(crate) fn size(&self) -> u64 {
        // SAFETY: By the type invariant the file is open.
        u64::try_from(unsafe { bindings::rust_helper_file_size(self.as_ptr()) }).unwrap_or(0)
    }

    /// Returns the smallest unit that a block device reads or writes, in bytes; `None` for a
    /// regular file.
    pub(crate) fn logical_block_size(&self) -> Option<u32> {
        (self.kind == Kind::Block)
            // SAFETY: By the type invariant the file is open and is a block device.
            .then(|| unsafe { bindings::rust_helper_file_block_size(self.as_ptr()) })
    }

    /// Returns the bytes that a regular file takes up in its file system, and those that are free
    /// there for ordinary users; `None` for a block device, and if the file system does not say.
    /// Sleeps.
    pub(crate) fn room(&self) -> Option<(u64, u64)> {
        let (mut allocated, mut free) = (0, 0);
        let known = self.kind == Kind::Regular
            // SAFETY: By the type invariant the file is open.
            && unsafe {
                bindings::rust_helper_file_room(self.as_ptr(), &mut allocated, &mut free) == 0
            };
        known.then_some((allocated, free))
    }

    /// Returns the sizes by which a block device does its work best; `None` for a regular file.
    pub(crate) fn io_limits(&self) -> Option<IoLimits> {
        if self.kind != Kind::Block {
            return None;
        }
        let mut limits = IoLimits::default();
        // SAFETY: By the type invariant the file is open and is a block device.
        unsafe { bindings::rust_helper_file_io_limits(self.as_ptr(), &mut limits) };
        Some(limits)
    }

    /// Returns true for a file that the kernel generates and that stores no data.
    pub(crate) fn is_pseudo(&self) -> bool {
        // SAFETY: By the type invariant the file is open, so its inode and the file system of that
        // are there; the member does not change.
        let magic = unsafe { (*(*(*self.as_ptr()).f_inode).i_sb).s_magic };
        self.kind == Kind::Regular && PSEUDO.iter().any(|known| magic == *known as usize)
    }

    /// Returns the position before the writeback errors that the opener of the file has not seen.
    pub(crate) fn unseen_errors(&self) -> WritebackErrors {
        // SAFETY: By the type invariant the file is open. Only `fsync` on this file changes
        // `f_wb_err`, by one word under a lock, so what is read is a value that it had.
        unsafe {
            let file = self.as_ptr();
            WritebackErrors {
                seen: (&raw const (*file).f_wb_err).read_volatile(),
                mapping: (*file).f_mapping.addr(),
            }
        }
    }

    /// Makes reads and writes bypass the page cache from now on. Returns the alignment of memory
    /// and of positions that they need, in bytes. Must be called before anybody else uses the file,
    /// by the task that opened it. Sleeps.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` if the file system has no direct I/O for the file; the errors of `statx(2)`.
    pub(crate) fn go_direct(&mut self) -> Result<(u32, u32)> {
        let (mut memory, mut positions) = (0, 0);
        // SAFETY: By the type invariant the file is open; nobody else has it yet.
        to_result(unsafe {
            bindings::rust_helper_file_go_direct(self.as_ptr(), &mut memory, &mut positions)
        })?;
        Ok((memory, positions))
    }

    /// Returns true for a block device that reports no volatile write cache.
    pub(crate) fn is_cacheless(&self) -> bool {
        // SAFETY: By the type invariant the file is open; that of a block device where it is
        // asked.
        self.kind == Kind::Block && !unsafe { bindings::rust_helper_file_has_cache(self.as_ptr()) }
    }

    /// Sets the size of a regular file. Added bytes read as zeroes, and take no space on file
    /// systems with holes. Sleeps.
    ///
    /// # Errors
    ///
    /// The errors of `ftruncate(2)`: `EFBIG`, `EPERM`, `EIO`.
    pub(crate) fn set_size(&self, bytes: u64) -> Result {
        let bytes = position(bytes, 0)?;
        // SAFETY: By the type invariant the file is open, and so its path is held.
        to_result(unsafe { bindings::rust_helper_truncate(self.as_ptr(), bytes) })
    }

    /// Reads `len` bytes at `from` of the file to `offset` of `memory`. Returns the number of bytes
    /// read, which is less than `len` only at the end of the file. Sleeps.
    ///
    /// # Errors
    ///
    /// The errors of `pread(2)`; `EINVAL` for a range that is not within `memory`, or beyond the
    /// largest file position.
    pub(crate) fn read(
        &self,
        memory: &Contiguous,
        offset: usize,
        len: usize,
        from: u64,
    ) -> Result<usize> {
        self.transfer(memory, offset, len, from, false)
    }

    /// Writes `len` bytes at `offset` of `memory` to `to` of the file. Sleeps.
    ///
    /// # Errors
    ///
    /// The errors of `pwrite(2)`, after which part of the data may have been written; `EINVAL` for
    /// a range that is not within `memory`, or beyond the largest file position.
    pub(crate) fn write(&self, memory: &Contiguous, offset: usize, len: usize, to: u64) -> Result {
        match self.transfer(memory, offset, len, to, true)? {
            done if done == len => Ok(()),
            _ => Err(EIO),
        }
    }

    /// Moves `len` bytes between `offset` of `memory` and `place` of the file, to the file if
    /// `write` is true. Returns the number of bytes moved, which is less than `len` if the kernel
    /// moved no more. Sleeps.
    fn transfer(
        &self,
        memory: &Contiguous,
        offset: usize,
        len: usize,
        place: u64,
        write: bool,
    ) -> Result<usize> {
        let mut at = position(place, len as u64)?;
        let mut done = 0usize;
        while done < len {
            let part = part(memory, offset, done, len)?;
            let left = len - done;
            // SAFETY: The file is open, and so many bytes are there at `part`, which C code
            // writes, or copies whatever they are at the time: nobody has a reference into them.
            let ret = unsafe {
                bindings::rust_helper_file_move(self.as_ptr(), part.cast(), left, &mut at, write)
            };
            match usize::try_from(ret) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(_) => return Err(Error::from_errno(ret as c_int)),
            }
        }
        Ok(done)
    }

    /// Waits until all written data is on stable storage. Sleeps.
    ///
    /// # Errors
    ///
    /// The errors of `fdatasync(2)`. `EIO` and `ENOSPC` may also concern earlier writes.
    pub(crate) fn sync(&self) -> Result {
        // SAFETY: By the type invariant the file is open.
        to_result(unsafe { bindings::vfs_fsync(self.as_ptr(), 1) })
    }

    /// Waits until `len` bytes at `from` are on stable storage. Sleeps.
    ///
    /// # Errors
    ///
    /// The errors of [`sync`](Self::sync); `EINVAL` for a range beyond the largest file position.
    pub(crate) fn sync_range(&self, from: u64, len: u64) -> Result {
        let start = position(from, len)?;
        // Does not wrap, as has been checked just now.
        let last = start.wrapping_add_unsigned(len.saturating_sub(1));
        // SAFETY: By the type invariant the file is open.
        to_result(unsafe { bindings::vfs_fsync_range(self.as_ptr(), start, last, 1) })
    }

    /// Makes `len` bytes at `from` read as zeroes. Frees their space if possible, unless `keep` is
    /// true. Returns false if the file does not support this: the caller must then write zeroes.
    /// Sleeps.
    ///
    /// # Errors
    ///
    /// The errors of `fallocate(2)`.
    pub(crate) fn zero(&self, from: u64, len: u64, keep: bool) -> Result<bool> {
        let modes: &[u32] = match keep {
            true => &[ZERO_RANGE],
            false => &[PUNCH_HOLE, ZERO_RANGE],
        };
        for mode in modes {
            match self.allocate(*mode, from, len) {
                Err(error) if error.to_errno() == -(bindings::EOPNOTSUPP as c_int) => {}
                result => return result.map(|()| true),
            }
        }
        Ok(false)
    }

    /// Returns true if [`zero`](Self::zero) works without writing zeroes. Changes nothing: for a
    /// file, it tries a range far behind the end. Sleeps.
    pub(crate) fn zeroes_at_once(&self) -> bool {
        match self.kind() {
            // SAFETY: By the type invariant the file is open; it is that of a block device.
            Kind::Block => unsafe { bindings::rust_helper_file_zeroes_sectors(self.as_ptr()) > 0 },
            Kind::Regular => {
                let page = kernel::page::PAGE_SIZE as u64;
                let behind = self.size().div_ceil(page).saturating_add(1);
                self.allocate(PUNCH_HOLE, behind.saturating_mul(page), page)
                    .is_ok()
            }
        }
    }

    fn allocate(&self, mode: u32, from: u64, len: u64) -> Result {
        let start = position(from, len)?;
        let len = position(len, 0)?;
        // SAFETY: By the type invariant the file is open.
        to_result(unsafe { bindings::vfs_fallocate(self.as_ptr(), mode as c_int, start, len) })
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the reference is ours to give back. Nothing
        // is dropped in atomic context or with a lock that closing might want.
        unsafe { bindings::rust_helper_file_close(self.as_ptr()) }
    }
}

/// Converts `at` to the kernel's type for positions, and checks that `len` bytes can follow.
fn position(at: u64, len: u64) -> Result<bindings::loff_t> {
    let end = at.checked_add(len).ok_or(EINVAL)?;
    let _ = bindings::loff_t::try_from(end).map_err(|_| EINVAL)?;
    bindings::loff_t::try_from(at).map_err(|_| EINVAL)
}

/// Returns the address of byte number `done` of the `len` bytes at `offset` of `memory`.
fn part(memory: &Contiguous, offset: usize, done: usize, len: usize) -> Result<*mut u8> {
    match offset.checked_add(len) {
        Some(end) if end <= memory.len() => {
            Ok(memory.as_ptr().wrapping_add(offset).wrapping_add(done))
        }
        _ => Err(EINVAL),
    }
}

/// Throttles the writes of the calling kernel thread, from now on, only because of dirty data for
/// the device that they go to, not because of all dirty data. For a thread that other writers wait
/// for.
pub(crate) fn throttle_locally() {
    // SAFETY: Changes a flag of the calling task's own.
    unsafe { bindings::rust_helper_throttle_locally() }
}
