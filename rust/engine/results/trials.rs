// SPDX-License-Identifier: GPL-2.0

//! The cases of conformance tests in a result.

#![forbid(unsafe_code)]

use crate::logic::{
    conformance::{
        observation::Tally,
        trial::Trial, //
    },
    text::json::{
        Array,
        Object, //
    }, //
};
use core::fmt;

/// Writes what became of a case.
pub(super) fn write_trial(cases: &mut Array<'_>, trial: &Trial) -> fmt::Result {
    let mut case = cases.object()?;
    case.str("name", trial.case.as_str())?
        .str("outcome", trial.outcome())?
        .str("expected", trial.rule().text)?
        .str("seen", trial.seen())?
        .str("reason", trial.reason())?;
    let total = &trial.total;
    if total.times > 1 {
        case.num("times", total.times)?;
        write_tally(&mut case, "requests", &total.requests)?;
        write_tally(&mut case, "receives", &total.receives)?;
    }
    case.finish()
}

fn write_tally(object: &mut Object<'_>, name: &str, tally: &Tally) -> fmt::Result {
    let mut counts = object.object(name)?;
    counts
        .num("posted", tally.posted)?
        .num("done", tally.done)?
        .num("flushed", tally.flushed)?
        .num("failed", tally.other)?;
    counts.finish()
}
