// SPDX-License-Identifier: GPL-2.0

//! Finds options by name.

use super::{
    options::Opt,
    others_words, //
};
use crate::logic::{
    command::{
        parse_error::{
            ParseError,
            Reason, //
        },
        value::invalid, //
    },
    text::Text, //
};

/// Returns the option called `name`.
pub(crate) fn find(name: &str) -> Option<Opt> {
    let mut all = Opt::ALL.iter().copied();
    all.find(|opt| opt.spec().names.contains(&name))
}

/// Returns all names, aliases too.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    Opt::NAMES.iter().flat_map(|names| names.iter().copied())
}

/// Returns the name that was probably meant by `typed`, if one is near enough.
fn nearest(typed: &str) -> Option<&'static str> {
    // A name that is half wrong is another name.
    let limit = (typed.len() / 2).min(2);
    all()
        .map(|name| (distance(name, typed), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Returns the error that no option is called `name`.
pub(crate) fn unknown(name: &str) -> ParseError<'_> {
    if let Some(why) = others_words::needless(name) {
        return invalid(name, Reason::Needless { why });
    }
    let nearest = others_words::find(name).or_else(|| nearest(name));
    let valid = Opt::NAMES;
    invalid(name, Reason::Unknown { nearest, valid })
}

/// Returns how many letters must be changed, added or removed to make `b` of `a`, whatever their
/// case; more than enough where one of them is longer than any option.
fn distance(a: &str, b: &str) -> usize {
    type Word = Text<18>;

    let (Some(a), Some(b)) = (Word::new(a), Word::new(b)) else {
        return usize::MAX;
    };
    // Levenshtein, row by row: after `i` letters of `a`, `row` holds the distances from these to
    // the first 1, 2, 3... letters of `b`.
    let mut row: [usize; Word::MAX] = core::array::from_fn(|j| j.saturating_add(1));
    let mut last = b.as_str().len();
    for (i, x) in a.as_str().bytes().enumerate() {
        let mut diagonal = i;
        last = i.saturating_add(1);
        for (cell, y) in row.iter_mut().zip(b.as_str().bytes()) {
            let changed = diagonal.saturating_add(usize::from(!x.eq_ignore_ascii_case(&y)));
            diagonal = *cell;
            last = changed.min(diagonal.min(last).saturating_add(1));
            *cell = last;
        }
    }
    last
}
