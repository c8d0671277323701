// SPDX-License-Identifier: GPL-2.0

//! Messages by SENDs alone, from and into chunks of one pool, as storage clusters send them.
//!
//! A message is a header and its bytes, cut into chunks: each is a SEND, and takes a receive of the
//! queue that all connections share. An empty SEND ends a direction. `docs/messenger.md` has the
//! protocol.
//!
//! - [`hello`] - what both sides tell of themselves while they connect
//! - [`header`] - what each message begins with
//! - [`outgoing`], [`incoming`] - messages as chunks, and chunks as messages
//! - [`turns`] - the messages that a client has under way
//! - [`figures`] - what the pool and the dispatcher did
//! - [`violation`] - chunks that break the protocol
//!
//! Nothing here does I/O: methods say what to post, and are told of what has come.

pub(crate) mod figures;
pub(crate) mod header;
pub(crate) mod hello;
pub(crate) mod incoming;
pub(crate) mod outgoing;
pub(crate) mod turns;
pub(crate) mod violation;
