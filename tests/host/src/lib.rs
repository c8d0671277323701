// SPDX-License-Identifier: GPL-2.0

//! The part of krping that needs no kernel, built for the host to be tested.
//!
//! It builds without the standard library, as in the kernel; only its tests
//! have that.

#![cfg_attr(not(test), no_std)]
// What is unused, the kernel's build says.
#![allow(dead_code)]
#![forbid(unsafe_code)]

#[path = "../../../rust/logic/mod.rs"]
mod logic;

#[path = "../../../rust/rdma/memory/place.rs"]
mod place;

#[cfg(test)]
mod tests;
