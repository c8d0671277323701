// SPDX-License-Identifier: GPL-2.0

//! A store in a regular file or on a block device.

#![forbid(unsafe_code)]

use super::{
    direct::Direct,
    ledger::{
        Account,
        Hold,
        Ledger,
        Ledgers, //
    }, //
};
use crate::{
    kernel_ext::{
        alarm::with_alarm,
        file::{
            Kind,
            Mode,
            OpenFile, //
        },
        identity::Identity,
        memory::NoIo,
        pages::Contiguous,
        time::monotonic_ns, //
    },
    logic::{
        block::Status,
        failure::{
            errno,
            Failure, //
        },
        wire::extras::Topology, //
    }, //
};
use kernel::{
    prelude::*,
    str::CString,
    sync::Arc, //
};

/// Block size of a regular file, in bytes.
const FILE_BLOCK: u32 = 512;

/// Number of bytes per write where zeroes must be written.
const ZEROES: usize = 64 * 1024;

/// Number of bytes zeroed at a time. It takes only a moment, even if zeroes must be written.
const SLICE: u64 = 16 << 20;

/// Time after which a flush at the end of a server is logged, in ns.
const SLOW_NS: u64 = 2_000_000_000;

/// Directories in which no file is created. A path there that does not exist is a device that is
/// still missing, or a mistake.
const NOT_BELOW: [&str; 3] = ["/dev/", "/proc/", "/sys/"];

/// Options for opening a file.
#[derive(Clone, Copy)]
pub(crate) struct Opening {
    /// Open the file read-only.
    pub(crate) read_only: bool,
    /// Create the file if it does not exist.
    pub(crate) create: bool,
    /// Use direct I/O, which bypasses the page cache.
    pub(crate) direct: bool,
}

/// An open file, whose first bytes are the store. Fields are in drop order.
///
/// What was written is flushed before the file is closed, as long as a client may come back to it:
/// the kernel forgets a failed writeback with the inode, so that later nobody could tell.
pub(crate) struct FileStore {
    file: OpenFile,
    /// Zeroed memory to write from; never written to.
    zeroes: Contiguous,
    /// Direct I/O; `None` if the page cache is used.
    direct: Option<Direct>,
    number: u64,
    hold: Hold,
}

const OPENING: &str = "opening the store";

/// Turns an errno into a failure that names the failed step.
fn failed(what: &'static str) -> impl Fn(Error) -> Failure {
    move |error| Failure::Kernel(what, error.to_errno())
}

/// Opens the file `path`. Creates it if it does not exist and `how` says so.
fn open_or_make(path: &str, how: Opening) -> Result<OpenFile, Failure> {
    let name = CString::try_from_fmt(fmt!("{path}")).map_err(failed(OPENING))?;
    let mode = match how.read_only {
        true => Mode::Read,
        false => Mode::Write,
    };
    match OpenFile::open(&name, mode) {
        Err(error) if error == ENOENT && how.create && !how.read_only => {
            if NOT_BELOW.iter().any(|place| path.starts_with(place)) {
                let what = "opening the store, which is not there and is not made below /dev, \
                            /proc or /sys,";
                return Err(failed(what)(ENOENT));
            }
            OpenFile::open(&name, Mode::Create).map_err(|error| match error {
                error if error == EEXIST => {
                    failed("opening the store, a symbolic link to what is not there,")(ENOENT)
                }
                error => failed(OPENING)(error),
            })
        }
        Err(error) if error == EINVAL => Err(failed(
            "opening the store, which is neither a file nor a block device,",
        )(error)),
        other => other.map_err(failed(OPENING)),
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        if !self.hold.must_settle() {
            return;
        }
        // The disk may be of this machine, and memory reclaim may be waiting for writes to it.
        let _no_io = NoIo::enter();
        let number = self.number;
        let slow = || {
            pr_warn!(
                "store {number:016x}: its server has ended, and what clients that may come back \
                 have not flushed is still being written to it\n"
            );
            None
        };
        let first = monotonic_ns().saturating_add(SLOW_NS);
        let flushed = with_alarm(first, &slow, || self.file.sync());
        // Without memory for the alarm.
        let flushed = flushed.unwrap_or_else(|_| self.file.sync());
        self.ledger().note(&self.file, flushed);
    }
}

