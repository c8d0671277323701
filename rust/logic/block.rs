// SPDX-License-Identifier: GPL-2.0

//! The messages of disks and taps, and what a server checks of them.
//!
//! A [`Request`] is answered by one response of the same tag (`block_answer`); one message can have
//! several. All numbers are big-endian. The data of a request goes by RDMA, at the key that the
//! request advertises, where it is not small. That of a small write follows the request in the same
//! message, or is all of the message ([`BareWrite`]); that of a small read is its answer.
//!
//! A request can be wrong in two ways. One that does not decode is a [`MessageError`], and breaks
//! the protocol; one that decodes and asks for what the store does not have is answered with a
//! [`Status`], as [`check`] says.

pub(crate) mod answer;
pub(crate) mod backoff;
pub(crate) mod joining;
pub(crate) mod segments;
pub(crate) mod status;
pub(crate) mod survey;
pub(crate) mod telling;

pub(crate) use status::Status;

use super::wire::{
    pack,
    Advertisement,
    Fields, //
};
use core::fmt;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The server writes blocks of the store to the client's memory.
    Read,
    /// The server reads blocks from the client's memory or the message to the store.
    Write,
    /// What was written before outlasts a loss of power.
    Flush,
    /// The blocks are not needed any more.
    Discard,
    /// The blocks become zeroes.
    WriteZeroes,
    /// A sign of life.
    Ping,
    /// The client is about to leave for good.
    Close,
    /// A tap has seen a read of these blocks: nothing is to be done.
    Note,
    /// A keepalive whose answer lists the requests that the server works on.
    Survey,
}

impl Action {
    /// Its name in the log.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Discard => "discard",
            Self::WriteZeroes => "write-zeroes",
            Self::Ping => "ping",
            Self::Close => "close",
            Self::Note => "note",
            Self::Survey => "survey",
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::Read => 1,
            Self::Write => 2,
            Self::Flush => 3,
            Self::Discard => 4,
            Self::WriteZeroes => 5,
            Self::Ping => 6,
            Self::Close => 7,
            Self::Note => 8,
            Self::Survey => 9,
        }
    }

    const fn of_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Read,
            2 => Self::Write,
            3 => Self::Flush,
            4 => Self::Discard,
            5 => Self::WriteZeroes,
            6 => Self::Ping,
            7 => Self::Close,
            8 => Self::Note,
            9 => Self::Survey,
            _ => return None,
        })
    }

    /// Whether it changes the store.
    const fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Discard | Self::WriteZeroes)
    }

    /// Whether it is about certain blocks.
    const fn has_place(self) -> bool {
        !matches!(self, Self::Flush | Self::Ping | Self::Close | Self::Survey)
    }

    /// Whether it is about the connection, and so has the tag beyond those of requests.
    pub(crate) const fn is_control(self) -> bool {
        matches!(self, Self::Ping | Self::Close | Self::Survey)
    }
}

/// What a client asks of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// What to do.
    pub(crate) action: Action,
    /// What this changes outlasts a loss of power once it is answered.
    pub(crate) fua: bool,
    /// The data of a write follows in the same message; that of a read comes with the answer.
    pub(crate) inline: bool,
    /// The key stays valid: the answer shall not invalidate it.
    pub(crate) keep: bool,
    /// Blocks that become zeroes keep the space that they take.
    pub(crate) keep_space: bool,
    /// Which of the client's requests under way this is.
    pub(crate) tag: u16,
    /// Its number on this connection, which tells answers to it from those to others.
    pub(crate) seq: u32,
    /// Where on the disk, in bytes.
    pub(crate) offset: u64,
    /// Where the data is, or is to go; its size is that of the request, in bytes, for every action.
    pub(crate) remote: Advertisement,
}

impl Request {
    /// Bytes on the wire, without data.
    pub(crate) const LEN: usize = 32;
    /// The most bytes of data that go without RDMA.
    pub(crate) const INLINE: u32 = 4096;

    const FUA: u8 = 1 << 0;
    const DATA: u8 = 1 << 1;
    const KEEP: u8 = 1 << 2;
    const KEEP_SPACE: u8 = 1 << 3;

    /// Whether its answer says that something is on stable storage.
    pub(crate) const fn is_durable(&self) -> bool {
        self.fua || matches!(self.action, Action::Flush)
    }

    /// How many bytes of the disk it is about.
    pub(crate) fn bytes(&self) -> u32 {
        self.remote.size
    }

