// SPDX-License-Identifier: GPL-2.0

//! The steps of a conformance test as data: what is prepared, the request under test, and what
//! memory must hold in the end.
//!
//! `steps` of the workload does them.

/// Number of bytes that are opened to the peer, and size of a message.
pub(crate) const SIZE: u32 = 128;

/// Number of bytes in front of a region that is [wanted](super::row::Wants) to begin behind the
/// start of its buffer. It has [`SIZE`] bytes less that.
pub(crate) const FRONT: u32 = 64;

/// A buffer of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Memory that is opened to the peer, and the guard behind it.
    Exposed,
    /// Memory that requests take their data from, and that READs write to.
    Own,
    /// Memory that messages arrive in.
    Inbox,
}

/// The operations that the key of a region, or a queue pair, permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rights {
    /// Only this side reads and writes.
    Local,
    /// A peer's READ.
    Read,
    /// A peer's WRITE.
    Write,
    /// A peer's READ and WRITE.
    Both,
    /// A peer's atomic operations.
    Atomic,
}

/// A region of the requester or the responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Region {
    /// The one over [`Place::Own`].
    Own,
    /// Another one over [`Place::Own`], of another protection domain than the queue pair.
    OtherDomain,
}

/// The key by which a request or a receive names local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalKey {
    /// The local DMA lkey.
    Dma,
    /// The key of the region over [`Place::Own`].
    Region,
    /// The same with another value in the part that its owner chooses.
    Other,
}

/// Local memory of a request or a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Local {
    /// The buffer.
    pub(crate) place: Place,
    /// Offset in bytes in it.
    pub(crate) offset: u32,
    /// Number of bytes.
    pub(crate) len: u32,
    /// The key.
    pub(crate) key: LocalKey,
}

/// The key by which a request names the peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemoteKey {
    /// The one of the advertisement.
    Given,
    /// The same with another value in the part that its owner chooses.
    Other,
}

/// The address by which a request names the peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// So many bytes behind the start of the region, or in front of it.
    Start(i64),
    /// So many bytes in front of the end of all addresses.
    Top(u64),
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// SEND.
    Send,
    /// SEND with immediate data.
    SendImmediate,
    /// SEND with invalidation of the key of the request.
    SendInvalidate,
    /// WRITE.
    Write,
    /// WRITE with immediate data.
    WriteImmediate,
    /// READ.
    Read,
    /// Atomic fetch-and-add of 1.
    FetchAdd,
    /// Atomic compare-and-swap of what is there by its inverse.
    CompareSwap,
    /// Atomic compare-and-swap of what is not there.
    CompareOther,
    /// Atomic compare-and-swap with masks.
    MaskedSwap,
    /// REG_MR for these operations, whatever state the region is in.
    Register(Region, Rights),
    /// LOCAL_INV, whatever state the region is in.
    Invalidate(Region),
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// The operation.
    pub(crate) op: Op,
    /// The local memory.
    pub(crate) local: Local,
    /// The key of the peer's memory.
    pub(crate) key: RemoteKey,
    /// The address of the peer's memory.
    pub(crate) at: At,
    /// It asks for a completion where it succeeds.
    pub(crate) signaled: bool,
}

impl Request {
    /// Makes a request with `len` bytes of [`Place::Own`] and the memory of the advertisement.
    pub(super) const fn new(op: Op, len: u32) -> Self {
        Self {
            op,
            local: Local {
                place: Place::Own,
                offset: 0,
                len,
                key: LocalKey::Dma,
            },
            key: RemoteKey::Given,
            at: At::Start(0),
            signaled: true,
        }
    }

    /// WRITE of `len` bytes.
    pub(super) const fn write(len: u32) -> Self {
        Self::new(Op::Write, len)
    }

    /// READ of `len` bytes, into a region of its own, as iWARP demands it.
    pub(super) const fn read(len: u32) -> Self {
        Self::new(Op::Read, len).by(LocalKey::Region)
    }

    /// SEND of `len` bytes.
    pub(super) const fn send(len: u32) -> Self {
        Self::new(Op::Send, len)
    }

    /// Atomic fetch-and-add.
    pub(super) const fn add() -> Self {
        Self::new(Op::FetchAdd, 8)
    }

