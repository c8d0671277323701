// SPDX-License-Identifier: GPL-2.0

//! Errors of commands, each with a sentence for the log.

use super::{
    allow,
    cpus,
    PathName, //
};
use crate::logic::{
    conformance::list_families,
    failure::errno,
    measure::sizes,
    spec::{
        limits,
        places::Places,
        test_set::TestSet,
        tests::Test, //
    },
    text::{
        alternatives::Alternatives,
        Escaped, //
    },
    wire::control::Control, //
};
use core::fmt;

/// The kind of error. Each kind has its own errno.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An option is unknown, malformed, missing or in contradiction to another.
    Invalid,
    /// A number is outside the range of its option.
    Range,
}

/// The error with which a command is refused.
///
/// Its `Display` is one sentence that names the option and says what would be valid. Text of the
/// command is escaped and cut short in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParseError<'a> {
    /// The kind.
    pub(crate) kind: Kind,
    /// The option as it was typed, or its usual name; empty where the error is not about one
    /// option.
    pub(crate) option: &'a str,
    pub(crate) reason: Reason<'a>,
}

/// The exact error in [`ParseError::option`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason<'a> {
    EmptyCommand,
    EmptyOption,
    Unprintable,
    Unknown {
        nearest: Option<&'static str>,
        valid: &'static [&'static [&'static str]],
    },
    Needless {
        why: &'static str,
    },
    Spaces,
    Twice,
    TakesNoValue,
    NeedsValue {
        example: &'static str,
    },
    NotNumber {
        value: &'a str,
        suffixes: &'static str,
    },
    OutOfRange {
        value: &'a str,
        min: u64,
        max: u64,
        unit: &'static str,
    },
    NotWhole {
        value: &'a str,
        unit: &'static str,
    },
    NotOneOf {
        value: &'a str,
        valid: &'static [&'static str],
    },
    NotNumbered {
        value: &'a str,
        valid: &'static [&'static str],
        meant: &'static str,
    },
    NotAddress {
        value: &'a str,
    },
    NotDevice {
        value: &'a str,
    },
    NotV4 {
        value: &'a str,
    },
    NotV6 {
        value: &'a str,
    },
    NotInterface {
        value: &'a str,
    },
    NoInterface {
        value: &'a str,
    },
    NotCpus {
        value: &'a str,
    },
    NotNetworks {
        value: &'a str,
    },
    NotGroup {
        value: &'a str,
    },
    NotErrno {
        value: &'a str,
    },
    NotText {
        max: usize,
    },
    NoRole,
    TwoRoles {
        other: &'static str,
    },
    Both {
        other: &'static str,
    },
    NoAddr,
    NoDevice,
    PoolWith {
        other: &'static str,
    },
    UnreliableWith {
        other: &'static str,
    },
    OtherFamily,
    NeedsToo {
        other: &'static str,
    },
    NeedsReg,
    NeedsDma,
    NeedsPath,
    NeedsServer,
    NeedsClient,
    FollowsClient,
    ServesHere,
    WrongTest {
        test: Test,
        valid: TestSet,
    },
    RegWithTest {
        test: Test,
    },
    SgeAboveSize {
        sge: u8,
        size: u32,
    },
    NotSizes {
        value: &'a str,
    },
    SizeOfControl,
    MrsAboveBuffers {
        mrs: u16,
        buffers: u16,
    },
    SizeAbove {
        max: u32,
        what: &'static str,
    },
    RateBelow {
        rate: u32,
        queue_pairs: u64,
    },
    TooManyUnderWay {
        size: u32,
        most: u32,
    },
    SegsAbovePages {
        segs: u8,
        pages: u32,
    },
    NotStore {
        value: &'a str,
    },
    NotDisk {
        value: &'a str,
    },
    NotMultiple {
        bytes: u64,
        unit: u64,
    },
    IsFor {
        valid: Places,
    },
    TapLoopback,
    SizeOfDisk,
    SizeOfNothing,
    OneThread,
    NoStore {
        or_log: bool,
    },
    RamNeedsSize,
    NeedsStop,
    NotWithStop,
    NotWithHelp,
    NotCase {
        value: &'a str,
    },
    CaseTwice {
        value: &'a str,
    },
    NegIsLoopback,
    NotWithNeg,
}

