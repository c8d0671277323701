// SPDX-License-Identifier: GPL-2.0

//! Each row of the table of options, with each side of each test.

use super::{
    command::parse,
    command_errors::{
        check,
        invalid, //
    },
    sentences::refusal,
    sides::{
        sides,
        Side, //
    }, //
};
use crate::logic::{
    command::{
        parse_error::Kind,
        Command, //
    },
    spec::{
        option::{
            Asks,
            Value, //
        },
        options::Opt, //
    }, //
};
use std::collections::BTreeMap;

/// Returns the options that ask for no role or test.
fn plain() -> impl Iterator<Item = Opt> {
    let all = Opt::ALL.iter().copied();
    all.filter(|opt| matches!(opt.spec().asks, Asks::Nothing))
        .filter(|opt| !matches!(opt, Opt::Stop | Opt::Force | Opt::Help))
}

/// Returns the fields of a command, by name, as they are debugged.
fn fields(command: &Command) -> BTreeMap<String, String> {
    let Command {
        load,
        block,
        stream,
        messenger,
        ..
    } = command;
    let mut fields = BTreeMap::new();
    for text in [
        format!("{command:#?}"),
        format!("{load:#?}"),
        format!("{block:#?}"),
        format!("{stream:#?}"),
        format!("{messenger:#?}"),
    ] {
        for line in text.replace("\n     ", " ").lines() {
            if let Some((name, value)) = line.trim().split_once(": ") {
                fields.insert(name.to_owned(), value.trim_end_matches(',').to_owned());
            }
        }
    }
    fields.retain(|name, _| !["load", "block", "stream", "messenger"].contains(&name.as_str()));
    fields
}

/// Returns the name of the field that an option sets.
fn field(opt: Opt, side: &Side) -> &'static str {
    match opt {
        Opt::Addr6 => "addr",
        Opt::Src | Opt::Dev => "source",
        Opt::Duration => "duration_s",
        Opt::Size if side.test.is_block() => "bytes",
        Opt::Reconnect => "reconnect_s",
        Opt::RequestTimeout => "request_timeout_s",
        Opt::Ro => "read_only",
        Opt::Timeout => "timeout_ms",
        Opt::Wait => "wait_ms",
        Opt::Silence => "most_silence_ms",
        Opt::Idle => "idle_ms",
        Opt::Interval => "interval_ms",
        Opt::StartAt => "start_at_ns",
        Opt::Cq => "pool",
        Opt::Qp => "service",
        Opt::Cpu => "cpus",
        Opt::MaxP99 => "max_p99_ns",
        Opt::Spin => "spin_us",
        opt => opt.spec().name(),
    }
}

/// Checks that `word`, which gives `opt`, sets its field on this side and no other.
fn check_taken(side: &Side, opt: Opt, word: &str) {
    let text = format!("{},{word}", side.text);
    let command = parse(&text);
    let (before, after) = (fields(&parse(&side.text)), fields(&command));
    let name = field(opt, side);
    let mut changed: Vec<&str> = after
        .iter()
        .filter(|(field, value)| before[*field] != **value)
        .map(|(field, _)| field.as_str())
        .collect();
    if matches!(opt, Opt::ServerInv | Opt::ReadInv) {
        // C krping knows no mem_mode.
        assert_eq!(after["mem_mode"], "Reg", "{text}");
        changed.retain(|field| *field != "mem_mode");
    }
    if opt == Opt::Poll {
        // Who polls needs no completion.
        assert_eq!(after["imm"], "false", "{text}");
        changed.retain(|field| *field != "imm");
    }
    if opt == Opt::Mrs {
        // Each has a buffer.
        assert_eq!(after["buffers"], after["mrs"], "{text}");
        changed.retain(|field| *field != "buffers");
    }
    if opt == Opt::Sizes {
        // The size is the largest.
        assert_eq!(
            (&*after["mixed"], &*after["size"]),
            ("true", "65536"),
            "{text}"
        );
        changed.retain(|field| !matches!(*field, "mixed" | "size"));
    }
    if word == "validate=full" {
        // It compares data, and needs completions for that.
        assert_eq!(
            (&*after["full"], &*after["validate"]),
            ("true", "true"),
            "{text}"
        );
        changed.retain(|field| !matches!(*field, "full" | "imm" | "signal_every"));
    }
    if opt == Opt::Solicited {
        // A WRITE raises an event by that only.
        changed.retain(|field| *field != "imm");
    }
    if opt == Opt::SigAll {
        assert_eq!(after["signal_every"], "1", "{text}");
        changed.retain(|field| *field != "signal_every");
    }
    if opt == Opt::Rate {
        // Each operation completes.
        assert_eq!(
            (&*after["paced"], &*after["signal_every"]),
            ("true", "1"),
            "{text}"
        );
        changed.retain(|field| !matches!(*field, "paced" | "signal_every"));
    }
    // A server without a test has its client's load.
    let is_load = format!("{:?}", command.load).contains(&format!(" {name}: "));
    if is_load && side.text == "server" {
        assert!(changed.is_empty(), "{text}: {changed:?}");
        return;
    }
    // It may be as it was.
    changed.push(name);
    assert!(
        changed.iter().all(|field| *field == name),
        "{text}: {changed:?}"
    );
    match opt.spec().value {
        Value::Text(_) => assert!(
            format!(",{command},").contains(&format!(",{word},")),
            "{text}"
        ),
        _ => {
            let value = word.split_once('=').map_or("true", |(_, value)| value);
            // C krping called it so first.
            let value = match value {
                "fastreg" => "reg",
                "full" | "pool" => "true",
                "own" => "false",
                value => value,
            };
            let found = after[name].to_lowercase();
            let mut words = found.split(|c: char| !c.is_ascii_alphanumeric());
            assert!(words.any(|word| word == value), "{text}: {found}");
        }
    }
}

