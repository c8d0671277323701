// SPDX-License-Identifier: GPL-2.0

//! Parameters of a case's connection: queue sizes, memory and retries.

#![forbid(unsafe_code)]

use crate::{
    cm::Retries,
    engine::{
        depths::Depths,
        limits::READS, //
    },
    logic::conformance::{
        expectation::Fabric,
        Case, //
    },
    rdma::{
        qp::UnreliableCaps,
        qp_type::QpType, //
    }, //
};

/// Number of bytes that are opened to the peer, and size of a message.
pub(super) const SIZE: u32 = 128;

/// Size in bytes of the guard behind them, which nothing may write to.
pub(super) const GUARD: u32 = 128;

/// Most requests that a case which fills queues posts to the send queue.
pub(super) const MANY: u32 = 512;

/// Number of requests that other cases need room for.
const FEW: u32 = 40;

/// Size in bytes of a request that takes a while.
const BULK: u32 = 1 << 19;

/// Size in bytes of data that does not fit into one packet.
pub(super) const LONG: u32 = 1 << 14;

/// Number of bytes of inline data, which few devices have no room for.
pub(super) const INLINE: u32 = 64;

/// ACK timeout of 67 ms, in the logarithmic form of the CM.
const SHORT_ACK_TIMEOUT: u8 = 14;

/// The queue pair of an identifier that asks for a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    /// It has one of its own.
    OwnQueuePair,
    /// It has none, and names another.
    NoQueuePair,
}

/// Parameters of a case's connection.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    /// Number of requests that the requester's send queue must hold.
    sends: u32,
    /// Number of receives that each receive queue must hold.
    receives: u32,
    /// Number of slots of each queue. Each request takes one, so no more can be posted.
    slots: u32,
    /// Number of completions that the requester's completion queue must hold; `None` for one that
    /// holds all that can be posted.
    completions: Option<u32>,
    /// These may be less than the requester can post.
    overrun: bool,
    /// Number of bytes that are opened to the peer.
    pub(super) exposed: u32,
    /// Number of times that the requester retransmits a request.
    pub(crate) retries: Retries,
    /// ACK timeout of the requester, in the logarithmic form of the CM; `None` for that of a run
    /// with `mem_mode=reg`.
    pub(crate) ack_timeout: Option<u8>,
    /// Most READs and atomic operations that may be under way at a time.
    pub(crate) reads: u8,
    /// The requester is told of its completions by events.
    pub(super) notified: bool,
    /// The responder is told of its completions by events.
    pub(super) told: bool,
    /// The responder takes the receives of a shared queue.
    pub(super) shared: bool,
    /// Number of bytes that a request can hold itself.
    inline: u32,
    /// Both ends have a queue pair for datagrams beside their own.
    datagrams: bool,
    /// The queue pair for which the case asks for another connection, if it does.
    pub(crate) calls: Option<Calls>,
    /// The case needs another connection, in another protection domain.
    pub(crate) needs_third_party: bool,
}

impl Setup {
    /// Setup of most cases, and of the new connection that is checked after each case.
    pub(crate) const PLAIN: Self = Self {
        sends: FEW,
        receives: FEW,
        slots: FEW,
        completions: None,
        overrun: false,
        exposed: SIZE,
        retries: Retries::MOST,
        ack_timeout: None,
        reads: READS,
        notified: false,
        told: false,
        shared: false,
        inline: 0,
        datagrams: false,
        calls: None,
        needs_third_party: false,
    };

    /// Returns the setup of `case` on `fabric`.
    pub(crate) const fn of(case: Case, fabric: Fabric) -> Self {
        const IMPATIENT: Setup = Setup {
            retries: Retries { lost: 1, rnr: 7 },
            ack_timeout: Some(SHORT_ACK_TIMEOUT),
            ..Setup::PLAIN
        };
        match case {
            Case::WrongPd => Self {
                needs_third_party: true,
                ..Self::PLAIN
            },
            Case::Rnr => Self {
                retries: Retries { lost: 7, rnr: 0 },
                ..Self::PLAIN
            },
            // A responder need not report a message that it cannot take.
            Case::RetryExhausted | Case::SendInvStale | Case::PortDown => IMPATIENT,
            Case::ReadsBeyondDepth => Self {
                reads: 1,
                ..Self::PLAIN
            },
            Case::ReadFence | Case::WriteThenFlag => Self {
                exposed: LONG,
                ..Self::PLAIN
            },
            Case::SqFull => Self {
                receives: MANY,
                slots: MANY,
                // The device may hold more requests than it was asked to.
                completions: Some(2 * MANY + FEW),
                exposed: match fabric {
                    Fabric::InfiniBand => SIZE,
                    Fabric::Iwarp => BULK,
                },
                ..Self::PLAIN
            },
            Case::CqExact | Case::CqOverrun => Self {
                sends: MANY,
                slots: MANY,
                completions: Some(FEW),
                overrun: true,
                ..Self::PLAIN
            },
            Case::HandlerPolls | Case::Rearm => Self {
                receives: MANY,
                sends: MANY,
                slots: MANY,
                notified: true,
                ..Self::PLAIN
            },
            Case::Solicited | Case::SolicitedError => Self {
                told: true,
                ..Self::PLAIN
            },
            Case::SrqEmpty => Self {
                shared: true,
                ..Self::of(Case::Rnr, fabric)
            },
            Case::SrqLimit => Self {
                shared: true,
                ..Self::PLAIN
            },
            // The requester is to find out soon that the responder is gone.
            Case::SrqDrain => Self {
                shared: true,
                ..IMPATIENT
            },
            Case::UdBadQkey | Case::UdBadAh | Case::UdAboveMtu => Self {
                exposed: LONG,
                datagrams: true,
                ..Self::PLAIN
            },
            Case::Unanswered => Self {
                calls: Some(Calls::OwnQueuePair),
                ..Self::PLAIN
            },
            Case::StaleConnection => Self {
                calls: Some(Calls::NoQueuePair),
                ..Self::PLAIN
            },
            Case::InlineReuse => Self {
                exposed: LONG,
                inline: INLINE,
                ..Self::PLAIN
            },
            Case::StaleRkey
            | Case::ReadOfWriteOnly
            | Case::WriteOfReadOnly
            | Case::LengthPastMr
            | Case::InvalidatedMr
            | Case::DoubleInvalidate
            | Case::RegMrOnValid
            | Case::StaleLkey
            | Case::SendTooLong
            | Case::UnsupportedOpcode
            | Case::ZeroLength
            | Case::FlushOrder
            | Case::Drain
            | Case::AtomicMisaligned
            | Case::AtomicNoRight
            | Case::ReadAfterWrite => Self::PLAIN,
        }
    }

    /// Returns the queue sizes of the requester if `requests` is true, otherwise of the responder.
    pub(super) fn depths(&self, requests: bool) -> Depths {
        Depths {
            completions: self.completions.filter(|_| requests),
            overrun: self.overrun,
            inline: self.inline,
            unreliable: self.datagrams.then_some(UnreliableCaps {
                qp_type: QpType::Ud,
                max_send_wr: FEW,
                max_recv_wr: FEW,
            }),
            ..Depths::plain(if requests { self.sends } else { FEW }, self.receives)
        }
        .with_slots(self.slots as usize)
    }

    /// Returns the largest number of completions that can come if none is repeated.
    pub(super) fn most_completions(&self) -> usize {
        2 * self.slots as usize
    }

    /// Returns the number of slots of each queue.
    pub(super) fn slots(&self) -> usize {
        self.slots as usize
    }
}
