// SPDX-License-Identifier: GPL-2.0

//! Limit on the number of lines that peers can bring into the log, for each interval.

/// A limit of [`BURST`](Self::BURST) lines in each [`INTERVAL_MS`](Self::INTERVAL_MS); counts those
/// that it suppresses.
///
/// These are the kernel's own limits (`DEFAULT_RATELIMIT_BURST`, `DEFAULT_RATELIMIT_INTERVAL`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RateLimit {
    /// The start of the present interval, in milliseconds; `None` before the first line.
    began: Option<u64>,
    said: u32,
    suppressed: u64,
}

impl RateLimit {
    /// Lines of one interval.
    pub(crate) const BURST: u32 = 10;
    /// An interval, in milliseconds.
    pub(crate) const INTERVAL_MS: u64 = 5000;

    /// Asks for a line at `now_ms` of a monotonic clock. Returns how many were suppressed since
    /// the last one that was not, or `None` where this one is suppressed.
    pub(crate) fn pass(&mut self, now_ms: u64) -> Option<u64> {
        let over = |began: u64| now_ms.saturating_sub(began) >= Self::INTERVAL_MS;
        if self.began.is_none_or(over) {
            self.began = Some(now_ms);
            self.said = 0;
        }
        if self.said >= Self::BURST {
            self.suppressed = self.suppressed.saturating_add(1);
            return None;
        }
        self.said = self.said.saturating_add(1);
        Some(self.take_suppressed())
    }

    /// Returns how many lines were suppressed since this was told last.
    pub(crate) fn take_suppressed(&mut self) -> u64 {
        core::mem::take(&mut self.suppressed)
    }
}