#[test]
fn shortest_commands_are_shown_as_they_are() {
    for Side { role, test, text } in sides() {
        let command = parse(&text);
        assert_eq!((command.role, command.test), (role, test), "{text}");
        assert_eq!(command.to_string(), text);
    }
}

#[test]
fn each_option_sets_its_field_and_no_other_or_is_refused_by_name() {
    for side in sides() {
        for opt in plain().filter(|opt| !side.has(*opt)) {
            for word in side.examples(opt) {
                if word == "qp=ud"
                    && !side.test.takes_datagrams()
                    && side.role != crate::tests::Role::Server
                {
                    // A rule about the value, not the option.
                    continue;
                }
                match refusal(&side, opt, &word) {
                    None if opt == Opt::Addr6 && side.has(Opt::Addr) => (),
                    None => check_taken(&side, opt, &word),
                    Some(sentence) => {
                        for text in [
                            format!("{},{word}", side.text),
                            format!("{word},{}", side.text),
                        ] {
                            invalid(&text, opt.spec().name(), &sentence);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn values_that_are_missing_or_too_many() {
    for opt in Opt::ALL.iter().map(|opt| opt.spec()) {
        for name in opt.names {
            let example = match &opt.value {
                Value::Nothing | Value::Flag { .. } => {
                    for value in ["", "1", "yes"] {
                        let sentence = format!("{name} takes no value; give {name} alone");
                        invalid(&format!("{name}={value}"), name, &sentence);
                    }
                    continue;
                }
                Value::FlagOrWord { word, .. } => {
                    for value in ["", "1", "yes"] {
                        let sentence = format!("{name}={value}: must be {word}");
                        invalid(&format!("{name}={value}"), name, &sentence);
                    }
                    continue;
                }
                // Whether it has one depends on the side.
                Value::Late(_) if opt.name() == "tap" => continue,
                Value::Number { example, .. } | Value::Word { example, .. } => *example,
                Value::Text(text) | Value::Late(text) => text.example,
                Value::Target => "0",
                Value::Topic => continue,
            };
            let sentence = format!("{name} needs a value, as in {name}={example}");
            for text in [format!("server,{name}"), format!("server,{name}=")] {
                invalid(&text, name, &sentence);
            }
        }
    }
}

#[test]
fn numbers_out_of_range() {
    for opt in plain().map(|opt| opt.spec()) {
        let Value::Number { range, units, .. } = &opt.value else {
            continue;
        };
        let (min, max) = (range.start(), range.end());
        let below = min.checked_sub(1).map(u128::from);
        let above = [
            u128::from(*max) + 1,
            1 << 32,
            (1 << 32) + 1,
            1 << 48,
            1 << 64,
            u128::MAX,
        ];
        let outside = above
            .into_iter()
            .filter(|number| *number > u128::from(*max));
        for number in below.into_iter().chain(outside) {
            for value in [number.to_string(), format!("{number:#x}")] {
                let sentence = format!(
                    "{}={value}: must be from {min} to {max}{}",
                    opt.name(),
                    units.unit
                );
                let text = format!("server,{}={value}", opt.name());
                check(&text, Kind::Range, opt.name(), &sentence);
            }
        }
    }
}
