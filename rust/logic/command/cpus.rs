// SPDX-License-Identifier: GPL-2.0

//! The CPUs that the threads of a command run on.

use crate::logic::text::number::{
    integer,
    Number, //
};
use core::fmt;

/// The highest CPU number that a command can give.
pub(crate) const LAST: u16 = 8191;

/// The maximum number of ranges in a list.
pub(crate) const RANGES: usize = 8;

/// The list of CPUs that threads are assigned in order, such as `0-3+6`.
///
/// # Invariants
///
/// In each of the first `len` of `ranges` the first CPU is not above the last one, and no range
/// begins directly after the end of the one before it. `len` is at most `RANGES`, and the ranges
/// from `len` on are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuList {
    ranges: [(u16, u16); RANGES],
    len: usize,
}

impl CpuList {
    /// The empty list, with which threads run on any CPU.
    pub(crate) const EMPTY: Self = Self {
        ranges: [(0, 0); RANGES],
        len: 0,
    };

    /// Parses numbers and ranges with `+` between them; `None` where the text is invalid or has too
    /// many ranges.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut list = Self::EMPTY;
        let mut rest = Some(text);
        while let Some(text) = rest {
            let (range, more) = match text.split_once('+') {
                Some((range, more)) => (range, Some(more)),
                None => (text, None),
            };
            rest = more;
            let (first, last) = match range.split_once('-') {
                Some((first, last)) => (cpu(first)?, cpu(last)?),
                None => (cpu(range)?, cpu(range)?),
            };
            if first > last {
                return None;
            }
            list.push(first, last)?;
        }
        Some(list)
    }

    /// Appends a range; `None` where there is no room.
    fn push(&mut self, first: u16, last: u16) -> Option<()> {
        let before = self.len.checked_sub(1).and_then(|i| self.ranges.get_mut(i));
        // INVARIANT: A range that continues the one before it is merged into that.
        match before {
            Some((_, end)) if end.checked_add(1) == Some(first) => *end = last,
            _ => {
                *self.ranges.get_mut(self.len)? = (first, last);
                self.len = self.len.saturating_add(1);
            }
        }
        Some(())
    }

    /// Returns true where the list is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the CPU of thread `index`, starting over at the end of the list; `None` where the
    /// list is empty.
    pub(crate) fn nth(&self, index: usize) -> Option<u32> {
        let all = self.iter().fold(0usize, |sum, (first, last)| {
            sum.saturating_add(width(first, last))
        });
        // Fails where the list is empty.
        let mut left = index.checked_rem(all)?;
        for (first, last) in self.iter() {
            let width = width(first, last);
            if left < width {
                return u32::try_from(left).ok()?.checked_add(u32::from(first));
            }
            left = left.saturating_sub(width);
        }
        None
    }

    /// Returns an iterator over the CPUs, in the order of the list.
    pub(crate) fn cpus(&self) -> impl Iterator<Item = u32> + '_ {
        self.iter()
            .flat_map(|(first, last)| u32::from(first)..=u32::from(last))
    }

    fn iter(&self) -> impl Iterator<Item = (u16, u16)> + '_ {
        self.ranges.iter().take(self.len).copied()
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (first, last)) in self.iter().enumerate() {
            if i > 0 {
                f.write_str("+")?;
            }
            write!(f, "{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
        }
        Ok(())
    }
}

/// Parses the number of a CPU.
fn cpu(text: &str) -> Option<u16> {
    match integer(text) {
        Number::Value(n) => u16::try_from(n).ok().filter(|n| *n <= LAST),
        Number::Huge | Number::None => None,
    }
}

/// Returns the number of CPUs in a range.
fn width(first: u16, last: u16) -> usize {
    usize::from(last.saturating_sub(first)).saturating_add(1)
}
