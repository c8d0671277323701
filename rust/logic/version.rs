// SPDX-License-Identifier: GPL-2.0

//! The version of the module, from the file `VERSION`.

/// Version of the module, as `modinfo` prints it.
pub(crate) const VERSION: &str = include_str!("../../VERSION").trim_ascii_end();
