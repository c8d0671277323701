// SPDX-License-Identifier: GPL-2.0

//! Which options of disks, taps and their servers go together.

use super::{
    command::parse,
    command_errors::invalid,
    sentences::TESTS, //
};
use crate::logic::command::block_options::StoreName;

#[test]
fn there_is_one_test() {
    for test in TESTS.iter().skip(1).map(|test| test.in_words()) {
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
fn the_size_of_a_disk_is_not_even_read() {
    let size = "size does not go with client,blk; the server says how large the disk is";
    for bytes in ["1M", "0", "x", ""] {
        let text = format!("client,addr=192.0.2.1,blk,size={bytes}");
        invalid(&text, "size", size);
    }
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
