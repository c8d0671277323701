// SPDX-License-Identifier: GPL-2.0

//! Sets of tests, as sentences name them.

use super::tests::Test;
use crate::logic::text::alternatives::Alternatives;
use core::fmt;

/// A set of tests. Its `Display` is for sentences that say what an option is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TestSet(u32);

impl TestSet {
    /// Returns the tests for which `is_in` is true.
    pub(crate) fn of(is_in: impl Fn(Test) -> bool) -> Self {
        let tests = Test::ALL.iter().filter(|test| is_in(**test));
        Self(tests.fold(0, |set, test| set | Self::bit(*test)))
    }

    /// Returns true where `test` is in it.
    pub(crate) fn has(self, test: Test) -> bool {
        self.0 & Self::bit(test) != 0
    }

    const fn bit(test: Test) -> u32 {
        1 << (test as u8)
    }
}

impl fmt::Display for TestSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut iterating = Test::ALL.iter().filter(|test| test.iterates());
        if iterating.all(|test| self.has(*test)) {
            return f.write_str("the other tests");
        }
        // What is for `fr` and not for all is for the ping/pong: `fr` only accepts it.
        let named = Test::ALL
            .iter()
            .filter(|test| self.has(**test) && **test != Test::FastReg)
            .map(|test| test.in_words());
        write!(f, "{}", Alternatives(named))
    }
}
