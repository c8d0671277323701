// SPDX-License-Identifier: GPL-2.0

//! The data that is sent, and its CRC-32.
//!
//! [`pattern`] makes and checks the data of an iteration, [`bytes`] that of a stream or message;
//! [`crc`] is the checksum, and [`mix`] makes words that look random.

pub(crate) mod bytes;
pub(crate) mod crc;
pub(crate) mod mix;
pub(crate) mod pattern;
