// SPDX-License-Identifier: GPL-2.0

//! The tests, a file for each concept.

mod any_command;
mod command;
mod command_any;
mod command_errors;
mod command_rules;
mod control;
mod cpus;
mod crc;
mod failure;
mod histogram;
mod json;
mod load;
mod pattern;
mod private_data;
mod protocol;
mod stats;
mod window;
mod wire;

use proptest::prelude::ProptestConfig;

/// Property tests with `cases` cases. What fails is printed and not kept: the
/// checkout may be read-only.
fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
