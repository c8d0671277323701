// SPDX-License-Identifier: GPL-2.0

//! The options and tests, and which of them go together.

pub(crate) mod json;
pub(crate) mod limits;
pub(crate) mod load;
pub(crate) mod mem_mode;
pub(crate) mod names;
pub(crate) mod opt_set;
pub(crate) mod option;
pub(crate) mod options;
pub(crate) mod places;
pub(crate) mod role;
pub(crate) mod rules;
pub(crate) mod test_set;
pub(crate) mod tests;
mod values;
