// SPDX-License-Identifier: GPL-2.0

//! The raw layer: generated bindings of the RDMA headers and of procfs, and C
//! helpers for static inlines and macros.
//!
//! Only what the kernel crate's bindings lack is generated; all else is shared
//! with the kernel crate, so that pointers of both are of the same types. A
//! type that is opaque there and complete here is shadowed by the one here.
//! Nothing outside the wrappers of verbs and `kernel_ext` uses this module.

#![allow(
    unknown_lints,
    clippy::all,
    clippy::as_underscore,
    clippy::cast_lossless,
    clippy::ptr_as_ptr,
    clippy::ref_as_ptr,
    clippy::undocumented_unsafe_blocks,
    dead_code,
    improper_ctypes,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    rustdoc::all,
    unnecessary_transmutes,
    unreachable_pub,
    unsafe_op_in_unsafe_fn
)]

use kernel::ffi;
use pin_init::MaybeZeroable;

pub(crate) use kernel::bindings::*;

include!(env!("KRPING_BINDINGS"));
