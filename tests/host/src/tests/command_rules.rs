// SPDX-License-Identifier: GPL-2.0

//! Which options go together, and what is said of those that do not.

use super::{
    command_errors::{
        check,
        invalid, //
    },
    sentences::TESTS, //
};
use crate::logic::command::{
    limits,
    parse_error::Kind,
    Command,
    Test, //
};

#[test]
fn streams_look_for_direct_writes_by_polling() {
    for text in [
        "server,stream,size=4096,iomap",
        "client,stream,addr=192.0.2.1,iomap",
        "client,stream,addr=192.0.2.1,iomap,echo,poll",
        "loopback,addr=192.0.2.1,stream,size=1048576,echo,poll,iomap",
    ] {
        let command = Command::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert!(command.stream.iomap, "{text}");
        assert_eq!(command.stream.mappings(), 1);
        assert!(command.largest_buffer() >= command.size);
    }
    let above = "size is above 8388608 bytes, the most with iomap";
    assert!(Command::parse("server,stream,iomap,size=8M").is_ok());
    let error = Command::parse("server,stream,iomap,size=8388609").unwrap_err();
    assert_eq!(
        (error.kind, error.to_string()),
        (Kind::Range, above.to_owned())
    );
    let echo = "iomap with echo needs poll; give it, too";
    for text in [
        "server,stream,iomap,echo",
        "client,stream,addr=192.0.2.1,iomap,echo,spin=10",
    ] {
        invalid(text, "iomap with echo", echo);
    }
    invalid(
        "server,stream,size=4096",
        "size",
        "size needs iomap; give it, too",
    );
    invalid(
        "client,bw,addr=192.0.2.1,iomap",
        "iomap",
        "iomap does not go with bw; it is for stream",
    );
}

#[test]
fn the_side_of_a_stream_that_sends_says_how_much() {
    for text in [
        "server,stream,size=4096,count=5,reverse",
        "server,stream,duration=5,reverse",
        "client,stream,addr=192.0.2.1,reverse",
        "loopback,addr=192.0.2.1,stream,size=1048576,count=5,reverse",
    ] {
        let command = Command::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert!(command.stream.reverse, "{text}");
    }
    for option in ["count", "duration"] {
        let text = format!("server,stream,{option}=5");
        invalid(
            &text,
            option,
            &format!("{option} needs reverse; give it, too"),
        );
    }
    let clash = |text: &str, option| {
        let sentence = format!("{option} and reverse are both given; give one of them");
        invalid(text, option, &sentence);
    };
    for option in ["count", "duration", "size"] {
        clash(
            &format!("client,addr=192.0.2.1,stream,reverse,{option}=5"),
            option,
        );
    }
    for role in ["client", "loopback"] {
        let text = format!("{role},addr=192.0.2.1,stream,reverse,coalesce");
        clash(&text, "coalesce");
    }
    for option in ["echo", "iomap"] {
        for start in ["server", "client,addr=192.0.2.1", "loopback,addr=192.0.2.1"] {
            clash(&format!("{start},stream,reverse,{option}"), option);
        }
    }
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
    let fr = "fr is for the client or loopback; a server does what its client asks for";
    invalid("server,fr", "fr", fr);
}

#[test]
fn there_is_one_test() {
    let tests = tests();
    for (i, (_, one)) in tests.iter().enumerate().skip(1) {
        for (_, other) in &tests[i + 1..] {
            let sentence = format!("{one} and {other} are both given; give one of them");
            invalid(&format!("client,addr6=::1,{other},{one}"), one, &sentence);
        }
    }
}

/// Returns the names of the tests in sentences, and the options that ask for them.
fn tests() -> Vec<(&'static str, &'static str)> {
    let option = |test: &Test| match test {
        Test::PingPong => "",
        _ => test.in_words(),
    };
    TESTS.iter().map(|t| (t.in_words(), option(t))).collect()
}

