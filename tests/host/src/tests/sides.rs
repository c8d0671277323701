// SPDX-License-Identifier: GPL-2.0

//! Each side of each test, and the options that it may be given: from the tables.

use crate::logic::{
    command::{
        limits,
        Role,
        Test, //
    },
    spec::{
        option::{
            Asks,
            Text,
            Value, //
        },
        options::Opt, //
    }, //
};
use std::ops::RangeInclusive;

/// One side of a test.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) role: Role,
    pub(super) test: Test,
    /// The shortest command of it, as krping shows it.
    pub(super) text: String,
}

/// Returns all sides, a server of blocks once for each place of these.
pub(super) fn sides() -> Vec<Side> {
    let mut sides = Vec::new();
    for (role, test) in Role::ALL
        .into_iter()
        .flat_map(|role| Test::ALL.iter().map(move |test| (role, *test)))
    {
        let asks = Opt::ALL
            .iter()
            .map(|opt| opt.spec())
            .find(|opt| match opt.asks {
                Asks::Test(asked) => asked == test,
                Asks::Role(_) | Asks::Nothing => false,
            });
        if asks.is_some_and(|opt| !opt.fits(role, test)) {
            continue;
        }
        let asked = asks.map(|opt| match (&opt.value, role) {
            (Value::Text(text) | Value::Late(text), Role::Client | Role::Loopback) => {
                format!("{}={}", opt.name(), text.example)
            }
            _ => opt.name().to_owned(),
        });
        let addr = (role != Role::Server).then(|| "addr=192.0.2.1".to_owned());
        let words: Vec<String> = match test.implied_role() {
            Some(_) => asked.into_iter().chain(addr).collect(),
            None => [role.as_str().to_owned()]
                .into_iter()
                .chain(addr)
                .chain(asked)
                .collect(),
        };
        let places: &[&str] = match (test, role) {
            (Test::Block, Role::Server | Role::Loopback) => &[",store=/s", ",store=ram,size=4096"],
            (Test::Tap, Role::Server) => &[",store=/s", ",store=ram,size=4096", ",log"],
            _ => &[""],
        };
        sides.extend(places.iter().map(|place| {
            let text = words.join(",") + place;
            Side { role, test, text }
        }));
    }
    sides
}

impl Side {
    /// Returns true where its command already has the option.
    pub(super) fn has(&self, opt: Opt) -> bool {
        let mut words = self.text.split(',');
        words.any(|word| word.split('=').next() == Some(opt.spec().name()))
    }

    /// Returns what `size` may be.
    pub(super) fn sizes(&self) -> RangeInclusive<u64> {
        match (self.test, self.role) {
            (Test::Tap, Role::Client) => limits::RING,
            (Test::Tap | Test::Block, _) => limits::STORE,
            (test, _) if test.is_rw() => limits::RW_SIZE,
            _ => limits::SIZE,
        }
    }

    /// Returns the option by each of its names with values that are as far apart as its row
    /// allows.
    pub(super) fn examples(&self, opt: Opt) -> Vec<String> {
        let ends =
            |range: &RangeInclusive<u64>| [range.start(), range.end()].map(u64::to_string).to_vec();
        let values = match &opt.spec().value {
            Value::Nothing | Value::Flag { .. } => return vec![opt.spec().name().to_owned()],
            Value::FlagOrWord { word, .. } => {
                let name = opt.spec().name();
                return match self.test.takes_full() {
                    true => vec![name.to_owned(), format!("{name}={word}")],
                    false => vec![name.to_owned()],
                };
            }
            Value::Number { range, .. } => ends(range),
            Value::Word { words, .. } => words.iter().map(|word| word.to_string()).collect(),
            Value::Late(_) if opt == Opt::Size => ends(&self.sizes()),
            // Memory needs a size too.
            Value::Text(_) if opt == Opt::Store => vec!["/s".to_owned()],
            Value::Text(Text { example, .. }) | Value::Late(Text { example, .. }) => {
                vec![example.to_string()]
            }
            Value::Target => vec!["0".to_owned()],
            Value::Topic => vec!["size".to_owned()],
        };
        let names = opt.spec().names.iter();
        names
            .flat_map(|name| values.iter().map(move |value| format!("{name}={value}")))
            .collect()
    }
}
