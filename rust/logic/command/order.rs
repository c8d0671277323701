// SPDX-License-Identifier: GPL-2.0

//! The orders written to `/proc/krping`: to run a command, to stop a disk or servers that an
//! earlier command left running, or to explain options.

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
    help::Topic,
    opt_set::OptSet,
    options::Opt, //
};
use core::{
    fmt,
    ops::Deref, //
};

/// The disk or servers that a command left running when it returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The disk `/dev/krpingN` of this N.
    Disk(u32),
    /// The servers that listen on this port.
    Server(u16),
}

impl Target {
    /// The prefix of a server's port.
    const SERVER: &'static str = "server:";

    /// Parses the value of `stop=`: the number of a disk, or `server:` and a port.
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

/// The order of one write to `/proc/krping`.
///
/// Its `Display` is the shortest text with the same meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order<C> {
    /// Run the command that `C` holds.
    Run(C),
    /// Stop a disk or servers that earlier commands left running.
    Stop {
        /// The disk or servers.
        target: Target,
        /// Stop them even while they are in use.
        force: bool,
    },
    /// Explain this to whoever reads the file next.
    Help(Topic),
}

impl<C> Order<C> {
    /// Creates the order to stop `target`. `given` are the options of the write, which may only be
    /// `stop` and `force`.
    ///
    /// # Errors
    ///
    /// [`Reason::NeedsStop`] without a target, and [`Reason::NotWithStop`] for any other option.
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

    /// Creates the order to explain `topic`. `given` are the options of the write, which may only
    /// be `help`.
    ///
    /// # Errors
    ///
    /// [`Reason::NotWithHelp`] for any other option.
    pub(crate) fn help(topic: Topic, given: OptSet) -> Result<'static, Self> {
        let mut others = given.iter().filter(|opt| *opt != Opt::Help);
        match others.next() {
            None => Ok(Self::Help(topic)),
            Some(other) => Err(invalid(other.spec().name(), Reason::NotWithHelp)),
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
            Self::Help(Topic::All) => f.write_str("help"),
            Self::Help(Topic::Option(opt)) => write!(f, "help={}", opt.spec().name()),
        }
    }
}