#[test]
fn of_two_that_do_not_go_with_a_test_the_first_is_named() {
    let sentence = "read_inv does not go with rbw; it is for the ping/pong";
    for role in ["client,addr=192.0.2.1", "loopback,addr=192.0.2.1", "server"] {
        invalid(
            &format!("{role},mem_mode=reg,read_inv,rbw"),
            "read_inv",
            sentence,
        );
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
fn every_is_for_a_limit_of_a_series() {
    for (given, names) in [
        ("wlat,max_p99=1us", "interval"),
        ("bw,min_bw=1", "interval"),
        ("wlat,interval=5", "max_p99 or min_bw"),
    ] {
        for role in ["client,addr=192.0.2.1", "loopback,addr=192.0.2.1"] {
            let sentence = format!("every needs {names}; give it, too");
            invalid(&format!("{role},{given},every"), "every", &sentence);
        }
    }
    let command = Command::parse("client,addr=192.0.2.1,wlat,interval=5,max_p99=1us,every");
    let command = command.expect("it is complete");
    assert_eq!((command.interval_ms, command.every), (Some(5), true));
}

#[test]
fn a_series_is_of_the_side_that_measures() {
    for (text, sentence) in [
        (
            "server,interval=5",
            "interval is for the client or loopback; a server does what its client asks for",
        ),
        (
            "client,addr=192.0.2.1,wlat,untimed,interval=5",
            "interval and untimed are both given; give one of them",
        ),
        (
            "client,addr=192.0.2.1,stream,reverse,interval=5",
            "interval and reverse are both given; give one of them",
        ),
    ] {
        invalid(text, "interval", sentence);
    }
}

#[test]
fn operations_are_due_one_by_one_on_the_side_that_leads() {
    let invalid = |text: &str, option, sentence: &str| {
        for role in ["client,addr=192.0.2.1", "loopback,addr=192.0.2.1"] {
            for text in [
                format!("{role},{text},rate=5"),
                format!("rate=5,{role},{text}"),
            ] {
                invalid(&text, option, sentence);
            }
        }
    };
    for (text, other) in [
        ("bw,duplex", "duplex"),
        ("slat,solicited", "solicited"),
        ("bw,postlist=2", "postlist"),
        ("wlat,signal_every=16", "signal_every"),
        ("rlat,untimed", "untimed"),
    ] {
        let sentence = format!("rate and {other} are both given; give one of them");
        invalid(text, "rate", &sentence);
    }
    for text in ["slat,qp=ud", "wlat,qp=uc"] {
        let test = text.split(',').next().unwrap_or_default();
        let option = "rate with qp=uc or ud";
        let sentence = format!("{option} does not go with {test}; it is for bw or sbw");
        invalid(text, option, &sentence);
    }
    for text in [
        "bw,postlist=1,signal_every=1",
        "bw,sig_all",
        "sbw,qp=ud",
        "bw,qp=uc",
        "slat,qp=rc",
        "caslat,qps=4,threads=2",
        "sbw,validate=full,spin=5",
    ] {
        let text = format!("client,addr=192.0.2.1,{text},rate=5");
        let command = Command::parse(&text).expect(&text);
        assert_eq!((command.rate, command.load.signal_every), (Some(5), 1));
    }
}

#[test]
fn each_queue_pair_has_an_operation_now_and_then() {
    let text = "client,addr=192.0.2.1,bw,threads=1000,qps=100";
    check(
        &format!("{text},rate=83"),
        Kind::Range,
        "rate",
        "rate=83 is less than one operation in 1199 seconds on each of 100000 queue pairs; \
         lower threads or qps",
    );
    for (rate, ms) in [(84, 1_190_477), (100_000, 1_001), (1_000_000_000, 1)] {
        let text = format!("{text},rate={rate}");
        assert_eq!(Command::parse(&text).map(|c| c.silence_ms()), Ok(ms));
        assert!(limits::ALIVE_MS.contains(&u64::from(ms)));
    }
    assert_eq!(Command::parse(text).map(|c| c.silence_ms()), Ok(0));
}

#[test]
fn queues_of_the_pool_are_not_polled() {
    for (name, polls) in [("poll", "poll"), ("spin", "spin=50")] {
        let sentence = format!("cq=pool and {name} are both given; give one of them");
        for role in [
            "client,addr=192.0.2.1",
            "server",
            "loopback,addr=192.0.2.1,slat",
        ] {
            invalid(&format!("{role},{polls},cq=pool"), "cq", &sentence);
            assert!(Command::parse(&format!("{role},{polls},cq=own")).is_ok());
        }
    }
}

#[test]
fn solicited_messages_wake_who_waits_for_nothing_else() {
    for role in ["client,addr=192.0.2.1", "loopback,addr=192.0.2.1"] {
        let parsed = |text: &str| Command::parse(&format!("{role},{text}")).expect(text);
        for test in [
            "slat",
            "sbw",
            "slat,qp=ud",
            "sbw,qp=uc",
            "sbw,validate=full",
        ] {
            let load = parsed(&format!("{test},solicited")).load;
            assert!(load.solicited && !load.imm, "{test}");
        }
        for test in ["wlat", "bw", "bw,qp=uc"] {
            let command = parsed(&format!("{test},solicited"));
            // Other WRITEs raise no event.
            assert!(command.load.solicited && command.load.imm, "{test}");
            assert!(!format!("{command}").contains("imm"), "{command}");
        }
        for test in ["rlat", "rbw", "alat", "casbw"] {
            let sentence =
                format!("solicited does not go with {test}; it is for wlat, slat, bw or sbw");
            invalid(&format!("{role},{test},solicited"), "solicited", &sentence);
        }
        for (option, other) in [
            ("solicited", "duplex"),
            ("poll", "solicited"),
            ("spin", "solicited"),
        ] {
            let sentence = format!("{option} and {other} are both given; give one of them");
            let with = match (option, other) {
                ("spin", _) => "spin=20",
                ("solicited", other) => other,
                (option, _) => option,
            };
            invalid(&format!("{role},sbw,solicited,{with}"), option, &sentence);
        }
        let sentence = "cq=pool and solicited are both given; give one of them";
        invalid(&format!("{role},sbw,solicited,cq=pool"), "cq", sentence);
    }
    let sentence = "solicited and srq are both given; give one of them";
    invalid(
        "loopback,addr=192.0.2.1,sbw,solicited,srq=16",
        "solicited",
        sentence,
    );
}

#[test]
fn what_unreliable_queue_pairs_are_for() {
    for role in ["client,addr=192.0.2.1", "loopback,addr=192.0.2.1"] {
        let ok = |text: &str| assert!(Command::parse(&format!("{role},{text}")).is_ok(), "{text}");
        let refused = |text: &str, option: &str, sentence: &str| {
            invalid(&format!("{role},{text}"), option, sentence);
        };
        for test in ["slat", "sbw"] {
            ok(&format!("{test},qp=uc"));
            ok(&format!("{test},qp=ud"));
        }
        ok("bw,qp=uc");
        ok("wlat,qp=uc");
        ok("sbw,qp=uc,validate=full");
        ok("sbw,qp=ud,validate=full");
        ok("bw,qp=uc,validate");
        ok("sbw,qp=rc,duplex");
        for test in ["bw", "wlat"] {
            let sentence = format!("qp=ud does not go with {test}; it is for slat or sbw");
            refused(&format!("{test},qp=ud"), "qp=ud", &sentence);
        }
        for test in ["rlat", "rbw", "alat", "casbw"] {
            let sentence = format!("qp does not go with {test}; it is for wlat, slat, bw or sbw");
            refused(&format!("{test},qp=rc"), "qp", &sentence);
        }
        let sentence = "qp=uc or ud and duplex are both given; give one of them";
        refused("sbw,qp=uc,duplex", "qp", sentence);
        refused("sbw,qp=ud,duplex", "qp", sentence);
        let full = "validate=full with qp=uc";
        let sentence = format!("{full} does not go with bw; it is for sbw");
        refused("bw,qp=uc,validate=full", full, &sentence);
    }
    let sentence = "qp=uc or ud and srq are both given; give one of them";
    invalid("loopback,addr=192.0.2.1,slat,qp=ud,srq=16", "qp", sentence);
    let command = Command::parse("client,addr=192.0.2.1,bw,qp=uc,validate").unwrap();
    assert!(
        command.load.imm,
        "or the receiver would not know what has come"
    );
}

#[test]
fn what_multicast_groups_are_for() {
    for role in ["client", "loopback"] {
        let ok = |text: &str| {
            let text = format!("{role},{text}");
            let command = Command::parse(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert!(command.mcast.is_some(), "{text}");
            assert_eq!(command.to_string(), text);
        };
        ok("addr=192.0.2.1,sbw,qp=ud,mcast=239.1.2.3");
        ok("addr6=2001:db8::1,sbw,qp=ud,mcast=ff05::1:3");
        ok("addr6=2001:db8::1,count=5,sbw,validate=full,qp=ud,mcast=ff02::1,qps=2");
        let refused = |text: &str, sentence: &str| {
            invalid(&format!("{role},{text}"), "mcast", sentence);
        };
        let datagrams = "mcast needs qp=ud; give it, too";
        for qp in ["", ",qp=rc", ",qp=uc"] {
            refused(
                &format!("addr=192.0.2.1,sbw{qp},mcast=239.1.2.3"),
                datagrams,
            );
        }
        for test in ["slat", "bw", "rlat", "rwread"] {
            refused(
                &format!("addr=192.0.2.1,{test},mcast=239.1.2.3"),
                &format!("mcast does not go with {test}; it is for sbw"),
            );
        }
        let family = "mcast must be of the address's family: IPv4 with addr=, and IPv6 with addr6=";
        refused("addr6=2001:db8::1,sbw,qp=ud,mcast=239.1.2.3", family);
        refused("addr=192.0.2.1,sbw,qp=ud,mcast=ff05::1:3", family);
    }
    for text in [
        "server,mcast=239.1.2.3",
        "server,sbw,mcast=239.1.2.3",
        "server,addr6=::,mcast=ff05::1:3",
    ] {
        let command = Command::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert!(command.mcast.is_some(), "{text}");
    }
    let family = "mcast must be of the address's family: IPv4 with addr=, and IPv6 with addr6=";
    invalid("server,mcast=ff05::1:3", "mcast", family);
    for value in [
        "192.0.2.1",
        "223.255.255.255",
        "240.0.0.0",
        "fe80::1",
        "::ffff:239.1.2.3",
        "239.1.2",
        "ff05::1:3%eth0",
        "all",
    ] {
        let sentence = format!(
            "mcast={value}: must be the address of a multicast group, such as 239.1.2.3 or \
             ff05::1:3"
        );
        invalid(&format!("server,mcast={value}"), "mcast", &sentence);
    }
}

#[test]
fn groups_have_numbers() {
    for (text, number) in [
        ("addr=192.0.2.1,sbw,qp=ud,mcast=239.1.2.3", 0xe6fa_2f74),
        ("addr6=2001:db8::1,sbw,qp=ud,mcast=ff05::1:3", 0x4a86_f784),
    ] {
        let command = Command::parse(&format!("client,{text}")).unwrap();
        let group = command.mcast.unwrap();
        assert_eq!(group.number(), number, "{text}");
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
fn each_region_has_a_buffer() {
    let load = Command::parse("client,addr=192.0.2.1,bw,mrs=5")
        .unwrap()
        .load;
    assert_eq!((load.buffers, load.mrs), (5, 5));
    let load = Command::parse("client,addr=192.0.2.1,bw,buffers=5")
        .unwrap()
        .load;
    assert_eq!((load.buffers, load.mrs), (5, 1));
    let sentence = "mrs=5 does not go with buffers=4; each region needs a buffer";
    invalid("client,addr=192.0.2.1,bw,buffers=4,mrs=5", "mrs", sentence);
}

#[test]
fn a_mix_of_sizes_has_the_largest_as_its_size() {
    let command = Command::parse("client,addr=192.0.2.1,rlat,sizes=64:3+4K+1:2").unwrap();
    assert_eq!((command.size, command.load.mixed), (4096, true));
    assert_eq!(command.sizes.weight(), 6);
    for (text, option, sentence) in [
        (
            "bw,sizes=64,size=64",
            "size",
            "size and sizes are both given; give one of them",
        ),
        (
            "bw,sizes=64,duplex",
            "duplex",
            "duplex and sizes are both given; give one of them",
        ),
        (
            "bw,sizes=64,validate",
            "validate",
            "validate and sizes are both given; give one of them",
        ),
        (
            "sbw,sizes=64,qp=uc",
            "qp",
            "qp=uc or ud and sizes are both given; give one of them",
        ),
        (
            "bw,sizes=64+2,sge=3",
            "sge",
            "sge=3 does not go with size=2; each piece needs a byte",
        ),
        (
            "sbw,sizes=64+25",
            "sizes",
            "sizes: 25 bytes are the length of control messages; choose another size",
        ),
    ] {
        invalid(&format!("client,addr=192.0.2.1,{text}"), option, sentence);
    }
    assert!(Command::parse("client,addr=192.0.2.1,rbw,sizes=24+25,sge=3").is_ok());
}

#[test]
fn a_number_out_of_range_is_said_before_a_test_that_does_not_fit() {
    let error = Command::parse("client,addr=192.0.2.1,postlist=1025,wlat").unwrap_err();
    assert_eq!((error.kind, error.option), (Kind::Range, "postlist"));
}
