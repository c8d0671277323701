// SPDX-License-Identifier: GPL-2.0

//! What commands of disks, taps and their servers mean; `command_block_rules` has which options go
//! with them.

use super::{
    command::parse,
    command_errors::{
        check,
        invalid, //
    }, //
};
use crate::logic::command::{
    block_options::StoreName,
    parse_error::Kind,
    BlockOptions,
    Comm,
    PathName,
    Role, //
};

fn path(text: &str) -> PathName {
    PathName::new(text).unwrap()
}

fn store(text: &str) -> Option<StoreName> {
    Some(StoreName::Path(path(text)))
}

#[test]
fn defaults() {
    let none = BlockOptions::NONE;
    assert_eq!((&none.store, &none.tap, &none.comm), (&None, &None, &None));
    assert_eq!((none.queues, none.depth, none.reconnect_s), (1, 128, 30));
    assert!(!(none.read_only || none.direct || none.log));
    assert_eq!(none.bytes, 0);
    for text in [
        "server",
        "client,addr=192.0.2.1,fr",
        "loopback,addr=192.0.2.1,bw",
    ] {
        assert_eq!(parse(text).block, none);
    }
    let tap = BlockOptions {
        tap: Some(path("sda")),
        bytes: 16 << 20,
        ..BlockOptions::NONE
    };
    let kept = BlockOptions {
        store: store("/s"),
        ..BlockOptions::NONE
    };
    let logged = BlockOptions {
        log: true,
        ..BlockOptions::NONE
    };
    for (text, block) in [
        ("server,blk,store=/s", kept.clone()),
        ("client,addr=192.0.2.1,blk", none),
        ("loopback,addr=192.0.2.1,blk,store=/s", kept.clone()),
        ("server,tap,log", logged),
        ("server,tap,store=/s", kept),
        ("client,addr=192.0.2.1,tap=sda", tap),
    ] {
        let command = parse(text);
        assert_eq!((command.size, command.count, command.threads), (0, 0, 1));
        assert_eq!(
            command.port,
            if command.role == Role::Loopback {
                0
            } else {
                9999
            }
        );
        assert_eq!(command.block, block, "{text}");
    }
}

#[test]
fn sizes_of_stores() {
    let parsed = |bytes: &str| {
        parse(&format!("server,blk,store=ram,size={bytes}"))
            .block
            .bytes
    };
    assert_eq!((parsed("4G"), parsed("0x5G")), (4 << 30, 5 << 30));
    assert_eq!(parsed("0x20000001K"), 0x20000001 << 10);
    assert_eq!(parsed("8589934591G"), 8_589_934_591 << 30);
    let range = "must be from 4096 to 9223372036854775296";
    for bytes in [
        "0",
        "512",
        "4095",
        "8589934592G",
        "9223372036854775297",
        "17179869185G",
    ] {
        let text = format!("loopback,addr=192.0.2.1,blk,store=ram,size={bytes}");
        check(
            &text,
            Kind::Range,
            "size",
            &format!("size={bytes}: {range}"),
        );
    }
    for bytes in ["4097", "5000", "4294967297"] {
        for base in ["server,blk,store=ram", "server,tap,store=/s"] {
            let text = format!("{base},size={bytes}");
            let sentence = format!("size={bytes}: must be a multiple of 512");
            invalid(&text, "size", &sentence);
        }
    }
    // What the other tests take is what it was.
    let text = "server,size=4294967296";
    let sentence = "size=4294967296: must be from 1 to 4294967295";
    check(text, Kind::Range, "size", sentence);
}

#[test]
fn sizes_of_rings() {
    let odd = parse("client,addr=192.0.2.1,tap=sda,size=1048577");
    assert_eq!(odd.block.bytes, (1 << 20) + 1);
    for bytes in ["1048575", "1073741825", "5G", "0"] {
        let text = format!("client,addr=192.0.2.1,tap=sda,size={bytes}");
        let sentence = format!("size={bytes}: must be from 1048576 to 1073741824");
        check(&text, Kind::Range, "size", &sentence);
    }
}

