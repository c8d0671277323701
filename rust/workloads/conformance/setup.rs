// SPDX-License-Identifier: GPL-2.0

//! What queues, memory and repetitions the connection of a case has.

#![forbid(unsafe_code)]

use crate::{
    cm::Retries,
    logic::conformance::{
        expectation::Fabric,
        Case, //
    },
    rdma::qp::Depths, //
};

/// Bytes that are opened to the peer, and that messages have.
pub(super) const SIZE: u32 = 128;

/// Bytes behind those, which nothing may touch.
pub(super) const GUARD: u32 = 128;

/// The most requests to the send queue of a case that fills queues.
pub(super) const MANY: u32 = 512;

/// Requests of other cases.
const FEW: u32 = 40;

/// Bytes of a request that takes a while.
const BULK: u32 = 1 << 19;

/// 67 ms, in the logarithmic form of the CM.
const SHORT_ACK_TIMEOUT: u8 = 14;

/// How the connection of a case is made.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    /// Requests that the requester's send queue is to hold.
    sends: u32,
    /// Receives that each receive queue is to hold.
    receives: u32,
    /// Numbers for requests to a queue.
    slots: u32,
    /// Completions that the requester's completion queue is to hold.
    completions: Option<u32>,
    /// Bytes opened to the peer.
    pub(super) exposed: u32,
    /// How often the requester repeats.
    pub(crate) retries: Retries,
    /// How long it waits for an answer, in the form of the CM.
    pub(crate) ack_timeout: Option<u8>,
    /// Whether another connection is needed, in another protection domain.
    pub(crate) needs_stranger: bool,
}

impl Setup {
    /// That of most cases, and of a round that must work.
    pub(crate) const PLAIN: Self = Self {
        sends: FEW,
        receives: FEW,
        slots: FEW,
        completions: None,
        exposed: SIZE,
        retries: Retries::MOST,
        ack_timeout: None,
        needs_stranger: false,
    };

    /// That of `case`.
    pub(crate) const fn of(case: Case, fabric: Fabric) -> Self {
        const IMPATIENT: Setup = Setup {
            retries: Retries { lost: 1, rnr: 7 },
            ack_timeout: Some(SHORT_ACK_TIMEOUT),
            ..Setup::PLAIN
        };
        match case {
            Case::WrongPd => Self {
                needs_stranger: true,
                ..Self::PLAIN
            },
            Case::Rnr => Self {
                retries: Retries { lost: 7, rnr: 0 },
                ..Self::PLAIN
            },
            // Of a message that it cannot take, a responder need not tell.
            Case::RetryExhausted | Case::SendInvStale | Case::PortDown => IMPATIENT,
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
                ..Self::PLAIN
            },
            _ => Self::PLAIN,
        }
    }

    /// How large a queue pair is; `requests` where it is the requester's.
    pub(super) fn depths(&self, requests: bool) -> Depths {
        Depths {
            completions: self.completions.filter(|_| requests),
            ..Depths::plain(if requests { self.sends } else { FEW }, self.receives)
        }
        .with_slots(self.slots as usize)
    }

    /// The most completions that there can be, if none comes twice.
    pub(super) fn most_completions(&self) -> usize {
        self.slots.saturating_mul(2) as usize
    }

    /// Numbers for requests to a queue.
    pub(super) fn slots(&self) -> usize {
        self.slots as usize
    }
}
