// SPDX-License-Identifier: GPL-2.0

//! Sets of options.

use super::options::Opt;

/// A set of options.
#[derive(Clone, Copy)]
pub(crate) struct OptSet(u128);

impl OptSet {
    /// No option.
    pub(crate) const EMPTY: Self = Self(0);

    /// Adds an option.
    pub(crate) fn insert(&mut self, opt: Opt) {
        self.0 |= Self::bit(opt);
    }

    /// Returns true where an option is in it.
    pub(crate) const fn has(self, opt: Opt) -> bool {
        self.0 & Self::bit(opt) != 0
    }

    /// Returns the options in it, in the order of the table.
    pub(crate) fn iter(self) -> impl Iterator<Item = Opt> {
        let all = Opt::ALL.iter().copied();
        all.filter(move |opt| self.has(*opt))
    }

    const fn bit(opt: Opt) -> u128 {
        1 << (opt as u8)
    }
}