impl FileStore {
    /// Opens the file `path` as `how` says. `number` turns its identity into the number by which
    /// `ledgers` and clients know it, and `module` is this one. Process context of the writer;
    /// sleeps.
    ///
    /// # Errors
    ///
    /// See [`OpenFile::open`] and [`Ledgers::open`]. Also `EINVAL` for a file that the kernel
    /// generates; `EOPNOTSUPP` if direct I/O is not supported; `ENOENT` for a dangling link, and
    /// for a missing file in a directory where only the kernel creates files.
    pub(crate) fn open(
        path: &str,
        how: Opening,
        ledgers: &Arc<Ledgers>,
        number: fn(&Identity) -> u64,
        module: &'static ThisModule,
    ) -> Result<Self, Failure> {
        let zeroes = Contiguous::new(ZEROES).map_err(failed(OPENING))?;
        let mut file = open_or_make(path, how)?;
        if file.is_pseudo() {
            return Err(failed(
                "opening the store, a file of the kernel's that keeps no data,",
            )(EINVAL));
        }
        let direct = how.direct.then(|| Direct::of(&mut file)).transpose();
        let direct = direct.map_err(|error| {
            let without = "opening the store, whose file system has no direct I/O for it,";
            failed(if error.to_errno() == -errno::EOPNOTSUPP {
                without
            } else {
                OPENING
            })(error)
        })?;
        let identity = file.identity();
        let number = number(&identity);
        if !identity.is_lasting() {
            pr_info!(
                "store {number:016x}: {path} has no identifier of its own: after a reboot of this \
                 host, or once it was set up or mounted anew, a disk does not go on with it\n"
            );
        }
        let hold = ledgers
            .open(number, &file, how.read_only, module)
            .map_err(|error| {
                let busy = "opening the store, which another server of this host writes to,";
                failed(if error == EBUSY { busy } else { OPENING })(error)
            })?;
        Ok(Self {
            file,
            zeroes,
            direct,
            number,
            hold,
        })
    }

    /// Returns the number that identifies the file.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the ledger of the file's failures.
    pub(crate) fn ledger(&self) -> &Arc<Ledger> {
        self.hold.ledger()
    }

    /// Ensures that the file has `wanted` bytes; 0 stands for all that it has. Returns the number
    /// of usable bytes, a whole number of blocks. Sleeps.
    ///
    /// # Errors
    ///
    /// `ENOSPC` if a block device or a read-only file has less; `EINVAL` if there is not even one
    /// block; an error of the file system.
    pub(crate) fn provide(&self, wanted: u64, read_only: bool) -> Result<u64> {
        let block = u64::from(self.block());
        let there = self.file.size();
        let bytes = if wanted == 0 { there } else { wanted };
        if bytes > there {
            if self.file.kind() == Kind::Block || read_only {
                return Err(ENOSPC);
            }
            self.file.set_size(bytes)?;
        }
        if !read_only {
            self.warn_of_lack(bytes);
        }
        match bytes.checked_rem(block) {
            Some(rest) if bytes >= block => Ok(bytes - rest),
            _ => Err(EINVAL),
        }
    }

    /// Logs if the file system has less room than the store of `bytes` bytes still needs.
    fn warn_of_lack(&self, bytes: u64) {
        let Some((allocated, free)) = self.file.room() else {
            return;
        };
        let needed = bytes.saturating_sub(allocated);
        if needed > free {
            pr_warn!(
                "store {:016x}: its file system has {} MiB free, and it may need {} MiB more: \
                 when they are used up, writes fail with ENOSPC\n",
                self.number,
                free >> 20,
                needed >> 20
            );
        }
    }

    /// Returns the smallest unit of reads and writes, in bytes.
    pub(crate) fn block(&self) -> u32 {
        let own = self.file.logical_block_size().unwrap_or(FILE_BLOCK);
        let direct = self.direct.as_ref().map_or(0, Direct::positions);
        own.max(direct)
    }

