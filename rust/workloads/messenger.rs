// SPDX-License-Identifier: GPL-2.0

//! Messages by SENDs, as storage clusters send them: chunks of one pool, receives that all
//! connections share, and one dispatcher for all completions.
//!
//! The protocol is [`crate::logic::messenger`]'s, which decides what is sent; this does it.
//!
//! - [`entry`] - the entry points
//! - [`client`], [`server`] - the connections of either side
//! - [`answering`] - the making of a server's connection
//! - [`requests`], [`arrivals`] - the clients that come to a server, and those that come over TCP
//! - [`link`] - meeting over TCP
//! - [`dispatcher`] - the thread that serves them
//! - [`connection`], [`content`] - one of them, and the bytes of its messages
//! - [`asking`], [`sends`] - the messages that it begins, and its sends under way
//! - [`pool`] - the chunks and the completion queue that they share
//! - [`report`] - their ends, and the result

#![forbid(unsafe_code)]

mod answering;
mod arrivals;
mod asking;
mod client;
mod connection;
mod content;
mod dispatcher;
pub(crate) mod entry;
mod link;
mod pool;
mod report;
mod requests;
mod sends;
mod server;
