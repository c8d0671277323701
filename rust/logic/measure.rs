// SPDX-License-Identifier: GPL-2.0

//! Counters, latencies and what follows from them.

pub(crate) mod histogram;
pub(crate) mod pace;
pub(crate) mod stats;
pub(crate) mod window;
