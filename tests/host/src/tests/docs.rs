// SPDX-License-Identifier: GPL-2.0

//! What docs/reference.md and docs/protocol.md say of tests and options, beside the tables.

use crate::logic::{
    command::Command,
    conformance::families::FAMILIES,
    spec::{
        load::Load,
        names,
        option::{
            Asks,
            Value, //
        },
        options::Opt,
        role::Role,
        tests::{
            Family,
            Test,
            Verb, //
        }, //
    }, //
};

const REFERENCE: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/reference.md"
));

const PROTOCOL: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/protocol.md"
));

/// Returns the rows of all tables whose header begins with `header`.
fn rows(header: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut lines = REFERENCE.lines();
    while let Some(line) = lines.next() {
        if line.starts_with(header) {
            let body = lines.by_ref().take_while(|line| line.starts_with('|'));
            for line in body.skip(1) {
                let cells = line.split('|').skip(1);
                rows.push(cells.map(|cell| cell.trim().to_owned()).collect());
            }
        }
    }
    rows
}

/// Returns what stands between backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Reads a number as the page writes it.
fn number(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "ns" => 1,
        "K" => 1 << 10,
        "s" => 1_000_000_000,
        _ => return None,
    };
    match digits {
        "2^64 - 1" => Some(u64::MAX),
        digits => digits.parse::<u64>().ok()?.checked_mul(unit),
    }
}

/// Checks the row of a number: its range, and its default.
fn check_number(opt: Opt, range: (u64, u64), default: Option<u64>, row: &[String]) {
    let name = opt.spec().name();
    let (first, last) = row[1]
        .split_once(" to ")
        .unwrap_or_else(|| panic!("{row:?}"));
    let last = last.split([',', ';', '(']).next().unwrap().trim();
    assert_eq!(
        (number(first), number(last)),
        (Some(range.0), Some(range.1)),
        "{name}"
    );
    if let Some(default) = default {
        let shown = row[2].split([';', ',']).next().unwrap();
        // Of conformance tests, which are a loopback, it is another.
        assert!(
            number(shown) == Some(default) || shown == "a free one",
            "{row:?}"
        );
    }
}

#[test]
fn every_option_has_a_row_with_its_range_and_default() {
    let mut found = Vec::new();
    for row in rows("| option | value | default |") {
        for named in quoted(&row[0]) {
            let name = named.trim_end_matches('=');
            let opt = names::find(name).unwrap_or_else(|| panic!("{row:?}"));
            let spec = opt.spec();
            found.push(name.to_owned());
            let has_value = named.ends_with('=') || opt == Opt::Tap;
            match &spec.value {
                Value::Nothing | Value::Flag { .. } | Value::FlagOrWord { .. } => {
                    assert!(!has_value, "{row:?}");
                }
                Value::Number { range, get, .. } => {
                    assert!(has_value, "{row:?}");
                    let mut tests = Test::ALL.iter();
                    let test = tests.find(|test| spec.fits(Role::Client, **test));
                    let default = Command {
                        load: Load::new(*test.unwrap_or(&Test::PingPong)),
                        ..Command::new(Role::Client)
                    };
                    // Options that several tests take have their row elsewhere.
                    if !row[1].is_empty() {
                        let range = (*range.start(), *range.end());
                        check_number(opt, range, get(&default), &row);
                    }
                }
                Value::Word { words, .. } => {
                    let said: Vec<&str> = quoted(&row[1]).collect();
                    assert_eq!(said, *words, "{name}");
                }
                Value::Text(_) | Value::Late(_) | Value::Target => assert!(has_value, "{row:?}"),
                // With and without one.
                Value::Topic => (),
            }
        }
    }
    let of_microbenchmarks = rows("| option | number |");
    found.extend(
        of_microbenchmarks
            .iter()
            .flat_map(|row| quoted(&row[0]))
            .map(String::from),
    );
    // It has a section instead.
    found.push("caps".to_owned());
    for name in names::all() {
        assert!(found.iter().any(|found| found == name), "{name} has no row");
    }
}

/// Returns the roles that some text names by their letters.
fn roles(text: &str) -> Vec<Role> {
    let named = |letter| {
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| word == letter)
    };
    let letters = ["C", "S", "L"].into_iter().zip(Role::ALL);
    letters
        .filter(|(letter, _)| named(*letter))
        .map(|(_, role)| role)
        .collect()
}

#[test]
fn every_option_names_the_roles_that_take_it() {
    let mut by_option = std::collections::BTreeMap::<&str, Vec<Role>>::new();
    for row in rows("| option | value | default | roles |") {
        for named in quoted(&row[0]) {
            let opt = names::find(named.trim_end_matches('=')).unwrap();
            let said = by_option.entry(opt.spec().name()).or_default();
            said.extend(roles(&row[3]));
        }
    }
    for (name, said) in by_option.into_iter().filter(|(_, said)| !said.is_empty()) {
        let spec = names::find(name).unwrap().spec();
        for role in Role::ALL {
            let is_taken = Test::ALL.iter().any(|test| spec.goes_with(role, *test));
            assert_eq!(
                said.contains(&role),
                is_taken,
                "{name} of a {}",
                role.as_str()
            );
        }
    }
}