    /// Returns it for the memory that begins so many bytes behind the start of the region.
    pub(super) const fn at(mut self, offset: i64) -> Self {
        self.at = At::Start(offset);
        self
    }

    /// Returns it for the memory that begins so many bytes in front of the end of all addresses.
    pub(super) const fn at_top(mut self, bytes: u64) -> Self {
        self.at = At::Top(bytes);
        self
    }

    /// Returns it with a key that was never given out.
    pub(super) const fn other_key(mut self) -> Self {
        self.key = RemoteKey::Other;
        self
    }

    /// Returns it with another key of the local memory.
    pub(super) const fn by(mut self, key: LocalKey) -> Self {
        self.local.key = key;
        self
    }

    /// Returns it with local memory that begins so many bytes behind the start of its buffer.
    pub(super) const fn from(mut self, offset: u32) -> Self {
        self.local.offset = offset;
        self
    }

    /// Returns it without a completion where it succeeds.
    pub(super) const fn unsignaled(mut self) -> Self {
        self.signaled = false;
        self
    }
}

/// One end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The one that posts the request under test.
    Requester,
    /// Its peer.
    Responder,
}

impl Side {
    /// Returns the other end.
    pub(crate) fn peer(self) -> Self {
        match self {
            Self::Requester => Self::Responder,
            Self::Responder => Self::Requester,
        }
    }
}

/// A step before or after the request under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Registers the responder's memory for these operations, and takes its advertisement.
    Open(Rights),
    /// Invalidates that registration.
    Close,
    /// Registers it again under a new key. The advertisement stays that of the old one.
    Renew,
    /// Invalidates it and registers it again under a new key without a wait in between, and takes
    /// the new advertisement.
    RenewAtOnce,
    /// Registers [`Place::Own`] of an end for these operations.
    OpenOwn(Side, Rights),
    /// Invalidates that registration.
    CloseOwn(Side),
    /// Posts the receive that the request under test is for.
    Receive(Local),
    /// Posts so many receives for whole messages.
    Receives(usize),
    /// Posts a request of the requester, and waits for its success.
    Do(Request),
    /// Takes the right to these operations from the responder's queue pair: it has all but these.
    Forbid(Rights),
    /// Puts the queue pair of an end into error.
    Error(Side),
    /// Waits so many ms.
    Wait(u32),
}

/// The demand on memory in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// None.
    Any,
    /// The responder's open memory and the guard behind it are unchanged.
    Untouched,
    /// Some bytes of the responder's open memory are those of the requester's own memory; all
    /// others are unchanged.
    Written {
        /// Offset in the responder's memory.
        to: u32,
        /// Offset in the requester's memory.
        from: u32,
        /// Number of bytes.
        len: u32,
    },
    /// The requester's own memory is unchanged.
    OwnUntouched,
    /// The first bytes of the requester's own memory are those of the responder's open memory from
    /// this offset on, so many; all others are unchanged.
    Brought(u32, u32),
    /// The responder's inbox is unchanged from this byte on.
    InboxFrom(u32),
    /// The responder's own memory is unchanged.
    TheirsUntouched,
    /// The first bytes of the responder's own memory are those of the requester's from this offset
    /// on, so many; all others are unchanged.
    Received(u32, u32),
    /// The number in the first 8 bytes of the responder's open memory is higher by the first of
    /// these, and that in the requester's own memory higher by the second, than what was there in
    /// the beginning. All others are unchanged.
    Counted(u64, u64),
    /// The first 8 bytes of the responder's open memory are the inverse of what was there in the
    /// beginning, which the requester has. All others are unchanged.
    Swapped,
}

impl Memory {
    /// A whole message of the requester's own memory has been written to the start of the
    /// responder's open memory.
    pub(super) const ALL_WRITTEN: Self = Self::Written {
        to: 0,
        from: 0,
        len: SIZE,
    };
}

/// A conformance test as steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    /// The steps before the request.
    pub(crate) before: &'static [Step],
    /// The responder has receives posted for the messages that follow the request.
    pub(crate) receives: bool,
    /// The request under test.
    pub(crate) request: Request,
    /// The steps once it is posted.
    pub(crate) after: &'static [Step],
    /// The demand on memory in the end.
    pub(crate) memory: Memory,
}
