// SPDX-License-Identifier: GPL-2.0

//! The workloads: what a connection is used for.

#![forbid(unsafe_code)]

pub(crate) mod caps;
pub(crate) mod conformance;
pub(crate) mod exchange;
pub(crate) mod fastreg;
pub(crate) mod microbench;
pub(crate) mod pingpong;
