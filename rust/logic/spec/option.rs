// SPDX-License-Identifier: GPL-2.0

//! The facts about one option: its names, its value, and the commands that it goes with.

use super::{
    role::Role,
    tests::Test, //
};
use crate::logic::command::{
    value::{
        Given,
        Result,
        Units, //
    },
    Command, //
};
use core::{
    fmt,
    ops::RangeInclusive, //
};

/// The facts about an option.
pub(crate) struct OptionSpec {
    /// Its names. The first is the usual one, the others are aliases.
    pub(crate) names: &'static [&'static str],
    /// One line of help.
    pub(crate) help: &'static str,
    /// The value that it takes.
    pub(crate) value: Value,
    /// The role or test that it asks for.
    pub(crate) asks: Asks,
    /// Returns true where it goes with a command of this role and test; see
    /// [`fits`](Self::fits).
    goes: fn(Role, Test) -> bool,
    /// The kind of sentence about it where it does not go with a command.
    pub(crate) elsewhere: Elsewhere,
    /// The requirement that the command must meet beside role and test.
    pub(crate) needs: Needs,
    /// The group of which a command has one option at most.
    pub(crate) group: Option<Group>,
    /// Its flag in the private data; 0 where it has none.
    pub(crate) bit: u32,
}

/// The value of an option.
pub(crate) enum Value {
    /// None, and no field of a command is set: the option says it all.
    Nothing,
    /// None; a field becomes true.
    Flag {
        /// Returns true where a command must be said to have it.
        get: fn(&Command) -> bool,
        /// Sets it.
        set: fn(&mut Command),
    },
    /// None, or one word: a field becomes true, and with the word another one, too.
    FlagOrWord {
        /// The word.
        word: &'static str,
        /// Returns true where a command must be said to have it.
        get: fn(&Command) -> bool,
        /// Returns true where a command must be said to have it with the word.
        has_word: fn(&Command) -> bool,
        /// Sets it, with the word or without.
        set: fn(&mut Command, bool),
    },
    /// A number.
    Number {
        /// An example for sentences.
        example: &'static str,
        /// The range of the number.
        range: RangeInclusive<u64>,
        /// The units that may follow it.
        units: &'static Units,
        /// Returns the number that a command has, if any.
        get: fn(&Command) -> Option<u64>,
        /// Sets it; `None` where it does not fit the field, which the range excludes.
        set: fn(&mut Command, u64) -> Option<()>,
    },
    /// One of these words.
    Word {
        /// An example for sentences.
        example: &'static str,
        /// The words.
        words: &'static [&'static str],
        /// Sets one of these.
        set: fn(&mut Command, &str),
        /// Returns the word that a command has.
        get: fn(&Command) -> &'static str,
    },
    /// A text with a grammar of its own.
    Text(Text),
    /// The same, whose meaning depends on the role and the test: it is read when these are known.
    Late(Text),
    /// The disk or server to be stopped, which is in no [`Command`].
    Target,
    /// None, or the option to be explained, which is in no [`Command`].
    Topic,
}

/// A value with a grammar of its own.
pub(crate) struct Text {
    /// An example for sentences.
    pub(crate) example: &'static str,
    /// Reads it.
    pub(crate) read: for<'a> fn(&mut Command, Given<'a>) -> Result<'a, ()>,
    /// Returns true where a command must be said to have it.
    pub(crate) is_set: fn(&Command) -> bool,
    /// Writes it.
    pub(crate) show: fn(&Command, &mut fmt::Formatter<'_>) -> fmt::Result,
}

/// The role or test that an option asks for.
#[derive(Clone, Copy)]
pub(crate) enum Asks {
    /// Nothing.
    Nothing,
    /// This role.
    Role(Role),
    /// This test.
    Test(Test),
}

/// The sentence about an option that does not go with a command's role or test.
pub(crate) enum Elsewhere {
    /// It names the tests that the option is for, or the role.
    Tests,
    /// It names the roles and tests together.
    Places,
}

/// The requirement of an option beside a role and a test.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing.
    Nothing,
    /// Keys that change, `mem_mode=reg`.
    Reg,
    /// Keys that do not change, `mem_mode=dma`.
    Dma,
    /// A store in a file or on a block device.
    Path,
    /// The latency of each operation, which `untimed` leaves out.
    Latencies,
    /// A series, `interval=`, and a limit that its intervals must hold.
    Series,
    /// Datagrams, `qp=ud`; of a server, whose clients say that, nothing.
    Datagrams,
    /// The handshake of the connection management, which `tcp` leaves out.
    Handshake,
}

/// Options of which a command has one at most.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// The server's address.
    Address,
    /// The address that a client connects from.
    Source,
    /// The test.
    Test,
    /// The way to invalidate a key, and the side that does it.
    Invalidation,
    /// The way in which a thread finds completions.
    Polling,
    /// The requests that complete.
    Signals,
    /// The receives of a connection: its own, or shared ones.
    Receives,
}

impl Group {
    /// All groups.
    pub(crate) const ALL: [Self; 7] = [
        Self::Address,
        Self::Source,
        Self::Test,
        Self::Invalidation,
        Self::Polling,
        Self::Signals,
        Self::Receives,
    ];
}

impl OptionSpec {
    /// Creates an option of every command.
    pub(crate) const fn new(names: &'static [&'static str], value: Value) -> Self {
        Self {
            names,
            help: "",
            value,
            asks: Asks::Nothing,
            goes: |_, _| true,
            elsewhere: Elsewhere::Tests,
            needs: Needs::Nothing,
            group: None,
            bit: 0,
        }
    }

    /// Limits it to the roles and tests for which `goes` is true.
    pub(crate) const fn goes(self, goes: fn(Role, Test) -> bool) -> Self {
        Self { goes, ..self }
    }

    /// Limits it like [`goes`](Self::goes), where a sentence is to name roles and tests together.
    pub(crate) const fn placed(self, goes: fn(Role, Test) -> bool) -> Self {
        Self {
            goes,
            elsewhere: Elsewhere::Places,
            ..self
        }
    }

    /// Says what else it needs.
    pub(crate) const fn needs(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    /// Puts it into a group.
    pub(crate) const fn group(self, group: Group) -> Self {
        Self {
            group: Some(group),
            ..self
        }
    }

    /// Gives it a flag in the private data.
    pub(crate) const fn bit(self, bit: u32) -> Self {
        Self { bit, ..self }
    }

    /// Says which role or test it asks for.
    pub(crate) const fn asks(self, asks: Asks) -> Self {
        Self { asks, ..self }
    }

    /// Gives it its line of help.
    pub(crate) const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// Returns its usual name.
    pub(crate) fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or("")
    }

    /// Returns true where it goes with this role and test.
    pub(crate) fn fits(&self, role: Role, test: Test) -> bool {
        let is_asked = match self.asks {
            Asks::Nothing => true,
            Asks::Role(asked) => asked == role,
            Asks::Test(asked) => asked == test,
        };
        is_asked && (self.goes)(role, test)
    }

    /// Returns true where it goes with a command of this role and test. A server that has no test
    /// serves whatever its clients ask for, so that it takes the options of all these.
    pub(crate) fn goes_with(&self, role: Role, test: Test) -> bool {
        if role == Role::Server && test == Test::PingPong {
            let mut served = Test::ALL.iter().filter(|test| test.iterates());
            served.any(|test| self.fits(role, *test))
        } else {
            self.fits(role, test)
        }
    }
}
