// SPDX-License-Identifier: GPL-2.0

//! The grammar of commands.
//!
//! Options are separated by commas, and each is `NAME` or `NAME=VALUE`. Each may be given once, in
//! any order. White space around the command and around an option is ignored.

use super::{
    addr::{
        Addr,
        V6Error, //
    },
    allow::AllowList,
    cpus::CpuList,
    limits,
    order::Target,
    parse_error::Reason,
    value::{
        invalid,
        Given,
        Result,
        RATE,
        SECONDS,
        SIZE,
        SPACE,
        TIME, //
    },
    Comm,
    Command,
    MemMode,
    Order,
    PatternKind,
    Role,
    StoreName,
    Tag,
    Test, //
};
use crate::logic::{
    conformance::CaseSet,
    failure::errno,
    spec::{
        options::{
            self,
            Opt,
            OptSet, //
        },
        rules::{
            self,
            Late, //
        }, //
    },
    text::is_printable, //
};
use core::ops::DerefMut;

impl<C: DerefMut<Target = Command>> Order<C> {
    /// Reads what was written to `/proc/krping`. A command is made in `place`, as it is large:
    /// whatever is there is overwritten.
    ///
    /// # Errors
    ///
    /// What is wrong with it: the first option that is not read, else the first rule broken.
    pub(crate) fn parse(text: &str, mut place: C) -> Result<'_, Self> {
        let mut parser = Parser::new(&mut place);
        parser.read(text)?;
        if parser.seen.has(Opt::Stop) || parser.seen.has(Opt::Force) {
            return Order::stop(parser.stop, parser.seen);
        }
        rules::settle(parser.command, &parser.late, parser.seen)?;
        Ok(Order::Run(place))
    }
}

/// A command that is being read.
struct Parser<'c, 'a> {
    command: &'c mut Command,
    /// What is to be stopped.
    stop: Option<Target>,
    late: Late<'a>,
    /// The options read so far.
    seen: OptSet,
}

impl<'c, 'a> Parser<'c, 'a> {
    /// Before the first option. The role is known at the end: until then it is a guess that nothing
    /// reads.
    fn new(command: &'c mut Command) -> Self {
        *command = Command::new(Role::Client);
        Self {
            command,
            stop: None,
            late: Late {
                size: None,
                tap: None,
            },
            seen: OptSet::EMPTY,
        }
    }

