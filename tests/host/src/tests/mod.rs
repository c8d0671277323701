// SPDX-License-Identifier: GPL-2.0

//! The tests, a file for each concept.

mod command;
mod command_any;
mod command_errors;
mod crc;
mod failure;
mod histogram;
mod json;
mod pattern;
mod protocol;
mod stats;
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
