// SPDX-License-Identifier: GPL-2.0

//! The data that is sent, and the places that it has in lists.

pub(crate) mod crc;
pub(crate) mod pattern;
pub(crate) mod place;
