// SPDX-License-Identifier: GPL-2.0

//! On which CPUs the threads of a command run.

use crate::logic::text::number::{
    integer,
    Number, //
};
use core::fmt;

/// The highest number that a CPU may have.
pub(crate) const LAST: u16 = 8191;

/// How many ranges a list holds.
pub(crate) const RANGES: usize = 8;

/// CPUs in the order in which threads take them, as `0-3+6`.
///
/// # Invariants
///
/// The first `len` of `ranges` have a first CPU that is not above their last one, and none could be
/// joined with the one before it; `len` is at most `RANGES`, and the ranges after it are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuList {
    ranges: [(u16, u16); RANGES],
    len: usize,
}

impl CpuList {
    /// No CPU in particular.
    pub(crate) const EMPTY: Self = Self {
        ranges: [(0, 0); RANGES],
        len: 0,
    };

    /// Reads numbers and ranges with `+` between them.
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

    /// Adds a range at the end; `None` where there is no room.
    fn push(&mut self, first: u16, last: u16) -> Option<()> {
        let before = self.len.checked_sub(1).and_then(|i| self.ranges.get_mut(i));
        // INVARIANT: one that continues the range before it is joined with that.
        match before {
            Some((_, end)) if end.checked_add(1) == Some(first) => *end = last,
            _ => {
                *self.ranges.get_mut(self.len)? = (first, last);
                self.len = self.len.saturating_add(1);
            }
        }
        Some(())
    }

    /// Whether it names no CPU.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The CPU of thread `index`: after the last of the list the first one follows.
    pub(crate) fn nth(&self, index: usize) -> Option<u32> {
        let all = self.iter().fold(0usize, |sum, (first, last)| {
            sum.saturating_add(width(first, last))
        });
        // There is none in an empty list.
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

    /// Each of its CPUs.
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

/// Reads the number of a CPU.
fn cpu(text: &str) -> Option<u16> {
    match integer(text) {
        Number::Value(n) => u16::try_from(n).ok().filter(|n| *n <= LAST),
        Number::Huge | Number::None => None,
    }
}

/// How many CPUs are in a range.
fn width(first: u16, last: u16) -> usize {
    usize::from(last.saturating_sub(first)).saturating_add(1)
}
