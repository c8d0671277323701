// SPDX-License-Identifier: GPL-2.0

//! Commands for property tests, from the table of options.

use super::{
    command::parse,
    sentences::refusal,
    sides::{
        sides,
        Side, //
    }, //
};
use crate::logic::{
    command::{
        limits,
        Addr,
        Command,
        Role, //
    },
    conformance::Case,
    failure::errno,
    spec::{
        names,
        option::{
            Asks,
            Needs,
            Value, //
        },
        options::Opt, //
    },
    text::IfName, //
};
use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{
        select,
        subsequence, //
    },
    strategy::Union, //
};

fn addr6() -> impl Strategy<Value = Addr> {
    let scope = "[!-.0-9;-~]{3,15}".prop_filter("no comma", |name| !name.contains(','));
    let link_local = (any::<u64>(), scope).prop_map(|(host, name)| Addr::V6 {
        addr: (0xfe80_u128 << 112 | u128::from(host)).to_be_bytes(),
        scope: IfName::new(&name),
    });
    let global = any::<[u8; 16]>().prop_filter_map("link-local", |addr| {
        let is_link_local = u16::from_be_bytes([addr[0], addr[1]]) & 0xffc0 == 0xfe80;
        (!is_link_local).then_some(Addr::V6 { addr, scope: None })
    });
    prop_oneof![link_local, global]
}

/// Ranges of CPUs, as they are written and as they are.
pub(super) fn cpus() -> impl Strategy<Value = (String, Vec<u32>)> {
    let range = (0u32..=8191, option::of(0u32..40));
    vec(range, 1..=8).prop_map(|ranges| {
        let mut texts = Vec::new();
        let mut cpus = Vec::new();
        for (first, more) in ranges {
            let last = (first + more.unwrap_or(0)).min(8191);
            texts.push(match more {
                None => format!("{first}"),
                Some(_) => format!("{first}-{last}"),
            });
            cpus.extend(first..=last);
        }
        (texts.join("+"), cpus)
    })
}

/// Any conformance tests.
fn neg() -> impl Strategy<Value = String> {
    let some =
        subsequence(super::conformance::names(), 1..=Case::COUNT).prop_map(|names| names.join("+"));
    prop_oneof![Just("all".to_owned()), some]
}

/// Any value of an option whose value is a text.
fn text(opt: Opt) -> BoxedStrategy<String> {
    match opt {
        Opt::Addr => any::<[u8; 4]>()
            .prop_map(|addr| Addr::V4(addr).to_string())
            .boxed(),
        Opt::Addr6 => addr6().prop_map(|addr| addr.to_string()).boxed(),
        // Of the family of an address of IPv4.
        Opt::Src => any::<[u8; 4]>()
            .prop_map(|addr| Addr::V4(addr).to_string())
            .boxed(),
        Opt::Dev => "[!-+\\--~]{1,63}".boxed(),
        Opt::Allow => "192\\.0\\.2\\.[1-9](/(8|24))?(\\+2001:db8::[1-9](/64)?){0,7}".boxed(),
        Opt::Cpu => cpus().prop_map(|(text, _)| text).boxed(),
        // No length of control messages, and a byte for each piece.
        Opt::Sizes => "[3-9][0-9]{1,3}(:[1-9])?(\\+[3-9][0-9]{2,4}:[1-9]){0,7}".boxed(),
        Opt::Expect => {
            let errnos = errno::NAMES.iter().map(|(_, name)| *name);
            let names: Vec<_> = errnos.chain(["ok"]).collect();
            select(names).prop_map(String::from).boxed()
        }
        // With an address of IPv4, or none.
        Opt::Mcast => any::<[u8; 4]>()
            .prop_map(|[a, b, c, d]| format!("{}.{b}.{c}.{d}", 224 | a & 15))
            .boxed(),
        Opt::Tag => "[!-+\\--~]([ -+\\--~]{0,62}[!-+\\--~])?".boxed(),
        Opt::Store => "/([!-+\\--~]([ -+\\--~]{0,252}[!-+\\--~])?)?".boxed(),
        Opt::Comm => "[!-+\\--~]{1,15}".boxed(),
        Opt::Tap => "[!-+\\--~]([ -+\\--~]{0,30}[!-+\\--~])?".boxed(),
        Opt::Neg => neg().boxed(),
        _ => panic!("{} needs a strategy here", opt.spec().name()),
    }
}

