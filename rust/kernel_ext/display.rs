// SPDX-License-Identifier: GPL-2.0

//! Printing values that only know [`core::fmt`].
//!
//! The kernel crate's print macros take its own `Display`, which code that also
//! builds on the host cannot implement.

use crate::logic::{
    caps::Limits,
    claims::{Claims, Port},
    command::Command,
    failure::Failure,
    parse_error::ParseError,
    preflight::Preflight,
    stats::Counters,
    trial::Trial,
};
use crate::results::Report;
use kernel::fmt;

/// Prints as [`core::fmt::Display`] does.
pub(crate) struct Plain<T>(pub(crate) T);

impl<T: core::fmt::Display> fmt::Display for Plain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        core::fmt::Display::fmt(&self.0, f)
    }
}

macro_rules! forward_display {
    ($($type:ty),* $(,)?) => {$(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                core::fmt::Display::fmt(self, f)
            }
        }
    )*};
}

forward_display!(
    Claims,
    Command,
    Counters,
    Failure,
    Limits,
    ParseError<'_>,
    Port,
    Preflight,
    Report<'_>,
    Trial
);
