// SPDX-License-Identifier: GPL-2.0

//! The options and tests, and which of them go together.

pub(crate) mod block_rules;
pub(crate) mod load;
pub(crate) mod options;
pub(crate) mod rules;
pub(crate) mod tests;
