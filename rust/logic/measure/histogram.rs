// SPDX-License-Identifier: GPL-2.0

//! Histogram of latencies, in fixed memory.
//!
//! A log-linear histogram: below 64 ns each value has a bucket of its own, and from there every
//! power of two is split in 64 equal buckets. So no bucket is wider than 1/64 of the values in it,
//! and 2,241 buckets reach to 2^40 ns, which is 18 minutes; the last one takes all that is longer.
//! Recording is a shift and a few additions: one histogram for each thread, merged at the end,
//! needs no lock, no allocation and no division where the time is measured.
//!
//! It is 18 KiB, too much for a kernel stack. All bytes zero is a valid, empty histogram, the same
//! as [`Histogram::new`] makes: allocate it zeroed.

/// The binary logarithm of the number of buckets in each power of two.
const PRECISION: u32 = 6;

/// The binary logarithm of the value from which on all share the last bucket.
const LIMIT: u32 = 40;

const BUCKETS: usize = ((LIMIT - PRECISION + 1) << PRECISION) as usize + 1;

const _: () = assert!(BUCKETS == 2241 && size_of::<Histogram>() <= 18 << 10);

/// The whole of a percentile's scale: it counts in thousandths of a percent.
const WHOLE: u32 = 100_000;

/// A histogram of latencies in nanoseconds.
///
/// # Invariants
///
/// All zero is the empty histogram. `count` is the sum of `buckets`, unless that overflowed.
///
/// Fields are visible only for an empty one to be made in place: it is too large for a stack.
#[derive(PartialEq, Eq)]
pub(crate) struct Histogram {
    pub(crate) sum_of_squares: u128,
    pub(crate) sum: u64,
    pub(crate) count: u64,
    pub(crate) max: u64,
    /// The complement of the smallest value, so that 0 stands for none.
    pub(crate) min_complement: u64,
    pub(crate) buckets: [u64; BUCKETS],
}

/// A bucket that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// The smallest value that it takes.
    pub(crate) low: u64,
    /// The largest value that it takes.
    pub(crate) high: u64,
    /// The number of values that it took.
    pub(crate) count: u64,
}

impl Histogram {
    /// Creates an empty histogram.
    #[allow(dead_code, reason = "the kernel makes its own in place")]
    pub(crate) const fn new() -> Self {
        // INVARIANT: these are all zero.
        Self {
            sum_of_squares: 0,
            sum: 0,
            count: 0,
            max: 0,
            min_complement: 0,
            buckets: [0; BUCKETS],
        }
    }

    /// Counts one latency.
    pub(crate) fn record(&mut self, ns: u64) {
        if let Some(bucket) = self.buckets.get_mut(index(ns)) {
            *bucket = bucket.saturating_add(1);
        }
        let wide = u128::from(ns);
        self.sum_of_squares = self.sum_of_squares.saturating_add(wide.wrapping_mul(wide));
        self.sum = self.sum.saturating_add(ns);
        self.count = self.count.saturating_add(1);
        self.max = self.max.max(ns);
        self.min_complement = self.min_complement.max(!ns);
    }

    /// Forgets all that was counted.
    pub(crate) fn clear(&mut self) {
        // INVARIANT: these are all zero.
        self.sum_of_squares = 0;
        self.sum = 0;
        self.count = 0;
        self.max = 0;
        self.min_complement = 0;
        self.buckets.fill(0);
    }

