// SPDX-License-Identifier: GPL-2.0

//! The bytes of a stream: each has the lower 8 bits of its position, as those of `rstream` have.

use crate::logic::data::pattern::Mismatch;

/// Fills `bytes`, which are at `position` of a stream.
pub(crate) fn fill(bytes: &mut [u8], position: u64) {
    let mut offset = position;
    for byte in bytes {
        *byte = offset as u8;
        offset = offset.wrapping_add(1);
    }
}

/// Compares the bytes at `position` of a stream, which came with message number `message`.
///
/// # Errors
///
/// The first byte that differs, and their number.
pub(crate) fn check(bytes: &[u8], position: u64, message: u64) -> Result<(), Mismatch> {
    let mut first = None;
    let mut wrong = 0u64;
    let mut offset = position;
    for &found in bytes {
        let expected = offset as u8;
        if found != expected {
            first = first.or(Some((offset, expected, found)));
            wrong = wrong.saturating_add(1);
        }
        offset = offset.wrapping_add(1);
    }
    match first {
        None => Ok(()),
        Some((offset, expected, found)) => Err(Mismatch {
            offset,
            expected,
            found,
            iteration: message,
            wrong,
        }),
    }
}
