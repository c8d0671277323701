// SPDX-License-Identifier: GPL-2.0

//! Parsing of option values.

use super::parse_error::{
    Kind,
    ParseError,
    Reason, //
};
use crate::logic::text::{
    number::{
        integer,
        Number, //
    },
    Text, //
};
use core::{
    num::NonZeroU64,
    ops::RangeInclusive, //
};

pub(crate) type Result<'a, T> = core::result::Result<T, ParseError<'a>>;

/// The white space allowed around options. Any other white space is unprintable, and so refused.
pub(crate) const SPACE: [char; 2] = [' ', '\t'];

/// One option as it was given, with the text after `=` where there is one.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: Option<&'a str>,
}

impl<'a> Given<'a> {
    /// Checks that it has no value.
    pub(crate) fn flag(self) -> Result<'a, ()> {
        match self.value {
            None => Ok(()),
            Some(_) => Err(self.invalid(Reason::TakesNoValue)),
        }
    }

    /// Returns the value, which must not be missing or empty.
    pub(crate) fn value(self, example: &'static str) -> Result<'a, &'a str> {
        match self.value {
            Some(value) if !value.is_empty() => Ok(value),
            _ => Err(self.invalid(Reason::NeedsValue { example })),
        }
    }

    /// Returns the value as a text of 1 to `N` printable ASCII characters, without white space at
    /// either end.
    /// `otherwise` makes the reason for any other value.
    pub(crate) fn text<const N: usize>(
        self,
        example: &'static str,
        otherwise: impl FnOnce(&'a str) -> Reason<'a>,
    ) -> Result<'a, Text<N>> {
        let value = self.value(example)?;
        Text::new(value)
            .filter(|_| value.trim_matches(SPACE) == value)
            .ok_or(self.invalid(otherwise(value)))
    }

    /// Returns the value as a number within `range`.
    pub(crate) fn number<T: TryFrom<u64>>(
        self,
        example: &'static str,
        range: &RangeInclusive<u64>,
    ) -> Result<'a, T> {
        self.scaled(example, range, &PLAIN)
    }

    /// Returns the value as a number of smallest units within `range`. The name of one of `units`
    /// may follow the number.
    pub(crate) fn scaled<T: TryFrom<u64>>(
        self,
        example: &'static str,
        range: &RangeInclusive<u64>,
        units: &Units,
    ) -> Result<'a, T> {
        let value = self.value(example)?;
        let scaled = units
            .scale
            .iter()
            .find_map(|(name, unit)| Some((value.strip_suffix(name)?, *unit)));
        let number = match scaled {
            None => integer(value),
            Some((digits, unit)) => match integer(digits) {
                Number::Value(n) => match n.checked_mul(unit) {
                    None => Number::Huge,
                    Some(n) if n % units.base != 0 => {
                        let unit = units.unit;
                        return Err(self.invalid(Reason::NotWhole { value, unit }));
                    }
                    Some(n) => Number::Value(n / units.base),
                },
                other => other,
            },
        };
        let number = match number {
            Number::Value(n) if range.contains(&n) => T::try_from(n).ok(),
            Number::Value(_) | Number::Huge => None,
            Number::None => {
                let suffixes = units.suffixes;
                return Err(self.invalid(Reason::NotNumber { value, suffixes }));
            }
        };
        number.ok_or(self.out_of_range(range, units))
    }

    /// Creates the error for a value that is a number outside `range`.
    pub(crate) fn out_of_range(self, range: &RangeInclusive<u64>, units: &Units) -> ParseError<'a> {
        ParseError {
            kind: Kind::Range,
            option: self.name,
            reason: Reason::OutOfRange {
                value: self.value.unwrap_or(""),
                min: *range.start(),
                max: *range.end(),
                unit: units.unit,
            },
        }
    }

    pub(crate) fn invalid(self, reason: Reason<'a>) -> ParseError<'a> {
        invalid(self.name, reason)
    }
}

