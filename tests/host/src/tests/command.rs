// SPDX-License-Identifier: GPL-2.0

//! What commands mean; `command_errors` has what is refused.

use super::{
    any_command::command,
    cases, //
};
use crate::logic::{
    command::{
        parse_error::Kind,
        Addr,
        Command,
        CpuList,
        Load,
        MemMode,
        PatternKind,
        Role,
        Test, //
    },
    failure::{
        verdict::apply_expectation,
        Failure, //
    },
    spec::service::Service,
    text::IfName, //
};
use proptest::prelude::*;

pub(super) fn parse(text: &str) -> Command {
    Command::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn v6(addr: &str, scope: Option<&str>) -> Option<Addr> {
    let addr: std::net::Ipv6Addr = addr.parse().unwrap();
    Some(Addr::V6 {
        addr: addr.octets(),
        scope: scope.map(|name| IfName::new(name).unwrap()),
    })
}

#[test]
fn defaults() {
    let c = parse("server");
    assert_eq!(
        (c.role, c.test, &c.addr),
        (Role::Server, Test::PingPong, &None)
    );
    assert_eq!((c.port, c.count, c.size), (9999, 0, 64));
    assert_eq!((c.mem_mode, c.pattern), (MemMode::Dma, PatternKind::Text));
    assert_eq!(
        (c.tos, c.txdepth, c.threads, c.timeout_ms),
        (None, 64, 1, None)
    );
    assert!(!(c.verbose || c.validate || c.poll || c.persist || c.local_dma_lkey));
    assert!(!(c.server_inv || c.read_inv || c.unsafe_global_rkey));
    assert_eq!(c.tag.as_str(), "");
    assert_eq!((c.duration_s, c.max_p99_ns, c.min_bw), (None, None, None));
    assert_eq!((c.expect, c.cpus), (None, CpuList::EMPTY));
    assert_eq!(c.duration_ms(), None);
    assert_eq!(
        parse("server,duration=86400").duration_ms(),
        Some(86_400_000)
    );
    assert_eq!(c.load, LOAD);
}

const LOAD: Load = Load {
    service: Service::Rc,
    duplex: false,
    imm: false,
    inline: false,
    untimed: false,
    solicited: false,
    full: false,
    sig_all: false,
    paced: false,
    qps: 1,
    postlist: 1,
    signal_every: 1,
    sge: 1,
    mixed: false,
    buffers: 1,
    mrs: 1,
    segs: 1,
    offset: 0,
    biovec: false,
};

#[test]
fn defaults_of_each_test() {
    for (name, test, signal_every, imm) in [
        ("fr", Test::FastReg, 1, false),
        ("wlat", Test::WriteLatency, 16, true),
        ("wlat,poll", Test::WriteLatency, 16, false),
        ("rlat", Test::ReadLatency, 1, false),
        ("slat", Test::SendLatency, 16, false),
        ("bw", Test::WriteBandwidth, 16, false),
        ("rbw", Test::ReadBandwidth, 16, false),
        ("sbw", Test::SendBandwidth, 16, false),
        ("sbw,sig_all", Test::SendBandwidth, 1, false),
        ("sbw,rate=5", Test::SendBandwidth, 1, false),
    ] {
        for role in ["client", "loopback"] {
            let c = parse(&format!("{role},addr=192.0.2.1,{name}"));
            let load = Load {
                signal_every,
                imm,
                sig_all: name.contains("sig_all"),
                paced: name.contains("rate"),
                ..LOAD
            };
            assert_eq!((c.test, c.load), (test, load), "{role},{name}");
        }
    }
}

#[test]
fn a_server_without_a_test_takes_the_load_of_its_client() {
    let load = "duplex,qps=2,postlist=2,signal_every=2,inline,sge=2,imm,untimed,size=1,\
                buffers=4,mrs=2,duration=3";
    let mut expected = parse("server,size=1");
    (expected.duration_s, expected.min_bw) = (Some(3), Some(5));
    assert_eq!(parse(&format!("server,min_bw=5,{load}")), expected);
}

#[test]
fn errnos_are_numbers() {
    for (name, number) in [
        ("ok", 0),
        ("EPERM", 1),
        ("EIO", 5),
        ("ECONNRESET", 104),
        ("ESTALE", 116),
    ] {
        let command = parse(&format!("server,expect={name}"));
        assert_eq!(command.expect, Some(number), "{name}");
    }
}

#[test]
fn a_loopback_without_a_port_takes_any() {
    let mut expected = parse("client,addr=192.0.2.1");
    expected.role = Role::Loopback;
    assert_eq!(parse("loopback,addr=192.0.2.1,port=9999"), expected);
    expected.port = 0;
    assert_eq!(parse("loopback,addr=192.0.2.1"), expected);
}

#[test]
fn ipv6_addresses() {
    let addr = |text: &str| parse(&format!("server,addr6={text}")).addr;
    assert_eq!(addr("2001:db8::1"), v6("2001:db8::1", None));
    assert_eq!(addr("::"), v6("::", None));
    assert_eq!(addr("fe80::1%eth0"), v6("fe80::1", Some("eth0")));
    assert_eq!(
        addr("FE80::1%a-b.c_d@e%12345"),
        v6("fe80::1", Some("a-b.c_d@e%12345"))
    );
    assert_eq!(addr("::ffff:192.0.2.1"), v6("::ffff:192.0.2.1", None));
}

#[test]
fn numbers_in_every_spelling() {
    let size = |text: &str| parse(&format!("server,size={text}")).size;
    assert_eq!((size("0x10"), size("0XfF"), size("0x0001")), (16, 255, 1));
    assert_eq!((size("4K"), size("4k"), size("0x10K")), (4096, 4096, 16384));
    assert_eq!(
        (size("2M"), size("3m"), size("1G"), size("3g")),
        (2 << 20, 3 << 20, 1 << 30, 3 << 30)
    );
    assert_eq!(size("4294967295"), u32::MAX);
    assert_eq!(parse("server,count=0").count, 0);
    assert_eq!(parse("server,count=0xffffffffffffffff").count, u64::MAX);
    let time = |text: &str| parse(&format!("server,max_p99={text}")).max_p99_ns.unwrap();
    assert_eq!((time("7"), time("7ns"), time("0x10ns")), (7, 7, 16));
    assert_eq!((time("7us"), time("7ms")), (7_000, 7_000_000));
    assert_eq!(time("7s"), 7_000_000_000);
    let rate = |text: &str| parse(&format!("server,min_bw={text}")).min_bw.unwrap();
    assert_eq!((rate("1"), rate("25g")), (1, 25 << 30));
    assert_eq!(rate("18446744073709551615"), u64::MAX);
}

#[test]
fn white_space_around_options_is_ignored() {
    let plain = parse("client,addr=192.0.2.1,count=5");
    for text in [
        "client,addr=192.0.2.1,count=5\n",
        " client,addr=192.0.2.1,count=5 \n",
        "\tclient , addr=192.0.2.1 ,\tcount=5 ",
    ] {
        assert_eq!(parse(text), plain, "{text:?}");
    }
}

#[test]
fn each_option_of_c_krping_is_known() {
    for option in [
        "count=1",
        "size=64",
        "addr=192.0.2.1",
        "addr6=::1",
        "port=9999",
        "verbose",
        "validate",
        "server",
        "client",
        "server_inv",
        "wlat",
        "rlat",
        "bw",
        "duplex",
        "tos=1",
        "txdepth=8",
        "poll",
        "local_dma_lkey",
        "read_inv",
        "fr",
        "mem_mode=dma",
    ] {
        // Alone it lacks this and that; what counts is that it is known.
        match Command::parse(option).map_err(|e| e.to_string()) {
            Err(sentence) => assert!(!sentence.contains("unknown"), "{sentence}"),
            Ok(_) => (),
        }
    }
}

#[test]
fn a_run_is_judged_by_what_was_expected() {
    let judge = |expect: &str, result: Result<(), Failure>| -> Result<i32, i32> {
        let command = parse(&format!("server{expect}"));
        match apply_expectation(command.expect, result) {
            Ok(None) => Ok(0),
            Ok(Some(failure)) => Ok(failure.errno()),
            Err(failure) => Err(failure.errno()),
        }
    };
    let (reset, interrupted) = (Failure::Disconnected, Failure::Interrupted);
    for expect in ["", ",expect=ok"] {
        assert_eq!(judge(expect, Ok(())), Ok(0));
        assert_eq!(judge(expect, Err(reset)), Err(104));
    }
    let expect = ",expect=ECONNRESET";
    assert_eq!(judge(expect, Ok(())), Err(34));
    assert_eq!(judge(expect, Err(reset)), Ok(104));
    assert_eq!(judge(expect, Err(interrupted)), Err(4));
}

#[test]
fn what_needs_not_be_said_is_not_shown() {
    for text in [
        "loopback,addr=192.0.2.1,wlat",
        "loopback,addr=192.0.2.1,wlat,imm,poll",
        "server,wlat,imm",
        "client,addr=192.0.2.1,sizes=64:9+65536:1,rbw,buffers=8,mrs=2",
        "client,addr=192.0.2.1,slat,signal_every=1",
        "client,addr=192.0.2.1,duration=5,bw,duplex,inline,imm,qps=2,postlist=3,signal_every=4,\
         sge=5,cpu=1+3-4,min_bw=6,expect=ok",
    ] {
        assert_eq!(parse(text).to_string(), text);
    }
    for (text, shown) in [
        ("wlat,imm", "wlat"),
        ("bw,signal_every=16,postlist=1,qps=1,sge=1", "bw"),
        ("bw,sizes=1K+2,mrs=3", "sizes=1024:1+2:1,bw,buffers=3,mrs=3"),
        ("rlat,max_p99=2us,cpu=0+1+2", "rlat,cpu=0-2,max_p99=2000"),
    ] {
        let addr = "client,addr=192.0.2.1";
        assert_eq!(
            parse(&format!("{addr},{text}")).to_string(),
            format!("{addr},{shown}")
        );
    }
    assert_eq!(parse("server,qps=4,duplex").to_string(), "server");
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn shown_and_read_is_the_same(command in command()) {
        let text = command.to_string();
        prop_assert_eq!(Command::parse(&text), Ok(command), "{}", text);
    }

    #[test]
    fn order_does_not_matter(
        (command, options) in command().prop_flat_map(|command| {
            let text = command.to_string();
            let options: Vec<String> = text.split(',').map(String::from).collect();
            (Just(command), Just(options).prop_shuffle())
        }),
    ) {
        let text = options.join(",");
        prop_assert_eq!(Command::parse(&text), Ok(command), "{}", text);
    }

    #[test]
    fn any_option_twice_is_refused(command in command(), which: prop::sample::Index) {
        let text = command.to_string();
        let options: Vec<&str> = text.split(',').collect();
        let again = which.get(&options);
        let twice = format!("{text},{again}");
        let error = Command::parse(&twice).unwrap_err();
        prop_assert_eq!(error.kind, Kind::Invalid);
        prop_assert_eq!(error.option, again.split('=').next().unwrap());
        prop_assert!(error.to_string().contains("given twice"), "{}", error);
    }
}
