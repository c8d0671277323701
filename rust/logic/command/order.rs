// SPDX-License-Identifier: GPL-2.0

//! What is written to `/proc/krping`: a command to run, or the end of what another one has left.

use super::{
    limits,
    parse_error::Reason,
    value::{
        invalid,
        Given,
        Result, //
    },
    Command, //
};
use crate::logic::spec::{
    opt_set::OptSet,
    options::Opt, //
};
use core::{
    fmt,
    ops::Deref, //
};

/// What a command has left that goes on without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The disk `/dev/krpingN` of this N.
    Disk(u32),
    /// The servers that listen on this port.
    Server(u16),
}

impl Target {
    /// What is named before the port of a server.
    const SERVER: &'static str = "server:";

    /// Reads what is to be ended.
    pub(crate) fn parse(given: Given<'_>) -> Result<'_, Self> {
        match given.value("0")?.strip_prefix(Self::SERVER) {
            Some(port) => Given {
                value: Some(port),
                ..given
            }
            .number("server:9999", &limits::PORT)
            .map(Self::Server),
            None => given.number("0", &limits::DISK).map(Self::Disk),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(id) => write!(f, "{id}"),
            Self::Server(port) => write!(f, "{}{port}", Self::SERVER),
        }
    }
}

/// What one write to `/proc/krping` asks for.
///
/// Its `Display` is the shortest text that means the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order<C> {
    /// Run a command, which is kept in `C`.
    Run(C),
    /// End a disk or servers that other commands have left.
    Stop {
        /// Which.
        target: Target,
        /// Also where they are in use.
        force: bool,
    },
}

impl<C> Order<C> {
    /// The end of `target`, where nothing else is `given`.
    pub(crate) fn stop(target: Option<Target>, given: OptSet) -> Result<'static, Self> {
        let Some(target) = target else {
            return Err(invalid(Opt::Force.spec().name(), Reason::NeedsStop));
        };
        let force = given.has(Opt::Force);
        let mut others = given
            .iter()
            .filter(|opt| !matches!(opt, Opt::Stop | Opt::Force));
        match others.next() {
            None => Ok(Self::Stop { target, force }),
            Some(other) => Err(invalid(other.spec().name(), Reason::NotWithStop)),
        }
    }
}

impl<C: Deref<Target = Command>> fmt::Display for Order<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(command) => fmt::Display::fmt(&**command, f),
            Self::Stop { target, force } => {
                write!(f, "stop={target}{}", if *force { ",force" } else { "" })
            }
        }
    }
}
