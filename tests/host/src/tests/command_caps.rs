// SPDX-License-Identifier: GPL-2.0

//! The command that asks what a device can do.

use super::command_errors::invalid;
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
fn it_takes_nothing_else() {
    for option in [
        "server",
        "loopback",
        "port=1",
        "count=1",
        "size=1",
        "verbose",
        "validate",
        "mem_mode=dma",
        "server_inv",
        "read_inv",
        "local_dma_lkey",
        "unsafe_global_rkey",
        "duplex",
        "duration=1",
        "qps=1",
        "postlist=1",
        "signal_every=1",
        "inline",
        "sge=1",
        "imm",
        "untimed",
        "poll",
        "persist",
        "allow=::1",
        "max_memory=1M",
        "tos=0",
        "txdepth=1",
        "threads=1",
        "cpu=0",
        "max_p99=1",
        "min_bw=1",
        "pattern=text",
        "store=ram",
        "ro",
        "direct",
        "queues=1",
        "depth=1",
        "reconnect=1",
        "detach",
        "comm=a",
        "log",
    ] {
        let name = option.split('=').next().unwrap();
        let sentence = format!("{name} does not go with caps; it is for the other tests");
        invalid(&format!("caps,addr=192.0.2.1,{option}"), name, &sentence);
        invalid(&format!("{option},caps,addr=192.0.2.1"), name, &sentence);
    }
    for test in [
        "fr", "wlat", "rlat", "slat", "bw", "rbw", "sbw", "blk", "tap=sda",
    ] {
        let name = test.split('=').next().unwrap();
        let sentence = format!("{name} and caps are both given; give one of them");
        invalid(
            &format!("client,caps,{test},addr=192.0.2.1"),
            name,
            &sentence,
        );
    }
    invalid(
        "caps=1,addr=192.0.2.1",
        "caps",
        "caps takes no value; give caps alone",
    );
    let end = "addr does not go with stop; give stop=ID, and force where it is in use";
    invalid("stop=0,caps,addr=192.0.2.1", "addr", end);
}
