// SPDX-License-Identifier: GPL-2.0

//! What krping decides without the kernel's help.
//!
//! The grammar of commands, the messages on the wire, the data that is sent, and what is counted
//! and measured. All of it is pure: no allocation, no `unsafe`, no kernel interface, and no way to
//! panic, so that the same files build, are tested and are fuzzed on the host (`tests/host`).
//!
//! Rules for this directory:
//!
//! - Paths are relative (`super::`), since the host builds it as part of another crate.
//! - Whatever comes from a writer or a peer is read with `get`, `split_at_checked` and their like,
//!   and arithmetic on it saturates, wraps or is checked by name: the kernel builds Rust with
//!   overflow checks, where a plain `+` can stop a machine.
//! - No 128-bit division and no floating point: the kernel has neither.

#![forbid(unsafe_code)]

pub(crate) mod addr;
pub(crate) mod allow;
pub(crate) mod backoff;
pub(crate) mod block;
pub(crate) mod block_answer;
mod block_options;
mod block_rules;
mod block_status;
pub(crate) mod block_survey;
pub(crate) mod caps;
pub(crate) mod claims;
pub(crate) mod command;
pub(crate) mod conformance;
pub(crate) mod control;
pub(crate) mod cpus;
pub(crate) mod crc;
pub(crate) mod deviation;
pub(crate) mod errno;
pub(crate) mod expectation;
pub(crate) mod extensions;
pub(crate) mod extras;
pub(crate) mod failure;
pub(crate) mod hello;
pub(crate) mod histogram;
pub(crate) mod joining;
pub(crate) mod json;
mod load;
pub(crate) mod observation;
mod options;
mod order;
pub(crate) mod pace;
mod parse;
pub(crate) mod parse_error;
pub(crate) mod pattern;
pub(crate) mod place;
pub(crate) mod preflight;
mod private_data;
pub(crate) mod protocol;
pub(crate) mod ratelimit;
mod rules;
pub(crate) mod segments;
pub(crate) mod stats;
pub(crate) mod telling;
pub(crate) mod text;
pub(crate) mod trial;
mod value;
pub(crate) mod window;
pub(crate) mod wire;
