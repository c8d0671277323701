// SPDX-License-Identifier: GPL-2.0

//! What commands are refused, as what, and with which sentence; `command_rules` has the options
//! that do not go together, and `option_rows` what each row of the table says.

use crate::logic::{
    command::{
        parse_error::{
            Kind,
            ParseError, //
        },
        Command, //
    },
    spec::names, //
};

fn refused(text: &str) -> ParseError<'_> {
    match Command::parse(text) {
        Ok(command) => panic!("{text} was taken as {command}"),
        Err(error) => error,
    }
}

#[track_caller]
pub(super) fn check(text: &str, kind: Kind, option: &str, sentence: &str) {
    let error = refused(text);
    assert_eq!(error.to_string(), sentence, "{text}");
    assert_eq!((error.kind, error.option), (kind, option), "{text}");
}

#[track_caller]
pub(super) fn invalid(text: &str, option: &str, sentence: &str) {
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
fn options_with_spaces_between_them() {
    for (text, option) in [
        (
            "client addr=192.0.2.1 count=10",
            "client addr=192.0.2.1 count=10",
        ),
        (
            "client,addr=192.0.2.1 count=10,wlat",
            "addr=192.0.2.1 count=10",
        ),
        ("loopback,addr=192.0.2.1,size=4K  bw", "size=4K  bw"),
        ("loopback,mem_mode=reg tag=a", "mem_mode=reg tag=a"),
    ] {
        let sentence = format!("'{option}' is more than one option; separate options by commas");
        assert_eq!(refused(text).to_string(), sentence);
    }
    // No option follows.
    for text in ["server,a b", "server,tag=some count of it,size=x y"] {
        assert!(!refused(text).to_string().contains("commas"), "{text}");
    }
    assert!(Command::parse("server,tag=poll or count").is_ok());
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
        ("max_99", "max_p99"),
        ("post_list", "postlist"),
        ("signalevery", "signal_every"),
        ("inlin", "inline"),
        ("cpus", "cpu"),
    ] {
        let meant = format!("unknown option '{typed}'; did you mean '{meant}'?");
        invalid(&format!("server,{typed}=5"), typed, &meant);
    }
    let list = names::all().collect::<Vec<_>>().join(", ");
    let list = format!("valid are {list}");
    for typed in ["q", "elaborate", "sizable", "", &"x".repeat(64)] {
        let sentence = format!("unknown option '{typed}'; {list}");
        invalid(&format!("server,{typed}=5"), typed, &sentence);
    }
}

#[test]
fn options_given_twice() {
    for (text, option) in [
        ("server,poll,poll", "poll"),
        ("server,txdepth=1,tx-depth=1", "tx-depth"),
        ("client,client", "client"),
    ] {
        let sentence = format!("{option} is given twice; give it once");
        invalid(text, option, &sentence);
    }
}