/// Any number in a range; the least, which often is the default, and the most are frequent.
fn number(least: u64, most: u64, unit: u64) -> BoxedStrategy<String> {
    let few = least..=most.min(least.saturating_add(20 * unit));
    prop_oneof![Just(least), Just(most), few, least..=most]
        .prop_map(move |number| (number / unit * unit).to_string())
        .boxed()
}

/// An option as a command gives it.
type Word = (Opt, String);

/// Gives `opt` any value that it may have on a side.
fn word(opt: Opt, side: &Side) -> BoxedStrategy<Word> {
    let sizes = side.sizes();
    let value = match &opt.spec().value {
        Value::Number { range, .. } => number(*range.start(), *range.end(), 1),
        Value::Word { .. } if opt == Opt::Qp && !side.test.takes_datagrams() => {
            select(vec!["rc", "uc"]).prop_map(String::from).boxed()
        }
        Value::Word { words, .. } => select(*words).prop_map(String::from).boxed(),
        Value::Late(_) if opt == Opt::Size && sizes == limits::STORE => {
            number(*sizes.start(), *sizes.end(), limits::SECTOR)
        }
        Value::Late(_) if opt == Opt::Size => number(*sizes.start(), *sizes.end(), 1),
        Value::Text(_) | Value::Late(_) => text(opt),
        Value::FlagOrWord { word, .. } if side.test.takes_full() => {
            let name = opt.spec().name();
            let texts = vec![name.to_owned(), format!("{name}={word}")];
            return select(texts).prop_map(move |text| (opt, text)).boxed();
        }
        Value::Nothing
        | Value::Flag { .. }
        | Value::FlagOrWord { .. }
        | Value::Target
        | Value::Topic => return Just((opt, opt.spec().name().to_owned())).boxed(),
    };
    let name = opt.spec().name();
    value
        .prop_map(move |value| (opt, format!("{name}={value}")))
        .boxed()
}