    /// Reads all options.
    fn read(&mut self, text: &'a str) -> Result<'a, ()> {
        let text = text.strip_suffix('\n').unwrap_or(text).trim_matches(SPACE);
        if text.is_empty() {
            return Err(invalid("", Reason::EmptyCommand));
        }
        let mut rest = Some(text);
        while let Some(text) = rest {
            let (option, others) = match text.split_once(',') {
                Some((option, others)) => (option, Some(others)),
                None => (text, None),
            };
            self.option(option.trim_matches(SPACE))?;
            rest = others;
        }
        Ok(())
    }

    /// Reads one option.
    fn option(&mut self, text: &'a str) -> Result<'a, ()> {
        if text.is_empty() {
            return Err(invalid("", Reason::EmptyOption));
        }
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        if !is_printable(text) {
            return Err(invalid(name, Reason::Unprintable));
        }
        let Some(opt) = options::find(name) else {
            let nearest = options::nearest(name);
            return Err(invalid(name, Reason::Unknown { nearest }));
        };
        if self.seen.has(opt) {
            return Err(invalid(name, Reason::Twice));
        }
        self.seen.insert(opt);
        self.take(opt, Given { name, value })
    }

    /// Takes the value of one option.
    fn take(&mut self, opt: Opt, given: Given<'a>) -> Result<'a, ()> {
        let command = &mut *self.command;
        match opt {
            // Which role it is counts when all options are known.
            Opt::Client | Opt::Server | Opt::Loopback => given.flag()?,
            Opt::Addr => {
                let value = given.value("192.0.2.1")?;
                let addr = Addr::parse_v4(value);
                command.addr = Some(addr.ok_or(given.invalid(Reason::NotV4 { value }))?);
            }
            Opt::Addr6 => {
                let value = given.value("2001:db8::1")?;
                let addr = Addr::parse_v6(value).map_err(|e| {
                    given.invalid(match e {
                        V6Error::Address => Reason::NotV6 { value },
                        V6Error::Interface => Reason::NotInterface { value },
                        V6Error::NoInterface => Reason::NoInterface { value },
                    })
                })?;
                command.addr = Some(addr);
            }
            Opt::Port => command.port = given.number("9999", limits::PORT)?,
            Opt::Count => command.count = given.number("1000", limits::COUNT)?,
            Opt::Size => self.late.size = Some(given),
            Opt::Verbose => command.verbose = given.set()?,
            Opt::Validate => command.validate = given.set()?,
            Opt::MemMode => {
                command.mem_mode = match given.value("reg")? {
                    "dma" => MemMode::Dma,
                    // The C krping's first name for it.
                    "reg" | "fastreg" => MemMode::Reg,
                    value => {
                        let valid = "dma, reg or fastreg";
                        return Err(given.invalid(Reason::NotOneOf { value, valid }));
                    }
                }
            }
            Opt::ServerInv => command.server_inv = given.set()?,
            Opt::ReadInv => command.read_inv = given.set()?,
            Opt::LocalDmaLkey => command.local_dma_lkey = given.set()?,
            Opt::UnsafeGlobalRkey => command.unsafe_global_rkey = given.set()?,
            // That there is one only is seen when all options are known.
            Opt::Fr => command.test = given.mean(Test::FastReg)?,
            Opt::Wlat => command.test = given.mean(Test::WriteLatency)?,
            Opt::Rlat => command.test = given.mean(Test::ReadLatency)?,
            Opt::Slat => command.test = given.mean(Test::SendLatency)?,
            Opt::Bw => command.test = given.mean(Test::WriteBandwidth)?,
            Opt::Rbw => command.test = given.mean(Test::ReadBandwidth)?,
            Opt::Sbw => command.test = given.mean(Test::SendBandwidth)?,
            Opt::Blk => command.test = given.mean(Test::Block)?,
            Opt::Tap => {
                command.test = Test::Tap;
                self.late.tap = Some(given);
            }
            Opt::Caps => command.test = given.mean(Test::Caps)?,
            Opt::Duplex => command.load.duplex = given.set()?,
            Opt::Duration => {
                let seconds = given.scaled("10", limits::DURATION_S, &SECONDS)?;
                command.duration_s = Some(seconds);
            }
            Opt::Qps => command.load.qps = given.number("4", limits::QPS)?,
            Opt::PostList => command.load.postlist = given.number("8", limits::POSTLIST)?,
            Opt::SignalEvery => {
                command.load.signal_every = given.number("16", limits::SIGNAL_EVERY)?;
            }
            Opt::Inline => command.load.inline = given.set()?,
            Opt::Sge => command.load.sge = given.number("2", limits::SGE)?,
            Opt::Imm => command.load.imm = given.set()?,
            Opt::Untimed => command.load.untimed = given.set()?,
            Opt::Poll => command.poll = given.set()?,
            Opt::Persist => command.persist = given.set()?,
            Opt::Allow => {
                let value = given.value("192.0.2.0/24")?;
                let list = AllowList::parse(value);
                command.allow = list.ok_or(given.invalid(Reason::NotNetworks { value }))?;
            }
            Opt::MaxMemory => {
                command.max_memory = Some(given.scaled("1G", limits::MAX_MEMORY, &SIZE)?);
            }
            Opt::Tos => command.tos = Some(given.number("32", limits::TOS)?),
            Opt::TxDepth => command.txdepth = given.number("64", limits::TXDEPTH)?,
            Opt::Threads => command.threads = given.number("4", limits::THREADS)?,
            Opt::Timeout => {
                command.timeout_ms = Some(given.number("10000", limits::TIMEOUT_MS)?);
            }
            Opt::Cpu => {
                let value = given.value("0-3+6")?;
                let list = CpuList::parse(value);
                command.cpus = list.ok_or(given.invalid(Reason::NotCpus { value }))?;
            }
            Opt::MaxP99 => {
                command.max_p99_ns = Some(given.scaled("20us", limits::MAX_P99_NS, &TIME)?);
            }
            Opt::MinBw => command.min_bw = Some(given.scaled("10G", limits::MIN_BW, &RATE)?),
            Opt::Expect => {
                let number = match given.value("ETIMEDOUT")? {
                    "ok" => 0,
                    value => {
                        errno::number(value).ok_or(given.invalid(Reason::NotErrno { value }))?
                    }
                };
                command.expect = Some(number);
            }
            Opt::Pattern => {
                command.pattern = match given.value("binary")? {
                    "text" => PatternKind::Text,
                    "binary" => PatternKind::Binary,
                    value => {
                        let valid = "text or binary";
                        return Err(given.invalid(Reason::NotOneOf { value, valid }));
                    }
                }
            }
            Opt::Tag => {
                let max = Tag::MAX;
                command.tag = given.text("TEXT", |_| Reason::NotText { max })?;
            }
            Opt::Stop => self.stop = Some(Target::parse(given)?),
            Opt::Force => given.flag()?,
            Opt::Store => command.block.store = Some(store(given)?),
            Opt::Ro => command.block.read_only = given.set()?,
            Opt::Direct => command.block.direct = given.set()?,
            Opt::Queues => command.block.queues = given.number("4", limits::QUEUES)?,
            Opt::Depth => command.block.depth = given.number("32", limits::DEPTH)?,
            Opt::Reconnect => {
                command.block.reconnect_s = given.scaled("60", limits::RECONNECT_S, &SECONDS)?;
            }
            Opt::RequestTimeout => {
                command.block.request_timeout_s =
                    given.scaled("60", limits::REQUEST_TIMEOUT_S, &SECONDS)?;
            }
            Opt::Detach => command.detach = given.set()?,
            Opt::Comm => {
                let max = Comm::MAX;
                command.block.comm = Some(given.text("dd", |_| Reason::NotText { max })?);
            }
            Opt::Log => command.block.log = given.set()?,
            Opt::Neg => {
                command.test = Test::Conformance;
                command.cases = CaseSet::parse(given)?;
            }
        }
        Ok(())
    }
}

/// Reads where a server keeps blocks.
fn store(given: Given<'_>) -> Result<'_, StoreName> {
    if given.value == Some("ram") {
        return Ok(StoreName::Ram);
    }
    let not_store = |value| Reason::NotStore { value };
    let path = given.text("ram", not_store)?;
    match given.value {
        Some(value) if !value.starts_with('/') => Err(given.invalid(not_store(value))),
        _ => Ok(StoreName::Path(path)),
    }
}
