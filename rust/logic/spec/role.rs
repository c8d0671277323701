// SPDX-License-Identifier: GPL-2.0

//! The side of a test that a command plays.

/// The side of a test that a command plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Connects to a server, and leads.
    Client,
    /// Waits for clients, and follows them.
    Server,
    /// Both, in one command.
    Loopback,
}

impl Role {
    /// All roles, in the order in which sentences name them.
    pub(crate) const ALL: [Self; 3] = [Self::Client, Self::Server, Self::Loopback];

    /// Returns its name in commands and results.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
            Self::Loopback => "loopback",
        }
    }
}
