// SPDX-License-Identifier: GPL-2.0

//! The end of disks, help, and what may be written besides commands.

use super::{
    any_command::command,
    cases, //
};
use crate::logic::{
    command::{
        order::{
            Order,
            Target, //
        },
        parse_error::Kind,
        Command, //
    },
    spec::{
        help::{
            Introduction,
            Topic, //
        },
        options::Opt, //
    },
    version::VERSION, //
};
use proptest::prelude::*;

#[track_caller]
fn refused(text: &str, kind: Kind, option: &str, sentence: &str) {
    let error = Order::read(text).expect_err(text);
    assert_eq!(error.to_string(), sentence, "{text}");
    assert_eq!((error.kind, error.option), (kind, option), "{text}");
}

#[test]
fn the_end_of_a_disk() {
    for (text, id, force) in [
        ("stop=0", 0, false),
        ("stop=7,force", 7, true),
        ("force,stop=7\n", 7, true),
        (" stop=0x10 ", 16, false),
        ("\tstop=4294967295 , force", u32::MAX, true),
    ] {
        let target = Target::Disk(id);
        assert_eq!(
            Order::read(text),
            Ok(Order::Stop { target, force }),
            "{text}"
        );
    }
    for (text, port, force) in [
        ("stop=server:1", 1, false),
        ("force,stop=server:65535", 65535, true),
        ("stop=server:0x10", 16, false),
    ] {
        let target = Target::Server(port);
        assert_eq!(
            Order::read(text),
            Ok(Order::Stop { target, force }),
            "{text}"
        );
    }
    for (text, id, force) in [
        ("stop=command:1", 1, false),
        ("force,stop=command:4294967295", u32::MAX, true),
    ] {
        let target = Target::Command(id);
        assert_eq!(
            Order::read(text),
            Ok(Order::Stop { target, force }),
            "{text}"
        );
    }
    for text in ["stop=command:0", "stop=command:4294967296"] {
        assert_eq!(Order::read(text).unwrap_err().kind, Kind::Range, "{text}");
    }
    for text in [
        "stop=0",
        "stop=12,force",
        "stop=server:9999,force",
        "stop=command:12",
    ] {
        assert_eq!(Order::read(text).unwrap().to_string(), text);
    }
}

#[test]
fn nothing_else_goes_with_it() {
    for (other, option) in [
        ("client", "client"),
        ("server", "server"),
        ("blk", "blk"),
        ("tap=sda", "tap"),
        ("addr=192.0.2.1", "addr"),
        ("size=5G", "size"),
        ("tag=a", "tag"),
        ("expect=ok", "expect"),
        ("tx-depth=5", "txdepth"),
        ("log", "log"),
    ] {
        let sentence =
            format!("{option} does not go with stop; give stop=ID, and force where it is in use");
        for text in [format!("stop=1,{other}"), format!("{other},force,stop=1")] {
            refused(&text, Kind::Invalid, option, &sentence);
        }
    }
    let force = "force is for the end of a disk or server; give stop=ID,force";
    for text in ["force", "client,blk,addr=192.0.2.1,force"] {
        refused(text, Kind::Invalid, "force", force);
    }
}

#[test]
fn what_is_wrong_with_it() {
    let range = |value: &str| format!("stop={value}: must be from 0 to 4294967295");
    for value in ["4294967296", "0xffffffffffffffffff"] {
        let text = format!("stop={value}");
        refused(&text, Kind::Range, "stop", &range(value));
    }
    let value = "stop needs a value, as in stop=0";
    for text in ["stop", "stop=", "client,stop"] {
        refused(text, Kind::Invalid, "stop", value);
    }
    let number = "stop=krping0: must be a number, decimal without leading zeros or hexadecimal \
                  after 0x";
    refused("stop=krping0", Kind::Invalid, "stop", number);
    for value in ["server:0", "server:65536"] {
        let range = format!(
            "stop={}: must be from 1 to 65535",
            &value["server:".len()..]
        );
        refused(&format!("stop={value}"), Kind::Range, "stop", &range);
    }
    let port = "stop needs a value, as in stop=server:9999";
    refused("stop=server:", Kind::Invalid, "stop", port);
    let twice = "stop is given twice; give it once";
    refused("stop=1,stop=2", Kind::Invalid, "stop", twice);
    let alone = "force takes no value; give force alone";
    refused("stop=1,force=1", Kind::Invalid, "force", alone);
    let unknown = "unknown option 'fforce'; did you mean 'force'?";
    refused("stop=1,fforce", Kind::Invalid, "fforce", unknown);
    let empty = "an option is empty; give options with one comma between them";
    refused("stop=1,", Kind::Invalid, "", empty);
}

