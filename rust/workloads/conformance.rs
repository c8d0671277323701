// SPDX-License-Identifier: GPL-2.0

//! Conformance tests: a device is used wrongly or up to a limit, and must do what is specified.
//!
//! Each case has its own connection within this host, a [`Pair`], whose two queue pairs only record
//! completions. One thread posts to both, polls both and checks the states of both, so a case sees
//! everything that happens. [`logic`](crate::logic::conformance::expectation) compares the
//! observations with the rules; [`cases`] has the actions of the cases, and [`setup`] their queues.
//!
//! Unlike other tests, these wait: each wait ends at a deadline or when the command is cancelled.
//! An event that has not come by then is an observation, too.
//!
//! - [`runner`] - the thread, which runs one case after the other
//! - [`cases`] - what is done in a case: [`steps`] from the table, or a function of [`limits`],
//!   [`order`], [`race`], [`events`], [`solicited`], [`shared`], [`datagrams`], [`inline`],
//!   [`management`]; [`setup`]: queue sizes and memory of each
//! - [`pair`], [`end`], [`probe`], [`recorder`] - the connection of a case, its ends, requests that
//!   may be wrong, and the record of completions; [`caller`]: another connection request

#![forbid(unsafe_code)]

pub(crate) mod caller;
pub(crate) mod cases;
pub(crate) mod datagrams;
mod end;
mod events;
mod inline;
mod limits;
mod management;
mod mapping;
mod order;
pub(crate) mod pair;
mod probe;
mod race;
mod recorder;
pub(crate) mod runner;
pub(crate) mod setup;
mod shared;
mod solicited;
mod steps;
mod watch;

pub(crate) use end::End;
pub(crate) use pair::{
    Deadlines, //
    Pair,
};
pub(crate) use recorder::Recorder;
pub(crate) use setup::Setup;
