// SPDX-License-Identifier: GPL-2.0

//! The messages of disks and taps, and the server's checks of requests.
//!
//! Each [`Request`] has one answer, of the same tag ([`answer`], [`survey`]). One message can carry
//! several responses. All numbers are big-endian. Large data is moved by RDMA, with the key that
//! the request advertises. The data of a small write follows the request in the same message, or is
//! the whole message ([`BareWrite`]). The data of a small read is its answer.
//!
//! A request can be wrong in two ways. If it does not decode, it breaks the protocol, and the
//! result is a [`MessageError`]. If it decodes but the store cannot do it, it is answered with the
//! [`Status`] that [`check`] returns.

pub(crate) mod answer;
pub(crate) mod answer_receipt;
pub(crate) mod backoff;
pub(crate) mod joining;
pub(crate) mod segments;
pub(crate) mod status;
pub(crate) mod survey;

pub(crate) use status::Status;

use super::wire::{
    pack,
    Advertisement,
    Fields, //
};
use core::fmt;

/// The action that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The server writes blocks of the store to the client's memory.
    Read,
    /// The server reads blocks from the client's memory or the message to the store.
    Write,
    /// Earlier writes must survive power loss once this is answered.
    Flush,
    /// The client no longer needs the blocks.
    Discard,
    /// The blocks become zeroes.
    WriteZeroes,
    /// A keepalive.
    Ping,
    /// The client is about to disconnect for good.
    Close,
    /// A tap has seen a read of these blocks: the server leaves the store alone.
    Note,
    /// A keepalive whose answer lists the requests that the server is working on.
    Survey,
}

impl Action {
    /// Returns the name in the log.
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

    /// Returns true where it changes the store.
    const fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Discard | Self::WriteZeroes)
    }

    /// Returns true where it is about particular blocks.
    const fn has_place(self) -> bool {
        !matches!(self, Self::Flush | Self::Ping | Self::Close | Self::Survey)
    }

    /// Returns true where it is about the connection, not the store. Its tag is the one after those
    /// of requests.
    pub(crate) const fn is_control(self) -> bool {
        matches!(self, Self::Ping | Self::Close | Self::Survey)
    }
}

/// A client's request to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The action.
    pub(crate) action: Action,
    /// The change must survive power loss once the request is answered (force unit access).
    pub(crate) fua: bool,
    /// The data of a write follows in the same message; that of a read comes with the answer.
    pub(crate) inline: bool,
    /// The key stays valid: the answer must not invalidate it.
    pub(crate) keep: bool,
    /// Blocks that become zeroes keep their space in the store.
    pub(crate) keep_space: bool,
    /// Identifies the request among those in flight on its connection.
    pub(crate) tag: u16,
    /// The number on this connection, which tells answers to this request from those to others.
    pub(crate) seq: u32,
    /// The place on the disk, in bytes.
    pub(crate) offset: u64,
    /// The client's memory for the data. For every action its size is the request's size, in bytes.
    pub(crate) remote: Advertisement,
}

impl Request {
    /// The number of bytes on the wire, without data.
    pub(crate) const LEN: usize = 32;
    /// The maximum number of bytes of data sent without RDMA.
    pub(crate) const INLINE: u32 = 4096;

    const FUA: u8 = 1 << 0;
    const DATA: u8 = 1 << 1;
    const KEEP: u8 = 1 << 2;
    const KEEP_SPACE: u8 = 1 << 3;

    /// Returns true where a good answer means that data is on stable storage.
    pub(crate) const fn is_durable(&self) -> bool {
        self.fua || matches!(self.action, Action::Flush)
    }

    /// Returns the number of bytes of the disk that it is about.
    pub(crate) fn bytes(&self) -> u32 {
        self.remote.size
    }

    /// Returns the bytes on the wire, which the data of a small write follows.
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

    /// Decodes a message of `len` bytes that begins with `header`.
    ///
    /// # Errors
    ///
    /// A [`MessageError`] where it is no valid request.
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
    /// Returns true where this answer to `request` means that data answered before may be lost: any
    /// error of a flush, and an I/O error of a change that was to be durable. Other errors of such
    /// a change are the request's own fault.
    pub(crate) const fn is_loss_of(self, request: &Request) -> bool {
        match self {
            Self::Ok => false,
            Self::Io => request.is_durable(),
            _ => matches!(request.action, Action::Flush),
        }
    }
}

/// The limits of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The size of the store in bytes.
    pub(crate) size: u64,
    /// The size of a block in bytes, of which the place and size of a request are multiples.
    pub(crate) block: u32,
    /// The maximum number of bytes of a read or write.
    pub(crate) max_bytes: u32,
    /// The maximum number of bytes of a discard or write-zeroes; 0 where neither is supported.
    pub(crate) max_discard: u32,
    /// The store is read-only.
    pub(crate) read_only: bool,
}

/// Checks a request against the limits of the store.
///
/// # Errors
///
/// The status to answer with instead of executing the request.
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

/// The encoding of the immediate data of bare writes. The message of a bare write is
/// [`Request::INLINE`] bytes of data and nothing else, which saves soft-RoCE a packet.
///
/// The low bits hold the tag, as many as the depth that the client announced needs. The other bits
/// hold the place, in units of [`Request::INLINE`]. A write to a place that does not fit is sent as
/// an ordinary request. The number of a bare write is 0, which no other request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BareWrite {
    tag_bits: u32,
}

impl BareWrite {
    /// Creates the encoding for a connection whose tags of requests are below `depth`.
    pub(crate) const fn new(depth: u16) -> Self {
        Self {
            tag_bits: u16::BITS.saturating_sub(depth.saturating_sub(1).leading_zeros()),
        }
    }

    /// Returns the immediate data for a write of `bytes` at `offset`; `None` where the write cannot
    /// be bare.
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

    /// Decodes immediate data that arrived with `bytes` of data.
    ///
    /// # Errors
    ///
    /// [`MessageError::Length`] where `bytes` is not the size of a bare write.
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
            // At most 16 bits remain.
            tag: (immediate & tags) as u16,
            seq: 0,
            offset: u64::from(place).saturating_mul(u64::from(Request::INLINE)),
            remote: Advertisement::nowhere(bytes),
        })
    }
}

/// A message of a disk or tap that breaks the protocol. Reported as `EPROTO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageError {
    /// The length is wrong: (got, expected).
    Length(u32, u32),
    /// The kind of message or the action is unknown.
    Action(u8),
    /// These flags are unknown or do not apply to the action.
    Flags(u8),
    /// The data is too large for a message: (size, maximum).
    Inline(u32, u32),
    /// The request moves data by RDMA but has no key.
    NoKey,
    /// The status is unknown.
    Status(u8),
    /// A reserved or unused field is not 0.
    Reserved,
    /// The message of this tag was not due: the tag is beyond those agreed upon, no request of it
    /// is in flight, or too many are.
    Tag(u16),
    /// The answer did not invalidate the key of its request.
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
