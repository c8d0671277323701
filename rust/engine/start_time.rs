// SPDX-License-Identifier: GPL-2.0

//! The time of day at which clients begin, so that those of many hosts begin together
//! (`start_at=`).

#![forbid(unsafe_code)]

use super::outcome::Outcome;
use crate::{
    kernel_ext::time::{
        relax,
        unix_ns,
        Deadline, //
    },
    logic::failure::Failure,
};
use kernel::time::{
    delay::fsleep,
    Delta, //
};

/// Time before the start, in ns, from which on the thread sleeps by a timer instead of by jiffies.
const NEAR_NS: u64 = 20_000_000;

/// Time before the start, in ns, for which the thread spins.
const SPIN_NS: u64 = 100_000;

/// Waits until the time of day is `start_ns`, and returns by how many nanoseconds it is later then.
/// Calls `send_keepalives` every `keepalive_ms`. The clock is read again and again, so that one
/// that is set meanwhile counts. Process context; sleeps.
///
/// # Errors
///
/// [`Failure::StartsLate`] where the start is more than `timeout_ms` ahead, for which a peer waits
/// at most; the failure of one of `outcomes`, which share a wait queue; and that of
/// `send_keepalives`.
pub(super) fn await_start<'a>(
    start_ns: u64,
    outcomes: impl Iterator<Item = &'a Outcome> + Clone,
    timeout_ms: u32,
    keepalive_ms: u32,
    mut send_keepalives: impl FnMut() -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let mut next = Deadline::after_ms(keepalive_ms);
    loop {
        let now = unix_ns();
        if let Some(late) = now.checked_sub(start_ns) {
            return Ok(late);
        }
        let ahead = start_ns.saturating_sub(now);
        let ahead_ms = ahead.div_ceil(1_000_000);
        if ahead_ms > timeout_ms.into() {
            return Err(Failure::StartsLate(ahead_ms, timeout_ms));
        }
        if let Some(failure) = outcomes.clone().find_map(Outcome::failure) {
            return Err(failure);
        }
        if next.passed() {
            send_keepalives()?;
            next = Deadline::after_ms(keepalive_ms);
        }
        match (ahead > NEAR_NS, outcomes.clone().next()) {
            (true, Some(outcome)) => {
                let ms = (ahead - NEAR_NS).div_ceil(1_000_000);
                let ms = u32::try_from(ms).unwrap_or(timeout_ms);
                outcome.pause(Deadline::after_ms(ms).sooner(next));
            }
            _ if ahead > SPIN_NS => {
                let us = ahead.saturating_sub(SPIN_NS) / 1000;
                fsleep(Delta::from_micros(i64::try_from(us).unwrap_or(0)));
            }
            _ => relax(),
        }
    }
}
