// SPDX-License-Identifier: GPL-2.0

//! Which options go together, and what is said of those that do not.

use super::command_errors::invalid;
use crate::logic::command::{
    parse_error::Kind,
    Command, //
};

#[test]
fn contradictions_name_the_options() {
    let roles = "both given; give one of client, server, loopback";
    for (one, other) in [
        ("client", "server"),
        ("server", "loopback"),
        ("client", "loopback"),
    ] {
        for text in [
            format!("{one},{other}"),
            format!("{other},{one},addr=192.0.2.1"),
        ] {
            invalid(&text, one, &format!("{one} and {other} are {roles}"));
        }
    }
    let no_role = "no role is given; give one of client, server, loopback";
    invalid("addr=192.0.2.1", "", no_role);
    for role in ["client", "loopback"] {
        let sentence =
            format!("{role} needs the server's address; give addr=192.0.2.1 or addr6=2001:db8::1");
        invalid(role, role, &sentence);
    }
    let pairs = [
        ("server,addr6=::,addr=0.0.0.0", "addr", "addr6"),
        (
            "server,mem_mode=reg,read_inv,server_inv",
            "server_inv",
            "read_inv",
        ),
    ];
    for (text, one, other) in pairs {
        let sentence = format!("{one} and {other} are both given; give one of them");
        invalid(text, one, &sentence);
    }
    for option in ["server_inv", "read_inv"] {
        let sentence = format!("{option} needs mem_mode=reg; leave mem_mode=dma out");
        invalid(&format!("server,{option},mem_mode=dma"), option, &sentence);
    }
    let rkey =
        "unsafe_global_rkey is for mem_mode=dma; with mem_mode=reg each key opens one buffer only";
    invalid(
        "server,unsafe_global_rkey,mem_mode=fastreg",
        "unsafe_global_rkey",
        rkey,
    );
    let persist = "persist is for a server; give server,persist";
    for role in ["client", "loopback"] {
        invalid(
            &format!("{role},addr=192.0.2.1,persist"),
            "persist",
            persist,
        );
    }
    let allow = "allow is for a server; give server,allow";
    for role in ["client", "loopback"] {
        let text = format!("{role},addr=192.0.2.1,allow=::1");
        invalid(&text, "allow", allow);
    }
    let memory = "max_memory is for a server; give server,max_memory";
    for role in ["client", "loopback"] {
        let text = format!("{role},addr=192.0.2.1,max_memory=1M");
        invalid(&text, "max_memory", memory);
    }
    let fr = "fr is for the client or loopback; a server does what its client asks for";
    invalid("server,fr", "fr", fr);
}

#[test]
fn there_is_one_test() {
    let tests = ["fr", "wlat", "rlat", "slat", "bw", "rbw", "sbw"];
    for (i, one) in tests.iter().enumerate() {
        for other in &tests[i + 1..] {
            let sentence = format!("{one} and {other} are both given; give one of them");
            invalid(&format!("client,addr6=::1,{other},{one}"), one, &sentence);
        }
    }
}

/// What the tests are called in sentences, and how they are asked for.
const TESTS: [(&str, &str); 8] = [
    ("the ping/pong", ""),
    ("fr", "fr"),
    ("wlat", "wlat"),
    ("rlat", "rlat"),
    ("slat", "slat"),
    ("bw", "bw"),
    ("rbw", "rbw"),
    ("sbw", "sbw"),
];

const MICROBENCH: &str = "wlat, rlat, slat, bw, rbw or sbw";

/// Each option that is for some of the tests only: for which, as sentences say it.
const RULES: [(&str, &str); 12] = [
    ("validate", "the ping/pong, bw, rbw or sbw"),
    ("duplex", "bw, rbw or sbw"),
    ("qps=1", MICROBENCH),
    ("postlist=1", "bw, rbw or sbw"),
    ("signal_every=1", "wlat, slat, bw, rbw or sbw"),
    ("inline", "wlat, slat, bw or sbw"),
    ("sge=1", MICROBENCH),
    ("imm", "wlat or bw"),
    ("untimed", "wlat, rlat or slat"),
    ("max_p99=1s", "the ping/pong, wlat, rlat or slat"),
    ("min_bw=1", "bw, rbw or sbw"),
    ("duration=1,count=1,cpu=0,expect=ok,poll", ""),
];

#[test]
fn options_that_are_for_some_tests_only() {
    for role in ["client,addr=192.0.2.1", "loopback,addr=192.0.2.1", "server"] {
        for (rule, valid) in RULES {
            for (test, option) in TESTS {
                let text = match option {
                    "" => format!("{role},{rule}"),
                    option => format!("{role},{option},{rule}"),
                };
                let name = rule.split('=').next().unwrap();
                let named = valid
                    .replace(" or ", ", ")
                    .split(", ")
                    .any(|name| name == test);
                // `fr` has no data to validate, and never minded.
                let minds = !(test == "fr" && rule == "validate");
                let any_test = role == "server" && test == "the ping/pong";
                if role == "server" && test == "fr" {
                    assert!(Command::parse(&text).is_err(), "{text}");
                } else if named || valid.is_empty() || !minds || any_test {
                    Command::parse(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
                } else {
                    let sentence = format!("{name} does not go with {test}; it is for {valid}");
                    invalid(&text, name, &sentence);
                }
            }
        }
    }
}

#[test]
fn microbenchmarks_have_no_use_for_keys_that_change() {
    for (test, option) in &TESTS[2..] {
        for role in ["client,addr=192.0.2.1", "loopback,addr=192.0.2.1", "server"] {
            for mode in ["reg", "fastreg"] {
                let reg =
                    format!("mem_mode=reg does not go with {test}; it is for the ping/pong and fr");
                invalid(
                    &format!("{role},{option},mem_mode={mode}"),
                    "mem_mode",
                    &reg,
                );
            }
            for inv in ["server_inv", "read_inv"] {
                let sentence = format!("{inv} does not go with {test}; it is for the ping/pong");
                invalid(&format!("{role},{inv},{option}"), inv, &sentence);
                invalid(
                    &format!("{role},{inv},{option},mem_mode=reg"),
                    inv,
                    &sentence,
                );
            }
        }
    }
}

#[test]
fn what_is_not_timed_has_no_percentiles() {
    for role in ["client,addr=192.0.2.1", "server"] {
        invalid(
            &format!("{role},wlat,untimed,max_p99=1us"),
            "max_p99",
            "max_p99 and untimed are both given; give one of them",
        );
    }
}

#[test]
fn each_piece_has_a_byte() {
    let sentence = "sge=3 does not go with size=2; each piece needs a byte";
    invalid("client,addr=192.0.2.1,rbw,sge=3,size=2", "sge", sentence);
    invalid("server,rbw,sge=3,size=2", "sge", sentence);
    assert!(Command::parse("client,addr=192.0.2.1,rbw,sge=3,size=3").is_ok());
    assert!(Command::parse("server,sge=3,size=2").is_ok());
}

#[test]
fn a_number_out_of_range_is_said_before_a_test_that_does_not_fit() {
    let error = Command::parse("client,addr=192.0.2.1,postlist=1025,wlat").unwrap_err();
    assert_eq!((error.kind, error.option), (Kind::Range, "postlist"));
}
