// SPDX-License-Identifier: GPL-2.0

//! Which options go with disks, taps and their servers.

use super::{
    command::parse,
    command_block::SIDES,
    command_errors::invalid, //
};
use crate::logic::command::block_options::StoreName;

/// Options of other tests, with those that these say they are for.
const OTHERS: [(&str, &str); 22] = [
    ("verbose", "the other tests"),
    ("mem_mode=dma", "the other tests"),
    ("local_dma_lkey", "the other tests"),
    ("unsafe_global_rkey", "the other tests"),
    ("duration=5", "the other tests"),
    ("poll", "the other tests"),
    ("txdepth=64", "the other tests"),
    ("tx-depth=64", "the other tests"),
    ("pattern=text", "the other tests"),
    ("validate", "the ping/pong, bw, rbw or sbw"),
    ("server_inv", "the ping/pong"),
    ("read_inv", "the ping/pong"),
    ("duplex", "bw, rbw or sbw"),
    ("qps=1", "wlat, rlat, slat, bw, rbw or sbw"),
    ("postlist=1", "bw, rbw or sbw"),
    ("signal_every=1", "wlat, slat, bw, rbw or sbw"),
    ("inline", "wlat, slat, bw or sbw"),
    ("sge=1", "wlat, rlat, slat, bw, rbw or sbw"),
    ("imm", "wlat or bw"),
    ("untimed", "wlat, rlat or slat"),
    ("max_p99=1s", "the ping/pong, wlat, rlat or slat"),
    ("min_bw=1", "bw, rbw or sbw"),
];

#[test]
fn options_of_other_tests_are_refused_by_name() {
    for (option, valid) in OTHERS {
        for (side, base) in SIDES {
            let test = if "scl".contains(side) { "blk" } else { "tap" };
            let name = option.split('=').next().unwrap().replace('-', "");
            let sentence = format!("{name} does not go with {test}; it is for {valid}");
            for text in [format!("{base},{option}"), format!("{option},{base}")] {
                invalid(&text, &name, &sentence);
            }
        }
    }
    for test in ["fr", "wlat", "rlat", "slat", "bw", "rbw", "sbw"] {
        for (text, other) in [
            (format!("server,blk,store=ram,size=1M,{test}"), "blk"),
            (format!("client,addr=::1,{test},tap=sda"), "tap"),
        ] {
            let sentence = format!("{other} and {test} are both given; give one of them");
            invalid(&text.replace("addr=::1", "addr6=::1"), other, &sentence);
        }
    }
    let both = "blk and tap are both given; give one of them";
    invalid("server,tap,blk,log", "blk", both);
}

#[test]
fn options_of_disks_and_taps_are_refused_elsewhere() {
    let disk = "client,blk or loopback,blk";
    for (option, sides, valid) in [
        ("store=/s", "slat", "server,blk, loopback,blk or server,tap"),
        ("ro", "sl", "server,blk or loopback,blk"),
        ("direct", "sla", "store=PATH"),
        ("log", "at", "server,tap"),
        ("queues=1", "cl", disk),
        ("depth=128", "cl", disk),
        ("reconnect=30", "cl", disk),
        ("request_timeout=30", "cl", disk),
        ("comm=dd", "x", "client,tap=DISK"),
    ] {
        let name = option.split('=').next().unwrap();
        let sentence = format!("{name} is for {valid}");
        let others = [
            ('-', "server"),
            ('-', "client,addr=192.0.2.1,fr"),
            ('-', "loopback,addr=192.0.2.1,bw"),
            ('-', "server,rlat"),
        ];
        for (side, base) in SIDES.into_iter().chain(others) {
            if !sides.contains(side) {
                invalid(&format!("{base},{option}"), name, &sentence);
            }
        }
    }
}

#[test]
fn servers_and_disks_can_be_left() {
    for text in [
        "server",
        "server,rlat,persist",
        "server,tap,log",
        "client,addr=::1,blk",
    ] {
        let text = text.replace("addr=::", "addr6=::");
        assert!(!parse(&text).detach);
        assert!(parse(&format!("detach,{text}")).detach);
    }
    let sentence = "detach is for server, client,blk or loopback,blk";
    for text in ["client", "loopback,bw", "client,tap=a"] {
        invalid(&format!("{text},addr=192.0.2.1,detach"), "detach", sentence);
    }
}

#[test]
fn what_a_side_has_no_use_for() {
    for (side, base) in SIDES {
        let text = |option: &str| format!("{base},{option}");
        let is_server = "sat".contains(side);
        if "scl".contains(side) {
            let count = "count does not go with blk; it is for the other tests";
            invalid(&text("count=0"), "count", count);
        } else if is_server {
            let count = "count is for the client or loopback; a server does what its client asks \
                         for";
            invalid(&text("count=0"), "count", count);
        }
        if !is_server {
            let threads = "threads must be 1 for a disk or tap; give a command for each";
            invalid(&text("threads=2"), "threads", threads);
            let persist = "persist is for a server; give server,persist";
            invalid(&text("persist"), "persist", persist);
        }
    }
    let size = "size does not go with client,blk; the server says how large the disk is";
    for bytes in ["1M", "0", "x", ""] {
        let text = format!("client,addr=192.0.2.1,blk,size={bytes}");
        invalid(&text, "size", size);
    }
    let nothing = "size needs a store; give store=ram or store=PATH";
    invalid("server,tap,log,size=1M", "size", nothing);
}

#[test]
fn blocks_need_a_place() {
    let place = "blk needs a place for the blocks; give store=ram or store=PATH";
    for text in [
        "server,blk",
        "server,blk,size=1M",
        "loopback,addr=192.0.2.1,blk",
    ] {
        invalid(text, "blk", place);
    }
    let or_log = "tap needs a place for the blocks; give store=ram, store=PATH or log";
    for text in ["server,tap", "server,tap,size=1M", "server,tap,persist"] {
        invalid(text, "tap", or_log);
    }
    let size = "store=ram needs a size; give size=1G or the like";
    for text in [
        "server,blk",
        "server,tap",
        "server,tap,log",
        "loopback,addr=192.0.2.1,blk",
    ] {
        invalid(&format!("{text},store=ram"), "store", size);
        let block = parse(&format!("{text},store=ram,size=1M")).block;
        assert_eq!((block.store, block.bytes), (Some(StoreName::Ram), 1 << 20));
    }
}
