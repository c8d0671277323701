// SPDX-License-Identifier: GPL-2.0

//! Roles and tests together, as sentences name them.

use super::{
    role::Role,
    test_set::TestSet,
    tests::Test, //
};
use crate::logic::text::alternatives::Alternatives;
use core::fmt;

/// Roles of disks, taps and servers. Its `Display` is for sentences that say what an option is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    /// Any server.
    server: bool,
    /// Tests by role, in the order of [`Role::ALL`].
    tests: [TestSet; 3],
}

impl Places {
    /// Returns those for which `is_in` is true.
    pub(crate) fn of(is_in: impl Fn(Role, Test) -> bool) -> Self {
        let server = is_in(Role::Server, Test::PingPong);
        Self {
            server,
            tests: Role::ALL.map(|role| {
                let named = !(server && role == Role::Server);
                TestSet::of(|test| named && is_in(role, test))
            }),
        }
    }
}

impl fmt::Display for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = self.server.then_some(Place(Role::Server, None));
        let places = Test::ALL.iter().flat_map(|test| {
            let by_role = Role::ALL.into_iter().zip(self.tests);
            let named = by_role.filter(|(_, tests)| tests.has(*test));
            named.map(|(role, _)| Place(role, Some(*test)))
        });
        write!(f, "{}", Alternatives(server.into_iter().chain(places)))
    }
}

/// A role and a test, as a command says them.
#[derive(Clone, Copy)]
struct Place(Role, Option<Test>);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(role, test) = self;
        f.write_str(role.as_str())?;
        match (role, test) {
            (_, None) => Ok(()),
            (Role::Client, Some(Test::Tap)) => f.write_str(",tap=DISK"),
            (_, Some(test)) => write!(f, ",{}", test.as_str()),
        }
    }
}
