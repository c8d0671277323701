// SPDX-License-Identifier: GPL-2.0

//! Explains the options, as comments for those who read `/proc/krping`.

use super::{
    json::{
        default_of,
        excluded_by,
        is_played,
        needed_by,
        phrase, //
    },
    names,
    option::{
        OptionSpec,
        Value, //
    },
    options::Opt,
    role::Role,
    tests::Test, //
};
use crate::logic::{
    command::value::{
        Given,
        Result, //
    },
    version::VERSION, //
};
use core::fmt;

/// Comments that stand where no thread runs.
pub(crate) struct Introduction;

impl fmt::Display for Introduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "# krping {VERSION}: nothing runs. A write runs a command, such as \
             loopback,addr=ADDRESS,wlat,count=1000\n\
             # Options: write help, or help=size, and read this file again.\n\
             # Results: /sys/kernel/debug/krping/results. \
             Why commands failed: /sys/kernel/debug/krping/errors.\n"
        )
    }
}

/// A topic that `help` asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// A list of all options.
    All,
    /// One option.
    Option(Opt),
}

impl Topic {
    /// Parses the value of `help`: none, or the name of an option.
    pub(crate) fn parse(given: Given<'_>) -> Result<'_, Self> {
        let Some(name) = given.value else {
            return Ok(Self::All);
        };
        // It may come as it stands in a command.
        let name = name.strip_suffix('=').unwrap_or(name);
        let found = names::find(name).map(Self::Option);
        found.ok_or_else(|| names::unknown(name))
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => {
                writeln!(f, "# The options of commands; help=NAME explains one.")?;
                for opt in Opt::ALL.iter().map(|opt| opt.spec()) {
                    list(opt, f)?;
                }
                Ok(())
            }
            Self::Option(opt) => explain(opt.spec(), f),
        }
    }
}

/// Writes the line of an option in the list of all.
fn list(opt: &OptionSpec, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "# {:<28} {}", Form(opt), phrase(opt.help))
}

/// Writes all that the table says of an option.
fn explain(opt: &OptionSpec, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "# {}: {}", Form(opt), phrase(opt.help))?;
    match &opt.value {
        Value::Number {
            example,
            range,
            units,
            get,
            ..
        } => {
            let (min, max) = (range.start(), range.end());
            write!(f, "#   value: {min} to {max}{}", units.unit)?;
            let mut separator = "; may end with ";
            for name in units.names() {
                write!(f, "{separator}{name}")?;
                separator = ", ";
            }
            writeln!(f, "\n#   example: {}={example}", opt.name())?;
            if let Some(default) = get(&default_of(opt)) {
                writeln!(f, "#   default: {default}")?;
            }
        }
        Value::Word { get, .. } => writeln!(f, "#   default: {}", get(&default_of(opt)))?,
        Value::Text(text) | Value::Late(text) => {
            writeln!(f, "#   example: {}={}", opt.name(), text.example)?;
        }
        Value::Target => writeln!(f, "#   example: {}=0", opt.name())?,
        Value::Topic => writeln!(f, "#   example: {}=size", opt.name())?,
        Value::Nothing | Value::Flag { .. } | Value::FlagOrWord { .. } => (),
    }
    for alias in opt.names.iter().skip(1) {
        writeln!(f, "#   also: {alias}")?;
    }
    if let Some(needed) = needed_by(opt) {
        writeln!(f, "#   needs: {needed}")?;
    }
    if let Some(excluded) = excluded_by(opt) {
        writeln!(f, "#   not with: {excluded}")?;
    }
    for role in Role::ALL {
        let mut separator = " with";
        let with = |test: &&Test| opt.goes_with(role, **test) && is_played(role, **test);
        let mut tests = Test::ALL.iter().filter(with).peekable();
        if tests.peek().is_some() {
            write!(f, "#   {}:", role.as_str())?;
            for test in tests {
                write!(f, "{separator} {}", test.as_str())?;
                separator = "";
            }
            writeln!(f)?;
        }
    }
    Ok(())
}

/// Formats an option as it stands in a command.
struct Form<'a>(&'a OptionSpec);

impl fmt::Display for Form<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0.name();
        // `pad` would need the text in one piece.
        let mut width = name.len();
        f.write_str(name)?;
        let mut write = |text: &str, f: &mut fmt::Formatter<'_>| {
            width = width.saturating_add(text.len());
            f.write_str(text)
        };
        match &self.0.value {
            Value::Nothing | Value::Flag { .. } => (),
            Value::FlagOrWord { word, .. } => {
                write("[=", f)?;
                write(word, f)?;
                write("]", f)?;
            }
            Value::Number { .. } => write("=N", f)?,
            Value::Word { words, .. } => {
                let mut separator = "=";
                for word in *words {
                    write(separator, f)?;
                    write(word, f)?;
                    separator = "|";
                }
            }
            Value::Text(_) | Value::Late(_) | Value::Target => write("=TEXT", f)?,
            Value::Topic => write("[=NAME]", f)?,
        }
        while width < f.width().unwrap_or(0) {
            f.write_str(" ")?;
            width = width.saturating_add(1);
        }
        Ok(())
    }
}
