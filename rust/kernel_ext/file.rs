// SPDX-License-Identifier: GPL-2.0

//! Regular files and block devices, opened and used by the kernel itself.
//!
//! Reads and writes go through the page cache, or past it after [`OpenFile::go_direct`], at
//! positions that the caller gives: several threads may use one file at once.
//!
//! C header: `include/linux/fs.h`

use super::{
    medium::Medium,
    pages::Contiguous, //
};
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

/// Which parts of a file no data is kept for, `FALLOC_FL_*`.
const PUNCH_HOLE: u32 = bindings::FALLOC_FL_PUNCH_HOLE | bindings::FALLOC_FL_KEEP_SIZE;

/// Which parts of a file are to read as zeroes, `FALLOC_FL_*`.
const ZERO_RANGE: u32 = bindings::FALLOC_FL_ZERO_RANGE | bindings::FALLOC_FL_KEEP_SIZE;

/// Who may use a file that is made.
const OWNER_ONLY: bindings::umode_t = 0o600;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// To be read only.
    Read,
    /// To be read and written. A block device is claimed: nobody else who claims
    /// it, as a file system does, can use it.
    Write,
    /// As [`Write`](Self::Write), a regular file that there is not yet.
    Create,
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A regular file.
    Regular,
    /// A block device.
    Block,
}

/// What tells a file from all others of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// A regular file, by the device that it is on, the number of its inode, and the generation of
    /// that.
    File(u32, u64, u32),
    /// A block device, by what it has at present.
    Device(Medium),
}

/// File systems whose files are not data that somebody keeps, by the numbers of
/// `linux/magic.h`: proc, sysfs, debugfs, tracefs, securityfs, cgroup, cgroup2, bpf, pstore,
/// efivarfs, devpts, selinuxfs.
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

/// Which of a file's errors of writing back have been looked at, an `errseq_t`.
#[derive(Clone, Copy)]
pub(crate) struct WritebackErrors(bindings::errseq_t);

