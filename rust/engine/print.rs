// SPDX-License-Identifier: GPL-2.0

//! Printing values that only know [`core::fmt`].
//!
//! The kernel crate's print macros take its own `Display`, which code that also
//! builds on the host cannot implement.

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
    failure::Failure,
    measure::stats::Counters, //
};
use kernel::fmt;

/// Prints as [`core::fmt::Display`] does.
pub(crate) struct Plain<T>(pub(crate) T);

impl<T: core::fmt::Display> fmt::Display for Plain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        core::fmt::Display::fmt(&self.0, f)
    }
}

/// Has the kernel's `Display` of types do what [`core::fmt::Display`] does.
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
    Failure,
    Limits,
    ParseError<'_>,
    Port,
    Preflight,
    Trial
);
