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
use core::ops::RangeInclusive;

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
                Number::Value(n) => n.checked_mul(unit).map_or(Number::Huge, Number::Value),
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
    /// The names, each with its value in the smallest unit. A name that is a suffix of another one
    /// comes after it.
    scale: &'static [(&'static str, u64)],
    /// The names as a sentence lists them; empty where there are none.
    suffixes: &'static str,
    /// The smallest unit, as written after the bounds of a range.
    pub(crate) unit: &'static str,
}

impl Units {
    /// Returns the names, the smaller units first.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.scale.iter().map(|(name, _)| *name)
    }
}

/// A number without a unit.
pub(crate) const PLAIN: Units = Units {
    scale: &[],
    suffixes: "",
    unit: "",
};

/// Seconds.
pub(crate) const SECONDS: Units = Units {
    unit: " seconds",
    ..PLAIN
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
    unit: "",
};

/// Bytes per second.
pub(crate) const RATE: Units = Units {
    unit: " bytes per second",
    ..SIZE
};

/// Operations per second.
pub(crate) const OPERATIONS: Units = Units {
    unit: " operations per second",
    ..PLAIN
};

/// A time in nanoseconds.
pub(crate) const TIME: Units = Units {
    scale: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
    ],
    suffixes: "ns, us, ms or s",
    unit: " ns",
};
