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
        Case,
        CaseSet, //
    }, //
};
const ADDR: &str = "addr=192.0.2.1";

fn parse(text: &str) -> Command {
    Command::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// All cases: those of `all`, and the one that needs somebody's help.
pub(super) fn every() -> impl Iterator<Item = Case> {
    CaseSet::ALL.iter().chain([Case::PortDown])
}

/// The names of all cases.
fn names() -> Vec<&'static str> {
    every().map(Case::as_str).collect()
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
        (Role::Loopback, Test::Conformance, 0, CaseSet::ALL)
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
    let all: Vec<_> = CaseSet::ALL.iter().map(Case::as_str).collect();
    let command = parse(&format!("neg={},{ADDR}", all.join("+")));
    assert_eq!(command.to_string(), "neg=all,addr=192.0.2.1");
}

#[test]
fn what_needs_help_runs_where_it_is_named() {
    assert!(!CaseSet::ALL.has(Case::PortDown));
    assert_eq!(CaseSet::ALL.iter().count() + 1, Case::COUNT);
    for text in [
        "neg=port_down,addr=192.0.2.1".to_owned(),
        format!("neg={},addr=192.0.2.1", names().join("+")),
    ] {
        let command = parse(&text);
        assert!(command.cases.has(Case::PortDown), "{text}");
        // It is the last, and `all` is not said of a set that has it.
        assert_eq!(command.to_string(), text);
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
    let list = names().join(", ");
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
        let sentence =
            format!("neg={wrong}: must be all, {list}, or several of them with + between");
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
