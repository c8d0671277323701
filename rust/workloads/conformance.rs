// SPDX-License-Identifier: GPL-2.0

//! Conformance tests: a device is used wrongly, or up to a limit, and must do what is
//! specified.
//!
//! A case has a connection of its own within this host, a [`Pair`], whose two queue
//! pairs only record what completes. One thread posts to both, polls both, and looks
//! at the states of both, so nothing happens behind the back of a case. What is seen
//! is compared in [`logic`](crate::logic::conformance::expectation); what a case does is in
//! [`cases`], its queues in [`setup`].
//!
//! Unlike other tests, these wait: each wait ends at a deadline or when the command is
//! cancelled, and what did not come until then is part of what is seen.

#![forbid(unsafe_code)]

pub(crate) mod cases;
pub(crate) mod end;
mod limits;
pub(crate) mod pair;
mod recorder;
pub(crate) mod runner;
pub(crate) mod setup;

pub(crate) use end::End;
pub(crate) use pair::{
    Pair,
    Patience, //
};
pub(crate) use recorder::Recorder;
pub(crate) use setup::Setup;
