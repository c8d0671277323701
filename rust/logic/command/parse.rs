// SPDX-License-Identifier: GPL-2.0

//! The grammar of commands.
//!
//! Options are separated by commas, and each is `NAME` or `NAME=VALUE`. Each may be given once, in
//! any order. White space around the command and around an option is ignored.

use super::{
    order::{
        Order,
        Target, //
    },
    parse_error::Reason,
    value::{
        invalid,
        Given,
        Result,
        SPACE, //
    },
    Command, //
};
use crate::logic::{
    spec::{
        help::Topic,
        names,
        opt_set::OptSet,
        option::Value,
        options::Opt,
        others_words,
        role::Role,
        rules, //
    },
    text::is_printable, //
};
use core::ops::DerefMut;

impl<C: DerefMut<Target = Command>> Order<C> {
    /// Parses the text of a write to `/proc/krping`. A command is large, so it is made in `place`,
    /// whose content is overwritten.
    ///
    /// # Errors
    ///
    /// The error of the first option that does not parse, else of the first broken rule.
    pub(crate) fn parse(text: &str, mut place: C) -> Result<'_, Self> {
        let mut parser = Parser::new(&mut place);
        parser.read(text)?;
        if parser.seen.has(Opt::Stop) || parser.seen.has(Opt::Force) {
            return Order::stop(parser.target, parser.seen);
        }
        if let Some(topic) = parser.topic {
            return Order::help(topic, parser.seen);
        }
        rules::begin(parser.command, parser.seen)?;
        parser.read_late()?;
        rules::finish(parser.command, parser.seen)?;
        Ok(Order::Run(place))
    }
}

/// The number of options whose value is parsed only when the role and the test are known.
const LATE: usize = {
    let mut count = 0;
    let mut i = 0;
    while i < Opt::ALL.len() {
        if matches!(Opt::ALL[i].spec().value, Value::Late(_)) {
            count += 1;
        }
        i += 1;
    }
    count
};

/// The state of the parser of one write.
struct Parser<'c, 'a> {
    command: &'c mut Command,
    /// The value of `stop=`.
    target: Option<Target>,
    /// The value of `help`.
    topic: Option<Topic>,
    /// The options whose value is parsed only when the role and the test are known.
    late: [Option<(Opt, Given<'a>)>; LATE],
    /// The options found so far.
    seen: OptSet,
}

impl<'c, 'a> Parser<'c, 'a> {
    /// Creates a parser that has read nothing. The role is a placeholder until all options are
    /// read, and nothing uses it before.
    fn new(command: &'c mut Command) -> Self {
        *command = Command::new(Role::Client);
        Self {
            command,
            target: None,
            topic: None,
            late: [const { None }; LATE],
            seen: OptSet::EMPTY,
        }
    }

    /// Parses all options in the order of the text.
    fn read(&mut self, text: &'a str) -> Result<'a, ()> {
        let text = text.strip_suffix('\n').unwrap_or(text).trim_matches(SPACE);
        if text.is_empty() {
            return Err(invalid("", Reason::EmptyCommand));
        }
        let mut rest = Some(text);
        while let Some(text) = rest {
            let (option, others) = match text.split_once(',') {
                Some((option, others)) => (option, Some(others)),
                None => (text, None),
            };
            self.option(option.trim_matches(SPACE))?;
            rest = others;
        }
        Ok(())
    }

    /// Parses one option, and checks that it exists and is given once.
    fn option(&mut self, text: &'a str) -> Result<'a, ()> {
        if text.is_empty() {
            return Err(invalid("", Reason::EmptyOption));
        }
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        if !is_printable(text) {
            return Err(invalid(name, Reason::Unprintable));
        }
        let Some(opt) = names::find(name) else {
            if has_option_behind_space(text) {
                return Err(invalid(text, Reason::Spaces));
            }
            return Err(names::unknown(name));
        };
        if self.seen.has(opt) {
            return Err(invalid(name, Reason::Twice));
        }
        self.seen.insert(opt);
        // No value that is read late holds a space.
        let is_late = matches!(opt.spec().value, Value::Late(_));
        match self.take(opt, Given { name, value }) {
            Ok(()) if !is_late => Ok(()),
            taken if !has_option_behind_space(text) => taken,
            _ => Err(invalid(text, Reason::Spaces)),
        }
    }

    /// Parses the value of one option, or keeps it for later where it is [`Value::Late`].
    fn take(&mut self, opt: Opt, given: Given<'a>) -> Result<'a, ()> {
        match &opt.spec().value {
            Value::Nothing => given.flag(),
            Value::Flag { set, .. } => {
                given.flag()?;
                set(self.command);
                Ok(())
            }
            Value::FlagOrWord { word, set, .. } => match given.value {
                Some(value) if value != *word => {
                    let valid = core::slice::from_ref(word);
                    Err(given.invalid(Reason::NotOneOf { value, valid }))
                }
                value => {
                    set(self.command, value.is_some());
                    Ok(())
                }
            },
            Value::Number {
                example,
                range,
                units,
                set,
                ..
            } => {
                let number = given.scaled(example, range, units)?;
                set(self.command, number).ok_or(given.out_of_range(range, units))
            }
            Value::Word {
                example,
                words,
                set,
                ..
            } => {
                let value = given.value(example)?;
                if !words.contains(&value) {
                    let valid = words;
                    return Err(given.invalid(match others_words::of_number(opt, value) {
                        Some(meant) => Reason::NotNumbered {
                            value,
                            valid,
                            meant,
                        },
                        None => Reason::NotOneOf { value, valid },
                    }));
                }
                set(self.command, value);
                Ok(())
            }
            Value::Text(text) => (text.read)(self.command, given),
            Value::Late(_) => {
                // There is a place for each.
                if let Some(place) = self.late.iter_mut().find(|place| place.is_none()) {
                    *place = Some((opt, given));
                }
                Ok(())
            }
            Value::Target => {
                self.target = Some(Target::parse(given)?);
                Ok(())
            }
            Value::Topic => {
                self.topic = Some(Topic::parse(given)?);
                Ok(())
            }
        }
    }

    /// Parses the values that depend on the role and the test.
    fn read_late(&mut self) -> Result<'a, ()> {
        for (opt, given) in self.late.iter().flatten() {
            if let Value::Late(text) = &opt.spec().value {
                (text.read)(self.command, *given)?;
            }
        }
        Ok(())
    }
}

/// Returns true if an option follows a space in `text`, as where somebody separates them so.
fn has_option_behind_space(text: &str) -> bool {
    let mut behind = text.split(SPACE).skip(1);
    behind.any(|word| names::find(word.split_once('=').map_or(word, |(name, _)| name)).is_some())
}
