// SPDX-License-Identifier: GPL-2.0

//! Messages by SENDs, as storage clusters send them: chunks of one pool, receives that all
//! connections share, and one dispatcher for all completions.
//!
//! The protocol is [`crate::logic::messenger`]'s, which decides what is sent; this does it.
//!
//! - [`entry`] - the entry points
//! - [`client`], [`server`] - the connections of either side
//! - [`dispatcher`] - the thread that serves them
//! - [`connection`], [`content`] - one of them, and the bytes of its messages
//! - [`asking`], [`sends`] - the messages that it begins, and its sends under way
//! - [`pool`] - the chunks and the completion queue that they share
//! - [`report`] - their ends, and the result

#![forbid(unsafe_code)]

mod asking;
mod client;
mod connection;
mod content;
mod dispatcher;
pub(crate) mod entry;
mod pool;
mod report;
mod sends;
mod server;
