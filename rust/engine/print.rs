// SPDX-License-Identifier: GPL-2.0

//! Prints values that only implement [`core::fmt`].
//!
//! The kernel crate's print macros take its own `Display`, which code that is also built on the
//! host cannot implement.

use crate::logic::{
    command::{
        parse_error::ParseError,
        Command, //
    },
    conformance::trial::Trial,
    device::{
        caps::Limits,
        claims::{
            Claims,
            Port, //
        },
        preflight::Preflight, //
    },
    failure::{
        packets::Packets,
        Failure, //
    },
    measure::stats::Counters,
    spec::help::{
        Introduction,
        Topic, //
    },
    text::EscapedTo, //
};
use kernel::fmt;

/// Prints a value with its [`core::fmt::Display`].
pub(crate) struct Plain<T>(pub(crate) T);

impl<T: core::fmt::Display> fmt::Display for Plain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        core::fmt::Display::fmt(&self.0, f)
    }
}

/// Implements the kernel's `Display` for types with their [`core::fmt::Display`].
macro_rules! forward_display {
    ($($type:ty),* $(,)?) => {$(
        impl kernel::fmt::Display for $type {
            fn fmt(&self, f: &mut kernel::fmt::Formatter<'_>) -> kernel::fmt::Result {
                core::fmt::Display::fmt(self, f)
            }
        }
    )*};
}
pub(crate) use forward_display;

forward_display!(
    Claims,
    Command,
    Counters,
    EscapedTo<'_, 512>,
    Failure,
    Introduction,
    Limits,
    Packets,
    ParseError<'_>,
    Port,
    Preflight,
    Topic,
    Trial
);
