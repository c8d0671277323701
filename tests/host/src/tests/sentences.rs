// SPDX-License-Identifier: GPL-2.0

//! The sentences about options that do not go with a side.

use super::sides::Side;
use crate::logic::{
    command::{
        Role,
        Test, //
    },
    spec::options::Opt, //
};
use std::sync::LazyLock;

/// The tests that are for some data of their own, which a server serves without being told.
pub(super) static TESTS: LazyLock<Vec<Test>> =
    LazyLock::new(|| Test::ALL.iter().copied().filter(|t| t.iterates()).collect());

/// Returns the sentence about `word`, which gives `opt`, on a side that does not take it.
pub(super) fn refusal(side: &Side, opt: Opt, word: &str) -> Option<String> {
    let (spec, Side { role, test, text }) = (opt.spec(), side);
    let (name, value) = (spec.name(), word.split_once('=').map(|(_, value)| value));
    let is_for = |test| Role::ALL.iter().any(|role| spec.fits(*role, test));
    let otherwise = match (opt, place_of(opt)) {
        _ if spec.goes_with(*role, *test) => None,
        _ if *test == Test::Conformance => Some(" does not go with neg".to_owned()),
        (_, Some(place)) if *test != Test::Caps => Some(format!(" is for {place}")),
        _ if *test == Test::Caps || !is_for(*test) => {
            let tests = match *test == Test::Caps || TESTS.iter().all(|test| is_for(*test)) {
                true => "the other tests".to_owned(),
                false => any_of(is_for),
            };
            let test = test.in_words();
            Some(format!(" does not go with {test}; it is for {tests}"))
        }
        _ => Some(match Role::ALL.map(|role| spec.fits(role, *test)) {
            // Of a client, a server and a loopback.
            [true, false, false] => format!(" is for a client; give client,{name}"),
            [true, false, true] => {
                " is for the client or loopback; a server does what its client asks for".to_owned()
            }
            [false, true, true] => {
                " is for a server or loopback; give it where the clients are served".to_owned()
            }
            [false, true, false] => format!(" is for a server; give server,{name}"),
            other => panic!("{name} needs a sentence here: {other:?}"),
        }),
    };
    let besides = match opt {
        Opt::MemMode if test.is_microbench() && value != Some("dma") => {
            let test = test.in_words();
            format!("=reg does not go with {test}; it is for the ping/pong, fr, rwread and rwwrite")
        }
        Opt::Mcast if *role != Role::Server => " needs qp=ud; give it, too".to_owned(),
        Opt::Every => " needs interval; give it, too".to_owned(),
        Opt::Segs if test.is_rw() && value != Some("1") => {
            let value = value.unwrap_or_default();
            format!(
                "={value} is more than the 1 pages of size= and offset=; each piece begins a page"
            )
        }
        Opt::Threads if test.is_block() && *role != Role::Server && value != Some("1") => {
            " must be 1 for a disk or tap; give a command for each".to_owned()
        }
        Opt::Size if (*role, *test) == (Role::Client, Test::Block) => {
            " does not go with client,blk; the server says how large the disk is".to_owned()
        }
        Opt::Count | Opt::Duration if *role == Role::Server && test.is_stream() => {
            " needs reverse; give it, too".to_owned()
        }
        Opt::Size if *role == Role::Server && test.is_stream() => {
            " needs iomap; give it, too".to_owned()
        }
        Opt::Size if text == "server,tap,log" => {
            " needs a store; give store=ram or store=PATH".to_owned()
        }
        Opt::Direct if !text.contains("store=/") => " is for store=PATH".to_owned(),
        _ => return otherwise.map(|rest| format!("{name}{rest}")),
    };
    Some(format!("{name}{}", otherwise.unwrap_or(besides)))
}

/// Returns the roles and tests that a sentence about this option names together.
fn place_of(opt: Opt) -> Option<&'static str> {
    Some(match opt {
        Opt::Store => "server,blk, loopback,blk or server,tap",
        Opt::Ro => "server,blk or loopback,blk",
        Opt::Log => "server,tap",
        Opt::Comm => "client,tap=DISK",
        Opt::Detach => "server, client,blk or loopback,blk",
        Opt::Queues | Opt::Depth | Opt::Reconnect | Opt::RequestTimeout => {
            "client,blk or loopback,blk"
        }
        _ => return None,
    })
}

/// Returns the names of the tests that `is` chooses, as in "a, b or c". What `fr` takes it only
/// accepts.
fn any_of(is: impl Fn(Test) -> bool) -> String {
    let chosen = Test::ALL
        .iter()
        .filter(|test| is(**test) && **test != Test::FastReg);
    let names: Vec<_> = chosen.map(|test| test.in_words()).collect();
    match names.split_last() {
        Some((last, [])) => last.to_string(),
        Some((last, names)) => format!("{} or {last}", names.join(", ")),
        None => String::new(),
    }
}
