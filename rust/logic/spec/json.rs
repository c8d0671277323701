// SPDX-License-Identifier: GPL-2.0

//! Writes the tables of tests and options as JSON, for programs that write commands.

use super::{
    load::Load,
    option::{
        Asks,
        Group,
        Needs,
        OptionSpec,
        Value, //
    },
    options::Opt,
    others_words::{
        NEEDLESS,
        PROGRAMS,
        WORDS, //
    },
    role::Role,
    tests::Test, //
};
use crate::logic::{
    command::Command,
    conformance::{
        families::FAMILIES,
        row::Need,
        Case, //
    },
    text::json::{
        Array,
        Object, //
    },
    version::VERSION, //
};
use core::fmt::{
    self,
    Write, //
};

/// Writes the module's version, both tables and the names of conformance tests as one object.
pub(crate) fn write(out: &mut dyn Write) -> fmt::Result {
    let mut tables = Object::new(out)?;
    tables.str("version", VERSION)?;
    let mut tests = tables.array("tests")?;
    for test in Test::ALL {
        write_test(*test, tests.line()?)?;
    }
    tests.finish()?;
    let mut options = tables.array("options")?;
    for opt in Opt::ALL {
        write_option(opt.spec(), options.line()?)?;
    }
    options.finish()?;
    let mut words = tables.object("words")?;
    for (word, opt) in WORDS {
        words.str(word, opt.spec().name())?;
    }
    for (word, program) in PROGRAMS {
        words.str(word, program)?;
    }
    words.finish()?;
    let mut needless = tables.object("needless")?;
    for (word, why) in NEEDLESS {
        needless.str(word, why)?;
    }
    needless.finish()?;
    let mut families = tables.object("families")?;
    for family in &FAMILIES {
        families.str(family.name, family.about)?;
    }
    families.finish()?;
    let mut cases = tables.array("cases")?;
    for case in Case::all() {
        write_case(case, cases.line()?)?;
    }
    cases.finish()?;
    tables.finish()
}

fn write_case(case: Case, mut out: Object<'_>) -> fmt::Result {
    let row = case.row();
    out.str("name", row.name)?
        .str("family", case.family().name)?
        .str("does", row.does)?
        .str("rule", row.infiniband.text)?;
    match row.need {
        Need::NotIwarp(why) => out.str("not_iwarp", why)?,
        _ if row.iwarp.text == row.infiniband.text => &mut out,
        _ => out.str("iwarp", row.iwarp.text)?,
    };
    out.str("source", row.source)?;
    if let Some(name) = row.need.name() {
        out.str("needs", name)?;
    }
    if row.by_name {
        out.bool("by_name", true)?;
    }
    out.finish()
}

fn write_test(test: Test, mut out: Object<'_>) -> fmt::Result {
    let spec = test.spec();
    out.str("name", spec.name)?
        .str("title", phrase(spec.title))?;
    if let Some(opt) = option_of(test) {
        out.str("option", opt.name())?;
    }
    if let Some(number) = spec.number {
        out.num("number", number)?;
    }
    out.str("family", spec.family.as_str())?;
    if let Some(verb) = spec.verb {
        out.str("verb", verb.as_str())?
            .str("counter", verb.counter())?;
    }
    if let Some(size @ 1..) = test.only_size() {
        out.num("size", size)?;
    }
    out.finish()
}

/// Returns the option that asks for a test, if it needs one.
fn option_of(test: Test) -> Option<&'static OptionSpec> {
    let mut all = Opt::ALL.iter().map(|opt| opt.spec());
    all.find(|opt| matches!(opt.asks, Asks::Test(asked) if asked == test))
}

/// Returns true where a test has this role.
pub(super) fn is_played(role: Role, test: Test) -> bool {
    option_of(test).is_none_or(|opt| opt.fits(role, test))
}

