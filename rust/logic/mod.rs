// SPDX-License-Identifier: GPL-2.0

//! The logic of krping that needs no kernel interface.
//!
//! This includes the grammar of commands, the messages on the wire, the data that is sent, counters
//! and measurements. All of it is pure: it does not allocate, has no `unsafe`, uses no kernel
//! interface, and cannot panic. So the same files are built, tested and fuzzed on the host
//! (`tests/host`).
//!
//! Rules for this directory:
//!
//! - Paths stay within `crate::logic`, since the host builds it as part of another crate.
//! - Input of a writer or a peer is read with `get`, `split_at_checked` and similar methods.
//!   Arithmetic on it uses the saturating, wrapping or checked methods: the kernel builds Rust with
//!   overflow checks, so a plain `+` can panic the machine.
//! - No 128-bit division and no floating point: the kernel has neither.
//!
//! Folders:
//!
//! - [`spec`] - the tables of tests and options, and what follows from them
//! - [`command`] - commands, their grammar and errors
//! - [`wire`], [`block`] - messages of tests, and of disks and taps
//! - [`pingpong`], [`rw`], [`data`] - the state machines of the ping/pong and of transfers; the
//!   data that is sent
//! - [`stream`], [`messenger`] - byte streams, as rsocket speaks them; messages, as those of a
//!   storage cluster
//! - [`conformance`], [`device`] - rules for devices; what a device claims and makes
//! - [`failure`], [`measure`], [`text`] - why a run failed, what it measured, how both are written
//! - [`version`] - of the module

#![forbid(unsafe_code)]

pub(crate) mod block;
pub(crate) mod command;
pub(crate) mod conformance;
pub(crate) mod data;
pub(crate) mod device;
pub(crate) mod failure;
pub(crate) mod measure;
pub(crate) mod messenger;
pub(crate) mod pingpong;
pub(crate) mod rw;
pub(crate) mod spec;
pub(crate) mod stream;
pub(crate) mod text;
pub(crate) mod version;
pub(crate) mod wire;