    /// As it is sent; data follows.
    pub(crate) fn encode(&self) -> [u8; Self::LEN] {
        let fua = if self.fua { Self::FUA } else { 0 };
        let inline = if self.inline { Self::DATA } else { 0 };
        let keep = if self.keep { Self::KEEP } else { 0 };
        let keep_space = if self.keep_space { Self::KEEP_SPACE } else { 0 };
        pack(
            [self.action.number(), fua | inline | keep | keep_space]
                .into_iter()
                .chain(self.tag.to_be_bytes())
                .chain(self.seq.to_be_bytes())
                .chain(self.offset.to_be_bytes())
                .chain(self.remote.encode()),
        )
    }

    /// What a message of `len` bytes says that begins with `header`.
    ///
    /// # Errors
    ///
    /// A [`MessageError`], where it is no request.
    pub(crate) fn decode(header: &[u8; Self::LEN], len: u32) -> Result<Self, MessageError> {
        const LEN: u32 = Request::LEN as u32;

        if len < LEN {
            return Err(MessageError::Length(len, LEN));
        }
        let mut fields = Fields(header);
        let [action, flags] = fields.take();
        let request = Self {
            action: Action::of_number(action).ok_or(MessageError::Action(action))?,
            fua: flags & Self::FUA != 0,
            inline: flags & Self::DATA != 0,
            keep: flags & Self::KEEP != 0,
            keep_space: flags & Self::KEEP_SPACE != 0,
            tag: u16::from_be_bytes(fields.take()),
            seq: u32::from_be_bytes(fields.take()),
            offset: u64::from_be_bytes(fields.take()),
            remote: Advertisement::decode(&fields.take()),
        };
        let known = match request.action {
            Action::Write if flags & Self::DATA != 0 => Self::FUA | Self::DATA,
            Action::Write => Self::FUA | Self::KEEP,
            Action::Read if flags & Self::DATA != 0 => Self::DATA,
            Action::Read => Self::KEEP,
            Action::WriteZeroes => Self::FUA | Self::KEEP_SPACE,
            action if action.changes() => Self::FUA,
            _ => 0,
        };
        if flags & !known != 0 {
            return Err(MessageError::Flags(flags & !known));
        }
        if request.inline && request.bytes() > Self::INLINE {
            return Err(MessageError::Inline(request.bytes(), Self::INLINE));
        }
        let follows = request.inline && request.action == Action::Write;
        let whole = LEN.saturating_add(if follows { request.bytes() } else { 0 });
        if len != whole {
            return Err(MessageError::Length(len, whole));
        }
        let Advertisement { addr, rkey, size } = request.remote;
        let moves = matches!(request.action, Action::Read | Action::Write) && !request.inline;
        if moves && rkey == 0 {
            return Err(MessageError::NoKey);
        }
        let is_placed = request.offset != 0 || size != 0;
        if (!moves && (addr != 0 || rkey != 0)) || (!request.action.has_place() && is_placed) {
            return Err(MessageError::Reserved);
        }
        Ok(request)
    }
}

impl Status {
    /// Whether this answer to `request` says that something may be lost that was answered before:
    /// that of a flush, whatever is wrong, and of a change that was to be durable, where it is not
    /// its own fault.
    pub(crate) const fn is_loss_of(self, request: &Request) -> bool {
        match self {
            Self::Ok => false,
            Self::Io => request.is_durable(),
            _ => matches!(request.action, Action::Flush),
        }
    }
}

/// What a store takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Bytes that it has.
    pub(crate) size: u64,
    /// Bytes of a block: what requests are multiples of.
    pub(crate) block: u32,
    /// The most bytes of a read or write.
    pub(crate) max_bytes: u32,
    /// The most bytes of a discard or write-zeroes; 0 where there is neither.
    pub(crate) max_discard: u32,
    /// It is not to be changed.
    pub(crate) read_only: bool,
}

/// Checks what a request asks for against what the store takes.
///
/// # Errors
///
/// The status to answer with, in place of doing it.
pub(crate) fn check(request: &Request, limits: &Limits) -> Result<(), Status> {
    let most = match request.action {
        Action::Flush | Action::Note => return Ok(()),
        Action::Ping | Action::Close | Action::Survey => return Ok(()),
        action if action.changes() && limits.read_only => return Err(Status::ReadOnly),
        Action::Read | Action::Write => limits.max_bytes,
        Action::Discard | Action::WriteZeroes if limits.max_discard == 0 => {
            return Err(Status::Unsupported);
        }
        Action::Discard | Action::WriteZeroes => limits.max_discard,
    };
    let (offset, bytes) = (request.offset, request.bytes());
    let in_blocks = |bytes: u64| bytes.checked_rem(limits.block.into()) == Some(0);
    if bytes == 0 || bytes > most || !in_blocks(bytes.into()) || !in_blocks(offset) {
        return Err(Status::Invalid);
    }
    match offset.checked_add(bytes.into()) {
        Some(end) if end <= limits.size => Ok(()),
        _ => Err(Status::OutOfRange),
    }
}

