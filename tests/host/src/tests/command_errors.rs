// SPDX-License-Identifier: GPL-2.0

//! What commands are refused, as what, and with which sentence.

use crate::logic::{
    command::Command,
    parse_error::{Kind, ParseError},
};

fn refused(text: &str) -> ParseError<'_> {
    match Command::parse(text) {
        Ok(command) => panic!("{text} was taken as {command}"),
        Err(error) => error,
    }
}

#[track_caller]
fn check(text: &str, kind: Kind, option: &str, sentence: &str) {
    let error = refused(text);
    assert_eq!(error.to_string(), sentence, "{text}");
    assert_eq!((error.kind, error.option), (kind, option), "{text}");
}

#[track_caller]
fn invalid(text: &str, option: &str, sentence: &str) {
    check(text, Kind::Invalid, option, sentence);
}

#[test]
fn nothing_and_empty_options() {
    let nothing = "the command is empty; give client, server or loopback, \
                   as in loopback,addr=192.0.2.1,count=100";
    for text in ["", "\n", "  ", " \t\n"] {
        invalid(text, "", nothing);
    }
    for text in [",", "server,", ",server", "server,,poll", "server, ,poll"] {
        let sentence = "an option is empty; give options with one comma between them";
        invalid(text, "", sentence);
    }
}

#[test]
fn unknown_options_with_what_was_probably_meant() {
    for (typed, meant) in [
        ("sise", "size"),
        ("Size", "size"),
        ("adr", "addr"),
        ("txdeph", "txdepth"),
        ("tx-dept", "tx-depth"),
        ("valdate", "validate"),
        ("serverinv", "server_inv"),
        ("prot", "port"),
        ("memmode", "mem_mode"),
        ("treads", "threads"),
        ("CLIENT1", "client"),
    ] {
        let meant = format!("unknown option '{typed}'; did you mean '{meant}'?");
        invalid(&format!("server,{typed}=5"), typed, &meant);
    }
    let list = "valid are client, server, loopback, addr, addr6, port, count, size, verbose, \
                validate, mem_mode, server_inv, read_inv, local_dma_lkey, unsafe_global_rkey, fr, \
                poll, persist, tos, txdepth, tx-depth, threads, timeout, pattern, tag";
    for typed in ["q", "iterations", "sizable", "", &"x".repeat(64)] {
        let sentence = format!("unknown option '{typed}'; {list}");
        invalid(&format!("server,{typed}=5"), typed, &sentence);
    }
}

#[test]
fn options_given_twice() {
    invalid(
        "server,poll,poll",
        "poll",
        "poll is given twice; give it once",
    );
    invalid(
        "server,size=1,size=1",
        "size",
        "size is given twice; give it once",
    );
    let depth = "tx-depth is given twice; give it once";
    invalid("server,txdepth=1,tx-depth=1", "tx-depth", depth);
    invalid(
        "client,client",
        "client",
        "client is given twice; give it once",
    );
}

#[test]
fn options_of_later_versions_whatever_their_value() {
    for option in [
        "wlat",
        "rlat",
        "slat",
        "bw",
        "rbw",
        "sbw",
        "duplex",
        "duration",
        "qps",
        "postlist",
        "signal_every",
        "inline",
        "sge",
        "imm",
        "cpu",
        "max_p99",
        "min_bw",
        "expect",
        "neg",
        "caps",
        "blk",
        "tap",
        "store",
        "ro",
        "queues",
        "depth",
        "reconnect",
        "stop",
        "force",
        "detach",
        "comm",
        "log",
    ] {
        let sentence = format!("{option} is not supported by this version");
        for value in ["", "=", "=5", "=a=b"] {
            let text = format!("client,addr=192.0.2.1,{option}{value}");
            check(&text, Kind::NotSupported, option, &sentence);
        }
    }
}

#[test]
fn flags_take_no_value() {
    for flag in [
        "client",
        "server",
        "loopback",
        "verbose",
        "validate",
        "server_inv",
        "read_inv",
        "local_dma_lkey",
        "unsafe_global_rkey",
        "fr",
        "poll",
        "persist",
    ] {
        let sentence = format!("{flag} takes no value; give {flag} alone");
        for value in ["", "1", "yes"] {
            invalid(&format!("{flag}={value}"), flag, &sentence);
        }
    }
}

#[test]
fn values_that_are_missing() {
    for (option, example) in [
        ("addr", "192.0.2.1"),
        ("addr6", "2001:db8::1"),
        ("port", "9999"),
        ("count", "1000"),
        ("size", "4K"),
        ("mem_mode", "reg"),
        ("tos", "32"),
        ("txdepth", "64"),
        ("tx-depth", "64"),
        ("threads", "4"),
        ("timeout", "10000"),
        ("pattern", "binary"),
        ("tag", "TEXT"),
    ] {
        let sentence = format!("{option} needs a value, as in {option}={example}");
        invalid(&format!("server,{option}"), option, &sentence);
        invalid(&format!("server,{option}="), option, &sentence);
    }
}

