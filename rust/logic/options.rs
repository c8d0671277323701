// SPDX-License-Identifier: GPL-2.0

//! The names of the options.

use super::text::Text;

/// An option of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Opt {
    Client,
    Server,
    Loopback,
    Addr,
    Addr6,
    Port,
    Count,
    Size,
    Verbose,
    Validate,
    MemMode,
    ServerInv,
    ReadInv,
    LocalDmaLkey,
    UnsafeGlobalRkey,
    Fr,
    Poll,
    Persist,
    Tos,
    TxDepth,
    Threads,
    Timeout,
    Pattern,
    Tag,
}

impl Opt {
    /// Its bit in a set of options.
    pub(super) const fn bit(self) -> u32 {
        1 << (self as u8)
    }

    /// Its name, without aliases.
    pub(super) fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(_, opt)| *opt == self)
            .map_or("", |(name, _)| name)
    }
}

/// All names; the C krping has `txdepth` in its code, and `tx-depth` in its README.
pub(super) const NAMES: &[(&str, Opt)] = &[
    ("client", Opt::Client),
    ("server", Opt::Server),
    ("loopback", Opt::Loopback),
    ("addr", Opt::Addr),
    ("addr6", Opt::Addr6),
    ("port", Opt::Port),
    ("count", Opt::Count),
    ("size", Opt::Size),
    ("verbose", Opt::Verbose),
    ("validate", Opt::Validate),
    ("mem_mode", Opt::MemMode),
    ("server_inv", Opt::ServerInv),
    ("read_inv", Opt::ReadInv),
    ("local_dma_lkey", Opt::LocalDmaLkey),
    ("unsafe_global_rkey", Opt::UnsafeGlobalRkey),
    ("fr", Opt::Fr),
    ("poll", Opt::Poll),
    ("persist", Opt::Persist),
    ("tos", Opt::Tos),
    ("txdepth", Opt::TxDepth),
    ("tx-depth", Opt::TxDepth),
    ("threads", Opt::Threads),
    ("timeout", Opt::Timeout),
    ("pattern", Opt::Pattern),
    ("tag", Opt::Tag),
];

/// Known, but not served by this version: refused by name, whatever their value.
pub(super) const NOT_SUPPORTED: &[&str] = &[
    "wlat",
    "rlat",
    "slat",
    "bw",
    "rbw",
    "sbw",
    "duplex",
    "duration",
    "qps",
    "postlist",
    "signal_every",
    "inline",
    "sge",
    "imm",
    "cpu",
    "max_p99",
    "min_bw",
    "expect",
    "neg",
    "caps",
    "blk",
    "tap",
    "store",
    "ro",
    "queues",
    "depth",
    "reconnect",
    "stop",
    "force",
    "detach",
    "comm",
    "log",
];

/// The option called `name`.
pub(super) fn find(name: &str) -> Option<Opt> {
    NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, opt)| *opt)
}

/// The name that was probably meant by `typed`, if one is near enough.
pub(super) fn nearest(typed: &str) -> Option<&'static str> {
    // A name that is half wrong is another name.
    let limit = (typed.len() / 2).min(2);
    NAMES
        .iter()
        .map(|(name, _)| (distance(name, typed), *name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many letters must be changed, added or removed to make `b` of `a`, whatever their case;
/// more than enough where one of them is longer than any option.
fn distance(a: &str, b: &str) -> usize {
    type Word = Text<18>;

    let (Some(a), Some(b)) = (Word::new(a), Word::new(b)) else {
        return usize::MAX;
    };
    // Levenshtein, row by row: after `i` letters of `a`, `row` holds the distances from these to
    // the first 1, 2, 3... letters of `b`.
    let mut row: [usize; Word::MAX] = core::array::from_fn(|j| j.saturating_add(1));
    let mut last = b.as_str().len();
    for (i, x) in a.as_str().bytes().enumerate() {
        let mut diagonal = i;
        last = i.saturating_add(1);
        for (cell, y) in row.iter_mut().zip(b.as_str().bytes()) {
            let changed = diagonal.saturating_add(usize::from(!x.eq_ignore_ascii_case(&y)));
            diagonal = *cell;
            last = changed.min(diagonal.min(last).saturating_add(1));
            *cell = last;
        }
    }
    last
}
