// SPDX-License-Identifier: GPL-2.0

//! One conformance test on one device: what it came to, in words.

use super::{
    deviation::Deviations,
    expectation::{
        Fabric,
        Rule, //
    },
    observation::Seen,
    Case, //
};
use crate::logic::failure::Failure;
use core::fmt::{
    self,
    Display, //
};

/// How far a case came.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tried {
    /// To its end. Then a new connection was tried, which may have failed.
    Done(Seen, Option<Failure>),
    /// It could not be tried.
    Broken(Failure),
    /// It was not tried, as it says nothing of this device.
    Skipped(&'static str),
}

/// One case, and what it came to. Its `Display` is the line of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    /// The case.
    pub(crate) case: Case,
    /// On what.
    pub(crate) fabric: Fabric,
    /// How far it came.
    pub(crate) tried: Tried,
}

impl Trial {
    /// What was demanded.
    pub(crate) fn rule(&self) -> Rule {
        Rule::of(self.case, self.fabric)
    }

    fn deviations(&self) -> Deviations {
        match &self.tried {
            Tried::Done(seen, recovery) => self.rule().judge(seen, recovery.is_none()),
            Tried::Broken(_) | Tried::Skipped(_) => Deviations::default(),
        }
    }

    /// Whether the device did otherwise, or could not be tried.
    pub(crate) fn failed(&self) -> bool {
        matches!(self.tried, Tried::Broken(_)) || !self.deviations().is_empty()
    }

    /// Whether it was left out.
    pub(crate) fn skipped(&self) -> bool {
        matches!(self.tried, Tried::Skipped(_))
    }

    /// Its name in results.
    pub(crate) fn outcome(&self) -> &'static str {
        if self.skipped() {
            "skip"
        } else if self.failed() {
            "fail"
        } else {
            "pass"
        }
    }

    /// What was seen, in words; empty where it was not tried.
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

    /// Why it failed or was left out, in words; empty for a pass.
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

/// A part of a trial, to be written.
struct InWords<'a>(
    &'a Trial,
    fn(&Trial, &mut fmt::Formatter<'_>) -> fmt::Result,
);

impl Display for InWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.1)(self.0, f)
    }
}
