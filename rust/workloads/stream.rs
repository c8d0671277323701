// SPDX-License-Identifier: GPL-2.0

//! Byte streams, as rsocket of rdma-core speaks them: programs under `librspreload.so`, `rstream`.
//!
//! The protocol is [`crate::logic::stream`]'s, which decides what is posted; this does it.
//!
//! - [`entry`] - the entry points
//! - [`application`] - what a side does with completions, and before there are any
//! - [`direct`] - memory that is written to directly
//! - [`entry`] - the entry points
//! - [`flow`] - both directions of a side
//! - [`memory`] - the buffers of a side
//! - [`message`] - messages as requests
//! - [`sending`], [`taking`] - the part of a side that sends, and of one that takes
//! - [`side`] - both sides

#![forbid(unsafe_code)]

mod application;
mod direct;
pub(crate) mod entry;
mod flow;
mod memory;
mod message;
mod sending;
mod side;
mod taking;