fn write_option(opt: &OptionSpec, mut out: Object<'_>) -> fmt::Result {
    out.str("name", opt.name())?;
    names("aliases", opt.names.iter().skip(1), &mut out)?;
    out.str("help", phrase(opt.help))?;
    write_value(opt, &mut out)?;
    match opt.asks {
        Asks::Nothing => (),
        Asks::Role(role) => drop(out.str("role", role.as_str())?),
        Asks::Test(test) => drop(out.str("test", test.as_str())?),
    }
    if let Some(needed) = needed_by(opt) {
        out.str("needs", needed)?;
    }
    if let Some(excluded) = excluded_by(opt) {
        out.str("excludes", excluded)?;
    }
    match opt.group {
        None => (),
        Some(Group::Address) => drop(out.str("group", "address")?),
        Some(Group::Test) => drop(out.str("group", "test")?),
        Some(Group::Source) => drop(out.str("group", "source")?),
        Some(Group::Invalidation) => drop(out.str("group", "invalidation")?),
        Some(Group::Polling) => drop(out.str("group", "polling")?),
        Some(Group::Signals) => drop(out.str("group", "signals")?),
        Some(Group::Receives) => drop(out.str("group", "receives")?),
    }
    if opt.bit != 0 {
        out.num("bit", opt.bit)?;
    }
    let mut goes = out.object("goes")?;
    for role in Role::ALL {
        let with = |test: &&Test| opt.goes_with(role, **test) && is_played(role, **test);
        let tests = Test::ALL.iter().filter(with).map(|test| test.as_str());
        names(role.as_str(), tests, &mut goes)?;
    }
    goes.finish()?;
    out.finish()
}

fn write_value(opt: &OptionSpec, out: &mut Object<'_>) -> fmt::Result {
    match &opt.value {
        Value::Nothing | Value::Flag { .. } => drop(out.str("kind", "flag")?),
        Value::FlagOrWord { word, .. } => {
            out.str("kind", "flag")?;
            names("words", [*word].into_iter(), out)?;
        }
        Value::Number {
            example,
            range,
            units,
            get,
            ..
        } => {
            out.str("kind", "number")?.str("example", example)?;
            out.num("min", range.start())?.num("max", range.end())?;
            out.str("unit", units.unit.trim())?;
            if !units.scale().is_empty() {
                let mut suffixes = out.object("suffixes")?;
                for (name, value) in units.scale() {
                    suffixes.num(name, value)?;
                }
                suffixes.finish()?;
                out.num("base", units.base())?;
            }
            if let Some(default) = get(&default_of(opt)) {
                out.num("default", default)?;
            }
        }
        Value::Word {
            example,
            words,
            get,
            ..
        } => {
            out.str("kind", "word")?.str("example", example)?;
            names("words", words.iter(), out)?;
            out.str("default", get(&default_of(opt)))?;
        }
        Value::Text(text) | Value::Late(text) => {
            out.str("kind", "text")?.str("example", text.example)?;
        }
        Value::Target => drop(out.str("kind", "text")?.str("example", "0")?),
        Value::Topic => drop(out.str("kind", "text")?.str("example", "size")?),
    }
    Ok(())
}

/// Returns the option that must stand beside `opt`, if any.
pub(super) fn needed_by(opt: &OptionSpec) -> Option<&'static str> {
    match opt.needs {
        Needs::Nothing | Needs::Latencies | Needs::Handshake => None,
        Needs::Reg => Some("mem_mode=reg"),
        Needs::Dma => Some("mem_mode=dma"),
        Needs::Path => Some("store=PATH"),
        Needs::Series => Some("interval=MS, and max_p99= or min_bw="),
        Needs::Datagrams => Some("qp=ud"),
    }
}

/// Returns the option that must not stand beside `opt`, if any.
pub(super) fn excluded_by(opt: &OptionSpec) -> Option<&'static str> {
    let excluded = match opt.needs {
        Needs::Latencies => Opt::Untimed,
        Needs::Handshake => Opt::Tcp,
        Needs::Nothing
        | Needs::Reg
        | Needs::Dma
        | Needs::Path
        | Needs::Series
        | Needs::Datagrams => return None,
    };
    Some(excluded.spec().name())
}

/// Returns a line of documentation without what makes a sentence of it.
pub(super) fn phrase(line: &str) -> &str {
    let line = line.trim();
    line.strip_suffix('.').unwrap_or(line)
}

/// Returns a command without options, of the first role and test that `opt` goes with.
pub(super) fn default_of(opt: &OptionSpec) -> Command {
    let mut both = Role::ALL
        .iter()
        .flat_map(|role| Test::ALL.iter().map(|test| (*role, *test)));
    let (role, test) = both
        .find(|(role, test)| opt.fits(*role, *test))
        .unwrap_or((Role::Client, Test::PingPong));
    Command {
        load: Load::new(test),
        ..Command::new(role)
    }
}

/// Writes an array of strings, unless it is empty.
fn names<'a, T: AsRef<str> + ?Sized + 'a>(
    key: &str,
    names: impl Iterator<Item = &'a T> + Clone,
    out: &mut Object<'_>,
) -> fmt::Result {
    if names.clone().next().is_none() {
        return Ok(());
    }
    let mut array: Array<'_> = out.array(key)?;
    for name in names {
        array.str(name.as_ref())?;
    }
    array.finish()
}