    /// Returns the sizes by which a block device does its work best, each a whole number of blocks;
    /// of a file nothing is known.
    pub(crate) fn topology(&self) -> Topology {
        let in_blocks = |bytes: u32| match bytes.checked_rem(self.block()) {
            Some(0) => bytes,
            _ => 0,
        };
        let limits = self.file.io_limits().unwrap_or_default();
        Topology {
            physical: in_blocks(limits.physical),
            minimum: in_blocks(limits.minimum),
            optimal: in_blocks(limits.optimal),
            discard: in_blocks(limits.discard),
        }
    }

    /// Returns true if writes may be lost until they are flushed.
    pub(crate) fn is_volatile(&self) -> bool {
        self.direct.is_none() || !self.file.is_cacheless()
    }

    /// Returns true if a range can be zeroed without writing zeroes. Sleeps.
    pub(crate) fn zeroes_at_once(&self) -> bool {
        self.file.zeroes_at_once()
    }

    /// Reads `len` bytes at position `from` to `offset` of `memory`. Sleeps.
    ///
    /// # Errors
    ///
    /// `EIO`, also if the file has been truncated meanwhile; other errors of the file system;
    /// `EINVAL` for a range that is not within `memory`.
    pub(crate) fn read(&self, memory: &Contiguous, offset: usize, len: usize, from: u64) -> Result {
        let done = match &self.direct {
            Some(direct) => direct.read(&self.file, memory, offset, len, from)?,
            None => self.file.read(memory, offset, len, from)?,
        };
        match done {
            done if done == len => Ok(()),
            _ => Err(EIO),
        }
    }

    /// Writes `len` bytes at `offset` of `memory` to position `to`. Sleeps.
    ///
    /// # Errors
    ///
    /// `EIO`, `ENOSPC` and other errors of the file system; `EINVAL` for a range that is not within
    /// `memory`.
    pub(crate) fn write(&self, memory: &Contiguous, offset: usize, len: usize, to: u64) -> Result {
        let written = match &self.direct {
            Some(direct) => direct.write(&self.file, memory, offset, len, to),
            None => self.file.write(memory, offset, len, to),
        };
        written.inspect_err(|error| {
            if Status::from_errno(error.to_errno()) == Status::NoSpace {
                self.ledger().no_room(*error);
            }
        })
    }

    /// Flushes all writes to stable storage, for the client of `account`. Sleeps.
    ///
    /// # Errors
    ///
    /// `EIO`, `ENOSPC` and other errors of the file system, which may concern earlier writes; `EIO`
    /// if the client has not been told of all failures of the store.
    pub(crate) fn flush(&self, account: Option<&Account>) -> Result {
        self.settle(self.file.sync(), account)
    }

    /// Flushes `len` bytes at `from` to stable storage, for the client of `account`. Sleeps.
    pub(crate) fn flush_range(&self, from: u64, len: u64, account: Option<&Account>) -> Result {
        self.settle(self.file.sync_range(from, len), account)
    }

    /// Makes `len` bytes at `from` read as zeroes. Frees their space if possible, unless `keep` is
    /// true. Calls `go_on` now and then to ask whether to go on. Sleeps.
    ///
    /// # Errors
    ///
    /// See [`write`](Self::write); `EINTR` if `go_on` returned false.
    pub(crate) fn zero(&self, from: u64, len: u64, keep: bool, go_on: impl Fn() -> bool) -> Result {
        let (mut at, mut left) = (from, len);
        while left > 0 {
            if !go_on() {
                return Err(EINTR);
            }
            let slice = left.min(SLICE);
            if !self.file.zero(at, slice, keep)? {
                self.write_zeroes(at, slice)?;
            }
            at += slice;
            left -= slice;
        }
        Ok(())
    }

    fn write_zeroes(&self, from: u64, len: u64) -> Result {
        let (mut at, mut left) = (from, len);
        while left > 0 {
            let part = left.min(ZEROES as u64);
            self.write(&self.zeroes, 0, part as usize, at)?;
            at += part;
            left -= part;
        }
        Ok(())
    }

    /// Records the result of a flush in the ledger, and returns the result for the client of
    /// `account`. It may be an error even if the flush succeeded, because a flush of another client
    /// may have taken the error.
    fn settle(&self, ended: Result, account: Option<&Account>) -> Result {
        self.ledger().note(&self.file, ended);
        ended?;
        account.map_or(Ok(()), Account::check)
    }
}
