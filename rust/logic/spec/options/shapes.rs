// SPDX-License-Identifier: GPL-2.0

//! Shapes of rows: what options of one kind have in common.

use crate::logic::spec::{
    option::{
        Asks,
        Group,
        OptionSpec,
        Text,
        Value, //
    },
    role::Role,
    tests::Test, //
};

/// A flag that sets this field.
macro_rules! flag {
    ($name:literal, $($field:ident).+) => {
        OptionSpec::new(
            &[$name],
            Value::Flag {
                get: |command| command.$($field).+,
                set: |command| command.$($field).+ = true,
            },
        )
    };
}
pub(super) use flag;

/// A number for this field.
macro_rules! number {
    ($names:expr, $example:literal, $range:expr, $units:expr, $($field:ident).+) => {
        OptionSpec::new(
            &$names,
            Value::Number {
                example: $example,
                range: $range,
                units: &$units,
                get: |command| Some(command.$($field).+.into()),
                set: |command, number| {
                    command.$($field).+ = number.try_into().ok()?;
                    Some(())
                },
            },
        )
    };
}
pub(super) use number;

/// A number for this field, which need not have any.
macro_rules! optional {
    ($name:literal, $example:literal, $range:expr, $units:expr, $($field:ident).+) => {
        OptionSpec::new(
            &[$name],
            Value::Number {
                example: $example,
                range: $range,
                units: &$units,
                get: |command| command.$($field).+.map(Into::into),
                set: |command, number| {
                    command.$($field).+ = Some(number.try_into().ok()?);
                    Some(())
                },
            },
        )
    };
}
pub(super) use optional;

/// An option that asks for a role.
pub(super) const fn role(names: &'static [&'static str], role: Role) -> OptionSpec {
    OptionSpec::new(names, Value::Nothing).asks(Asks::Role(role))
}

/// An option that asks for a test.
pub(super) const fn test(names: &'static [&'static str], test: Test) -> OptionSpec {
    asking(OptionSpec::new(names, Value::Nothing), test)
}

/// The same of an option with a value.
pub(super) const fn asking(spec: OptionSpec, test: Test) -> OptionSpec {
    spec.asks(Asks::Test(test)).group(Group::Test)
}

pub(super) const fn text(names: &'static [&'static str], text: Text) -> OptionSpec {
    OptionSpec::new(names, Value::Text(text))
}
