// SPDX-License-Identifier: GPL-2.0

//! Transport services: what a queue pair promises about messages.

/// The transport service of the queue pair that data is moved by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// Reliable connected.
    Rc,
    /// Unreliable connected: messages may be lost.
    Uc,
    /// Unreliable datagram: the same, and a message is one packet.
    Ud,
}

impl Service {
    /// The names of all services.
    pub(crate) const NAMES: &'static [&'static str] = &["rc", "uc", "ud"];

    /// Returns its name in commands and results.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Rc => "rc",
            Self::Uc => "uc",
            Self::Ud => "ud",
        }
    }

    /// Returns the service of that name; the reliable one for any other.
    pub(crate) fn named(name: &str) -> Self {
        let all = [Self::Rc, Self::Uc, Self::Ud];
        let mut found = all.into_iter().filter(|service| service.as_str() == name);
        found.next().unwrap_or(Self::Rc)
    }

    /// Returns true where messages may be lost.
    pub(crate) const fn is_unreliable(self) -> bool {
        !matches!(self, Self::Rc)
    }
}
