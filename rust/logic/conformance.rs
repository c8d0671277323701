// SPDX-License-Identifier: GPL-2.0

//! The conformance tests, `neg=`: a table of cases, by family, and sets of them.
//!
//! A [`row`] of a [family](families) says all of a case: what is done, as [`steps`] or as
//! something [`special`], and the [`rule`] for devices; [`judgement`] compares what was seen with
//! it. To add a case is to add a row.
//!
//! [`observation`] is what was seen, with [`answer`] of a connection request; [`deviation`] what of
//! it is not as demanded, [`trial`] what a case came to.

pub(crate) mod answer;
pub(crate) mod deviation;
pub(crate) mod families;
mod judgement;
pub(crate) mod observation;
pub(crate) mod row;
pub(crate) mod rule;
pub(crate) mod special;
pub(crate) mod steps;
pub(crate) mod trial;

use core::fmt;
use families::{
    Family,
    FAMILIES, //
};
use row::Row;
use rule::{
    Fabric,
    Rule, //
};

/// A conformance test: one way to use a device wrongly, or up to a limit.
///
/// # Invariants
///
/// There is a row of this number, counted through all families.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case(u8);

impl Case {
    /// The number of cases.
    pub(crate) const COUNT: usize = {
        let (mut count, mut family) = (0, 0);
        while family < FAMILIES.len() {
            count += FAMILIES[family].rows.len();
            family += 1;
        }
        count
    };

    /// Returns an iterator over all cases, in the order in which they run.
    pub(crate) fn all() -> impl Iterator<Item = Self> + Clone {
        // INVARIANT: These are the numbers of the rows.
        (0..Self::COUNT).map(|number| Self(number as u8))
    }

    /// Returns the family and the row.
    fn place(self) -> (&'static Family, &'static Row) {
        let mut number = usize::from(self.0);
        let mut found = (&FAMILIES[0], &FAMILIES[0].rows[0]);
        for family in &FAMILIES {
            if let Some(row) = family.rows.get(number) {
                found = (family, row);
                break;
            }
            number -= family.rows.len();
        }
        found
    }

    /// Returns the row.
    pub(crate) fn row(self) -> &'static Row {
        self.place().1
    }

    /// Returns the family.
    pub(crate) fn family(self) -> &'static Family {
        self.place().0
    }

    /// Returns the rule on `fabric`.
    pub(crate) fn rule(self, fabric: Fabric) -> &'static Rule {
        let row = self.row();
        match fabric {
            Fabric::InfiniBand => &row.infiniband,
            Fabric::Iwarp => &row.iwarp,
        }
    }

    /// Returns the name in commands and results.
    pub(crate) fn as_str(self) -> &'static str {
        self.row().name
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Number of words of bits in a set of cases.
const WORDS: usize = 4;

// Numbers of cases are bytes, and have bits in a set.
const _: () = assert!(Case::COUNT <= 64 * WORDS && Case::COUNT <= 1 << u8::BITS);

/// A set of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CaseSet([u64; WORDS]);

impl CaseSet {
    /// No case.
    pub(crate) const EMPTY: Self = Self([0; WORDS]);

    /// Returns every case that runs without being named.
    pub(crate) fn all() -> Self {
        Self::of(|_, row| !row.by_name)
    }

    /// Returns the cases that `name` is the name of: one, or those of a family that run without
    /// being named; `None` where it is neither.
    pub(crate) fn find(name: &str) -> Option<Self> {
        let set = Self::of(|family, row| row.name == name || family.name == name && !row.by_name);
        (set != Self::EMPTY).then_some(set)
    }

    fn of(has: impl Fn(&Family, &Row) -> bool) -> Self {
        let mut set = Self::EMPTY;
        for case in Case::all() {
            let (family, row) = case.place();
            if has(family, row) {
                set.insert(case);
            }
        }
        set
    }

    /// Returns true where the set contains `case`.
    pub(crate) fn has(&self, case: Case) -> bool {
        let (word, bit) = Self::bit(case);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Returns an iterator over the cases of the set, in the order in which they run.
    pub(crate) fn iter(self) -> impl Iterator<Item = Case> {
        Case::all().filter(move |case| self.has(*case))
    }

    /// Returns the index of the word of `case`, and its bit there.
    fn bit(case: Case) -> (usize, u64) {
        (usize::from(case.0 / 64), 1 << (case.0 % 64))
    }

    /// Adds a case.
    pub(crate) fn insert(&mut self, case: Case) {
        let (word, bit) = Self::bit(case);
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit;
        }
    }

    /// Adds the cases of `other`. Returns false, and adds none, where it has one already.
    pub(crate) fn join(&mut self, other: &Self) -> bool {
        let both = self.0.iter().zip(&other.0);
        if both.clone().any(|(own, other)| own & other != 0) {
            return false;
        }
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own |= other;
        }
        true
    }

    /// Returns true where every case of `other` is in the set.
    fn contains(&self, other: &Self) -> bool {
        let both = self.0.iter().zip(&other.0);
        both.clone().all(|(own, other)| own & other == *other)
    }
}

/// Writes the names of all families, each after a comma, for a sentence.
pub(crate) fn list_families(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    FAMILIES
        .iter()
        .try_for_each(|family| write!(f, ", {}", family.name))
}

impl fmt::Display for CaseSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::all() {
            return f.write_str("all");
        }
        let mut between = "";
        let mut rest = *self;
        for family in &FAMILIES {
            let whole = Self::of(|each, row| each.name == family.name && !row.by_name);
            if whole != Self::EMPTY && rest.contains(&whole) {
                write!(f, "{between}{}", family.name)?;
                between = "+";
                for (own, whole) in rest.0.iter_mut().zip(&whole.0) {
                    *own &= !whole;
                }
            }
        }
        for case in rest.iter() {
            write!(f, "{between}{}", case.as_str())?;
            between = "+";
        }
        Ok(())
    }
}
