// SPDX-License-Identifier: GPL-2.0

//! The last failed commands, for people: `errors` in debugfs.
//!
//! A `write()` only returns an errno, and who wrote it may have no access to the kernel's log, or
//! may find many other lines there. Peers cannot add lines, so they cannot displace any.

#![forbid(unsafe_code)]

use crate::{
    kernel_ext::time::monotonic_ns,
    logic::failure::errno, //
};
use kernel::{
    fmt::{
        self,
        Display, //
    },
    new_mutex,
    prelude::*,
    str::CString,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// Number of lines that are kept.
const KEPT: usize = 64;

/// The last failed commands, oldest first.
#[pin_data]
pub(crate) struct Errors {
    #[pin]
    lines: Mutex<KVec<CString>>,
}

impl Errors {
    /// Creates an empty list with room for all lines that it will keep. May sleep.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let lines = KVec::with_capacity(KEPT, GFP_KERNEL)?;
        Arc::pin_init(
            pin_init!(Self {
                lines <- new_mutex!(lines, "krping_errors"),
            }),
            GFP_KERNEL,
        )
    }

    /// Logs a command that failed, keeps the line, and returns `error`. `command` is its text, with
    /// its number if it has one. May sleep.
    pub(crate) fn failed(&self, command: impl Display, error: Error, why: impl Display) -> Error {
        let line = Line {
            command,
            error,
            why,
        };
        pr_err!("{}\n", line);
        self.keep(&line);
        error
    }

    /// Logs the sentence about a command that was refused before it had a number, keeps it with the
    /// command, and returns `error`. May sleep.
    pub(crate) fn refused(&self, command: impl Display, error: Error, why: impl Display) -> Error {
        pr_err!("{}\n", why);
        self.keep(&Line {
            command,
            error,
            why,
        });
        error
    }

    /// Does the same for `stop=TARGET`.
    pub(crate) fn not_stopped(
        &self,
        target: impl Display,
        error: Error,
        why: impl Display,
    ) -> Error {
        self.refused(fmt!("stop={}", target), error, fmt!("stop: {}", why))
    }

    /// Keeps a line, and drops the oldest one if there are too many. Without memory for it, it is
    /// only missing from the list.
    fn keep(&self, line: &impl Display) {
        let micros = monotonic_ns() / 1000;
        let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
        let Ok(line) = CString::try_from_fmt(fmt!("[{:>5}.{:06}] {}\n", seconds, rest, line))
        else {
            return;
        };
        let mut lines = self.lines.lock();
        if lines.len() >= KEPT {
            // The list is not empty.
            let _ = lines.remove(0);
        }
        // Room for `KEPT` was reserved, so this does not fail.
        let _ = lines.push_within_capacity(line);
    }

    /// Prints the list. May sleep.
    pub(crate) fn show(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.lines.lock().iter() {
            out.write_str(line.to_str().map_err(|_| fmt::Error)?)?;
        }
        Ok(())
    }
}

/// An error by its name and number, such as `ENOMEM (12)`.
pub(super) struct Errno(pub(super) Error);

impl Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0.to_errno().saturating_neg();
        let name = errno::name(number).unwrap_or("errno");
        f.write_fmt(fmt!("{} ({})", name, number))
    }
}

/// A command, its error, and its sentence.
struct Line<C, W> {
    command: C,
    error: Error,
    why: W,
}

impl<C: Display, W: Display> Display for Line<C, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_fmt(fmt!(
            "{}: {}: {}",
            self.command,
            Errno(self.error),
            self.why
        ))
    }
}
