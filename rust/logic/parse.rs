// SPDX-License-Identifier: GPL-2.0

//! The grammar of commands.
//!
//! Options are separated by commas, and each is `NAME` or `NAME=VALUE`. Each may be given once, in
//! any order. White space around the command and around an option is ignored.

use super::{
    addr::{
        Addr,
        V6Error, //
    },
    command::{
        limits,
        Command,
        MemMode,
        PatternKind,
        Role,
        Tag,
        Test, //
    },
    options::{
        self,
        Opt, //
    },
    parse_error::{
        Kind,
        ParseError,
        Reason, //
    },
    text::is_printable,
};
use core::ops::RangeInclusive;

type Result<'a, T> = core::result::Result<T, ParseError<'a>>;

impl Command {
    /// Reads one command, as written to `/proc/krping`.
    pub(crate) fn parse(text: &str) -> Result<'_, Command> {
        let text = text.strip_suffix('\n').unwrap_or(text).trim_matches(SPACE);
        if text.is_empty() {
            return Err(invalid("", Reason::EmptyCommand));
        }
        // The role is known at the end: until then it is a guess that nothing reads.
        let mut parser = Parser {
            command: Command::new(Role::Client),
            seen: 0,
        };
        for option in text.split(',') {
            parser.option(option.trim_matches(SPACE))?;
        }
        parser.finish()
    }
}

/// White space that may stand around options; nothing else that counts as such is printable.
const SPACE: [char; 2] = [' ', '\t'];

/// A command that is being read.
struct Parser {
    command: Command,
    /// The bits of the options read so far.
    seen: u32,
}

impl Parser {
    /// Reads one option.
    fn option<'a>(&mut self, text: &'a str) -> Result<'a, ()> {
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
        if options::NOT_SUPPORTED.contains(&name) {
            return Err(ParseError {
                kind: Kind::NotSupported,
                option: name,
                reason: Reason::NotSupported,
            });
        }
        let Some(opt) = options::find(name) else {
            let nearest = options::nearest(name);
            return Err(invalid(name, Reason::Unknown { nearest }));
        };
        if self.has(opt) {
            return Err(invalid(name, Reason::Twice));
        }
        self.seen |= opt.bit();
        self.take(opt, Given { name, value })
    }

    /// Takes the value of one option.
    fn take<'a>(&mut self, opt: Opt, given: Given<'a>) -> Result<'a, ()> {
        let command = &mut self.command;
        match opt {
            // Which role it is counts when all options are known.
            Opt::Client | Opt::Server | Opt::Loopback => given.flag()?,
            Opt::Addr => {
                let value = given.value("192.0.2.1")?;
                let addr = Addr::parse_v4(value);
                command.addr = Some(addr.ok_or(given.invalid(Reason::NotV4 { value }))?);
            }
            Opt::Addr6 => {
                let value = given.value("2001:db8::1")?;
                let addr = Addr::parse_v6(value).map_err(|e| {
                    given.invalid(match e {
                        V6Error::Address => Reason::NotV6 { value },
                        V6Error::Interface => Reason::NotInterface { value },
                        V6Error::NoInterface => Reason::NoInterface { value },
                    })
                })?;
                command.addr = Some(addr);
            }
            Opt::Port => command.port = given.number("9999", limits::PORT)?,
            Opt::Count => command.count = given.number("1000", limits::COUNT)?,
            Opt::Size => command.size = given.size("4K", limits::SIZE)?,
            Opt::Verbose => command.verbose = given.set()?,
            Opt::Validate => command.validate = given.set()?,
            Opt::MemMode => {
                command.mem_mode = match given.value("reg")? {
                    "dma" => MemMode::Dma,
                    // The C krping's first name for it.
                    "reg" | "fastreg" => MemMode::Reg,
                    value => {
                        let valid = "dma, reg or fastreg";
                        return Err(given.invalid(Reason::NotOneOf { value, valid }));
                    }
                }
            }
            Opt::ServerInv => command.server_inv = given.set()?,
            Opt::ReadInv => command.read_inv = given.set()?,
            Opt::LocalDmaLkey => command.local_dma_lkey = given.set()?,
            Opt::UnsafeGlobalRkey => command.unsafe_global_rkey = given.set()?,
            Opt::Fr => {
                given.flag()?;
                command.test = Test::FastReg;
            }
            Opt::Poll => command.poll = given.set()?,
            Opt::Persist => command.persist = given.set()?,
            Opt::Tos => command.tos = Some(given.number("32", limits::TOS)?),
            Opt::TxDepth => command.txdepth = given.number("64", limits::TXDEPTH)?,
            Opt::Threads => command.threads = given.number("4", limits::THREADS)?,
            Opt::Timeout => {
                command.timeout_ms = Some(given.number("10000", limits::TIMEOUT_MS)?);
            }
            Opt::Pattern => {
                command.pattern = match given.value("binary")? {
                    "text" => PatternKind::Text,
                    "binary" => PatternKind::Binary,
                    value => {
                        let valid = "text or binary";
                        return Err(given.invalid(Reason::NotOneOf { value, valid }));
                    }
                }
            }
            Opt::Tag => {
                let value = given.value("TEXT")?;
                let fits = !value.is_empty() && value.trim_matches(SPACE) == value;
                let tag = Tag::new(value).filter(|_| fits);
                command.tag = tag.ok_or(given.invalid(Reason::NotTag))?;
            }
        }
        Ok(())
    }

    /// Settles the role and checks the options against each other.
    fn finish(self) -> Result<'static, Command> {
        let role = self.role()?;
        let mut command = self.command.clone();
        command.role = role;
        if !self.has(Opt::Port) {
            command.port = Command::new(role).port;
        }

        for (one, other) in [(Opt::Addr, Opt::Addr6), (Opt::ServerInv, Opt::ReadInv)] {
            if self.has(one) && self.has(other) {
                let other = other.name();
                return Err(invalid(one.name(), Reason::Both { other }));
            }
        }
        if command.addr.is_none() && role != Role::Server {
            return Err(invalid(role.as_str(), Reason::NoAddr));
        }
        let is_reg = command.mem_mode == MemMode::Reg;
        let rules = [
            (Opt::Fr, role != Role::Server, Reason::FollowsClient),
            (Opt::Persist, role == Role::Server, Reason::NeedsServer),
            (Opt::ServerInv, is_reg, Reason::NeedsReg),
            (Opt::ReadInv, is_reg, Reason::NeedsReg),
            (Opt::UnsafeGlobalRkey, !is_reg, Reason::NeedsDma),
        ];
        for (opt, holds, reason) in rules {
            if self.has(opt) && !holds {
                return Err(invalid(opt.name(), reason));
            }
        }
        // INVARIANT: each line of `Command`'s was checked above.
        Ok(command)
    }

    /// The one role that is given.
    fn role(&self) -> Result<'static, Role> {
        let roles = [
            (Opt::Client, Role::Client),
            (Opt::Server, Role::Server),
            (Opt::Loopback, Role::Loopback),
        ];
        let mut given = roles.into_iter().filter(|(opt, _)| self.has(*opt));
        match (given.next(), given.next()) {
            (None, _) => Err(invalid("", Reason::NoRole)),
            (Some((_, role)), None) => Ok(role),
            (Some((_, role)), Some((_, other))) => {
                let other = other.as_str();
                Err(invalid(role.as_str(), Reason::TwoRoles { other }))
            }
        }
    }

    fn has(&self, opt: Opt) -> bool {
        self.seen & opt.bit() != 0
    }
}

