// SPDX-License-Identifier: GPL-2.0

//! Sizes of a server's connection: the number of requests in flight, and the queue sizes for that.

#![forbid(unsafe_code)]

use super::room;
use kernel::prelude::*;

/// The sizes of one connection.
pub(super) struct Shape {
    /// Maximum number of requests that the client may have in flight, one keepalive or close
    /// aside.
    pub(super) depth: u16,
    /// The depth that the client asked for.
    pub(super) announced: u16,
    /// Number of work requests that the send queue holds.
    pub(super) send: u32,
}

impl Shape {
    /// Calculates the sizes for a client that asks for `depth` requests in flight, on a device with
    /// room for `requests` in a queue and for `completions` in a completion queue. Each READ needs
    /// `before` extra work requests in the send queue. The depth is halved until everything fits.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the device has not even room for a depth of 1.
    pub(super) fn new(depth: u16, before: u32, requests: u32, completions: u32) -> Result<Self> {
        let mut shape = Self {
            depth,
            announced: depth,
            send: 0,
        };
        loop {
            // One READ or WRITE and one answer for each request. A request that needs more may
            // wait.
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

    /// Returns the number of receives: `depth`, one for a keepalive, and a spare one. With the
    /// spare one, a client that sends one request too many is detected, instead of finding no
    /// receive.
    pub(super) fn receives(&self) -> u32 {
        u32::from(self.depth) + 2
    }
}
