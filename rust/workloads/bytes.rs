// SPDX-License-Identifier: GPL-2.0

//! The bytes of streams and messages, as they are compared.

#![forbid(unsafe_code)]

use super::exchange::memory_failed;
use crate::logic::{
    data::{
        bytes,
        pattern::Mismatch, //
    },
    failure::Failure, //
};
use kernel::prelude::*;

/// Compares `len` bytes from `position` on, which came with message number `message`: `read` copies
/// those at an offset among them. Any context that `read` may be called from.
///
/// # Errors
///
/// What `wrong` makes of the first that differ; [`Failure::Kernel`] where `read` fails.
pub(crate) fn compare(
    len: u32,
    position: u64,
    message: u64,
    read: impl Fn(usize, &mut [u8]) -> Result,
    wrong: impl Fn(Mismatch) -> Failure,
) -> Result<(), Failure> {
    let mut room = [0; bytes::PERIOD];
    let len = len as usize;
    for at in (0..len).step_by(bytes::PERIOD) {
        let (piece, _) = room.split_at_mut(bytes::PERIOD.min(len - at));
        read(at, piece).map_err(memory_failed)?;
        bytes::check(piece, position.wrapping_add(at as u64), message).map_err(&wrong)?;
    }
    Ok(())
}
