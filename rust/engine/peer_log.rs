// SPDX-License-Identifier: GPL-2.0

//! Rate-limited log lines that anybody who reaches a server's port can cause.

#![forbid(unsafe_code)]

use crate::{
    kernel_ext::time::monotonic_ms,
    logic::text::ratelimit::RateLimit, //
};
use kernel::{
    fmt::Arguments,
    new_mutex,
    prelude::*,
    sync::Mutex, //
};

/// Severity of a line.
#[derive(Clone, Copy)]
pub(crate) enum Level {
    /// Normal operation.
    Info,
    /// Something went wrong with one peer.
    Warning,
    /// Something went wrong that may concern the whole command.
    Error,
}

/// Separate budgets for good and bad news, so that neither uses up the other's.
#[derive(Default)]
struct Limits {
    good: RateLimit,
    bad: RateLimit,
}

/// The rate-limited log of one command about its peers.
#[pin_data]
pub(crate) struct PeerLog {
    id: u32,
    #[pin]
    limits: Mutex<Limits>,
}

impl PeerLog {
    /// Creates the log of command `id`.
    pub(crate) fn new(id: u32) -> impl PinInit<Self> {
        pin_init!(Self {
            id,
            limits <- new_mutex!(Limits::default(), "krping_peer_log"),
        })
    }

    /// Logs `line`, unless there were too many lines recently. May sleep.
    pub(crate) fn say(&self, level: Level, line: Arguments<'_>) {
        let mut limits = self.limits.lock();
        let limit = match level {
            Level::Info => &mut limits.good,
            Level::Warning | Level::Error => &mut limits.bad,
        };
        let Some(suppressed) = limit.pass(monotonic_ms()) else {
            return;
        };
        drop(limits);
        self.tell(suppressed);
        match level {
            Level::Info => pr_info!("{}: {}\n", self.id, line),
            Level::Warning => pr_warn!("{}: {}\n", self.id, line),
            Level::Error => pr_err!("{}: {}\n", self.id, line),
        }
    }

    /// Logs the number of suppressed lines that has not been logged yet. May sleep.
    pub(crate) fn conclude(&self) {
        let mut limits = self.limits.lock();
        let (good, bad) = (limits.good.take_suppressed(), limits.bad.take_suppressed());
        drop(limits);
        self.tell(good.saturating_add(bad));
    }

    fn tell(&self, suppressed: u64) {
        if suppressed > 0 {
            pr_warn!("{}: {} lines about peers suppressed\n", self.id, suppressed);
        }
    }
}
