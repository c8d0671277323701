// SPDX-License-Identifier: GPL-2.0

//! Raw layer: generated bindings of the RDMA headers and procfs, and C helpers for static inlines
//! and macros.
//!
//! Only bindings that the kernel crate lacks are generated. All others are shared with the kernel
//! crate, so that pointers of both have the same types. A type that is opaque in the kernel crate
//! and complete here is shadowed by the complete one. Only `kernel_ext`, `rdma` and `mr` use
//! this module.
//!
//! Beside this file: `bindings_helper.h` has the headers that the bindings are generated from,
//! `bindgen_parameters` the types and functions to generate, `helpers.h` and `helpers/` the C
//! functions.

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
