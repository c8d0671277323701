// SPDX-License-Identifier: GPL-2.0

//! The result of one conformance test on one device, and its text.

use super::{
    deviation::Deviations,
    observation::{
        Seen,
        Tally, //
    },
    rule::{
        Fabric,
        Rule, //
    },
    Case, //
};
use crate::logic::failure::Failure;
use core::fmt::{
    self,
    Display, //
};

/// The progress of a case.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tried {
    /// The case ran to its end. Then a new connection was tried, which may have failed.
    Done(Seen, Option<Failure>),
    /// The case could not be tried.
    Broken(Failure),
    /// The case was skipped, with the reason why it does not apply to this device.
    Skipped(&'static str),
}

/// The number of times that a case was tried, and the sums of what was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Total {
    /// Number of times.
    pub(crate) times: u32,
    /// The results of the requests beside those under test.
    pub(crate) requests: Tally,
    /// The results of the receives.
    pub(crate) receives: Tally,
}

impl Total {
    /// Adds what was seen once more.
    pub(crate) fn add(&mut self, seen: &Seen) {
        *self = Self {
            times: self.times.saturating_add(1),
            requests: self.requests.and(&seen.rest),
            receives: self.receives.and(&seen.receives),
        };
    }
}

/// One case and its result. Its `Display` is a line for the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    /// The case.
    pub(crate) case: Case,
    /// The fabric that it was tried on.
    pub(crate) fabric: Fabric,
    /// The progress, with the observations or the reason.
    pub(crate) tried: Tried,
    /// The sums of all times, of which `tried` is the last one.
    pub(crate) total: Total,
}

impl Trial {
    /// Returns the rule of the case on its fabric.
    pub(crate) fn rule(&self) -> &'static Rule {
        self.case.rule(self.fabric)
    }

    fn deviations(&self) -> Deviations {
        match &self.tried {
            Tried::Done(seen, recovery) => self.rule().judge(seen, recovery.is_none()),
            Tried::Broken(_) | Tried::Skipped(_) => Deviations::default(),
        }
    }

    /// Returns true where the device deviated from the rule, or the case could not be tried.
    pub(crate) fn failed(&self) -> bool {
        matches!(self.tried, Tried::Broken(_)) || !self.deviations().is_empty()
    }

    /// Returns true where the case ran, and the device did as demanded.
    pub(crate) fn passed(&self) -> bool {
        !self.failed() && !self.skipped()
    }

    /// Returns true where the case was skipped.
    pub(crate) fn skipped(&self) -> bool {
        matches!(self.tried, Tried::Skipped(_))
    }

    /// Returns the outcome as results name it: `pass`, `fail` or `skip`.
    pub(crate) fn outcome(&self) -> &'static str {
        if self.skipped() {
            "skip"
        } else if self.failed() {
            "fail"
        } else {
            "pass"
        }
    }

    /// Returns the text of the observations, or of the failure that kept the case from being tried;
    /// empty where it was skipped.
    pub(crate) fn seen(&self) -> impl Display + '_ {
        InWords(self, |trial, f| match &trial.tried {
            Tried::Done(seen, None) => write!(f, "{seen}; a new connection works"),
            Tried::Done(seen, Some(failure)) => {
                write!(f, "{seen}; a new connection does not work: {failure}")
            }
            Tried::Broken(failure) => write!(f, "{failure}"),
            Tried::Skipped(_) => Ok(()),
        })
    }

    /// Returns the text of the reason why it failed or was skipped; empty for a pass.
    pub(crate) fn reason(&self) -> impl Display + '_ {
        InWords(self, |trial, f| match &trial.tried {
            Tried::Done(..) => write!(f, "{}", trial.deviations()),
            Tried::Broken(_) => f.write_str("it could not be tried"),
            Tried::Skipped(why) => f.write_str(why),
        })
    }
}

impl Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, outcome) = (self.case.as_str(), self.outcome());
        match self.tried {
            Tried::Skipped(why) => write!(f, "neg {name}: {outcome}: {why}"),
            _ if self.failed() => write!(
                f,
                "neg {name}: {outcome}: {} ({}); expected: {}",
                self.seen(),
                self.reason(),
                self.rule().text
            ),
            _ => write!(f, "neg {name}: {outcome}: {}", self.seen()),
        }
    }
}

/// A part of a trial, with the function that writes it.
struct InWords<'a>(
    &'a Trial,
    fn(&Trial, &mut fmt::Formatter<'_>) -> fmt::Result,
);

impl Display for InWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.1)(self.0, f)
    }
}
