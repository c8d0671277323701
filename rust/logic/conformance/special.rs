// SPDX-License-Identifier: GPL-2.0

//! The conformance tests that are more than a list of steps: each is a function of the workload.

/// The event that ends a connection while requests are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The requester's queue pair is put into error.
    RequesterError,
    /// The responder's queue pair is put into error.
    ResponderError,
    /// The requester disconnects.
    Disconnect,
    /// One request has a key that was never given out.
    BadKey,
    /// The responder's queue pair is taken the right to READs and WRITEs.
    Forbid,
    /// The responder invalidates its memory.
    Invalidate,
    /// The responder's queue pair is drained and destroyed.
    Destroy,
}

/// A conformance test that is more than a list of [steps](super::steps).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    /// WRITE to a region of another protection domain.
    WrongPd,
    /// A post to a send queue that is full.
    SqFull,
    /// A list of more requests than the send queue holds.
    ListBeyondQueue,
    /// Exactly as many completions as the completion queue holds.
    CqExact,
    /// More completions than the completion queue holds.
    CqOverrun,
    /// Requests posted behind one that fails, and receives on both sides.
    FlushOrder,
    /// The drain of a queue pair in use.
    Drain,
    /// More READs than the connection allows at a time.
    ReadsBeyondDepth,
    /// READ of memory that is invalidated while it comes.
    ReadInvalidated,
    /// READ of memory that a WRITE before it fills.
    ReadAfterWrite,
    /// SEND of what a READ before it brings, with a fence between them.
    ReadFence,
    /// SEND of what the last of several READs before it brings, with a fence between them.
    ReadsFence,
    /// Map of a region over memory with a gap in the midst of a page.
    MapOverGap,
    /// A connection request with all the private data that RoCE has room for.
    PrivateData,
    /// WRITE of a flag behind a WRITE of data, to memory that the responder watches.
    WriteThenFlag,
    /// A poll of the completion queue while its event handler runs.
    HandlerPolls,
    /// Requests for events of a completion queue, while completions come.
    Rearm,
    /// A SEND that is not solicited, and one that is, to a peer that asked for events of solicited
    /// ones only.
    Solicited,
    /// An error at a peer that asked for events of solicited messages only.
    SolicitedError,
    /// Messages until fewer receives than the limit of a shared receive queue are posted.
    SrqLimit,
    /// Messages to a shared receive queue that was made to hold more.
    SrqGrown,
    /// Messages to a shared receive queue that was to hold fewer than are posted.
    SrqShrunk,
    /// The drain of a queue pair that takes the receives of a shared queue.
    SrqDrain,
    /// A datagram to a queue pair with another Q_Key.
    UdBadQkey,
    /// A datagram to an address that nobody has.
    UdBadAh,
    /// A datagram to a queue pair that nobody has.
    UdUnknown,
    /// A datagram to the queue pair of a connection.
    UdToConnection,
    /// A message of a connection to a queue pair for datagrams.
    ConnectionToUd,
    /// A datagram that is longer than a packet.
    UdAboveMtu,
    /// A datagram that is longer than its receive.
    UdShortReceive,
    /// A datagram to a multicast group that two queue pairs are attached to.
    UdMulticast,
    /// Requests with inline data, whose buffer is overwritten once they are posted.
    InlineReuse,
    /// Messages that arrive while the responder's queue pair is put into error.
    SendsInError,
    /// Requests of all kinds and of both ends, under way while this comes to them.
    Race(Fate),
    /// Atomic operations under way while the responder's queue pair is put into error.
    RaceAtomics,
    /// A connection request that is neither accepted nor rejected.
    Unanswered,
    /// A connection request in the name of a queue pair that the peer is connected with.
    StaleConnection,
    /// A WRITE, and then a message of the CM, while a person has taken the port down.
    PortDown,
}