#[test]
fn numbers_out_of_range() {
    for (option, min, max) in [
        ("port", 1u64, 65_535u64),
        ("size", 1, 4_294_967_295),
        ("tos", 0, 255),
        ("txdepth", 1, 65_536),
        ("threads", 1, 1024),
        ("timeout", 1, 3_600_000),
        ("count", 0, u64::MAX),
    ] {
        for inside in [min, max] {
            let text = format!("server,{option}={inside}");
            assert!(Command::parse(&text).is_ok(), "{text}");
        }
        let below = (min > 0).then(|| (min - 1).to_string());
        let above = (u128::from(max) + 1).to_string();
        let huge = "340282366920938463463374607431768211456".to_string();
        let hex = "0x10000000000000000".to_string();
        for outside in below.into_iter().chain([above, huge, hex]) {
            let sentence = format!("{option}={outside}: must be from {min} to {max}");
            let text = format!("server,{option}={outside}");
            check(&text, Kind::Range, option, &sentence);
        }
    }
    for large in [
        "4G",
        "4194304K",
        "18446744073709551615G",
        "0xffffffffffffffffK",
        // It would be 1G, modulo 2^64.
        "17179869185G",
    ] {
        let sentence = format!("size={large}: must be from 1 to 4294967295");
        check(
            &format!("server,size={large}"),
            Kind::Range,
            "size",
            &sentence,
        );
    }
}

#[test]
fn what_is_no_number() {
    let words = "must be a number, decimal without leading zeros or hexadecimal after 0x";
    for value in [
        "abc", "-1", "+1", "1.5", "1 0", "0x", "0xg", "x10", "010", "00", "1K", "1_000", "1e3",
    ] {
        let text = format!("server,count={value}");
        invalid(&text, "count", &format!("count={value}: {words}"));
    }
    for value in ["K", "1KK", "1T", "1KB", "-1K", "01K", "1 K", "0xK"] {
        let text = format!("server,size={value}");
        let sentence = format!("size={value}: {words}, then K, M or G at will");
        invalid(&text, "size", &sentence);
    }
}

#[test]
fn what_is_no_address() {
    for value in [
        "1.2.3",
        "1.2.3.4.5",
        "256.0.0.1",
        "localhost",
        "::1",
        "01.2.3.4",
        "1.2.3.4%e",
    ] {
        let sentence =
            format!("addr={value}: must be an IPv4 address such as 192.0.2.1 (addr6= takes IPv6)");
        invalid(&format!("server,addr={value}"), "addr", &sentence);
    }
    for value in [
        "192.0.2.1",
        "1::2::3",
        "eth0",
        "%eth0",
        "[::1]",
        "::1/64",
        "12345::",
    ] {
        let sentence =
            format!("addr6={value}: must be an IPv6 address such as 2001:db8::1 or fe80::1%eth0");
        invalid(&format!("server,addr6={value}"), "addr6", &sentence);
    }
    for name in ["", ".", "..", "a/b", "a:b", "a b", "sixteen-letters."] {
        let sentence = format!(
            "addr6=fe80::1%{name}: must have the name of an interface after %, as in fe80::1%eth0"
        );
        invalid(&format!("server,addr6=fe80::1%{name}"), "addr6", &sentence);
    }
    for value in ["fe80::1", "febf:ffff::"] {
        let sentence = format!("addr6={value}: must say on which interface, as in {value}%eth0");
        invalid(&format!("server,addr6={value}"), "addr6", &sentence);
    }
}

#[test]
fn values_that_are_none_of_the_valid() {
    let modes = "mem_mode=mr: must be dma, reg or fastreg";
    invalid("server,mem_mode=mr", "mem_mode", modes);
    invalid(
        "server,pattern=Text",
        "pattern",
        "pattern=Text: must be text or binary",
    );
    let tag = "tag: must be 1 to 64 characters, and no space first or last";
    invalid("server,tag= a", "tag", tag);
    invalid(&format!("server,tag={}", "a".repeat(65)), "tag", tag);
    assert!(Command::parse(&format!("server,tag={}", "a".repeat(64))).is_ok());
}

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
        let sentence = format!("{option} needs mem_mode=reg; give both or neither");
        invalid(&format!("server,{option}"), option, &sentence);
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
    let fr = "fr is for the client or loopback; a server does what its client asks for";
    invalid("server,fr", "fr", fr);
}

#[test]
fn bytes_that_do_not_belong_in_a_log_are_escaped() {
    for (text, shown) in [
        ("ser\x1b[2Jver", "ser\\x1b[2Jver"),
        ("tag=a\nb", "tag"),
        ("tag=caf\u{e9}", "tag"),
        ("ta\u{e9}g=5", "ta\\xc3\\xa9g"),
        ("server\0", "server\\x00"),
        ("server\n\n", "server\\x0a"),
        ("server\r", "server\\x0d"),
        ("\u{a0}server", "\\xc2\\xa0server"),
    ] {
        let error = refused(text);
        assert_eq!(error.kind, Kind::Invalid, "{text:?}");
        let sentence = format!(
            "option '{shown}' holds what is not printable ASCII; use letters, digits and signs"
        );
        assert_eq!(error.to_string(), sentence, "{text:?}");
    }
}

#[test]
fn long_texts_are_cut() {
    let name = "x".repeat(3000);
    let shown = refused(&name).to_string();
    assert!(
        shown.starts_with(&format!("unknown option '{}...'", &name[..64])),
        "{shown}"
    );
    assert!(shown.len() < 500);
}
