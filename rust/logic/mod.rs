// SPDX-License-Identifier: GPL-2.0

//! The logic of krping that needs no kernel interface.
//!
//! The grammar of commands, the messages on the wire, the data that is sent, and what is counted
//! and measured. All of it is pure: no allocation, no `unsafe`, no kernel interface, and no way to
//! panic, so that the same files build, are tested and are fuzzed on the host (`tests/host`).
//!
//! Rules for this directory:
//!
//! - Paths stay within `crate::logic`, since the host builds it as part of another crate.
//! - Whatever comes from a writer or a peer is read with `get`, `split_at_checked` and their like,
//!   and arithmetic on it saturates, wraps or is checked by name: the kernel builds Rust with
//!   overflow checks, where a plain `+` can stop a machine.
//! - No 128-bit division and no floating point: the kernel has neither.

#![forbid(unsafe_code)]

pub(crate) mod block;
pub(crate) mod command;
pub(crate) mod conformance;
pub(crate) mod data;
pub(crate) mod device;
pub(crate) mod failure;
pub(crate) mod measure;
pub(crate) mod pingpong;
pub(crate) mod spec;
pub(crate) mod text;
pub(crate) mod wire;
