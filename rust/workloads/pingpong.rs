// SPDX-License-Identifier: GPL-2.0

//! The ping/pong of C krping and rping: both sides of a connection.

#![forbid(unsafe_code)]

pub(crate) mod client;
pub(crate) mod entry;
pub(crate) mod server;
