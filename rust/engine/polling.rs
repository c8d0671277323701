// SPDX-License-Identifier: GPL-2.0

//! The ways in which a thread learns of completions, as commands ask for them.

#![forbid(unsafe_code)]

use super::{
    queue_pair::QueuePair,
    spinning::Turn,
    workload::Workload, //
};
use crate::{
    kernel_ext::time::monotonic_ns,
    logic::command::{
        Command,
        Load,
        Role, //
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
    /// The thread polls as with [`Spin`](Self::Spin), or [`SpinThenSleep`](Self::SpinThenSleep) of
    /// so many microseconds, while it has a slot among those that may; otherwise it sleeps as soon
    /// as nothing has come. For peers, who decide how many such threads there are.
    SpinInTurn(Option<u32>),
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

    /// Returns the way in which a thread that serves a peer does it, for a command of that role.
    /// Both sides of a loopback are the writer's, who knows how many there are.
    pub(crate) fn for_peer(self, role: Role) -> Self {
        match self {
            Self::Spin if role != Role::Loopback => Self::SpinInTurn(None),
            Self::SpinThenSleep(us) if role != Role::Loopback => Self::SpinInTurn(Some(us)),
            _ => self,
        }
    }

    /// Returns true where the thread never sleeps, as far as it is up to it.
    pub(crate) fn spins(self) -> bool {
        matches!(self, Self::Spin | Self::SpinInTurn(None))
    }

    /// Returns the mode of completion queues for it.
    pub(crate) fn mode(self) -> PollMode {
        match self {
            Self::Event => PollMode::Event,
            Self::Pool => PollMode::Pool,
            Self::Spin => PollMode::Direct,
            Self::SpinThenSleep(_) | Self::SpinInTurn(_) | Self::Solicited => PollMode::Notified,
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
            _ => None,
        }
    }

    /// Returns the patience of a thread that polls; `None` where it does not.
    pub(super) fn patience(self) -> Option<Patience> {
        let us = match self {
            Self::Event | Self::Pool | Self::Solicited => return None,
            Self::Spin => None,
            Self::SpinThenSleep(us) => Some(us),
            Self::SpinInTurn(us) => us,
        };
        Some(Patience {
            ns: us.map(|us| u64::from(us) * 1000),
            since: None,
            turn: matches!(self, Self::SpinInTurn(_)).then(Turn::new),
        })
    }
}

/// The time for which a thread polls without finding anything, before it sleeps.
pub(crate) struct Patience {
    /// `None` where it never sleeps.
    ns: Option<u64>,
    /// The time at which it was last known to find something; `None` where that was just now.
    since: Option<u64>,
    /// The slot that it polls with, where it needs one.
    turn: Option<Turn>,
}

impl Patience {
    /// Returns that of a thread that polls in this way, or otherwise sleeps as soon as nothing has
    /// come.
    pub(crate) fn of(polling: Polling) -> Self {
        polling.patience().unwrap_or(Self {
            ns: Some(0),
            since: None,
            turn: None,
        })
    }

    /// Notes whether something was `found`, and returns true where it is time to sleep.
    pub(crate) fn ends(&mut self, found: bool) -> bool {
        if found {
            self.since = None;
            if let Some(turn) = &mut self.turn {
                turn.want();
            }
            return false;
        }
        let patience = match &self.turn {
            Some(turn) if !turn.has_slot() => Some(0),
            Some(turn) if turn.is_wanted() => Some(self.ns.unwrap_or(u64::MAX).min(Turn::IDLE_NS)),
            _ => self.ns,
        };
        let Some(patience) = patience else {
            return false;
        };
        let now = monotonic_ns();
        let since = *self.since.get_or_insert(now);
        let ends = now.saturating_sub(since) >= patience;
        if let Some(turn) = self.turn.as_mut().filter(|_| ends) {
            turn.end();
        }
        ends
    }

    /// Returns the time for which to sleep where no event tells that something has come, in ns: a
    /// part of that for which nothing has.
    pub(super) fn nap_ns(&self) -> u64 {
        let now = monotonic_ns();
        let idle = now.saturating_sub(self.since.unwrap_or(now));
        (idle / 4).clamp(SHORTEST_NAP_NS, LONGEST_NAP_NS)
    }
}