#[test]
fn numbers_with_units_out_of_range() {
    for large in [
        "0",
        "4G",
        "4194304K",
        "18446744073709551615G",
        "0xffffffffffffffffK",
        // This would be 1G, modulo 2^64.
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
    for large in ["1001s", "1000000001us", "0ms", "18446744073709551615s"] {
        let sentence = format!("max_p99={large}: must be from 1 to 1000000000000 ns");
        let text = format!("server,max_p99={large}");
        check(&text, Kind::Range, "max_p99", &sentence);
    }
}

#[test]
fn what_is_no_number() {
    let words = "must be a number, decimal without leading zeros or hexadecimal after 0x";
    for value in [
        "abc", "-1", "+1", "1.5", "1 0", "0x", "0xg", "x10", "010", "00", "1_000", "1e3",
    ] {
        let text = format!("server,count={value}");
        let sentence = format!("count={value}: {words}, then K, M or G at will");
        invalid(&text, "count", &sentence);
        let text = format!("server,port={value}");
        invalid(&text, "port", &format!("port={value}: {words}"));
    }
    for value in ["1K", "1s"] {
        let text = format!("server,tos={value}");
        invalid(&text, "tos", &format!("tos={value}: {words}"));
    }
    for value in ["K", "1KK", "1T", "1KB", "-1K", "01K", "1 K", "0xK"] {
        let text = format!("server,size={value}");
        let sentence = format!("size={value}: {words}, then K, M or G at will");
        invalid(&text, "size", &sentence);
    }
    for value in ["s", "1M", "1.5us", "1US", "1 us", "1nss", "1sms", "5usec"] {
        let text = format!("server,max_p99={value}");
        let sentence = format!("max_p99={value}: {words}, then ns, us, ms, s, m or h at will");
        invalid(&text, "max_p99", &sentence);
    }
}

#[test]
fn units_of_times_and_numbers() {
    let server = |text: &str| Command::parse(&format!("server,{text}")).unwrap();
    for (text, ms) in [
        ("5", 5),
        ("5ms", 5),
        ("5s", 5000),
        ("5000us", 5),
        ("2m", 120_000),
        ("1h", 3_600_000),
    ] {
        assert_eq!(
            server(&format!("timeout={text}")).timeout_ms,
            Some(ms),
            "{text}"
        );
        assert_eq!(
            server(&format!("idle={text},persist")).idle_ms,
            Some(ms),
            "{text}"
        );
    }
    let client = |text: &str| Command::parse(&format!("client,addr=192.0.2.1,{text}")).unwrap();
    for (text, s) in [
        ("10", 10),
        ("10s", 10),
        ("10000ms", 10),
        ("10m", 600),
        ("24h", 86400),
    ] {
        assert_eq!(
            client(&format!("duration={text}")).duration_s,
            Some(s),
            "{text}"
        );
    }
    for (text, us) in [
        ("50", 50),
        ("50us", 50),
        ("1ms", 1000),
        ("1s", 1_000_000),
        ("3000ns", 3),
    ] {
        assert_eq!(client(&format!("spin={text}")).spin_us, Some(us), "{text}");
    }
    for (text, ns) in [
        ("7", 7),
        ("7us", 7000),
        ("2s", 2_000_000_000),
        ("1m", 60_000_000_000),
    ] {
        assert_eq!(
            client(&format!("max_p99={text}")).max_p99_ns,
            Some(ns),
            "{text}"
        );
    }
    assert_eq!(
        client("start_at=1800000000s").start_at_ns,
        Some(1_800_000_000_000_000_000)
    );
    for (text, number) in [
        ("1k", 1000),
        ("2M", 2_000_000),
        ("3G", 3_000_000_000),
        ("0x10k", 16_000),
    ] {
        assert_eq!(client(&format!("count={text}")).count, number, "{text}");
    }
    assert_eq!(client("wlat,rate=10K").rate, Some(10_000));
    // Bytes are counted in powers of 1024.
    assert_eq!(client("size=4K").size, 4096);
    for (text, unit) in [
        ("timeout=1500us", "ms"),
        ("timeout=500us", "ms"),
        ("idle=1ns", "ms"),
        ("spin=1500ns", "us"),
    ] {
        let (option, value) = text.split_once('=').unwrap();
        let sentence = format!("{option}={value}: must be a whole number of {unit}");
        invalid(&format!("server,{text}"), option, &sentence);
    }
    let sentence = "timeout=2h: must be from 1 to 3600000 ms";
    check("server,timeout=2h", Kind::Range, "timeout", sentence);
    let huge = "18446744073709551615h";
    let sentence = format!("duration={huge}: must be from 1 to 86400 seconds");
    check(
        &format!("server,duration={huge}"),
        Kind::Range,
        "duration",
        &sentence,
    );
}

#[test]
fn words_of_other_tools_are_translated() {
    use crate::logic::spec::{
        names,
        others_words::{
            NEEDLESS,
            PROGRAMS,
            WORDS, //
        },
    };

    let options = WORDS.iter().map(|(word, opt)| (*word, opt.spec().name()));
    let all: Vec<_> = options.chain(PROGRAMS.iter().copied()).collect();
    let meant = all
        .iter()
        .map(|(word, meant)| (*word, format!("did you mean '{meant}'?")));
    let why = NEEDLESS
        .iter()
        .map(|(word, why)| (*word, (*why).to_string()));
    let rows: Vec<_> = meant.chain(why).collect();
    for (word, says) in &rows {
        assert!(names::find(word).is_none(), "{word} is an option");
        assert_eq!(
            rows.iter().filter(|(other, _)| other == word).count(),
            1,
            "{word}"
        );
        for typed in [word.to_string(), word.to_uppercase()] {
            let sentence = format!("unknown option '{typed}'; {says}");
            invalid(&format!("client,{typed}=1"), &typed, &sentence);
        }
    }
    for (word, meant) in [
        ("source", "src"),
        ("iters", "count"),
        ("bidirectional", "duplex"),
        ("qp-timeout", "ack_timeout"),
        ("priority", "tos"),
        ("runtime", "duration"),
        ("ib_read_lat", "rlat"),
        ("ib-port", "src"),
        ("limit_bw", "min_bw"),
        ("mcg", "mcast"),
        ("connection", "qp"),
        ("blockcount", "count"),
        ("version6", "addr6"),
        ("all", "krping sweep"),
        ("report_gbits", "krping run --gbits"),
    ] {
        let sentence = format!("unknown option '{word}'; did you mean '{meant}'?");
        invalid(&format!("client,{word}"), word, &sentence);
    }
    for (word, why) in [
        (
            "ramp_time",
            "each microbenchmark warms up before it measures",
        ),
        (
            "rw",
            "the name of a test says the direction: bw writes, rbw reads, sbw sends",
        ),
    ] {
        let sentence = format!("unknown option '{word}'; {why}");
        invalid(&format!("client,{word}=read"), word, &sentence);
    }
}

#[test]
fn a_number_of_queue_pairs_is_qps() {
    let client = "client,addr=192.0.2.1,bw";
    for (value, hint) in [
        ("4", "; did you mean 'qps=4'?"),
        ("64", "; did you mean 'qps=64'?"),
        ("4x", ""),
        ("xrc", ""),
    ] {
        let sentence = format!("qp={value}: must be rc, uc or ud{hint}");
        invalid(&format!("{client},qp={value}"), "qp", &sentence);
    }
    invalid(&format!("{client},cq=4"), "cq", "cq=4: must be own or pool");
}

#[test]
fn an_option_of_another_role_names_the_roles_that_take_it() {
    for (text, option, sentence) in [
        (
            "server,wait=5",
            "wait",
            "wait is for a client; give client,wait",
        ),
        (
            "loopback,addr=192.0.2.1,wait=5",
            "wait",
            "wait is for a client; give client,wait",
        ),
        (
            "server,src=192.0.2.1",
            "src",
            "src is for a client; give client,src",
        ),
        (
            "client,addr=192.0.2.1,wlat,srq=8",
            "srq",
            "srq is for a server or loopback; give it where the clients are served",
        ),
        (
            "loopback,addr=192.0.2.1,persist",
            "persist",
            "persist is for a server; give server,persist",
        ),
        (
            "server,mtu=1024",
            "mtu",
            "mtu is for the client or loopback; a server does what its client asks for",
        ),
    ] {
        invalid(text, option, sentence);
    }
}

#[test]
fn the_end_that_a_client_connects_from() {
    use crate::logic::command::{
        Addr,
        Source, //
    };

    let client = |text: &str| Command::parse(&format!("client,addr=192.0.2.1,{text}")).unwrap();
    assert_eq!(
        client("src=192.0.2.9").source,
        Some(Source::Address(Addr::V4([192, 0, 2, 9])))
    );
    assert!(
        matches!(client("dev=rxe0").source, Some(Source::Device(name)) if name.as_str() == "rxe0")
    );
    assert!(Command::parse("client,addr6=2001:db8::1,src=fe80::1%eth0").is_ok());
    let own = "must be an address of this host, such as 192.0.2.1, 2001:db8::1 or fe80::1%eth0";
    for value in ["host", "192.0.2", "fe80::1", "::g"] {
        let text = format!("client,addr=192.0.2.1,src={value}");
        invalid(&text, "src", &format!("src={value}: {own}"));
    }
    let family = "src must be of the address's family: IPv4 with addr=, and IPv6 with addr6=";
    invalid("client,addr=192.0.2.1,src=2001:db8::1", "src", family);
    let both = "src and dev are both given; give one of them";
    invalid("client,addr=192.0.2.1,src=192.0.2.2,dev=a", "src", both);
    let tcp = "dev and tcp are both given; give one of them";
    invalid("client,addr=192.0.2.1,messenger,tcp,dev=a", "dev", tcp);
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
    for value in ["a", "192.0.2.1/33", "192.0.2.1+"] {
        let sentence = format!(
            "allow={value}: must be addresses and networks with + between, as in \
             192.0.2.1+2001:db8::/32; 8 at most"
        );
        invalid(&format!("server,allow={value}"), "allow", &sentence);
    }
    for value in ["a", "8192", "3-1", "0+2+4+6+8+10+12+14+16", "0:3"] {
        let sentence = format!(
            "cpu={value}: must be numbers of CPUs and ranges of them with + between, as in 0-3+6; \
             8 ranges at most, and CPUs from 0 to 8191"
        );
        invalid(&format!("server,cpu={value}"), "cpu", &sentence);
    }
    for value in ["1+2+3+4+5+6+7+8+9", "64:1000+1"] {
        let sentence = format!(
            "sizes={value}: must be up to 8 sizes with + between, each with : and its weight, as \
             in 64:9+64K:1; the weights are 1000 together at most"
        );
        let text = format!("client,addr=192.0.2.1,bw,sizes={value}");
        invalid(&text, "sizes", &sentence);
    }
    for value in ["OK", "EFOO", "110", "etimedout"] {
        let sentence = format!(
            "expect={value}: must be ok, EPERM, ENOENT, EINTR, EIO, ENXIO, E2BIG, EAGAIN, ENOMEM, \
             EACCES, EFAULT, ENOTBLK, EBUSY, EEXIST, ENODEV, ENOTDIR, EISDIR, EINVAL, ENFILE, \
             ETXTBSY, EFBIG, ENOSPC, EROFS, ERANGE, ENAMETOOLONG, ENOSYS, ELOOP, EBADE, EPROTO, \
             EBADMSG, EOPNOTSUPP, EAFNOSUPPORT, EADDRINUSE, EADDRNOTAVAIL, ENETDOWN, ENETUNREACH, \
             ECONNABORTED, ECONNRESET, ENOBUFS, ENOTCONN, ETIMEDOUT, ECONNREFUSED, EHOSTUNREACH, \
             ESTALE, EREMOTEIO, EDQUOT or ECANCELED"
        );
        invalid(&format!("server,expect={value}"), "expect", &sentence);
    }
    let tag = "tag: must be 1 to 64 characters, and no space first or last";
    invalid("server,tag= a", "tag", tag);
    invalid(&format!("server,tag={}", "a".repeat(65)), "tag", tag);
    assert!(Command::parse(&format!("server,tag={}", "a".repeat(64))).is_ok());
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
    assert!(shown.len() < 1000);
}
