// SPDX-License-Identifier: GPL-2.0

//! Runs commands: their sessions, threads, connections and results.

#![forbid(unsafe_code)]

pub(crate) mod accept;
pub(crate) mod client;
pub(crate) mod connect;
mod connection;
pub(crate) mod detached;
pub(crate) mod dial;
pub(crate) mod drive;
pub(crate) mod ear;
pub(crate) mod entry;
pub(crate) mod histogram;
pub(crate) mod limits;
pub(crate) mod management;
pub(crate) mod outcome;
pub(crate) mod peer_log;
pub(crate) mod print;
pub(crate) mod registry;
pub(crate) mod rejection;
pub(crate) mod restart;
pub(crate) mod results;
pub(crate) mod server;
pub(crate) mod serving;
pub(crate) mod session;
pub(crate) mod side;
mod start;
pub(crate) mod totals;
pub(crate) mod traffic;
pub(crate) mod worker;
