// SPDX-License-Identifier: GPL-2.0

//! The tables of tests and options, and what is made of them.

use crate::logic::spec::{
    json,
    options::Opt,
    role::Role,
    tests::Test, //
};
use std::{
    collections::HashSet,
    fs, //
};

/// Returns the tables as they are printed.
fn tables() -> String {
    let mut out = String::new();
    json::write(&mut out).unwrap();
    out.push('\n');
    out
}

#[test]
fn names_and_numbers_are_given_once() {
    let mut names = HashSet::new();
    for name in Opt::NAMES.iter().copied().flatten() {
        assert!(names.insert(*name), "{name}");
    }
    let mut numbers = HashSet::new();
    for test in Test::ALL {
        assert!(
            names.len() > 60 && numbers.insert(test.as_str()),
            "{test:?}"
        );
        assert_eq!(
            test.spec().number.and_then(Test::numbered),
            test.spec().number.map(|_| *test)
        );
    }
    let mut bits = 0;
    for opt in Opt::ALL.iter().map(|opt| opt.spec()) {
        assert!(
            opt.bit & bits == 0 && opt.bit.count_ones() <= 1,
            "{}",
            opt.name()
        );
        bits |= opt.bit;
        assert!(
            opt.help.ends_with('.') && opt.help.len() < 80,
            "{}",
            opt.name()
        );
    }
}

#[test]
fn every_option_goes_with_something() {
    for opt in Opt::ALL.iter().map(|opt| opt.spec()) {
        let goes = |role: &Role| Test::ALL.iter().any(|test| opt.goes_with(*role, *test));
        assert!(Role::ALL.iter().any(goes), "{}", opt.name());
    }
}

/// The file that programs read where no module is loaded.
#[test]
fn the_file_of_the_front_has_the_tables() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scripts/krping_front/options.json"
    );
    assert!(
        fs::read_to_string(path).unwrap() == tables(),
        "{path} is not what the tables say; 'tests/host/run --tables' prints what it must be"
    );
}
