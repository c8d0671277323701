// SPDX-License-Identifier: GPL-2.0

//! The data that is sent, and its CRC-32.
//!
//! [`pattern`] makes and checks data, [`crc`] is its checksum.

pub(crate) mod crc;
pub(crate) mod pattern;
