// SPDX-License-Identifier: GPL-2.0

//! The work requests in flight in a send queue.
//!
//! Requests are posted as lists, not each of them asks for a completion, and a completion says that
//! all requests up to its own are done. [`Window`] counts that, without any I/O:
//!
//! ```text
//! batch 2, every 3:  | 1 2 | 3 4 | 5 6 | 7 8 |
//! completions of:          3       6        8, the last of all
//! ```

/// The window of a send queue: counts the requests that are posted and done, and chooses those that
/// ask for a completion.
///
/// Where the depth is at least `batch + every - 1`, a list for which there is no room yet has a
/// request before it that asks for a completion, so the wait for room ends.
///
/// # Invariants
///
/// - `done <= posted`, by no more than `depth`, and `posted` is at most `total`.
/// - `posted` passes `hold` only after it was released.
/// - `done` is a multiple of `every`, or `total`.
/// - `batch` and `every` are not 0.
#[derive(Debug)]
pub(crate) struct Window {
    depth: u32,
    batch: u32,
    every: u32,
    total: Option<u64>,
    hold: Option<u64>,
    posted: u64,
    done: u64,
}

impl Window {
    /// Creates a window for a queue of `depth` requests, of which up to `batch` are posted at once
    /// and each `every`-th asks for a completion; `total` of them, or until [`stop`](Self::stop).
    pub(crate) fn new(depth: u32, batch: u32, every: u32, total: Option<u64>) -> Self {
        Self {
            depth,
            batch: batch.max(1),
            every: every.max(1),
            total,
            hold: None,
            posted: 0,
            done: 0,
        }
    }

    /// Lets no more than `hold` requests be posted until [`release`](Self::release).
    pub(crate) fn holding_at(mut self, hold: u64) -> Self {
        self.hold = Some(hold);
        self
    }

    /// Lifts the limit of [`holding_at`](Self::holding_at), whether it was reached or not.
    pub(crate) fn release(&mut self) {
        self.hold = None;
    }

    /// Returns true where a [`release`](Self::release) is to come.
    pub(crate) fn holds(&self) -> bool {
        self.hold.is_some()
    }

    /// Returns true where nothing is posted until [`release`](Self::release).
    pub(crate) fn held(&self) -> bool {
        self.hold == Some(self.posted)
    }

    /// Returns the number of requests to post now, as one list: 0 where they do not fit, or none is
    /// left.
    pub(crate) fn room(&self) -> u32 {
        let last = self
            .total
            .unwrap_or(u64::MAX)
            .min(self.hold.unwrap_or(u64::MAX));
        let batch = u64::from(self.batch).min(last.saturating_sub(self.posted));
        let under_way = self.posted.saturating_sub(self.done);
        if under_way.saturating_add(batch) > u64::from(self.depth) {
            return 0;
        }
        // It is at most `self.batch`.
        u32::try_from(batch).unwrap_or(self.batch)
    }

    /// Returns true where the request that is `ahead` requests after the next one asks for a
    /// completion.
    pub(crate) fn signaled(&self, ahead: u32) -> bool {
        let number = self
            .posted
            .saturating_add(u64::from(ahead))
            .saturating_add(1);
        number.checked_rem(u64::from(self.every)) == Some(0) || self.total == Some(number)
    }

    /// Notes that `n` requests were posted, no more than [`room`](Self::room) returned.
    pub(crate) fn post(&mut self, n: u32) {
        self.posted = self.posted.saturating_add(u64::from(n));
    }

    /// Notes that a completion has come, and returns how many requests it says are done.
    pub(crate) fn completed(&mut self) -> u32 {
        let next = self.next_completion();
        // One that nothing posted has asked for says nothing.
        if next > self.posted {
            return 0;
        }
        let newly = next.saturating_sub(self.done);
        self.done = next;
        // It is at most `self.every`.
        u32::try_from(newly).unwrap_or(self.every)
    }

    /// Returns the number of requests that the next completion says are done.
    fn next_completion(&self) -> u64 {
        self.done
            .saturating_add(u64::from(self.every))
            .min(self.total.unwrap_or(u64::MAX))
    }

    /// Returns true where a request that was posted and asks for a completion is under way.
    pub(crate) fn awaits_completion(&self) -> bool {
        let next = self.next_completion();
        self.done < next && next <= self.posted
    }

    /// Makes the next request the last one, unless the last one is nearer already.
    ///
    /// A last one must come, since those before it did not all ask for a completion.
    pub(crate) fn stop(&mut self) {
        let last = self.posted.saturating_add(1);
        self.total = Some(self.total.unwrap_or(u64::MAX).min(last));
    }

    /// Makes the request that was posted last the last one. For a window of which each request asks
    /// for a completion, so that those under way end.
    pub(crate) fn end(&mut self) {
        self.total = Some(self.total.unwrap_or(u64::MAX).min(self.posted));
    }

    /// Returns the number of requests that were posted.
    pub(crate) fn posted(&self) -> u64 {
        self.posted
    }

    /// Returns the number of requests that are known to be done.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// Returns true where none is left to be posted.
    pub(crate) fn all_posted(&self) -> bool {
        self.total == Some(self.posted)
    }

    /// Returns true where all are posted and done.
    pub(crate) fn finished(&self) -> bool {
        self.total == Some(self.done)
    }
}

/// Returns the number of warmup operations of `size` bytes: about 1 MiB of data, from 2 to 100
/// operations, rounded up to one that asks for a completion.
pub(crate) fn warmup(size: u32, every: u16) -> u64 {
    let count = (1u32 << 20).checked_div(size).unwrap_or(u32::MAX);
    let count = u64::from(count.clamp(2, 100));
    // Where `every` is 0, no operation asks for one.
    count
        .checked_next_multiple_of(u64::from(every))
        .unwrap_or(count)
}
