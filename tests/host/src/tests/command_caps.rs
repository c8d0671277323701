// SPDX-License-Identifier: GPL-2.0

//! The command that asks what a device can do.

use super::{
    command_errors::invalid,
    sentences::TESTS, //
};
use crate::logic::command::{
    Command,
    Role,
    Test, //
};

#[test]
fn it_is_a_client_without_saying_so() {
    for text in [
        "caps,addr=192.0.2.1",
        "addr=192.0.2.1,caps",
        "client,caps,addr=192.0.2.1",
    ] {
        let command = Command::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(
            (command.role, command.test, command.size),
            (Role::Client, Test::Caps, 0)
        );
        assert_eq!(command.to_string(), "caps,addr=192.0.2.1");
    }
    let text = "caps,addr6=2001:db8::1,timeout=5,expect=ENODEV,tag=a b";
    let command = Command::parse(text).unwrap();
    assert_eq!(command.timeout_ms, Some(5));
    assert_eq!(command.to_string(), text);
}

#[test]
fn it_needs_an_address() {
    let sentence = "caps needs an address of the device, or one that it leads to; give \
                    addr=192.0.2.1 or addr6=2001:db8::1";
    for text in ["caps", "client,caps", "caps,timeout=1"] {
        invalid(text, "caps", sentence);
    }
}

#[test]
fn it_is_the_only_test_and_role() {
    for role in ["server", "loopback"] {
        let sentence = format!("{role} does not go with caps; it is for the other tests");
        invalid(&format!("caps,addr=192.0.2.1,{role}"), role, &sentence);
        invalid(&format!("{role},caps,addr=192.0.2.1"), role, &sentence);
    }
    let tests = TESTS[1..].iter().map(|test| test.in_words());
    for test in tests.chain(["blk", "tap=sda"]) {
        let name = test.split('=').next().unwrap();
        let sentence = format!("{name} and caps are both given; give one of them");
        invalid(
            &format!("client,caps,{test},addr=192.0.2.1"),
            name,
            &sentence,
        );
    }
    let end = "addr does not go with stop; give stop=ID, and force where it is in use";
    invalid("stop=0,caps,addr=192.0.2.1", "addr", end);
}