#[test]
fn stores() {
    let longest = format!("/{}", "x".repeat(254));
    for text in ["/", "/dev/sdb", "/a b=c", "/ram", &longest] {
        assert_eq!(
            parse(&format!("server,blk,store={text}")).block.store,
            store(text)
        );
    }
    for text in [
        "Ram",
        "ra m",
        "rma",
        "sdb",
        "./x",
        " /x",
        "ram2",
        &format!("{longest}y"),
    ] {
        let shown: String = text.chars().take(64).collect();
        let dots = if text.len() > 64 { "..." } else { "" };
        let sentence = format!(
            "store={shown}{dots}: must be ram or a path that begins with / and has at most 255 \
             characters"
        );
        invalid(
            &format!("server,blk,size=1M,store={text}"),
            "store",
            &sentence,
        );
    }
    let example = "store needs a value, as in store=ram";
    for text in ["store", "store="] {
        invalid(&format!("server,blk,{text}"), "store", example);
    }
}

#[test]
fn which_disk_to_tap_and_whose_requests() {
    let longest = "x".repeat(255);
    for disk in ["sda", "/dev/disk/by-id/x", "mapper/a b", "sda=1", &longest] {
        let command = parse(&format!("client,addr=192.0.2.1,tap={disk}"));
        assert_eq!(command.block.tap, Some(path(disk)));
    }
    for disk in [" sda", &format!("{longest}x")] {
        let shown: String = disk.chars().take(64).collect();
        let dots = if disk.len() > 64 { "..." } else { "" };
        let sentence = format!(
            "tap={shown}{dots}: must be the path of a disk or its name under /dev, of at most 255 \
             characters"
        );
        invalid(
            &format!("client,addr=192.0.2.1,tap={disk}"),
            "tap",
            &sentence,
        );
    }
    for text in ["client,addr=192.0.2.1,tap", "tap=,client,addr=192.0.2.1"] {
        invalid(text, "tap", "tap needs a value, as in tap=sda");
    }
    for text in ["server,tap=sda,log", "tap=,server,log"] {
        invalid(text, "tap", "tap takes no value; give tap alone");
    }
    let loopback = "tap does not go with loopback; give server,tap and client,tap=DISK in a \
                    command each";
    for tap in ["tap", "tap=sda"] {
        invalid(
            &format!("loopback,addr=192.0.2.1,{tap},log"),
            "tap",
            loopback,
        );
    }
    let comm = "comm: must be 1 to 15 characters, and no space first or last";
    for name in [" a", "sixteen-letters-"] {
        invalid(
            &format!("client,addr=192.0.2.1,tap=sda,comm={name}"),
            "comm",
            comm,
        );
    }
    invalid(
        "client,tap=sda,comm=",
        "comm",
        "comm needs a value, as in comm=dd",
    );
    let command = parse("client,addr=192.0.2.1,tap=sda,comm=fifteen letters");
    assert_eq!(command.block.comm, Comm::new("fifteen letters"));
}

#[test]
fn what_needs_not_be_said_is_not_shown() {
    for text in [
        "server,blk,store=ram,size=1048576,ro,persist,threads=2",
        "client,addr=192.0.2.1,blk,queues=4,depth=32,reconnect=60,request_timeout=5,detach,tag=a",
        "loopback,addr=192.0.2.1,port=1,blk,store=/s,size=4096,queues=2,ro",
        "client,addr=192.0.2.1,count=5,tap=/dev/sda,size=1048576,comm=dd",
        "server,tap,store=/s,log",
    ] {
        assert_eq!(parse(text).to_string(), text);
    }
    for (text, shown) in [
        (
            "client,addr=192.0.2.1,queues=1,blk,depth=128,reconnect=30,threads=1,port=9999",
            "client,addr=192.0.2.1,blk",
        ),
        (
            "client,addr=192.0.2.1,size=16M,tap=sda,count=0",
            "client,addr=192.0.2.1,tap=sda",
        ),
        // Of a store this is a size like any other.
        (
            "server,tap,size=16M,store=ram",
            "server,tap,store=ram,size=16777216",
        ),
    ] {
        assert_eq!(parse(text).to_string(), shown);
    }
}