/// How the immediate of a bare write says what it is: a write whose message is [`Request::INLINE`]
/// bytes of data and nothing else, which saves soft-RoCE a packet.
///
/// The tag takes as many bits as the depth that the client announced needs, and the rest is the
/// place, in units of that size. What lies beyond is written by ordinary requests. Its number is 0,
/// which no other request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BareWrite {
    tag_bits: u32,
}

impl BareWrite {
    /// On a connection whose tags are below `depth`.
    pub(crate) const fn new(depth: u16) -> Self {
        Self {
            tag_bits: u16::BITS.saturating_sub(depth.saturating_sub(1).leading_zeros()),
        }
    }

    /// The immediate for a write of `bytes` at `offset`; `None` where it cannot be bare.
    pub(crate) fn encode(self, tag: u16, offset: u64, bytes: u32) -> Option<u32> {
        let size = u64::from(Request::INLINE);
        if bytes != Request::INLINE || offset.checked_rem(size) != Some(0) {
            return None;
        }
        let place = u32::try_from(offset.checked_div(size)?).ok()?;
        let shifted = place.checked_shl(self.tag_bits)?;
        let tag = u32::from(tag);
        let fits = shifted.checked_shr(self.tag_bits) == Some(place)
            && tag.checked_shr(self.tag_bits).unwrap_or(0) == 0;
        fits.then_some(shifted | tag)
    }

    /// The write that an immediate stands for, which came with `bytes` of data.
    ///
    /// # Errors
    ///
    /// [`MessageError::Length`] where that is not the size of one.
    pub(crate) fn decode(self, immediate: u32, bytes: u32) -> Result<Request, MessageError> {
        if bytes != Request::INLINE {
            return Err(MessageError::Length(bytes, Request::INLINE));
        }
        let place = immediate.checked_shr(self.tag_bits).unwrap_or(0);
        let tags = 1u32.checked_shl(self.tag_bits).unwrap_or(0).wrapping_sub(1);
        Ok(Request {
            action: Action::Write,
            fua: false,
            inline: true,
            keep: false,
            keep_space: false,
            // No more than 16 bits are left.
            tag: (immediate & tags) as u16,
            seq: 0,
            offset: u64::from(place).saturating_mul(u64::from(Request::INLINE)),
            remote: Advertisement::nowhere(bytes),
        })
    }
}

/// Why a message of a disk or tap makes no sense. Reported as `EPROTO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageError {
    /// It has another length than it should: (got, should).
    Length(u32, u32),
    /// It is of no known kind.
    Action(u8),
    /// These flags mean nothing there.
    Flags(u8),
    /// More data than a message takes: (got, takes).
    Inline(u32, u32),
    /// There is no memory for its data.
    NoKey,
    /// No such status.
    Status(u8),
    /// What must be zero is not.
    Reserved,
    /// The tag is none of those agreed upon, or of no request that is under way.
    Tag(u16),
    /// The answer has not invalidated the key of what was asked.
    NotInvalidated,
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Length(got, should) => {
                write!(f, "sent a message of {got} bytes instead of {should}")
            }
            Self::Action(kind) => write!(f, "sent a message of an unknown kind ({kind})"),
            Self::Flags(flags) => {
                write!(
                    f,
                    "sent a request with flags that mean nothing ({flags:#x})"
                )
            }
            Self::Inline(bytes, most) => write!(
                f,
                "sent a request for {bytes} bytes of data in a message, which takes {most}"
            ),
            Self::NoKey => f.write_str("sent a request without a key for its data"),
            Self::Status(status) => write!(f, "sent a status that does not exist ({status})"),
            Self::Reserved => f.write_str("sent a message with reserved bytes that are not zero"),
            Self::Tag(tag) => write!(f, "sent a message of tag {tag}, which is out of turn"),
            Self::NotInvalidated => {
                f.write_str("sent an answer that has not invalidated the key of what it answers")
            }
        }
    }
}