/// Returns true where a command cannot have both.
fn clash(one: &Word, other: &Word) -> bool {
    let excludes = |(opt, word): &Word, (other, text): &Word| match opt.spec().needs {
        Needs::Reg => text == "mem_mode=dma" || other.spec().needs == Needs::Dma,
        Needs::Dma => *other == Opt::MemMode && text != "mem_mode=dma",
        Needs::Latencies if *opt == Opt::Rate => {
            matches!(
                *other,
                Opt::Untimed
                    | Opt::Duplex
                    | Opt::Solicited
                    | Opt::PostList
                    | Opt::SignalEvery
                    | Opt::Reverse
                    | Opt::Coalesce
            ) || *other == Opt::Qp && text != "qp=rc"
                // Slow for so many.
                || matches!(*other, Opt::Threads | Opt::Qps | Opt::Conns)
                    && word.len() < "rate=1000".len()
        }
        Needs::Latencies => *other == Opt::Untimed,
        Needs::Datagrams => *other == Opt::Addr6,
        // It is refused alone, and so never here.
        Needs::Series => false,
        _ if word == "validate=full" => {
            matches!(
                *other,
                Opt::Size | Opt::PostList | Opt::SignalEvery | Opt::Qp | Opt::Buffers | Opt::Mrs
            )
        }
        _ if *opt == Opt::Src && *other == Opt::Addr6 => true,
        Needs::Handshake => *other == Opt::Tcp,
        Needs::Nothing | Needs::Path => {
            let number = |text: &str| text.split('=').nth(1).and_then(|n| n.parse::<u32>().ok());
            let covers = number(word)
                .zip(number(text))
                .is_some_and(|(size, offset)| {
                    u64::from(size) + u64::from(offset) <= limits::MOST_RW.into()
                });
            match (*opt, *other) {
                (Opt::Sge, Opt::Size) => number(word) > number(text),
                (Opt::Size, Opt::Offset) => !covers,
                (Opt::Mrs, Opt::Buffers) => number(word) > number(text),
                (Opt::Mrs, Opt::UnsafeGlobalRkey) => true,
                (Opt::Sizes, Opt::Size | Opt::Duplex | Opt::Validate) => true,
                (Opt::Buffers | Opt::Mrs | Opt::Sizes, Opt::Qp) => text != "qp=rc",
                (Opt::Poll | Opt::Spin | Opt::Srq | Opt::Solicited, Opt::Cq) => text == "cq=pool",
                (Opt::Duplex | Opt::Srq, Opt::Solicited) => true,
                // Unless it polls.
                (Opt::IoMap, Opt::Echo) => true,
                (Opt::Coalesce, Opt::Echo | Opt::IoMap | Opt::Reverse) => true,
                (Opt::IoMap, Opt::Size) => number(text) > Some(limits::MOST_DIRECT),
                // On a client, or on all sides.
                (Opt::Reverse, _) => matches!(
                    *other,
                    Opt::Count | Opt::Duration | Opt::Size | Opt::Echo | Opt::IoMap | Opt::Interval
                ),
                (Opt::Duplex | Opt::Srq, Opt::Qp) => text != "qp=rc",
                _ => false,
            }
        }
    };
    let group = one.0.spec().group;
    let is_of_one_group = group.is_some() && group == other.0.spec().group;
    is_of_one_group || excludes(one, other) || excludes(other, one)
}

/// Any command of a side.
fn command_of(side: Side) -> impl Strategy<Value = Command> {
    // Its address, store and disk may be others.
    let must: Vec<_> = side
        .text
        .split(',')
        .map(|text| {
            let opt = names::find(text.split('=').next().unwrap_or(text)).expect(text);
            let same = Just((opt, text.to_owned()));
            match (opt, text.contains('=')) {
                (Opt::Addr, _) => {
                    Union::new([same.boxed(), word(opt, &side), word(Opt::Addr6, &side)]).boxed()
                }
                (_, true) => Union::new([same.boxed(), word(opt, &side)]).boxed(),
                (_, false) => same.boxed(),
            }
        })
        .collect();
    let others = Opt::ALL.iter().filter(|opt| {
        let spec = opt.spec();
        let takes = spec.goes_with(side.role, side.test) && matches!(spec.asks, Asks::Nothing);
        takes && !side.has(**opt) && !matches!(opt, Opt::Stop | Opt::Force | Opt::Help)
    });
    let may: Vec<_> = others
        .map(|opt| option::weighted(0.2, word(*opt, &side)))
        .collect();
    (must, may.prop_shuffle()).prop_map(move |(mut words, may)| {
        for word in may.into_iter().flatten() {
            let is_taken = refusal(&side, word.0, &word.1).is_none();
            if is_taken && !words.iter().any(|other| clash(other, &word)) {
                words.push(word);
            }
        }
        let words: Vec<_> = words.into_iter().map(|(_, text)| text).collect();
        parse(&words.join(","))
    })
}

/// Any command that keeps the rules.
pub(super) fn command() -> impl Strategy<Value = Command> {
    Union::new(sides().into_iter().map(command_of))
}

/// Any of a client with data of its own.
pub(super) fn client() -> impl Strategy<Value = Command> {
    let sides = sides().into_iter();
    let clients = sides.filter(|side| side.role == Role::Client && side.test.iterates());
    Union::new(clients.map(command_of))
}
