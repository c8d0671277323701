// SPDX-License-Identifier: GPL-2.0

//! What commands mean; `command_errors` has what is refused.

use super::cases;
use crate::logic::{
    command::{Addr, Command, MemMode, PatternKind, Role, Tag, Test},
    parse_error::Kind,
    text::IfName,
};
use proptest::{option, prelude::*};

pub(super) fn parse(text: &str) -> Command {
    Command::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn v4() -> Option<Addr> {
    Some(Addr::V4([192, 0, 2, 1]))
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
}

#[test]
fn every_option_sets_its_field_and_no_other() {
    let table: [(&str, fn(&mut Command)); 22] = [
        ("port=1", |c| c.port = 1),
        ("count=18446744073709551615", |c| c.count = u64::MAX),
        ("size=65537", |c| c.size = 65537),
        ("verbose", |c| c.verbose = true),
        ("validate", |c| c.validate = true),
        ("mem_mode=dma", |_| ()),
        ("mem_mode=reg", |c| c.mem_mode = MemMode::Reg),
        ("mem_mode=fastreg", |c| c.mem_mode = MemMode::Reg),
        ("mem_mode=reg,server_inv", |c| {
            (c.mem_mode, c.server_inv) = (MemMode::Reg, true);
        }),
        ("mem_mode=reg,read_inv", |c| {
            (c.mem_mode, c.read_inv) = (MemMode::Reg, true);
        }),
        ("local_dma_lkey", |c| c.local_dma_lkey = true),
        ("unsafe_global_rkey", |c| c.unsafe_global_rkey = true),
        ("fr", |c| c.test = Test::FastReg),
        ("poll", |c| c.poll = true),
        ("tos=0", |c| c.tos = Some(0)),
        ("txdepth=128", |c| c.txdepth = 128),
        ("tx-depth=128", |c| c.txdepth = 128),
        ("threads=64", |c| c.threads = 64),
        ("timeout=500", |c| c.timeout_ms = Some(500)),
        ("pattern=text", |_| ()),
        ("pattern=binary", |c| c.pattern = PatternKind::Binary),
        ("tag=node 7: a=b/c", |c| {
            c.tag = Tag::new("node 7: a=b/c").unwrap();
        }),
    ];
    for (option, set) in table {
        let mut expected = parse("client,addr=192.0.2.1");
        set(&mut expected);
        let text = format!("client,addr=192.0.2.1,{option}");
        assert_eq!(parse(&text), expected, "{option}");
    }
}

#[test]
fn servers_may_lack_an_address_and_persist() {
    let mut expected = parse("server");
    expected.persist = true;
    assert_eq!(parse("server,persist"), expected);
    expected.addr = v4();
    assert_eq!(parse("server,persist,addr=192.0.2.1"), expected);
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
    let later = ["wlat", "rlat", "bw", "duplex"];
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
        let kind = Command::parse(option).map_err(|e| (e.kind, e.to_string()));
        match kind {
            Err((Kind::NotSupported, _)) => assert!(later.contains(&option), "{option}"),
            Err((_, sentence)) => assert!(!sentence.contains("unknown"), "{sentence}"),
            Ok(_) => (),
        }
    }
}

fn addr() -> impl Strategy<Value = Addr> {
    let scope = "[!-.0-9;-~]{3,15}".prop_filter("no comma", |name| !name.contains(','));
    let link_local = (any::<u64>(), scope).prop_map(|(host, name)| Addr::V6 {
        addr: (0xfe80_u128 << 112 | u128::from(host)).to_be_bytes(),
        scope: IfName::new(&name),
    });
    let global = any::<[u8; 16]>().prop_filter_map("link-local", |addr| {
        let is_link_local = u16::from_be_bytes([addr[0], addr[1]]) & 0xffc0 == 0xfe80;
        (!is_link_local).then_some(Addr::V6 { addr, scope: None })
    });
    prop_oneof![any::<[u8; 4]>().prop_map(Addr::V4), link_local, global]
}

/// Any command that keeps the rules.
pub(super) fn command() -> impl Strategy<Value = Command> {
    let role = prop_oneof![Just(Role::Client), Just(Role::Server), Just(Role::Loopback)];
    let tag = "([!-+\\--~]([ -+\\--~]{0,62}[!-+\\--~])?)?";
    let sizes = (1u16.., any::<u64>(), 1u32.., 1u32..=65536, 1u32..=1024);
    let rare = (option::of(any::<u8>()), option::of(1u32..=3_600_000), tag);
    let bits = any::<[bool; 12]>();
    (role, option::of(addr()), sizes, rare, bits).prop_map(|(role, addr, sizes, rare, bits)| {
        let (port, count, size, txdepth, threads) = sizes;
        let (tos, timeout_ms, tag) = rare;
        let [verbose, validate, inv, which, lkey, poll, persist, rkey, reg, binary, fr, plain] =
            bits;
        let is_server = role == Role::Server;
        let addr = addr.or(if is_server { None } else { v4() });
        let mut command = Command {
            role,
            test: if fr && !is_server {
                Test::FastReg
            } else {
                Test::PingPong
            },
            addr,
            port,
            count,
            size,
            verbose,
            validate,
            server_inv: reg && inv && which,
            read_inv: reg && inv && !which,
            local_dma_lkey: lkey,
            poll,
            persist: persist && is_server,
            unsafe_global_rkey: rkey && !reg,
            mem_mode: if reg { MemMode::Reg } else { MemMode::Dma },
            tos,
            txdepth,
            threads,
            timeout_ms,
            pattern: if binary {
                PatternKind::Binary
            } else {
                PatternKind::Text
            },
            tag: Tag::new(&tag).expect("the strategy keeps its rules"),
        };
        if plain {
            // Defaults are not shown, so they need a case of their own.
            command.port = if role == Role::Loopback { 0 } else { 9999 };
            command.count = 0;
            command.size = 64;
            command.txdepth = 64;
            command.threads = 1;
        }
        command
    })
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