impl fmt::Display for ParseError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let option = Escaped(self.option);

        match &self.reason {
            Reason::EmptyCommand => f.write_str(
                "the command is empty; give client, server or loopback, \
                 as in loopback,addr=192.0.2.1,count=100",
            ),
            Reason::EmptyOption => {
                f.write_str("an option is empty; give options with one comma between them")
            }
            Reason::Unprintable => write!(
                f,
                "option '{option}' holds what is not printable ASCII; use letters, digits and signs"
            ),
            Reason::Unknown {
                nearest: Some(name),
                ..
            } => write!(f, "unknown option '{option}'; did you mean '{name}'?"),
            Reason::Unknown {
                nearest: None,
                valid,
            } => {
                write!(f, "unknown option '{option}'; valid are")?;
                let mut separator = " ";
                for name in valid.iter().copied().flatten() {
                    write!(f, "{separator}{name}")?;
                    separator = ", ";
                }
                Ok(())
            }
            Reason::Needless { why } => write!(f, "unknown option '{option}'; {why}"),
            Reason::Spaces => write!(
                f,
                "'{option}' is more than one option; separate options by commas"
            ),
            Reason::Twice => write!(f, "{option} is given twice; give it once"),
            Reason::TakesNoValue => write!(f, "{option} takes no value; give {option} alone"),
            Reason::NeedsValue { example } => {
                write!(f, "{option} needs a value, as in {option}={example}")
            }
            Reason::NotNumber { value, suffixes } => {
                write!(
                    f,
                    "{option}={}: must be a number, decimal without leading zeros or \
                     hexadecimal after 0x",
                    Escaped(value)
                )?;
                match *suffixes {
                    "" => Ok(()),
                    suffixes => write!(f, ", then {suffixes} at will"),
                }
            }
            Reason::OutOfRange {
                value,
                min,
                max,
                unit,
            } => {
                write!(
                    f,
                    "{option}={}: must be from {min} to {max}{unit}",
                    Escaped(value)
                )
            }
            Reason::NotWhole { value, unit } => write!(
                f,
                "{option}={}: must be a whole number of{unit}",
                Escaped(value)
            ),
            Reason::NotOneOf { value, valid } => {
                let valid = Alternatives(valid.iter());
                write!(f, "{option}={}: must be {valid}", Escaped(value))
            }
            Reason::NotNumbered {
                value,
                valid,
                meant,
            } => {
                let (value, valid) = (Escaped(value), Alternatives(valid.iter()));
                write!(
                    f,
                    "{option}={value}: must be {valid}; did you mean '{meant}={value}'?"
                )
            }
            Reason::NotAddress { value } => write!(
                f,
                "{option}={}: must be an address of this host, such as 192.0.2.1, 2001:db8::1 or \
                 fe80::1%eth0",
                Escaped(value)
            ),
            Reason::NotDevice { value } => write!(
                f,
                "{option}={}: must be the name of an RDMA device, as 'rdma link' shows it without \
                 its port",
                Escaped(value)
            ),
            Reason::NotV4 { value } => write!(
                f,
                "{option}={}: must be an IPv4 address such as 192.0.2.1 (addr6= takes IPv6)",
                Escaped(value)
            ),
            Reason::NotV6 { value } => write!(
                f,
                "{option}={}: must be an IPv6 address such as 2001:db8::1 or fe80::1%eth0",
                Escaped(value)
            ),
            Reason::NotInterface { value } => write!(
                f,
                "{option}={}: must have the name of an interface after %, as in fe80::1%eth0",
                Escaped(value)
            ),
            Reason::NoInterface { value } => write!(
                f,
                "{option}={0}: must say on which interface, as in {0}%eth0",
                Escaped(value)
            ),
            Reason::NotCpus { value } => write!(
                f,
                "{option}={}: must be numbers of CPUs and ranges of them with + between, as in \
                 0-3+6; {} ranges at most, and CPUs from 0 to {}",
                Escaped(value),
                cpus::RANGES,
                cpus::LAST
            ),
            Reason::NotNetworks { value } => write!(
                f,
                "{option}={}: must be addresses and networks with + between, as in \
                 192.0.2.1+2001:db8::/32; {} at most",
                Escaped(value),
                allow::NETWORKS
            ),
            Reason::NotGroup { value } => write!(
                f,
                "{option}={}: must be the address of a multicast group, such as 239.1.2.3 or \
                 ff05::1:3",
                Escaped(value)
            ),
            Reason::NotErrno { value } => {
                let names = errno::NAMES.iter().map(|(_, name)| *name);
                let valid = Alternatives(["ok"].into_iter().chain(names));
                write!(f, "{option}={}: must be {valid}", Escaped(value))
            }
            Reason::NotText { max } => write!(
                f,
                "{option}: must be 1 to {max} characters, and no space first or last"
            ),
            Reason::NotStore { value } => write!(
                f,
                "{option}={}: must be ram or a path that begins with / and has at most {} \
                 characters",
                Escaped(value),
                PathName::MAX
            ),
            Reason::NotDisk { value } => write!(
                f,
                "{option}={}: must be the path of a disk or its name under /dev, of at most {} \
                 characters",
                Escaped(value),
                PathName::MAX
            ),
            Reason::NotMultiple { bytes, unit } => {
                write!(f, "{option}={bytes}: must be a multiple of {unit}")
            }
            Reason::NoRole => f.write_str("no role is given; give one of client, server, loopback"),
            Reason::TwoRoles { other } => write!(
                f,
                "{option} and {other} are both given; give one of client, server, loopback"
            ),
            Reason::Both { other } => {
                write!(f, "{option} and {other} are both given; give one of them")
            }
            Reason::PoolWith { other } => {
                write!(
                    f,
                    "{option}=pool and {other} are both given; give one of them"
                )
            }
            Reason::UnreliableWith { other } => write!(
                f,
                "{option}=uc or ud and {other} are both given; give one of them"
            ),
            Reason::NoAddr => write!(
                f,
                "{option} needs the server's address; give addr=192.0.2.1 or addr6=2001:db8::1"
            ),
            Reason::NoDevice => write!(
                f,
                "{option} needs an address of the device, or one that it leads to; give \
                 addr=192.0.2.1 or addr6=2001:db8::1"
            ),
            Reason::OtherFamily => write!(
                f,
                "{option} must be of the address's family: IPv4 with addr=, and IPv6 with addr6="
            ),
            Reason::NeedsToo { other } => write!(f, "{option} needs {other}; give it, too"),
            Reason::NeedsReg => write!(f, "{option} needs mem_mode=reg; leave mem_mode=dma out"),
            Reason::NeedsDma => write!(
                f,
                "{option} is for mem_mode=dma; with mem_mode=reg each key opens one buffer only"
            ),
            Reason::NeedsPath => write!(f, "{option} is for store=PATH"),
            Reason::NeedsServer => write!(f, "{option} is for a server; give server,{option}"),
            Reason::NeedsClient => write!(f, "{option} is for a client; give client,{option}"),
            Reason::ServesHere => write!(
                f,
                "{option} is for a server or loopback; give it where the clients are served"
            ),
            Reason::FollowsClient => write!(
                f,
                "{option} is for the client or loopback; a server does what its client asks for"
            ),
            Reason::WrongTest { test, valid } => write!(
                f,
                "{option} does not go with {}; it is for {valid}",
                test.in_words()
            ),
            Reason::RegWithTest { test } => write!(
                f,
                "{option}=reg does not go with {}; it is for the ping/pong, fr, rwread and rwwrite",
                test.in_words()
            ),
            Reason::SgeAboveSize { sge, size } => write!(
                f,
                "{option}={sge} does not go with size={size}; each piece needs a byte"
            ),
            Reason::NotSizes { value } => write!(
                f,
                "{option}={}: must be up to {} sizes with + between, each with : and its weight, \
                 as in 64:9+64K:1; the weights are {} together at most",
                Escaped(value),
                sizes::MOST,
                sizes::MOST_WEIGHT
            ),
            Reason::SizeOfControl => write!(
                f,
                "{option}: {} bytes are the length of control messages; choose another size",
                Control::MAX_LEN
            ),
            Reason::MrsAboveBuffers { mrs, buffers } => write!(
                f,
                "{option}={mrs} does not go with buffers={buffers}; each region needs a buffer"
            ),
            Reason::SizeAbove { max, what } => {
                write!(f, "{option} is above {max} bytes, the most {what}")
            }
            Reason::RateBelow { rate, queue_pairs } => write!(
                f,
                "{option}={rate} is less than one operation in {} seconds on each of \
                 {queue_pairs} queue pairs; lower threads or qps",
                limits::MOST_PERIOD_S
            ),
            Reason::TooManyUnderWay { size, most } => write!(
                f,
                "{option} has {most} messages of size={size} under way at most; lower postlist or \
                 signal_every"
            ),
            Reason::SegsAbovePages { segs, pages } => write!(
                f,
                "{option}={segs} is more than the {pages} pages of size= and offset=; each piece \
                 begins a page"
            ),
            Reason::IsFor { valid } => write!(f, "{option} is for {valid}"),
            Reason::TapLoopback => write!(
                f,
                "{option} does not go with loopback; give server,{option} and client,{option}=DISK \
                 in a command each"
            ),
            Reason::SizeOfDisk => write!(
                f,
                "{option} does not go with client,blk; the server says how large the disk is"
            ),
            Reason::SizeOfNothing => {
                write!(f, "{option} needs a store; give store=ram or store=PATH")
            }
            Reason::OneThread => write!(
                f,
                "{option} must be 1 for a disk or tap; give a command for each"
            ),
            Reason::NoStore { or_log: false } => write!(
                f,
                "{option} needs a place for the blocks; give store=ram or store=PATH"
            ),
            Reason::NoStore { or_log: true } => write!(
                f,
                "{option} needs a place for the blocks; give store=ram, store=PATH or log"
            ),
            Reason::RamNeedsSize => {
                write!(f, "{option}=ram needs a size; give size=1G or the like")
            }
            Reason::NeedsStop => write!(
                f,
                "{option} is for the end of a disk or server; give stop=ID,{option}"
            ),
            Reason::NotWithStop => write!(
                f,
                "{option} does not go with stop; give stop=ID, and force where it is in use"
            ),
            Reason::NotWithHelp => {
                write!(
                    f,
                    "{option} does not go with help; give help or help=NAME alone"
                )
            }
            Reason::NotCase { value } => {
                write!(
                    f,
                    "{option}={}: must be all, a case ('krping conform --list' has them), or a \
                     family of them",
                    Escaped(value)
                )?;
                list_families(f)?;
                f.write_str("; or several with + between")
            }
            Reason::CaseTwice { value } => {
                write!(f, "{option} has {} twice; give it once", Escaped(value))
            }
            Reason::NegIsLoopback => write!(
                f,
                "{option} does not go with neg, which has both ends here; give \
                 neg=all,addr=192.0.2.1"
            ),
            Reason::NotWithNeg => write!(f, "{option} does not go with neg"),
        }
    }
}