impl WritebackErrors {
    /// Looks at those of `file` that have come since. They need not have been reported to it: what
    /// was reported to another file counts as well. Any context.
    ///
    /// # Errors
    ///
    /// The last one.
    pub(crate) fn look(&mut self, file: &OpenFile) -> Result {
        // SAFETY: By the type invariant the file is open, so its mapping is there; the kernel
        // changes the member atomically.
        to_result(unsafe {
            let mapping = (*file.as_ptr()).f_mapping;
            bindings::errseq_check_and_advance(&raw mut (*mapping).wb_err, &mut self.0)
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
    /// Opens `path`, with the rights and as seen by the calling task. Process
    /// context; sleeps.
    ///
    /// # Errors
    ///
    /// As `open(2)` has them; `EBUSY` for a block device that is claimed by another;
    /// `EINVAL` for what is neither a regular file nor a block device.
    pub(crate) fn open(path: &CStr, mode: Mode) -> Result<Self> {
        let access = match mode {
            Mode::Read => bindings::O_RDONLY,
            Mode::Write => bindings::O_RDWR | bindings::O_EXCL,
            Mode::Create => bindings::O_RDWR | bindings::O_EXCL | bindings::O_CREAT,
        };
        // Not to wait for what is no such file: the other end of a FIFO, a line.
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

    /// The raw file, valid while `self` lives.
    pub(super) fn as_ptr(&self) -> *mut bindings::file {
        self.raw.as_ptr()
    }

    /// What it is.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// How many bytes it has at present.
    pub(crate) fn size(&self) -> u64 {
        // SAFETY: By the type invariant the file is open.
        u64::try_from(unsafe { bindings::krping_file_size(self.as_ptr()) }).unwrap_or(0)
    }

    /// The least that a block device reads or writes, in bytes; `None` for a file.
    pub(crate) fn logical_block_size(&self) -> Option<u32> {
        (self.kind == Kind::Block)
            // SAFETY: By the type invariant the file is open and is a block device.
            .then(|| unsafe { bindings::krping_file_block_size(self.as_ptr()) })
    }

    /// What tells it from others. A file that was removed and made anew is another
    /// one, where its file system counts generations; a device with another medium, too.
    /// Process context; may sleep.
    pub(crate) fn identity(&self) -> Identity {
        // SAFETY: By the type invariant the file is open, so its inode and the file
        // system of that are there; these members of theirs never change.
        unsafe {
            let inode = (*self.as_ptr()).f_inode;
            let bdev = match self.kind {
                Kind::Regular => None,
                Kind::Block => NonNull::new(bindings::krping_file_bdev(self.as_ptr())),
            };
            match bdev {
                Some(bdev) => Identity::Device(Medium::of(bdev)),
                None => Identity::File(
                    (*(*inode).i_sb).s_dev,
                    (*inode).i_ino,
                    (*inode).i_generation,
                ),
            }
        }
    }

    /// Whether it is a file that the kernel makes up, so that nothing is kept in it.
    pub(crate) fn is_pseudo(&self) -> bool {
        // SAFETY: As for `identity`.
        let magic = unsafe { (*(*(*self.as_ptr()).f_inode).i_sb).s_magic };
        self.kind == Kind::Regular && PSEUDO.iter().any(|known| magic == *known as usize)
    }

    /// The errors of writing back that whoever opened the file has not been told of. To be asked
    /// before anybody uses it.
    pub(crate) fn unseen_errors(&self) -> WritebackErrors {
        // SAFETY: By the type invariant the file is open; nobody changes the member before its
        // first use.
        WritebackErrors(unsafe { (*self.as_ptr()).f_wb_err })
    }

    /// Has reads and writes go past the page cache from now on, and returns what memory and
    /// positions must be aligned to, in bytes. To be called before anybody else uses the file, by
    /// the task that has opened it. Sleeps.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` where the file system has no direct I/O for it; those of `statx(2)`.
    pub(crate) fn go_direct(&mut self) -> Result<(u32, u32)> {
        let (mut memory, mut positions) = (0, 0);
        // SAFETY: By the type invariant the file is open; nobody else has it yet.
        to_result(unsafe {
            bindings::krping_file_go_direct(self.as_ptr(), &mut memory, &mut positions)
        })?;
        Ok((memory, positions))
    }

    /// Whether it is a block device that says of itself that it keeps nothing in a cache which
    /// it may lose.
    pub(crate) fn is_cacheless(&self) -> bool {
        // SAFETY: By the type invariant the file is open; that of a block device where it is
        // asked.
        self.kind == Kind::Block && !unsafe { bindings::krping_file_has_cache(self.as_ptr()) }
    }

    /// Sets the size of a regular file. What is added reads as zeroes, and takes no
    /// room where the file system has holes. Sleeps.
    ///
    /// # Errors
    ///
    /// As `ftruncate(2)` has them: `EFBIG`, `EPERM`, `EIO`.
    pub(crate) fn set_size(&self, bytes: u64) -> Result {
        let bytes = position(bytes, 0)?;
        // SAFETY: By the type invariant the file is open, and so its path is held.
        to_result(unsafe { bindings::krping_truncate(self.as_ptr(), bytes) })
    }

    /// Reads `len` bytes at `from` of the file to `offset` of `memory`, and returns
    /// how many there were: fewer only at the file's end. Sleeps.
    ///
    /// # Errors
    ///
    /// As `pread(2)` has them; `EINVAL` for a range that is not within `memory`, or
    /// that no file has.
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
    /// As `pwrite(2)` has them, with part of the data written or none; `EINVAL` for a
    /// range that is not within `memory`, or that no file has.
    pub(crate) fn write(&self, memory: &Contiguous, offset: usize, len: usize, to: u64) -> Result {
        match self.transfer(memory, offset, len, to, true)? {
            done if done == len => Ok(()),
            _ => Err(EIO),
        }
    }

    /// Moves `len` bytes between `offset` of `memory` and `place` of the file, to the file if
    /// it is to `write`, and returns how many were moved until there was no more. Sleeps.
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
            let left = len.saturating_sub(done);
            // SAFETY: The file is open, and so many bytes are there at `part`, which C code
            // writes, or copies whatever they are at the time: nobody has a reference into them.
            let ret = unsafe {
                bindings::krping_file_move(self.as_ptr(), part.cast(), left, &mut at, write)
            };
            match usize::try_from(ret) {
                Ok(0) => break,
                Ok(count) => done = done.saturating_add(count),
                Err(_) => return Err(Error::from_errno(ret as c_int)),
            }
        }
        Ok(done)
    }

    /// Waits until all that has been written is on stable storage. Sleeps.
    ///
    /// # Errors
    ///
    /// As `fdatasync(2)` has them: `EIO`, `ENOSPC` also for what was written before.
    pub(crate) fn sync(&self) -> Result {
        // SAFETY: By the type invariant the file is open.
        to_result(unsafe { bindings::vfs_fsync(self.as_ptr(), 1) })
    }

    /// As [`sync`](Self::sync), for `len` bytes at `from`. Sleeps.
    ///
    /// # Errors
    ///
    /// As [`sync`](Self::sync); `EINVAL` for a range that no file has.
    pub(crate) fn sync_range(&self, from: u64, len: u64) -> Result {
        let start = position(from, len)?;
        // Does not wrap, as has been checked just now.
        let last = start.wrapping_add_unsigned(len.saturating_sub(1));
        // SAFETY: By the type invariant the file is open.
        to_result(unsafe { bindings::vfs_fsync_range(self.as_ptr(), start, last, 1) })
    }

    /// Has `len` bytes at `from` read as zeroes, and frees what they took where it
    /// can, unless they `keep` it. Returns whether it could; where it could not, zeroes
    /// must be written. Sleeps.
    ///
    /// # Errors
    ///
    /// As `fallocate(2)` has them.
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

    /// Whether [`zero`](Self::zero) can do without writing. Changes nothing: of a file, what
    /// is tried is far behind its end. Sleeps.
    pub(crate) fn zeroes_at_once(&self) -> bool {
        match self.kind() {
            // SAFETY: By the type invariant the file is open; it is that of a block device.
            Kind::Block => unsafe { bindings::krping_file_zeroes_sectors(self.as_ptr()) > 0 },
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
        // A kernel thread's `fput()` leaves the closing to a worker, for a while:
        // then the file system is still busy, or the device claimed.
        // SAFETY: By the type invariant the reference is ours to give back. Nothing
        // is dropped in atomic context or with a lock that closing might want.
        unsafe { bindings::__fput_sync(self.as_ptr()) }
    }
}

/// `at` as the kernel's type for positions, where `len` bytes may follow.
fn position(at: u64, len: u64) -> Result<bindings::loff_t> {
    let end = at.checked_add(len).ok_or(EINVAL)?;
    let _ = bindings::loff_t::try_from(end).map_err(|_| EINVAL)?;
    bindings::loff_t::try_from(at).map_err(|_| EINVAL)
}

/// Where byte number `done` of `len` is that begin at `offset` of `memory`.
fn part(memory: &Contiguous, offset: usize, done: usize, len: usize) -> Result<*mut u8> {
    match offset.checked_add(len) {
        Some(end) if end <= memory.len() => {
            Ok(memory.as_ptr().wrapping_add(offset).wrapping_add(done))
        }
        _ => Err(EINVAL),
    }
}

/// Has the writing of the calling kernel thread, from now on, be held back only for
/// the sake of where it goes, not for what others have written: for a thread that
/// others wait for with theirs.
pub(crate) fn throttle_locally() {
    // SAFETY: Changes a flag of the calling task's own.
    unsafe { bindings::krping_throttle_locally() }
}