/// Creates an error of kind [`Kind::Invalid`] about `option`.
pub(crate) fn invalid<'a>(option: &'a str, reason: Reason<'a>) -> ParseError<'a> {
    ParseError {
        kind: Kind::Invalid,
        option,
        reason,
    }
}

/// The units that may follow a number.
pub(crate) struct Units {
    /// The names, each with its value in the smallest one. A name that is a suffix of another one
    /// comes after it.
    scale: &'static [(&'static str, u64)],
    /// The unit of a number without a name, in the smallest one.
    base: NonZeroU64,
    /// The names as a sentence lists them; empty where there are none.
    suffixes: &'static str,
    /// The unit of a number without a name, as written after the bounds of a range.
    pub(crate) unit: &'static str,
}

impl Units {
    /// Returns the names, the smaller units first.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.scale.iter().map(|(name, _)| *name)
    }

    /// Returns the names, each with its value in the smallest unit.
    pub(crate) fn scale(&self) -> &'static [(&'static str, u64)] {
        self.scale
    }

    /// Returns the unit of a number without a name, in the smallest one.
    pub(crate) fn base(&self) -> u64 {
        self.base.get()
    }

    /// Creates the units of a time. A number without one counts `base` nanoseconds, which are a
    /// `unit`.
    const fn time(base: NonZeroU64, unit: &'static str) -> Self {
        Self {
            scale: &TIMES,
            base,
            suffixes: "ns, us, ms, s, m or h",
            unit,
        }
    }
}

/// The units of times, in nanoseconds.
const TIMES: [(&str, u64); 6] = [
    ("ns", 1),
    ("us", MICROSECOND.get()),
    ("ms", MILLISECOND.get()),
    ("s", SECOND.get()),
    ("m", 60 * SECOND.get()),
    ("h", 3600 * SECOND.get()),
];

const ONE: NonZeroU64 = NonZeroU64::MIN;
const MICROSECOND: NonZeroU64 = ONE.saturating_mul(THOUSAND);
const MILLISECOND: NonZeroU64 = MICROSECOND.saturating_mul(THOUSAND);
const SECOND: NonZeroU64 = MILLISECOND.saturating_mul(THOUSAND);
const THOUSAND: NonZeroU64 = match NonZeroU64::new(1000) {
    Some(number) => number,
    None => ONE,
};

/// A number that counts nothing, as of a port.
pub(crate) const PLAIN: Units = Units {
    scale: &[],
    base: ONE,
    suffixes: "",
    unit: "",
};

/// A number of things, of which a thousand is K.
pub(crate) const COUNT: Units = Units {
    scale: &[
        ("K", 1_000),
        ("k", 1_000),
        ("M", 1_000_000),
        ("m", 1_000_000),
        ("G", 1_000_000_000),
        ("g", 1_000_000_000),
    ],
    suffixes: "K, M or G",
    ..PLAIN
};

/// Operations per second.
pub(crate) const OPERATIONS: Units = Units {
    unit: " operations per second",
    ..COUNT
};

/// Bytes.
pub(crate) const SIZE: Units = Units {
    scale: &[
        ("K", 1 << 10),
        ("k", 1 << 10),
        ("M", 1 << 20),
        ("m", 1 << 20),
        ("G", 1 << 30),
        ("g", 1 << 30),
    ],
    suffixes: "K, M or G",
    ..PLAIN
};

/// Bytes per second.
pub(crate) const RATE: Units = Units {
    unit: " bytes per second",
    ..SIZE
};

/// A time in nanoseconds.
pub(crate) const NANOSECONDS: Units = Units::time(ONE, " ns");

/// A time in microseconds.
pub(crate) const MICROSECONDS: Units = Units::time(MICROSECOND, " us");

/// A time in milliseconds.
pub(crate) const MILLISECONDS: Units = Units::time(MILLISECOND, " ms");

/// A time in seconds.
pub(crate) const SECONDS: Units = Units::time(SECOND, " seconds");
