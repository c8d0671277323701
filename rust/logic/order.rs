// SPDX-License-Identifier: GPL-2.0

//! What is written to `/proc/krping`: a command to run, or the end of a disk.

use super::{
    command::Command,
    options::{
        Opt,
        OptSet, //
    },
    parse_error::Reason,
    value::{
        invalid,
        Result, //
    },
};
use core::fmt;

/// What one write to `/proc/krping` asks for.
///
/// Its `Display` is the shortest text that means the same.
#[derive(Clone, Debug, PartialEq, Eq)]
// There is no allocation here, and one of them at a time.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Order {
    /// Run a command.
    Run(Command),
    /// End a disk that another command has made.
    Stop {
        /// The N of `/dev/krpingN`.
        id: u32,
        /// Also where it is open.
        force: bool,
    },
}

impl Order {
    /// The end of disk `id`, where nothing else is `given`.
    pub(super) fn stop(id: u32, given: OptSet) -> Result<'static, Self> {
        if !given.has(Opt::Stop) {
            return Err(invalid(Opt::Force.name(), Reason::NeedsStop));
        }
        let force = given.has(Opt::Force);
        let mut others = given.iter().filter(|opt| !opt.is_stop());
        match others.next() {
            None => Ok(Self::Stop { id, force }),
            Some(other) => Err(invalid(other.name(), Reason::NotWithStop)),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(command) => write!(f, "{command}"),
            Self::Stop { id, force } => {
                write!(f, "stop={id}{}", if *force { ",force" } else { "" })
            }
        }
    }
}
