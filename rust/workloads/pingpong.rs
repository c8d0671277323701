// SPDX-License-Identifier: GPL-2.0

//! The ping/pong of C krping and rping: both sides of a connection.
//!
//! [`client`] and [`server`] are the sides; the engine starts and serves them through [`entry`].
//! [`crate::logic::pingpong`] decides the next step of each.

#![forbid(unsafe_code)]

pub(crate) mod client;
pub(crate) mod entry;
pub(crate) mod server;
