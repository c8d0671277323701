// SPDX-License-Identifier: GPL-2.0

//! The ways in which a thread learns of completions, as commands ask for them.

#![forbid(unsafe_code)]

use crate::{
    logic::command::Command,
    rdma::cq::PollMode, //
};

/// The way in which a thread learns of completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Polling {
    /// The core handles each after an event of the device, while the thread sleeps.
    Event,
    /// The thread polls until its work is done.
    Spin,
    /// The thread polls until nothing has come for so many microseconds, and then sleeps until an
    /// event of the device.
    SpinThenSleep(u32),
}

impl Polling {
    /// Returns the way that a command asks for.
    pub(crate) fn of(command: &Command) -> Self {
        match command.spin_us {
            _ if command.poll => Self::Spin,
            Some(us) => Self::SpinThenSleep(us),
            None => Self::Event,
        }
    }

    /// Returns the mode of completion queues for it.
    pub(crate) fn mode(self) -> PollMode {
        match self {
            Self::Event => PollMode::Event,
            Self::Spin => PollMode::Direct,
            Self::SpinThenSleep(_) => PollMode::Notified,
        }
    }
}
