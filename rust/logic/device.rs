// SPDX-License-Identifier: GPL-2.0

//! What a device can do, by its own word and by trying.

pub(crate) mod caps;
pub(crate) mod claims;
pub(crate) mod preflight;
