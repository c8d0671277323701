// SPDX-License-Identifier: GPL-2.0

//! Formats commands as text.

use super::Command;
use crate::logic::spec::{
    load::Load,
    option::{
        Asks,
        OptionSpec,
        Value, //
    },
    options::Opt, //
};
use core::fmt;

/// Writes the shortest command with the same meaning.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self {
            load: Load {
                signal_every: Load::usual_signal_every(self.test, self.load.completes_each()),
                ..Load::new(self.test)
            },
            ..Self::new(self.role)
        };
        // A test that implies its role is written in place of the role.
        let leads = |opt: &OptionSpec| match (opt.asks, self.test.implied_role()) {
            (Asks::Role(role), None) => role == self.role,
            (Asks::Test(test), Some(_)) => test == self.test,
            (Asks::Role(_) | Asks::Test(_) | Asks::Nothing, _) => false,
        };
        let all = Opt::ALL.iter().map(|opt| opt.spec());
        let mut separator = "";
        let first = all.clone().filter(|opt| leads(opt));
        for opt in first.chain(all.filter(|opt| !leads(opt))) {
            if opt.is_said_of(self, &default) || leads(opt) {
                write!(f, "{separator}{}", opt.name())?;
                opt.show_value(self, f)?;
                separator = ",";
            }
        }
        Ok(())
    }
}

impl OptionSpec {
    /// Returns true where the option must be written for `command`: the command has its test, or
    /// differs from `default` in its field.
    fn is_said_of(&self, command: &Command, default: &Command) -> bool {
        if let Asks::Test(test) = self.asks {
            return test == command.test;
        }
        match &self.value {
            Value::Nothing | Value::Target | Value::Topic => false,
            Value::Flag { get, .. } | Value::FlagOrWord { get, .. } => get(command),
            Value::Number { get, .. } => get(command) != get(default),
            Value::Word { get, .. } => get(command) != get(default),
            Value::Text(text) | Value::Late(text) => (text.is_set)(command),
        }
    }

    /// Writes `=` and the option's value in `command`, where it has one.
    fn show_value(&self, command: &Command, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Nothing | Value::Target | Value::Topic | Value::Flag { .. } => Ok(()),
            Value::FlagOrWord { word, has_word, .. } if has_word(command) => write!(f, "={word}"),
            Value::FlagOrWord { .. } => Ok(()),
            Value::Number { get, .. } => match get(command) {
                Some(number) => write!(f, "={number}"),
                None => Ok(()),
            },
            Value::Word { get, .. } => write!(f, "={}", get(command)),
            Value::Text(text) | Value::Late(text) if (text.is_set)(command) => {
                f.write_str("=")?;
                (text.show)(command, f)
            }
            Value::Text(_) | Value::Late(_) => Ok(()),
        }
    }
}
