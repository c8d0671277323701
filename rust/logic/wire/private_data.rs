// SPDX-License-Identifier: GPL-2.0

//! The private data that both sides of a test exchange while they connect.

use super::{
    pack,
    Fields, //
};
use crate::logic::{
    data::pattern::PatternKind,
    spec::{
        limits,
        load::Load,
        mem_mode::MemMode,
        options::Opt,
        service::Service,
        tests::Test, //
    }, //
};
use core::fmt;

/// The sender of [`PrivateData`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerRole {
    /// The side that connects.
    Client,
    /// The side that accepts.
    Server,
}

impl PeerRole {
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Client => 1,
            Self::Server => 2,
        }
    }

    pub(crate) const fn of_number(number: u8) -> Result<Self, PrivateDataError> {
        match number {
            1 => Ok(Self::Client),
            2 => Ok(Self::Server),
            _ => Err(PrivateDataError::Role(number)),
        }
    }
}

/// The private data that one side of ours sends the other while they connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PrivateData {
    /// The sender.
    pub(crate) role: PeerRole,
    /// The test.
    pub(crate) test: Test,
    /// The memory mode of the client's buffers.
    pub(crate) mem_mode: MemMode,
    /// True where the server is to invalidate the client's key.
    pub(crate) server_inv: bool,
    /// True where the server invalidates its key with its READ.
    pub(crate) read_inv: bool,
    /// True where the data that arrives is compared with what was sent.
    pub(crate) validate: bool,
    /// The pattern of the data.
    pub(crate) pattern: PatternKind,
    /// Bytes of data in each iteration; not 0.
    pub(crate) size: u32,
    /// The number of iterations; 0 is until stopped.
    pub(crate) count: u64,
    /// The seed of the binary pattern.
    pub(crate) seed: u32,
    /// The largest size that the sender can serve.
    pub(crate) max_size: u32,
    /// The number of the multicast group that the client sends to. Where there is one, the wire has
    /// it in place of the largest size.
    pub(crate) group: Option<u32>,
    /// The load of a test that [has one](Test::has_load); of another test [`Load::new`], but that a
    /// ping/pong can be [paced](Load::paced).
    pub(crate) load: Load,
    /// The number of this queue pair among the client's, from 0. Like all that follows, 0 on the
    /// wire where the test has no load.
    pub(crate) index: u16,
    /// The number of the sender's unreliable queue pair; 0 where the load has none.
    pub(crate) data_queue_pair: u32,
    /// Depth of the client's send queue.
    pub(crate) txdepth: u32,
    /// The time after which the client stops, in milliseconds; 0 is never.
    pub(crate) duration_ms: u32,
    /// The keepalive interval: the longest that the sender is silent, in milliseconds. A ping/pong
    /// has it where it is paced.
    pub(crate) alive_ms: u32,
}

impl PrivateData {
    /// Bytes on the wire: what every transport has room for.
    pub(crate) const LEN: usize = 56;
    /// The version of this layout.
    pub(crate) const VERSION: u8 = 1;

    pub(crate) const MAGIC: [u8; 4] = *b"krpg";
    /// Bytes that only a test with a load uses.
    const LOAD: usize = 24;
    /// The first of these, which are zero where a test has no load but is paced.
    const PACE: usize = 20;

    const FLAGS: u32 = Opt::ServerInv.spec().bit
        | Opt::ReadInv.spec().bit
        | Opt::Validate.spec().bit
        | Opt::Pattern.spec().bit;
    const LOAD_FLAGS: u32 = Opt::Duplex.spec().bit
        | Opt::Imm.spec().bit
        | Opt::Inline.spec().bit
        | Opt::Untimed.spec().bit
        | Opt::SigAll.spec().bit
        | Opt::Solicited.spec().bit
        | Opt::Mcast.spec().bit
        | Opt::Rate.spec().bit
        | Opt::Sizes.spec().bit
        | Self::FULL
        | Self::SERVICE;
    /// The flag of `validate=full`, beside that of `validate`.
    const FULL: u32 = 1 << 8;
    /// The flags of the services that are not reliable.
    const UC: u32 = 1 << 10;
    const UD: u32 = 1 << 11;
    const SERVICE: u32 = Self::UC | Self::UD;
    const RW_FLAGS: u32 = Opt::BioVec.spec().bit | Opt::Rate.spec().bit;

    /// Returns the number of a test; 0, which no test has, where nobody is told of it.
    pub(crate) fn number(test: Test) -> u8 {
        test.spec().number.unwrap_or(0)
    }