#[test]
fn every_family_is_named() {
    let rows = rows("| field of a test |");
    let row = rows.iter().find(|row| row[0] == "`family`").unwrap();
    let named: Vec<&str> = quoted(&row[1]).collect();
    for test in Test::ALL {
        let family = test.spec().family.as_str();
        assert!(named.contains(&family), "{family} of {}", test.as_str());
    }
}

#[test]
fn every_microbenchmark_has_a_row() {
    let rows = rows("| option | number |");
    let said: Vec<&str> = rows.iter().flat_map(|row| quoted(&row[0])).collect();
    let tests = Test::ALL.iter().filter(|test| test.is_microbench());
    assert_eq!(said, tests.map(|test| test.as_str()).collect::<Vec<_>>());
}

/// Returns the microbenchmarks that a cell of a table names, one by one or as a family.
fn microbenchmarks(cell: &str) -> Vec<&'static str> {
    let (family, others) = cell
        .split_once("all but ")
        .map_or((cell, false), |(_, of)| (of, true));
    let alone: Vec<&str> = quoted(family).collect();
    let is_named = |test: Test| {
        let verb = test.spec().verb;
        let is_atomic = matches!(verb, Some(Verb::FetchAdd | Verb::CompareSwap));
        match family {
            "all" => true,
            "atomic tests" => is_atomic,
            "bandwidth tests" => test.is_bandwidth(),
            "latencies" => test.is_latency(),
            "latencies of READs and atomic operations" => {
                test.is_latency() && (is_atomic || verb == Some(Verb::Read))
            }
            _ => alone.contains(&test.as_str()),
        }
    };
    let tests = Test::ALL.iter().filter(|test| test.is_microbench());
    let meant = tests.filter(|test| is_named(**test) != others);
    meant.map(|test| test.as_str()).collect()
}

#[test]
fn options_of_some_microbenchmarks_say_of_which() {
    for row in rows("| option | value | default | for |") {
        let name = quoted(&row[0]).next().unwrap().trim_end_matches('=');
        let spec = names::find(name).unwrap().spec();
        let tests = Test::ALL.iter().filter(|test| test.is_microbench());
        let takes: Vec<&str> = tests
            .filter(|test| spec.fits(Role::Client, **test))
            .map(|test| test.as_str())
            .collect();
        assert_eq!(takes, microbenchmarks(&row[3]), "{name}");
    }
}

#[test]
fn results_name_every_test() {
    let row = REFERENCE
        .lines()
        .find(|line| line.starts_with("| `test` |"));
    let cells: Vec<&str> = row.unwrap().split('|').collect();
    let plain: Vec<&str> = quoted(cells[2]).collect();
    let others = Test::ALL.iter().map(|test| test.as_str());
    for name in others.filter(|name| !plain.contains(name)) {
        assert!(names::find(name).is_some(), "{name} is no option");
    }
    assert!(cells[2].ends_with(", or the option of the test "));
}

#[test]
fn the_protocol_names_the_tests_with_a_load() {
    let mut lines = PROTOCOL.lines();
    let said = lines.find(|line| line.starts_with("The load of a microbenchmark, tests "));
    let mut numbers: Vec<u8> = Vec::new();
    let mut until = false;
    for word in said.unwrap().split_whitespace() {
        if let Ok(number) = word.trim_end_matches([',', ':']).parse() {
            let first = numbers
                .last()
                .filter(|_| until)
                .map_or(number, |last| last + 1);
            numbers.extend(first..=number);
        }
        until = word == "to";
    }
    let families = [Family::Latency, Family::Bandwidth, Family::Rw];
    let tests = Test::ALL.iter().map(|test| test.spec());
    let mut wanted: Vec<u8> = tests
        .filter(|spec| families.contains(&spec.family))
        .filter_map(|spec| spec.number)
        .collect();
    wanted.sort_unstable();
    assert_eq!(numbers, wanted);
}

#[test]
fn every_conformance_family_has_a_row() {
    let said: Vec<_> = rows("| family | about |")
        .iter()
        .map(|row| row[..3].join(" "))
        .collect();
    let families = FAMILIES
        .iter()
        .map(|family| format!("`{}` {} {}", family.name, family.about, family.rows.len()));
    assert_eq!(said, families.collect::<Vec<_>>());
    assert!(Opt::ALL
        .iter()
        .any(|opt| matches!(opt.spec().asks, Asks::Test(Test::Conformance))));
}
