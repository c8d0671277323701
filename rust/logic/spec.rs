// SPDX-License-Identifier: GPL-2.0

//! Specification of the options and tests, and the rules for combining them.
//!
//! - [`tests`], [`options`] - the tables: a row for each test, a row for each option
//! - [`option`], [`values`], [`limits`] - the facts that a row has; values with a grammar of their
//!   own; ranges
//! - [`role`], [`mem_mode`], [`service`], [`load`] - types that options set
//! - [`given`], [`rules`], [`suits`] - what goes together, by the rows and beyond them; what load
//!   from the wire a client can have
//! - [`others_words`] - the words of other tools
//! - [`names`], [`places`], [`test_set`], [`opt_set`] - how sentences name it
//! - [`json`], [`help`] - both tables for other programs; the options for people

mod given;
pub(crate) mod help;
pub(crate) mod json;
pub(crate) mod limits;
pub(crate) mod load;
pub(crate) mod mem_mode;
pub(crate) mod names;
pub(crate) mod opt_set;
pub(crate) mod option;
pub(crate) mod options;
pub(crate) mod others_words;
pub(crate) mod places;
pub(crate) mod role;
pub(crate) mod rules;
pub(crate) mod service;
pub(crate) mod suits;
pub(crate) mod test_set;
pub(crate) mod tests;
mod values;
