// SPDX-License-Identifier: GPL-2.0

//! The bytes of messages, in chunks.

#![forbid(unsafe_code)]

use crate::{
    logic::{
        data::{
            bytes,
            pattern::Mismatch, //
        },
        failure::Failure,
        messenger::{
            incoming::Piece,
            outgoing::Cut, //
        }, //
    },
    rdma::srq::{
        Chunk,
        SharedReceiveQueue, //
    },
    workloads::exchange::memory_failed, //
};
use kernel::prelude::*;

/// Writes the header and the bytes of a cut to a chunk.
pub(super) fn fill(queue: &SharedReceiveQueue, chunk: &Chunk, cut: &Cut) -> Result<(), Failure> {
    write(queue, chunk, cut).map_err(memory_failed)
}

fn write(queue: &SharedReceiveQueue, chunk: &Chunk, cut: &Cut) -> Result {
    if let Some(header) = &cut.header {
        queue.write(chunk, 0, &header.encode())?;
    }
    let first = cut.kind.position(cut.number);
    let (mut offset, mut position) = (cut.offset() as usize, u64::from(cut.position));
    let mut left = cut.len as usize;
    while left > 0 {
        let piece = bytes::expected(first.wrapping_add(position), left);
        queue.write(chunk, offset, piece)?;
        offset = offset.saturating_add(piece.len());
        position = position.wrapping_add(piece.len() as u64);
        left = left.saturating_sub(piece.len());
    }
    Ok(())
}

/// Compares a piece of a message, which has come in a receive.
///
/// # Errors
///
/// [`Failure::Mismatch`].
pub(super) fn check(
    queue: &SharedReceiveQueue,
    receive: u32,
    piece: &Piece,
) -> Result<(), Failure> {
    let first = piece.kind.position(piece.number);
    let mut bytes = [0; bytes::PERIOD];
    for at in (0..piece.len as usize).step_by(bytes::PERIOD) {
        let (part, _) = bytes.split_at_mut(bytes::PERIOD.min(piece.len as usize - at));
        queue
            .read(receive, piece.offset as usize + at, part)
            .map_err(memory_failed)?;
        let position = u64::from(piece.position).wrapping_add(at as u64);
        let checked = bytes::check(part, first.wrapping_add(position), piece.number);
        checked.map_err(|wrong| {
            Failure::Mismatch(Mismatch {
                offset: wrong.offset.wrapping_sub(first),
                ..wrong
            })
        })?;
    }
    Ok(())
}