    /// Counts all that `other` counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (bucket, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *bucket = bucket.saturating_add(*more);
        }
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
        self.sum = self.sum.saturating_add(other.sum);
        self.count = self.count.saturating_add(other.count);
        self.max = self.max.max(other.max);
        self.min_complement = self.min_complement.max(other.min_complement);
    }

    /// Returns the number of recorded latencies.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the smallest latency, exactly; 0 of none.
    pub(crate) const fn min(&self) -> u64 {
        if self.count == 0 {
            0
        } else {
            !self.min_complement
        }
    }

    /// Returns the largest latency, exactly; 0 of none.
    pub(crate) const fn max(&self) -> u64 {
        self.max
    }

    /// Returns the mean, rounded down; 0 of none.
    pub(crate) fn mean(&self) -> u64 {
        self.sum.checked_div(self.count).unwrap_or(0)
    }

    /// Returns the standard deviation of the recorded values, rounded down; 0 of none.
    pub(crate) fn stddev(&self) -> u64 {
        if self.count == 0 {
            return 0;
        }
        // With the mean rounded down to m, and r what that leaves over of the sum, the squared
        // distances from m add up to squares - m * (sum + r), and those from the true mean to
        // r * r / count less. Nothing here is larger than the sum of squares or count squared.
        let mean = self.mean();
        let rest = u128::from(self.sum.checked_rem(self.count).unwrap_or(0));
        let product = u128::from(self.sum)
            .wrapping_add(rest)
            .wrapping_mul(u128::from(mean));
        let from_mean = self.sum_of_squares.saturating_sub(product);
        let count = u128::from(self.count);
        largest(|deviation| {
            let deviation = u128::from(deviation);
            deviation
                .wrapping_mul(deviation)
                .checked_mul(count)
                .and_then(|squares| from_mean.checked_sub(squares))
                // At least r * r / count is left, which is below count.
                .is_some_and(|left| left.min(count).wrapping_mul(count) >= rest.wrapping_mul(rest))
        })
    }

    /// Returns the latency that `per_100k` of every 100,000 do not exceed: 99,990 asks for the
    /// 99.99th percentile.
    ///
    /// It is the largest value of the bucket that holds it, so at most 1/64 too high; never more
    /// than [`max`](Self::max), and 0 of none. Beyond 2^40 ns it is `max`.
    pub(crate) fn percentile(&self, per_100k: u32) -> u64 {
        // Rounded up, in two parts that cannot overflow.
        let share = u64::from(per_100k.min(WHOLE));
        let whole = u64::from(WHOLE);
        let parts = (self.count / whole).wrapping_mul(share);
        let rest = (self.count % whole).wrapping_mul(share).div_ceil(whole);
        let rank = parts.wrapping_add(rest).max(1);

        let mut below = 0u64;
        self.buckets()
            .find(|bucket| {
                below = below.saturating_add(bucket.count);
                below >= rank
            })
            .map_or(self.max, |bucket| bucket.high.min(self.max))
    }

    /// Returns the buckets that are not empty, from the smallest value to the largest.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        (0..BUCKETS)
            .zip(&self.buckets)
            .filter(|(_, count)| **count != 0)
            .map(|(index, &count)| {
                let (low, high) = bounds(index);
                Bucket { low, high, count }
            })
    }
}

/// Returns the index of the bucket that takes `ns`.
const fn index(ns: u64) -> usize {
    if ns >= 1 << LIMIT {
        return BUCKETS - 1;
    }
    // So that `ns >> shift` has `PRECISION` + 1 bits, as far as `ns` has them.
    let shift = (u64::BITS - PRECISION - 1).saturating_sub(ns.leading_zeros());
    // Each shift adds 64 buckets. Below 2^`LIMIT` this is a small number.
    ((shift as u64) << PRECISION).wrapping_add(ns >> shift) as usize
}

/// Returns the smallest and the largest value of a bucket.
const fn bounds(index: usize) -> (u64, u64) {
    if index >= BUCKETS - 1 {
        return (1 << LIMIT, u64::MAX);
    }
    let index = index as u64;
    let shift = (index >> PRECISION).saturating_sub(1);
    let low = index.wrapping_sub(shift << PRECISION) << shift;
    (low, low | ((1 << shift) - 1))
}

/// Returns the largest number that `fits`, where all smaller ones do: bit by bit, since the kernel
/// has no 128-bit division.
pub(crate) fn largest(fits: impl Fn(u64) -> bool) -> u64 {
    let (mut number, mut bit) = (0, 1u64 << 63);
    while bit != 0 {
        if fits(number | bit) {
            number |= bit;
        }
        bit >>= 1;
    }
    number
}
