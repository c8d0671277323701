// SPDX-License-Identifier: GPL-2.0

//! The grammar of conformance tests.

use super::command_errors::{
    check,
    invalid, //
};
use crate::logic::{
    command::{
        parse_error::Kind,
        Command,
        Role,
        Test, //
    },
    conformance::{
        families::FAMILIES,
        Case,
        CaseSet, //
    }, //
};
const ADDR: &str = "addr=192.0.2.1";

fn parse(text: &str) -> Command {
    Command::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// The names of all cases.
pub(super) fn names() -> Vec<&'static str> {
    Case::all().map(Case::as_str).collect()
}

/// The case called `name`.
pub(super) fn named(name: &str) -> Case {
    Case::all()
        .find(|case| case.as_str() == name)
        .unwrap_or_else(|| panic!("no case is called {name}"))
}

#[test]
fn every_case_has_a_name_of_its_own() {
    let names = names();
    assert_eq!(names.len(), Case::COUNT);
    for (i, name) in names.iter().enumerate() {
        assert!(!name.is_empty() && !names[..i].contains(name), "{name}");
        let sign = |c: char| c.is_ascii_lowercase() || c == '_';
        assert!(name.chars().all(sign), "{name}");
        let command = parse(&format!("neg={name},{ADDR}"));
        let found: Vec<_> = command.cases.iter().map(Case::as_str).collect();
        assert_eq!(found, [*name]);
    }
}

#[test]
fn it_is_a_loopback_on_any_port() {
    let command = parse("neg=all,addr=192.0.2.1");
    assert_eq!(
        (command.role, command.test, command.port, command.cases),
        (Role::Loopback, Test::Conformance, 0, CaseSet::all())
    );
    for text in [
        "loopback,neg=all,addr=192.0.2.1",
        "addr=192.0.2.1,loopback,neg=all",
    ] {
        assert_eq!(parse(text), command, "{text}");
    }
    assert_eq!(parse(&format!("neg=all,{ADDR},port=7")).port, 7);
}

#[test]
fn names_are_taken_in_any_order_and_shown_in_theirs() {
    let command = parse("neg=drain+rnr+stale_rkey,addr=192.0.2.1");
    assert_eq!(
        command.to_string(),
        "neg=stale_rkey+rnr+drain,addr=192.0.2.1"
    );
    let all: Vec<_> = CaseSet::all().iter().map(Case::as_str).collect();
    let command = parse(&format!("neg={},{ADDR}", all.join("+")));
    assert_eq!(command.to_string(), "neg=all,addr=192.0.2.1");
}

#[test]
fn what_needs_help_runs_where_it_is_named() {
    let case = named("port_down");
    assert!(!CaseSet::all().has(case));
    assert_eq!(CaseSet::all().iter().count() + 1, Case::COUNT);
    let families: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
    for (text, shown) in [
        ("port_down".to_owned(), "port_down".to_owned()),
        // `all` is not said of a set that has it.
        (
            names().join("+"),
            format!("{}+port_down", families.join("+")),
        ),
    ] {
        let command = parse(&format!("neg={text},{ADDR}"));
        assert!(command.cases.has(case), "{text}");
        assert_eq!(command.to_string(), format!("neg={shown},{ADDR}"));
    }
}

#[test]
fn a_family_is_its_cases() {
    let mut names = names();
    for family in &FAMILIES {
        assert!(!names.contains(&family.name), "{}", family.name);
        assert!(!family.about.is_empty() && !family.rows.is_empty());
        names.push(family.name);
        let command = parse(&format!("neg={},{ADDR}", family.name));
        assert_eq!(command.to_string(), format!("neg={},{ADDR}", family.name));
        for case in Case::all() {
            let its = case.family().name == family.name && !case.row().by_name;
            assert_eq!(command.cases.has(case), its, "{case:?}");
        }
    }
    let command = parse(&format!("neg=rnr+keys,{ADDR}"));
    assert_eq!(command.to_string(), format!("neg=keys+rnr,{ADDR}"));
    let twice = "neg has stale_rkey twice; give it once";
    invalid(&format!("neg=keys+stale_rkey,{ADDR}"), "neg", twice);
}

#[test]
fn every_row_says_what_it_is() {
    for case in Case::all() {
        let row = case.row();
        for text in [row.does, row.source, row.infiniband.text, row.iwarp.text] {
            assert!(!text.is_empty() && !text.contains("  "), "{case:?}: {text}");
            assert!(!text.ends_with('.'), "{case:?}: {text}");
        }
        assert!(row.wants.times > 0, "{case:?}");
    }
}

#[test]
fn no_other_command_has_cases() {
    for text in ["server", "client,addr=192.0.2.1", "loopback,addr=192.0.2.1"] {
        assert_eq!(parse(text).cases, CaseSet::EMPTY, "{text}");
    }
}

#[test]
fn what_is_no_case() {
    let families: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
    let list = families.join(", ");
    for value in [
        "none",
        "ALL",
        "all+rnr",
        "rnr+all",
        "all+port_down",
        "+",
        "rnr+",
        "+rnr",
        "Rnr",
    ] {
        let wrong = value
            .split('+')
            .find(|name| !names().contains(name))
            .unwrap();
        let sentence = format!(
            "neg={wrong}: must be all, a case ('krping conform --list' has them), or a family of \
             them, {list}; or several with + between"
        );
        invalid(&format!("neg={value},{ADDR}"), "neg", &sentence);
    }
    let twice = "neg has rnr twice; give it once";
    invalid(&format!("neg=rnr+drain+rnr,{ADDR}"), "neg", twice);
    for text in ["neg", "neg="] {
        let sentence = "neg needs a value, as in neg=all";
        invalid(&format!("{text},{ADDR}"), "neg", sentence);
    }
    let twice = "neg is given twice; give it once";
    invalid(&format!("neg=rnr,neg=drain,{ADDR}"), "neg", twice);
}

#[test]
fn it_needs_an_address() {
    let sentence = "neg needs the server's address; give addr=192.0.2.1 or addr6=2001:db8::1";
    invalid("neg=all", "neg", sentence);
    let sentence = "addr and addr6 are both given; give one of them";
    invalid("neg=all,addr=192.0.2.1,addr6=::1", "addr", sentence);
}

#[test]
fn other_roles_and_tests_are_named() {
    for role in ["client", "server"] {
        let sentence = format!(
            "{role} does not go with neg, which has both ends here; give neg=all,addr=192.0.2.1"
        );
        invalid(&format!("{role},neg=all,{ADDR}"), role, &sentence);
    }
    for (option, name) in [
        ("fr", "fr"),
        ("bw", "bw"),
        ("blk", "blk"),
        ("tap=sda", "tap"),
    ] {
        let sentence = format!("{name} does not go with neg");
        invalid(&format!("neg=all,{ADDR},{option}"), name, &sentence);
        invalid(&format!("{option},{ADDR},neg=rnr"), name, &sentence);
    }
    let range = "timeout=0: must be from 1 to 3600000 ms";
    check(
        &format!("neg=all,{ADDR},timeout=0"),
        Kind::Range,
        "timeout",
        range,
    );
    let stop = "neg does not go with stop; give stop=ID, and force where it is in use";
    invalid("stop=1,neg=all", "neg", stop);
}