    /// Returns the test that has a number.
    ///
    /// # Errors
    ///
    /// [`PrivateDataError::Test`] where none has.
    pub(crate) fn test(number: u8) -> Result<Test, PrivateDataError> {
        Test::numbered(number).ok_or(PrivateDataError::Test(number))
    }

    /// Returns the bytes on the wire.
    pub(crate) fn encode(&self) -> [u8; Self::LEN] {
        let (role, test) = (self.role.number(), Self::number(self.test));
        let mem_mode = match self.mem_mode {
            MemMode::Dma => 1,
            MemMode::Reg => 2,
        };
        let (load_flags, load) = self.encode_load();
        let flags = load_flags
            | flag(self.server_inv, Opt::ServerInv)
            | flag(self.read_inv, Opt::ReadInv)
            | flag(self.validate, Opt::Validate)
            | flag(self.pattern == PatternKind::Binary, Opt::Pattern)
            | flag(self.group.is_some(), Opt::Mcast);
        let group = self.group.unwrap_or(self.max_size);
        pack(
            Self::MAGIC
                .into_iter()
                .chain([Self::VERSION, role, test, mem_mode])
                .chain(flags.to_be_bytes())
                .chain(self.size.to_be_bytes())
                .chain(self.count.to_be_bytes())
                .chain(self.seed.to_be_bytes())
                .chain(group.to_be_bytes())
                .chain(load),
        )
    }

    /// Returns what only a test with a load has: its flags, and the end of the message.
    fn encode_load(&self) -> (u32, [u8; Self::LOAD]) {
        let load = &self.load;
        if !self.test.has_load() {
            let is_paced = load.paced && self.test == Test::PingPong;
            let alive_ms = if is_paced { self.alive_ms } else { 0 };
            let fields = pack([0; Self::PACE].into_iter().chain(alive_ms.to_be_bytes()));
            return (flag(is_paced, Opt::Rate), fields);
        }
        let flags = flag(load.duplex, Opt::Duplex)
            | flag(load.imm, Opt::Imm)
            | flag(load.inline, Opt::Inline)
            | flag(load.untimed, Opt::Untimed)
            | flag(load.sig_all, Opt::SigAll)
            | flag(load.solicited, Opt::Solicited)
            | flag(load.paced, Opt::Rate)
            | flag(load.biovec, Opt::BioVec)
            | flag(load.mixed, Opt::Sizes)
            | if load.full { Self::FULL } else { 0 }
            | match load.service {
                Service::Rc => 0,
                Service::Uc => Self::UC,
                Service::Ud => Self::UD,
            };
        let own = if self.test.is_rw() {
            let [high, low] = load.offset.to_be_bytes();
            [load.segs, high, low]
        } else {
            // Buffers are of a reliable queue pair.
            let number = match load.service.is_unreliable() {
                true => self.data_queue_pair,
                false => encode_buffers(load),
            };
            let [_, number @ ..] = number.to_be_bytes();
            number
        };
        let fields = pack(
            load.qps
                .to_be_bytes()
                .into_iter()
                .chain(self.index.to_be_bytes())
                .chain(self.txdepth.to_be_bytes())
                .chain(load.postlist.to_be_bytes())
                .chain(load.signal_every.to_be_bytes())
                .chain([load.sge])
                .chain(own)
                .chain(self.duration_ms.to_be_bytes())
                .chain(self.alive_ms.to_be_bytes()),
        );
        (flags, fields)
    }

    /// Returns the bytes of private data that is of ours and of this version; `None` from a legacy
    /// peer.
    pub(crate) fn whole(bytes: &[u8]) -> Result<Option<&[u8; Self::LEN]>, PrivateDataError> {
        let Some(rest) = bytes.strip_prefix(&Self::MAGIC) else {
            return Ok(None);
        };
        // Another version may have another length, and that it is another is what counts.
        match rest.first() {
            Some(&Self::VERSION) => (),
            Some(&version) => return Err(PrivateDataError::Version(version)),
            None => return Err(PrivateDataError::Truncated(bytes.len())),
        }
        match bytes.first_chunk() {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(PrivateDataError::Truncated(bytes.len())),
        }
    }