#[test]
fn a_command_is_not_the_end_of_a_disk() {
    for text in [
        "server,tag=stop",
        "server,blk,store=/stop=1",
        "server,tap,store=/a=force",
    ] {
        let command = Command::parse(text).unwrap();
        assert_eq!(Order::read(text), Ok(Order::Run(Box::new(command))));
    }
}

#[test]
fn help_of_all_options_and_of_one() {
    for (text, topic, shown) in [
        ("help", Topic::All, "help"),
        (" help\n", Topic::All, "help"),
        ("help=size", Topic::Option(Opt::Size), "help=size"),
        ("help=size=", Topic::Option(Opt::Size), "help=size"),
        ("help=tx-depth", Topic::Option(Opt::TxDepth), "help=txdepth"),
        ("help=help", Topic::Option(Opt::Help), "help=help"),
    ] {
        let order = Order::read(text).unwrap();
        assert_eq!(order, Order::Help(topic), "{text}");
        assert_eq!(order.to_string(), shown);
    }
    let near = "unknown option 'sise'; did you mean 'size'?";
    refused("help=sise", Kind::Invalid, "sise", near);
    for (text, other) in [("help,client", "client"), ("wlat,help=size", "wlat")] {
        let sentence = format!("{other} does not go with help; give help or help=NAME alone");
        refused(text, Kind::Invalid, other, &sentence);
    }
    refused(
        "help,help",
        Kind::Invalid,
        "help",
        "help is given twice; give it once",
    );
    for text in ["help,stop=1", "force,stop=1,help"] {
        let sentence = "help does not go with stop; give stop=ID, and force where it is in use";
        refused(text, Kind::Invalid, "help", sentence);
    }
}

/// What it prints is comments, which name each option, and what the table says of it.
#[test]
fn help_is_comments_from_the_table() {
    let mut texts: Vec<_> = Opt::ALL
        .iter()
        .map(|opt| Topic::Option(*opt).to_string())
        .collect();
    for (opt, text) in Opt::ALL.iter().zip(&texts) {
        let spec = opt.spec();
        assert!(text.starts_with(&format!("# {}", spec.name())), "{text}");
        assert!(
            text.contains(spec.help.trim().trim_end_matches('.')),
            "{text}"
        );
        for alias in &spec.names[1..] {
            assert!(text.contains(&format!("also: {alias}\n")), "{text}");
        }
    }
    let all = Topic::All.to_string();
    assert_eq!(all.lines().count(), 1 + Opt::ALL.len());
    let size = &texts[Opt::Size as usize];
    assert!(size.contains("#   client: with pingpong"), "{size}");
    texts.push(all);
    texts.push(Introduction.to_string());
    for text in texts {
        assert!(text.ends_with('\n'));
        for line in text.lines() {
            let printable = line.bytes().all(|b| matches!(b, b' '..=b'~'));
            assert!(
                line.starts_with("# ") && printable && line.len() < 400,
                "{line}"
            );
        }
    }
    assert!(Introduction
        .to_string()
        .starts_with(&format!("# krping {VERSION}: ")));
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn commands_are_orders(command in command()) {
        let text = command.to_string();
        let order = Order::Run(Box::new(command));
        prop_assert_eq!(order.to_string(), &*text);
        prop_assert_eq!(Order::read(&text), Ok(order), "{}", text);
    }

    #[test]
    fn shown_and_read_is_the_same(id: u32, port in 1u16.., server: bool, force: bool) {
        let target = if server { Target::Server(port) } else { Target::Disk(id) };
        let stop = Order::Stop { target, force };
        let text = stop.to_string();
        prop_assert_eq!(Order::read(&text), Ok(stop), "{}", text);
    }

    #[test]
    fn no_command_stops_a_disk(command in command(), which in 0usize..2, at: prop::sample::Index) {
        let text = command.to_string();
        let mut options: Vec<&str> = text.split(',').collect();
        options.insert(at.index(options.len() + 1), ["stop=1", "force"][which]);
        prop_assert!(Order::read(&options.join(",")).is_err());
    }
}
