// SPDX-License-Identifier: GPL-2.0

//! The ways in which a thread learns of completions, as commands ask for them.

#![forbid(unsafe_code)]

use super::{
    queue_pair::QueuePair,
    workload::Workload, //
};
use crate::{
    kernel_ext::time::monotonic_ns,
    logic::command::{
        Command,
        Load, //
    },
    rdma::cq::PollMode, //
};

/// Limits of the time between two looks at memory, for a thread that looks for what nothing tells
/// of, and does not spin.
const SHORTEST_NAP_NS: u64 = 50_000;
const LONGEST_NAP_NS: u64 = 100_000_000;

/// The way in which a thread learns of completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Polling {
    /// The core handles each after an event of the device, while the thread sleeps.
    Event,
    /// The same, with queues of the device's pool.
    Pool,
    /// The thread polls until its work is done.
    Spin,
    /// The thread polls until nothing has come for so many microseconds, and then sleeps until an
    /// event of the device.
    SpinThenSleep(u32),
    /// The thread sleeps until an event of the device, and then polls. Messages that the peer has
    /// not solicited raise none.
    Solicited,
}

impl Polling {
    /// Returns the way that a command asks for, for a connection with this load.
    pub(crate) fn of_load(command: &Command, load: &Load) -> Self {
        match load.solicited {
            true => Self::Solicited,
            false => Self::of(command),
        }
    }

    /// Returns the way that a command asks for.
    pub(crate) fn of(command: &Command) -> Self {
        match command.spin_us {
            _ if command.poll => Self::Spin,
            _ if command.pool => Self::Pool,
            Some(us) => Self::SpinThenSleep(us),
            None => Self::Event,
        }
    }

    /// Returns the mode of completion queues for it.
    pub(crate) fn mode(self) -> PollMode {
        match self {
            Self::Event => PollMode::Event,
            Self::Pool => PollMode::Pool,
            Self::Spin => PollMode::Direct,
            Self::SpinThenSleep(_) | Self::Solicited => PollMode::Notified,
        }
    }

    /// Returns the number of events of the completion queues of `queue_pairs`, for a way in which
    /// events wake the thread.
    pub(super) fn events<'a, W: Workload>(
        self,
        queue_pairs: impl Iterator<Item = &'a QueuePair<W>>,
    ) -> Option<u64> {
        match self {
            Self::Solicited => Some(queue_pairs.map(|each| each.events().count()).sum()),
            Self::Event | Self::Pool | Self::Spin | Self::SpinThenSleep(_) => None,
        }
    }

    /// Returns the patience of a thread that polls; `None` where it does not.
    pub(super) fn patience(self) -> Option<Patience> {
        let ns = match self {
            Self::Event | Self::Pool | Self::Solicited => return None,
            Self::Spin => None,
            Self::SpinThenSleep(us) => Some(u64::from(us) * 1000),
        };
        Some(Patience { ns, since: None })
    }
}

/// The time for which a thread polls without finding anything, before it sleeps.
pub(crate) struct Patience {
    /// `None` where it never sleeps.
    ns: Option<u64>,
    /// The time at which it was last known to find something; `None` where that was just now.
    since: Option<u64>,
}

impl Patience {
    /// Returns that of a thread that polls in this way, or otherwise sleeps as soon as nothing has
    /// come.
    pub(crate) fn of(polling: Polling) -> Self {
        polling.patience().unwrap_or(Self {
            ns: Some(0),
            since: None,
        })
    }

    /// Notes whether something was `found`, and returns true where it is time to sleep.
    pub(crate) fn ends(&mut self, found: bool) -> bool {
        let Some(patience) = self.ns else {
            return false;
        };
        if found {
            self.since = None;
            return false;
        }
        let now = monotonic_ns();
        let since = *self.since.get_or_insert(now);
        now.saturating_sub(since) >= patience
    }

    /// Returns the time for which to sleep where no event tells that something has come, in ns: a
    /// part of that for which nothing has.
    pub(super) fn nap_ns(&self) -> u64 {
        let now = monotonic_ns();
        let idle = now.saturating_sub(self.since.unwrap_or(now));
        (idle / 4).clamp(SHORTEST_NAP_NS, LONGEST_NAP_NS)
    }
}
