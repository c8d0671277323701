// SPDX-License-Identifier: GPL-2.0

//! How many requests a server's connection takes at a time, and what its queues hold
//! for that.

#![forbid(unsafe_code)]

use super::room;
use kernel::prelude::*;

/// What a connection is made of.
pub(super) struct Shape {
    /// The most requests that the client has under way, but for a sign of life.
    pub(super) depth: u16,
    /// What the client wanted that to be.
    pub(super) announced: u16,
    /// Requests that the send queue holds.
    pub(super) send: u32,
}

impl Shape {
    /// For a client that wants `depth` requests under way, on a device with room for
    /// `requests` in a queue and for `completions`. A READ or a WRITE takes so many
    /// requests to the send queue `before` it.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a device that has no room to speak of.
    pub(super) fn new(depth: u16, before: u32, requests: u32, completions: u32) -> Result<Self> {
        let mut shape = Self {
            depth,
            announced: depth,
            send: 0,
        };
        loop {
            // A READ or a WRITE for each, and its answer; what is larger waits.
            let each = before.saturating_add(2);
            let wanted = shape.receives().saturating_mul(each).max(room::LEAST);
            shape.send = wanted.checked_next_power_of_two().ok_or(EINVAL)?;
            let most = shape.send.max(shape.receives());
            let all = shape.send.saturating_add(shape.receives());
            if most <= requests && all <= completions {
                return Ok(shape);
            }
            if shape.depth <= 1 {
                return Err(EINVAL);
            }
            shape.depth /= 2;
        }
    }

    /// Receives: one more than requests that the client may have under way, so that
    /// one too many is told from a receive that is missing.
    pub(super) fn receives(&self) -> u32 {
        u32::from(self.depth).saturating_add(2)
    }
}
