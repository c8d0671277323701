// SPDX-License-Identifier: GPL-2.0

//! The names of the options.

use crate::logic::text::Text;

/// An option of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Opt {
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
    Wlat,
    Rlat,
    Slat,
    Bw,
    Rbw,
    Sbw,
    Blk,
    Tap,
    Caps,
    Duplex,
    Duration,
    Qps,
    PostList,
    SignalEvery,
    Inline,
    Sge,
    Imm,
    Untimed,
    Poll,
    Persist,
    Allow,
    MaxMemory,
    Tos,
    TxDepth,
    Threads,
    Timeout,
    Cpu,
    MaxP99,
    MinBw,
    Expect,
    Pattern,
    Tag,
    Store,
    Ro,
    Direct,
    Queues,
    Depth,
    Reconnect,
    RequestTimeout,
    Detach,
    Comm,
    Log,
    Stop,
    Force,
    Neg,
}

impl Opt {
    /// Its name, without aliases.
    pub(crate) fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(_, opt)| *opt == self)
            .map_or("", |(name, _)| name)
    }

    /// Whether it ends a disk.
    pub(crate) const fn is_stop(self) -> bool {
        matches!(self, Self::Stop | Self::Force)
    }
}

/// A set of options.
#[derive(Clone, Copy)]
pub(crate) struct OptSet(u64);

impl OptSet {
    /// No option.
    pub(crate) const EMPTY: Self = Self(0);

    /// Adds an option.
    pub(crate) fn insert(&mut self, opt: Opt) {
        self.0 |= Self::bit(opt);
    }

    /// Whether an option is in it.
    pub(crate) const fn has(self, opt: Opt) -> bool {
        self.0 & Self::bit(opt) != 0
    }

    /// The options in it; each alias is one more.
    pub(crate) fn iter(self) -> impl Iterator<Item = Opt> {
        let all = NAMES.iter().map(|(_, opt)| *opt);
        all.filter(move |opt| self.has(*opt))
    }

    const fn bit(opt: Opt) -> u64 {
        1 << (opt as u8)
    }
}

/// All names; the C krping has `txdepth` in its code, and `tx-depth` in its README.
pub(crate) const NAMES: &[(&str, Opt)] = &[
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
    ("wlat", Opt::Wlat),
    ("rlat", Opt::Rlat),
    ("slat", Opt::Slat),
    ("bw", Opt::Bw),
    ("rbw", Opt::Rbw),
    ("sbw", Opt::Sbw),
    ("blk", Opt::Blk),
    ("tap", Opt::Tap),
    ("caps", Opt::Caps),
    ("duplex", Opt::Duplex),
    ("duration", Opt::Duration),
    ("qps", Opt::Qps),
    ("postlist", Opt::PostList),
    ("signal_every", Opt::SignalEvery),
    ("inline", Opt::Inline),
    ("sge", Opt::Sge),
    ("imm", Opt::Imm),
    ("untimed", Opt::Untimed),
    ("poll", Opt::Poll),
    ("persist", Opt::Persist),
    ("allow", Opt::Allow),
    ("max_memory", Opt::MaxMemory),
    ("tos", Opt::Tos),
    ("txdepth", Opt::TxDepth),
    ("tx-depth", Opt::TxDepth),
    ("threads", Opt::Threads),
    ("timeout", Opt::Timeout),
    ("cpu", Opt::Cpu),
    ("max_p99", Opt::MaxP99),
    ("min_bw", Opt::MinBw),
    ("expect", Opt::Expect),
    ("pattern", Opt::Pattern),
    ("tag", Opt::Tag),
    ("store", Opt::Store),
    ("ro", Opt::Ro),
    ("direct", Opt::Direct),
    ("queues", Opt::Queues),
    ("depth", Opt::Depth),
    ("reconnect", Opt::Reconnect),
    ("request_timeout", Opt::RequestTimeout),
    ("detach", Opt::Detach),
    ("comm", Opt::Comm),
    ("log", Opt::Log),
    ("stop", Opt::Stop),
    ("force", Opt::Force),
    ("neg", Opt::Neg),
];

/// The option called `name`.
pub(crate) fn find(name: &str) -> Option<Opt> {
    NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, opt)| *opt)
}

/// The name that was probably meant by `typed`, if one is near enough.
pub(crate) fn nearest(typed: &str) -> Option<&'static str> {
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
