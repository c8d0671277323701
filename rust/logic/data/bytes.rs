// SPDX-License-Identifier: GPL-2.0

//! Bytes that have the lower 8 bits of their positions, as those of `rstream` have: the data of a
//! stream, and of messages.

use crate::logic::data::pattern::Mismatch;

/// The bytes are the same behind so many.
pub(crate) const PERIOD: usize = 256;

/// The bytes from position 0 on, as many as a period has from any position of the first.
const BYTES: [u8; 2 * PERIOD] = {
    let mut bytes = [0; 2 * PERIOD];
    let mut index = 0;
    while index < bytes.len() {
        bytes[index] = index as u8;
        index += 1;
    }
    bytes
};

/// Returns the bytes at `position`, `len` of them or a period.
pub(crate) fn expected(position: u64, len: usize) -> &'static [u8] {
    let first = position as usize % PERIOD;
    BYTES
        .get(first..first.saturating_add(len.min(PERIOD)))
        .unwrap_or_default()
}

/// Fills `bytes`, which are at `position`.
pub(crate) fn fill(bytes: &mut [u8], position: u64) {
    // All but the last have a whole period.
    for piece in bytes.chunks_mut(PERIOD) {
        let whole = expected(position, piece.len());
        piece
            .iter_mut()
            .zip(whole)
            .for_each(|(to, from)| *to = *from);
    }
}

/// Compares the bytes at `position`, which came with message number `message`.
///
/// # Errors
///
/// The first byte that differs, and their number.
pub(crate) fn check(bytes: &[u8], position: u64, message: u64) -> Result<(), Mismatch> {
    let is_right = |piece: &[u8]| piece == expected(position, piece.len());
    match bytes.chunks(PERIOD).all(is_right) {
        true => Ok(()),
        false => look_closely(bytes, position, message),
    }
}

/// Does what [`check`] does, a byte at a time.
fn look_closely(bytes: &[u8], position: u64, message: u64) -> Result<(), Mismatch> {
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