    /// Decodes a peer's private data; `None` from a legacy peer.
    ///
    /// Bytes after [`LEN`](Self::LEN) are ignored: transports pad to a length of their own.
    ///
    /// # Errors
    ///
    /// What is wrong with it, or [`PrivateDataError::OtherTest`] for a disk's or tap's, which has
    /// another layout.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Option<Self>, PrivateDataError> {
        let Some(bytes) = Self::whole(bytes)? else {
            return Ok(None);
        };
        let mut fields = Fields(bytes);
        let [_, _, _, _, _, role, test, mem_mode] = fields.take();
        let flags = u32::from_be_bytes(fields.take());
        let mut data = Self {
            role: PeerRole::of_number(role)?,
            test: match Self::test(test)? {
                test if test.has_own_hello() => return Err(PrivateDataError::OtherTest(test)),
                test => test,
            },
            mem_mode: match mem_mode {
                1 => MemMode::Dma,
                2 => MemMode::Reg,
                _ => return Err(PrivateDataError::MemMode(mem_mode)),
            },
            server_inv: is_set(flags, Opt::ServerInv),
            read_inv: is_set(flags, Opt::ReadInv),
            validate: is_set(flags, Opt::Validate),
            pattern: match is_set(flags, Opt::Pattern) {
                false => PatternKind::Text,
                true => PatternKind::Binary,
            },
            size: u32::from_be_bytes(fields.take()),
            count: u64::from_be_bytes(fields.take()),
            seed: u32::from_be_bytes(fields.take()),
            max_size: u32::from_be_bytes(fields.take()),
            group: None,
            load: Load::new(Test::PingPong),
            index: 0,
            data_queue_pair: 0,
            txdepth: 0,
            duration_ms: 0,
            alive_ms: 0,
        };
        let known = match (data.test.is_microbench(), data.test.is_rw()) {
            (true, _) => Self::FLAGS | Self::LOAD_FLAGS,
            (_, true) => Self::FLAGS | Self::RW_FLAGS,
            _ if data.test == Test::PingPong => Self::FLAGS | Opt::Rate.spec().bit,
            (false, false) => Self::FLAGS,
        };
        if flags & !known != 0 {
            return Err(PrivateDataError::Flags(flags & !known));
        }
        if data.size == 0 {
            return Err(PrivateDataError::Size);
        }
        if is_set(flags, Opt::Mcast) {
            data.group = Some(data.max_size);
            data.max_size = data.size;
        }
        let load = fields.take();
        if data.test.has_load() {
            data.decode_load(flags, &load)?;
        } else {
            data.decode_pace(flags, &load)?;
        }
        Ok(Some(data))
    }

    /// Reads what a ping/pong has that is paced, and no other test.
    fn decode_pace(
        &mut self,
        flags: u32,
        bytes: &[u8; Self::LOAD],
    ) -> Result<(), PrivateDataError> {
        let mut fields = Fields(bytes);
        let zeroes: [u8; Self::PACE] = fields.take();
        self.alive_ms = u32::from_be_bytes(fields.take());
        self.load.paced = is_set(flags, Opt::Rate);
        match (zeroes == [0; Self::PACE], self.load.paced, self.alive_ms) {
            (false, _, _) | (true, false, 1..) => Err(PrivateDataError::Reserved),
            (true, false, 0) => Ok(()),
            (true, true, ms) if limits::ALIVE_MS.contains(&ms.into()) => Ok(()),
            (true, true, _) => Err(PrivateDataError::Load),
        }
    }

    /// Reads what only a test with a load has.
    fn decode_load(
        &mut self,
        flags: u32,
        bytes: &[u8; Self::LOAD],
    ) -> Result<(), PrivateDataError> {
        let mut fields = Fields(bytes);
        let qps = u16::from_be_bytes(fields.take());
        self.index = u16::from_be_bytes(fields.take());
        self.txdepth = u32::from_be_bytes(fields.take());
        let postlist = u16::from_be_bytes(fields.take());
        let signal_every = u16::from_be_bytes(fields.take());
        let [sge, own @ ..]: [u8; 4] = fields.take();
        self.duration_ms = u32::from_be_bytes(fields.take());
        self.alive_ms = u32::from_be_bytes(fields.take());
        let is_rw = self.test.is_rw();
        let [first, second, third] = own;
        let (segs, offset) = match is_rw {
            true => (first, u16::from_be_bytes([second, third])),
            false => (1, 0),
        };
        let service = match flags & Self::SERVICE {
            0 => Service::Rc,
            Self::UC => Service::Uc,
            Self::UD => Service::Ud,
            _ => return Err(PrivateDataError::Flags(Self::SERVICE)),
        };
        let own = u32::from_be_bytes([0, first, second, third]);
        let (buffers, mrs) = match !is_rw && !service.is_unreliable() {
            true => decode_buffers(own),
            false => (1, 1),
        };
        if service.is_unreliable() {
            self.data_queue_pair = own;
        }
        self.load = Load {
            service,
            duplex: is_set(flags, Opt::Duplex),
            imm: is_set(flags, Opt::Imm),
            inline: is_set(flags, Opt::Inline),
            untimed: is_set(flags, Opt::Untimed),
            solicited: is_set(flags, Opt::Solicited),
            full: flags & Self::FULL != 0,
            sig_all: is_set(flags, Opt::SigAll),
            paced: is_set(flags, Opt::Rate),
            qps,
            postlist,
            signal_every,
            sge,
            mixed: is_set(flags, Opt::Sizes),
            buffers,
            mrs,
            segs,
            offset,
            biovec: is_set(flags, Opt::BioVec),
        };
        let in_range = limits::QPS.contains(&qps.into())
            && self.index < qps
            && limits::TXDEPTH.contains(&self.txdepth.into())
            && limits::POSTLIST.contains(&postlist.into())
            && limits::SIGNAL_EVERY.contains(&signal_every.into())
            && limits::SGE.contains(&sge.into())
            && mrs <= buffers
            && limits::SEGS.contains(&segs.into())
            && limits::OFFSET.contains(&offset.into())
            && limits::ALIVE_MS.contains(&self.alive_ms.into())
            // Those below are the special ones, of management.
            && (!service.is_unreliable() || self.data_queue_pair >= 2);
        if in_range {
            Ok(())
        } else {
            Err(PrivateDataError::Load)
        }
    }
}