/// One option as it was given.
#[derive(Clone, Copy)]
struct Given<'a> {
    name: &'a str,
    value: Option<&'a str>,
}

impl<'a> Given<'a> {
    /// Checks that it has no value.
    fn flag(self) -> Result<'a, ()> {
        match self.value {
            None => Ok(()),
            Some(_) => Err(self.invalid(Reason::TakesNoValue)),
        }
    }

    /// [`flag`](Self::flag), for the field that it sets.
    fn set(self) -> Result<'a, bool> {
        self.flag().map(|()| true)
    }

    /// Its value, which must be there.
    fn value(self, example: &'static str) -> Result<'a, &'a str> {
        match self.value {
            Some(value) if !value.is_empty() => Ok(value),
            _ => Err(self.invalid(Reason::NeedsValue { example })),
        }
    }

    /// Its value as a number within `range`.
    fn number<T: TryFrom<u64>>(
        self,
        example: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<'a, T> {
        let value = self.value(example)?;
        self.convert(integer(value), false, range)
    }

    /// Its value as a number within `range`, in units of 1024 where a letter follows.
    fn size<T: TryFrom<u64>>(
        self,
        example: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<'a, T> {
        let value = self.value(example)?;
        let units = [
            (['K', 'k'], 1 << 10),
            (['M', 'm'], 1 << 20),
            (['G', 'g'], 1 << 30),
        ];
        let number = units
            .into_iter()
            .find_map(|(letters, unit)| Some((value.strip_suffix(letters)?, unit)))
            .map_or_else(
                || integer(value),
                |(digits, unit)| match integer(digits) {
                    Number::Value(n) => n.checked_mul(unit).map_or(Number::Huge, Number::Value),
                    other => other,
                },
            );
        self.convert(number, true, range)
    }

    /// What `number` is worth in the field's type.
    fn convert<T: TryFrom<u64>>(
        self,
        number: Number,
        suffix: bool,
        range: RangeInclusive<u64>,
    ) -> Result<'a, T> {
        let value = self.value.unwrap_or_default();
        let number = match number {
            Number::Value(n) if range.contains(&n) => T::try_from(n).ok(),
            Number::Value(_) | Number::Huge => None,
            Number::None => return Err(self.invalid(Reason::NotNumber { value, suffix })),
        };
        number.ok_or(ParseError {
            kind: Kind::Range,
            option: self.name,
            reason: Reason::OutOfRange {
                value,
                min: *range.start(),
                max: *range.end(),
            },
        })
    }

    fn invalid(self, reason: Reason<'a>) -> ParseError<'a> {
        invalid(self.name, reason)
    }
}

fn invalid<'a>(option: &'a str, reason: Reason<'a>) -> ParseError<'a> {
    ParseError {
        kind: Kind::Invalid,
        option,
        reason,
    }
}

/// What digits are worth.
enum Number {
    Value(u64),
    /// More than 64 bits hold.
    Huge,
    /// They are no number.
    None,
}

/// Reads digits, decimal or hexadecimal after 0x.
///
/// A decimal number that begins with 0 is none: the C krping took it as octal.
fn integer(text: &str) -> Number {
    let (digits, radix) = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => return Number::None,
        None => (text, 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Number::None;
    }
    u64::from_str_radix(digits, radix).map_or(Number::Huge, Number::Value)
}
