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
    workloads::{
        self,
        exchange::memory_failed, //
    }, //
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
    let read = |at, to: &mut [u8]| queue.read(receive, piece.offset as usize + at, to);
    // The place in the message is what one wants to know.
    let wrong = |found: Mismatch| {
        Failure::Mismatch(Mismatch {
            offset: found.offset.wrapping_sub(first),
            ..found
        })
    };
    let position = first.wrapping_add(piece.position.into());
    workloads::bytes::compare(piece.len, position, piece.number, read, wrong)
}
