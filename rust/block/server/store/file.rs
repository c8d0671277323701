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
        file::{
            Identity,
            Kind,
            Mode,
            OpenFile, //
        },
        pages::Contiguous, //
    },
    logic::failure::{
        errno,
        Failure, //
    }, //
};
use kernel::{
    prelude::*,
    str::CString,
    sync::Arc, //
};

/// The least that a regular file is asked to read or write, in bytes.
const FILE_BLOCK: u32 = 512;

/// How many zeroes are written at a time where they must be written.
const ZEROES: usize = 64 * 1024;

/// How much is zeroed at a time, in bytes: what takes a moment even where zeroes
/// must be written.
const SLICE: u64 = 16 << 20;

/// Where no file is made: what is not there is a device that is not there yet, or a mistake.
const NOT_BELOW: [&str; 3] = ["/dev/", "/proc/", "/sys/"];

/// How a file is opened.
#[derive(Clone, Copy)]
pub(crate) struct Opening {
    /// It is not to be changed.
    pub(crate) read_only: bool,
    /// It is made where it is not there.
    pub(crate) create: bool,
    /// It is read and written past the page cache.
    pub(crate) direct: bool,
}

/// An open file, of which the first so many bytes are the store. Fields are in drop order.
pub(crate) struct FileStore {
    file: OpenFile,
    /// Only read.
    zeroes: Contiguous,
    /// Where it goes past the page cache.
    direct: Option<Direct>,
    number: u64,
    hold: Hold,
}

const OPENING: &str = "opening the store";

/// Turns an errno into a failure that says what was being done.
fn failed(what: &'static str) -> impl Fn(Error) -> Failure {
    move |error| Failure::Kernel(what, error.to_errno())
}

/// Opens the file `path`, or makes it where it is not there and `how` says so.
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

impl FileStore {
    /// Opens the file `path` as `how` says. `number` makes of its identity the number by which
    /// `ledgers` and clients know it. Process context of the writer; sleeps.
    ///
    /// # Errors
    ///
    /// Those of [`OpenFile::open`] and [`Ledgers::open`]; `EINVAL` for a file that the kernel makes
    /// up; `EOPNOTSUPP` where there is no direct I/O for it; `ENOENT` for a link to nothing, and
    /// for what would have to be made where only the kernel makes files.
    pub(crate) fn open(
        path: &str,
        how: Opening,
        ledgers: &Arc<Ledgers>,
        number: fn(&Identity) -> u64,
    ) -> Result<Self, Failure> {
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
        let number = number(&file.identity());
        let hold = ledgers
            .open(number, &file, how.read_only)
            .map_err(|error| {
                let busy = "opening the store, which another server of this host writes to,";
                failed(if error == EBUSY { busy } else { OPENING })(error)
            })?;
        Ok(Self {
            file,
            zeroes: Contiguous::new(ZEROES).map_err(failed(OPENING))?,
            direct,
            number,
            hold,
        })
    }

    /// The number by which it is told from others.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The record of the file's failures.
    pub(crate) fn ledger(&self) -> &Arc<Ledger> {
        self.hold.ledger()
    }

    /// Makes it have `wanted` bytes, or takes all of it where that is 0; returns how
    /// many there are to be used, a whole number of blocks. Sleeps.
    ///
    /// # Errors
    ///
    /// `ENOSPC` for a block device, or a file that is only read, that has less;
    /// `EINVAL` for one that has none; what the file system says.
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
        match bytes.checked_rem(block) {
            Some(rest) if bytes >= block => Ok(bytes.wrapping_sub(rest)),
            _ => Err(EINVAL),
        }
    }

    /// The least that can be read or written, in bytes.
    pub(crate) fn block(&self) -> u32 {
        let own = self.file.logical_block_size().unwrap_or(FILE_BLOCK);
        let direct = self.direct.as_ref().map_or(0, Direct::positions);
        own.max(direct)
    }

    /// Whether what it has written may be lost until it is flushed.
    pub(crate) fn is_volatile(&self) -> bool {
        self.direct.is_none() || !self.file.is_cacheless()
    }

    /// Returns true where a range becomes zeroes without writing them. Sleeps.
    pub(crate) fn zeroes_at_once(&self) -> bool {
        self.file.zeroes_at_once()
    }

    /// Reads `len` bytes at `from` to `offset` of `memory`. Sleeps.
    ///
    /// # Errors
    ///
    /// `EIO`, also for what the file has lost of its end meanwhile, and what else the file
    /// system says; `EINVAL` for a range that is not within `memory`.
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

    /// Writes `len` bytes at `offset` of `memory` to `to`. Sleeps.
    ///
    /// # Errors
    ///
    /// `EIO`, `ENOSPC` and what else the file system says; `EINVAL` for a range that
    /// is not within `memory`.
    pub(crate) fn write(&self, memory: &Contiguous, offset: usize, len: usize, to: u64) -> Result {
        match &self.direct {
            Some(direct) => direct.write(&self.file, memory, offset, len, to),
            None => self.file.write(memory, offset, len, to),
        }
    }

    /// Has all that has been written reach stable storage, for the client of `account`.
    /// Sleeps.
    ///
    /// # Errors
    ///
    /// `EIO`, `ENOSPC` and what else the file system says, also of earlier writes; `EIO` where
    /// the client has not been told of all that the store has failed to keep.
    pub(crate) fn flush(&self, account: Option<&Account>) -> Result {
        self.settle(self.file.sync(), account)
    }

    /// As [`flush`](Self::flush), for `len` bytes at `from`. Sleeps.
    ///
    /// # Errors
    ///
    /// As [`flush`](Self::flush).
    pub(crate) fn flush_range(&self, from: u64, len: u64, account: Option<&Account>) -> Result {
        self.settle(self.file.sync_range(from, len), account)
    }

    /// Has `len` bytes at `from` read as zeroes, which `keep` their space or not. Asks
    /// `go_on` now and then whether to go on. Sleeps.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write); `EINTR` where it was not to go on.
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
            at = at.saturating_add(slice);
            left = left.saturating_sub(slice);
        }
        Ok(())
    }

    fn write_zeroes(&self, from: u64, len: u64) -> Result {
        let (mut at, mut left) = (from, len);
        while left > 0 {
            let part = left.min(ZEROES as u64);
            self.write(&self.zeroes, 0, part as usize, at)?;
            at = at.saturating_add(part);
            left = left.saturating_sub(part);
        }
        Ok(())
    }

    /// Notes how making something durable has `ended`, and returns how it has for the client of
    /// `account`: another one may have taken the error.
    fn settle(&self, ended: Result, account: Option<&Account>) -> Result {
        self.ledger().note(&self.file, ended);
        ended?;
        account.map_or(Ok(()), Account::check)
    }
}
