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
    /// The server of the command with this number.
    Command(u32),
}

impl Target {
    /// The prefix of a server's port.
    const SERVER: &'static str = "server:";

    /// The prefix of a command's number.
    const COMMAND: &'static str = "command:";

    /// Parses the value of `stop=`: the number of a disk, `server:` and a port, or `command:` and
    /// the number of a server's command.
    pub(crate) fn parse(given: Given<'_>) -> Result<'_, Self> {
        let value = given.value("0")?;
        let rest = |rest| Given {
            value: Some(rest),
            ..given
        };
        if let Some(port) = value.strip_prefix(Self::SERVER) {
            return rest(port)
                .number("server:9999", &limits::PORT)
                .map(Self::Server);
        }
        if let Some(number) = value.strip_prefix(Self::COMMAND) {
            return rest(number)
                .number("command:12", &limits::COMMAND)
                .map(Self::Command);
        }
        given.number("0", &limits::DISK).map(Self::Disk)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(id) => write!(f, "{id}"),
            Self::Server(port) => write!(f, "{}{port}", Self::SERVER),
            Self::Command(id) => write!(f, "{}{id}", Self::COMMAND),
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