/// Bits of the number of buffers, and of that of regions, on the wire: one less than there are.
const BUFFER_BITS: u32 = (limits::MOST_BUFFERS - 1).count_ones();

/// Returns the numbers of buffers and regions as one number; 0 where there is one of each.
fn encode_buffers(load: &Load) -> u32 {
    let less = |number: u16| u32::from(number.saturating_sub(1));
    less(load.buffers) << BUFFER_BITS | less(load.mrs)
}

/// Returns the numbers of buffers and regions.
fn decode_buffers(number: u32) -> (u16, u16) {
    let more = |number: u32| (number & u32::from(limits::MOST_BUFFERS - 1)) as u16 + 1;
    (more(number >> BUFFER_BITS), more(number))
}

/// Returns the flag of an option, where it is set.
const fn flag(set: bool, opt: Opt) -> u32 {
    if set {
        opt.spec().bit
    } else {
        0
    }
}

/// Returns true where the flag of an option is set.
const fn is_set(flags: u32, opt: Opt) -> bool {
    flags & opt.spec().bit != 0
}

/// The reason why private data does not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PrivateDataError {
    /// It ends after so many bytes.
    Truncated(usize),
    /// It is of another version.
    Version(u8),
    /// No such role.
    Role(u8),
    /// No such test.
    Test(u8),
    /// No such memory mode.
    MemMode(u8),
    /// These flags mean nothing.
    Flags(u32),
    /// The size is 0.
    Size,
    /// A field of a load is out of its range.
    Load,
    /// Bytes that must be zero are not.
    Reserved,
    /// It is not marked as ours, where it must be.
    Missing,
    /// It is that of the other side.
    Side,
    /// It is of a test whose private data has another layout.
    OtherTest(Test),
    /// This field of a disk's or tap's is out of its range.
    Range(&'static str),
}

impl fmt::Display for PrivateDataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the peer's private data ")?;
        match self {
            Self::Truncated(len) => {
                write!(f, "ends after {len} of {} bytes", PrivateData::LEN)
            }
            Self::Version(version) => write!(
                f,
                "is of version {version}, and this side speaks version {}",
                PrivateData::VERSION
            ),
            Self::Role(role) => write!(f, "names a role that does not exist ({role})"),
            Self::Test(test) => write!(f, "names a test that does not exist ({test})"),
            Self::MemMode(mode) => write!(f, "names a memory mode that does not exist ({mode})"),
            Self::Flags(flags) => write!(f, "has flags that do not exist ({flags:#x})"),
            Self::Size => f.write_str("asks for 0 bytes of data"),
            Self::Load => f.write_str("asks for a load that is out of range"),
            Self::Reserved => f.write_str("has reserved bytes that are not zero"),
            Self::Missing => f.write_str("is missing, or not that of a krping"),
            Self::Side => f.write_str("announces the wrong side"),
            Self::OtherTest(test) => write!(f, "is of another test ({})", test.as_str()),
            Self::Range(field) => write!(f, "has a number out of range ({field})"),
        }
    }
}
