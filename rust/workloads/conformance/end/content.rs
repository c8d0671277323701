// SPDX-License-Identifier: GPL-2.0

//! The content of an end's buffers, of which each byte says where it comes from.

#![forbid(unsafe_code)]

use super::{
    End,
    Place, //
};
use crate::workloads::conformance::setup::GUARD;
use core::ops::Range;
use kernel::prelude::*;

/// Number of bytes that are compared at a time.
pub(super) const PIECE: usize = 64;

/// Returns the seed of the initial content of a buffer.
pub(in crate::workloads::conformance) fn seed(requests: bool, place: Place) -> u8 {
    let side = if requests { 0x10 } else { 0x80 };
    match place {
        Place::Exposed => side,
        Place::Own => side | 1,
        Place::Inbox => side | 2,
    }
}

/// Returns the byte at `offset` of a buffer that is filled from `seed`. Every byte differs between
/// two seeds.
pub(in crate::workloads::conformance) fn byte(seed: u8, offset: usize) -> u8 {
    (offset as u8).wrapping_mul(3).wrapping_add(seed)
}

/// Returns the bytes at `offset` of a buffer that is filled from `seed`.
pub(super) fn piece(seed: u8, offset: usize) -> [u8; PIECE] {
    core::array::from_fn(|i| byte(seed, offset.wrapping_add(i)))
}

impl End {
    /// Fills a buffer and its guard with bytes that are derived from `seed`.
    pub(in crate::workloads::conformance) fn fill(&mut self, place: Place, seed: u8) -> Result {
        let buffer = self.buffer(place);
        for offset in (0..self.whole()).step_by(PIECE) {
            self.with(|_, queue| queue.write(buffer, offset, &piece(seed, offset)))??;
        }
        Ok(())
    }

    /// Returns the size of a buffer with its guard.
    fn whole(&self) -> usize {
        self.exposed.saturating_add(GUARD) as usize
    }

    /// Returns true if a buffer and its guard hold the bytes that `wanted` returns for their
    /// offsets.
    pub(in crate::workloads::conformance) fn matches(
        &self,
        place: Place,
        wanted: impl Fn(usize) -> u8,
    ) -> Result<bool> {
        self.matches_in(place, 0..self.whole(), wanted)
    }

    /// Returns true if the bytes `range` of a buffer, whose start is a multiple of 64, are those
    /// that `wanted` returns for their offsets.
    fn matches_in(
        &self,
        place: Place,
        range: Range<usize>,
        wanted: impl Fn(usize) -> u8,
    ) -> Result<bool> {
        let buffer = self.buffer(place);
        for start in range.clone().step_by(PIECE) {
            let mut bytes = [0; PIECE];
            match &self.shared {
                Some(shared) if place == Place::Inbox => {
                    let last = u32::try_from(self.received.saturating_sub(1)).unwrap_or(0);
                    shared.read(last, start, &mut bytes)?;
                }
                _ => self.with(|_, queue| queue.memory().read(buffer, start, &mut bytes))??,
            }
            if (start..range.end)
                .zip(bytes)
                .any(|(at, byte)| byte != wanted(at))
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns true if a buffer holds the bytes derived from `seed` between byte `from` and byte
    /// `to`, both multiples of 64.
    pub(in crate::workloads::conformance) fn holds(
        &self,
        place: Place,
        from: u32,
        to: u32,
        seed: u8,
    ) -> Result<bool> {
        self.matches_in(place, from as usize..to as usize, |at| byte(seed, at))
    }

    /// Returns true if a buffer still has its initial content from byte `from`, a multiple of 64,
    /// to the end of the guard. `requests` is true for a buffer of the requester, false for one of
    /// the responder.
    pub(in crate::workloads::conformance) fn is_intact(
        &self,
        requests: bool,
        place: Place,
        from: u32,
    ) -> Result<bool> {
        let initial = seed(requests, place);
        self.matches_in(place, from as usize..self.whole(), |at| byte(initial, at))
    }

    /// Returns the byte at `offset` of a buffer.
    pub(in crate::workloads::conformance) fn byte_at(
        &self,
        place: Place,
        offset: usize,
    ) -> Result<u8> {
        let mut bytes = [0];
        let buffer = self.buffer(place);
        self.with(|_, queue| queue.memory().read(buffer, offset, &mut bytes))??;
        let [byte] = bytes;
        Ok(byte)
    }

    /// Sets the first byte of a buffer.
    pub(in crate::workloads::conformance) fn set_first_byte(
        &mut self,
        place: Place,
        value: u8,
    ) -> Result {
        let buffer = self.buffer(place);
        self.with(|_, queue| queue.write(buffer, 0, &[value]))?
    }
}
