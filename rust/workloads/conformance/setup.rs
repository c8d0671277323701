// SPDX-License-Identifier: GPL-2.0

//! Parameters of a case's connection: queue sizes, memory and retries.

#![forbid(unsafe_code)]

use crate::{
    cm::{
        Retries,
        SHORT_RNR_TIMER, //
    },
    engine::{
        depths::Depths,
        limits::READS, //
    },
    logic::conformance::{
        row::{
            Act,
            Target, //
        },
        rule::Fabric,
        special::Special,
        steps::{
            FRONT,
            SIZE, //
        },
        Case, //
    },
    rdma::{
        qp::{
            UnreliableCaps,
            FIRST_PSN,
            LAST_PSN, //
        },
        qp_type::QpType, //
    }, //
};

use core::ops::Range;

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

/// RNR timer of 492 ms.
const LONG_RNR_TIMER: u8 = 31;

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
    /// Time that the responder has the requester wait where no receive is posted, in the form that
    /// an RNR NAK has.
    pub(crate) rnr_timer: u8,
    /// Most READs and atomic operations that may be under way at a time.
    pub(crate) reads: u8,
    /// Packet sequence number that both ends begin with, on a connection that is made without the
    /// CM; `None` for one that the CM makes.
    pub(crate) first_psn: Option<u32>,
    /// The queue pair that the requester's is connected with, on such a connection.
    pub(crate) target: Target,
    /// The requester is told of its completions by events.
    pub(super) notified: bool,
    /// The responder is told of its completions by events.
    pub(super) told: bool,
    /// The responder takes the receives of a shared queue.
    pub(super) shared: bool,
    /// The region for the peer begins and ends within its buffer.
    front: bool,
    /// The other regions do.
    own_front: bool,
    /// The region for the peer has large pages.
    pub(super) large_pages: bool,
    /// The requester has a region that is mapped over nothing yet.
    pub(super) sink: bool,
    /// The requester has a region of another domain.
    pub(super) other_domain: bool,
    /// Number of bytes that a request can hold itself.
    inline: u32,
    /// Both ends have a queue pair for datagrams beside their own.
    datagrams: bool,
    /// The queue pair for which the case asks for another connection, if it does.
    pub(crate) calls: Option<Calls>,
    /// The case needs another connection, in another protection domain.
    pub(crate) needs_third_party: bool,
    /// The case needs a multicast group.
    pub(crate) needs_group: bool,
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
        rnr_timer: SHORT_RNR_TIMER,
        reads: READS,
        first_psn: None,
        target: Target::Responder,
        notified: false,
        told: false,
        shared: false,
        front: false,
        own_front: false,
        large_pages: false,
        sink: false,
        other_domain: false,
        inline: 0,
        datagrams: false,
        calls: None,
        needs_third_party: false,
        needs_group: false,
    };

    /// Returns the setup of `case` on `fabric`.
    pub(crate) fn of(case: Case, fabric: Fabric) -> Self {
        let row = case.row();
        let wants = &row.wants;
        let plain = Self {
            retries: Retries {
                lost: if wants.impatient {
                    1
                } else {
                    Retries::MOST.lost
                },
                rnr: match (wants.no_rnr_retries, wants.slow_rnr) {
                    (true, _) => 0,
                    (_, true) => 1,
                    _ => Retries::MOST.rnr,
                },
            },
            // A responder need not report a message that it cannot take; and an ACK timeout must
            // not cut the time of an RNR NAK short.
            ack_timeout: (wants.impatient || wants.slow_rnr).then_some(SHORT_ACK_TIMEOUT),
            rnr_timer: match wants.slow_rnr {
                true => LONG_RNR_TIMER,
                false => SHORT_RNR_TIMER,
            },
            exposed: if wants.long { LONG } else { SIZE },
            front: wants.front,
            own_front: wants.own_front,
            large_pages: wants.large_pages,
            reads: if wants.no_reads { 0 } else { READS },
            first_psn: match (wants.last_psn, wants.target) {
                (true, _) => Some(LAST_PSN),
                (false, Target::Responder) => None,
                (false, Target::Datagrams | Target::Nobody) => Some(FIRST_PSN),
            },
            target: wants.target,
            other_domain: wants.other_domain,
            shared: wants.shared,
            ..Self::PLAIN
        };
        match row.act {
            Act::Steps(_) => plain,
            Act::Special(special) => plain.with(special, fabric),
        }
    }

    /// Returns the setup of the other connection that a case with this one needs.
    pub(crate) fn third_party(&self) -> Self {
        Self {
            datagrams: self.datagrams,
            ..Self::PLAIN
        }
    }

    /// Returns it with what a special case needs.
    fn with(self, special: Special, fabric: Fabric) -> Self {
        match special {
            Special::WrongPd => Self {
                needs_third_party: true,
                ..self
            },
            Special::ReadsBeyondDepth => Self { reads: 1, ..self },
            Special::ReadInvalidated | Special::ReadsFence => Self {
                exposed: BULK,
                ..self
            },
            Special::SqFull => Self {
                receives: MANY,
                slots: MANY,
                // The device may hold more requests than it was asked to.
                completions: Some(2 * MANY + FEW),
                exposed: match fabric {
                    Fabric::InfiniBand => SIZE,
                    Fabric::Iwarp => BULK,
                },
                ..self
            },
            Special::CqExact | Special::CqOverrun => Self {
                sends: MANY,
                slots: MANY,
                completions: Some(FEW),
                overrun: true,
                ..self
            },
            Special::HandlerPolls | Special::Rearm => Self {
                receives: MANY,
                sends: MANY,
                slots: MANY,
                notified: true,
                ..self
            },
            Special::SendsInError => Self {
                receives: MANY,
                sends: MANY,
                slots: MANY,
                ..self
            },
            Special::Solicited | Special::SolicitedError => Self { told: true, ..self },
            Special::UdBadQkey
            | Special::UdBadAh
            | Special::UdUnknown
            | Special::ConnectionToUd
            | Special::UdAboveMtu
            | Special::UdShortReceive => Self {
                datagrams: true,
                ..self
            },
            // The datagram has the number that the connection expects.
            Special::UdToConnection => Self {
                datagrams: true,
                first_psn: Some(FIRST_PSN),
                ..self
            },
            Special::UdMulticast => Self {
                datagrams: true,
                needs_group: true,
                needs_third_party: true,
                ..self
            },
            Special::MapOverGap => Self { sink: true, ..self },
            Special::Unanswered | Special::PrivateData => Self {
                calls: Some(Calls::OwnQueuePair),
                ..self
            },
            Special::StaleConnection => Self {
                calls: Some(Calls::NoQueuePair),
                ..self
            },
            Special::InlineReuse => Self {
                inline: INLINE,
                ..self
            },
            Special::FlushOrder
            | Special::Drain
            | Special::ListBeyondQueue
            | Special::Race(_)
            | Special::RaceAtomics
            | Special::SrqLimit
            | Special::SrqGrown
            | Special::SrqShrunk
            | Special::SrqDrain
            | Special::ReadAfterWrite
            | Special::ReadFence
            | Special::WriteThenFlag
            | Special::PortDown => self,
        }
    }

    /// Returns the bytes of a buffer of `size` bytes that a region over it covers: the one for the
    /// peer if `open` is true.
    pub(super) fn region(&self, open: bool, size: usize) -> Range<usize> {
        match if open { self.front } else { self.own_front } {
            true => FRONT as usize..SIZE as usize,
            false => 0..size,
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
