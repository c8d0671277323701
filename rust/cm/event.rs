// SPDX-License-Identifier: GPL-2.0

//! The events of a connection's identifier, and what they leave behind.
//!
//! The handler only reports: it blocks on nothing but a leaf lock, and allocates
//! nothing.

#![forbid(unsafe_code)]

use crate::{
    engine::outcome::{
        Outcome,
        Progress, //
    },
    kernel_ext::spinlock::SpinLockIrq,
    logic::{
        failure::{
            Failure,
            CONNECTING,
            RESOLVING_ADDRESS,
            RESOLVING_ROUTE, //
        },
        wire::{
            extras::Extras,
            Reject, //
        }, //
    },
    rdma::cm::{
        Event,
        Handler, //
    }, //
};
use kernel::{
    prelude::*,
    static_lock_class,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Full,
            Release, //
        },
        Arc, //
    }, //
};

/// The private data of a CM event, as far as krping reads it.
#[derive(Clone, Copy)]
pub(crate) struct PeerData {
    bytes: [u8; Extras::END],
    len: usize,
}

impl PeerData {
    const NONE: Self = Self {
        bytes: [0; Extras::END],
        len: 0,
    };

    /// Copies what an event carries.
    pub(super) fn copy(data: &[u8]) -> Self {
        let mut this = Self::NONE;
        for (to, from) in this.bytes.iter_mut().zip(data) {
            *to = *from;
            this.len += 1;
        }
        this
    }

    /// The bytes.
    pub(crate) fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }
}

/// The state of an identifier that its events change.
#[pin_data]
pub(super) struct Events {
    pub(super) outcome: Arc<Outcome>,
    /// True on the passive side, whose peer has asked for the connection.
    passive: bool,
    /// 1 where an attempt to resolve the address has ended without an answer.
    unanswered: Atomic<u32>,
    /// 1 where the CM tells the peer when the identifier is destroyed.
    speaking: Atomic<u32>,
    /// 1 once the device is being removed.
    removed: Atomic<u32>,
    #[pin]
    peer_data: SpinLockIrq<PeerData>,
}

impl Events {
    /// Creates those of an identifier that reports to `outcome`, of the `passive`
    /// side or of the one that asks.
    pub(super) fn new(outcome: Arc<Outcome>, passive: bool) -> Result<Arc<Self>> {
        // Whoever has asked is told where nobody takes the request.
        let speaking = u32::from(passive);
        Arc::pin_init(
            pin_init!(Self {
                outcome,
                passive,
                unanswered: Atomic::new(0),
                speaking: Atomic::new(speaking),
                removed: Atomic::new(0),
                peer_data <- SpinLockIrq::new(
                    PeerData::NONE, c"krping_peer_data", static_lock_class!()),
            }),
            GFP_KERNEL,
        )
    }

    /// Returns true where destroying the identifier has the CM send a message.
    pub(super) fn speaks(&self) -> bool {
        self.speaking.load(Acquire) != 0
    }

    /// Notes whether destroying the identifier has the CM send a message. Any context.
    pub(super) fn set_speaking(&self, speaking: bool) {
        self.speaking.store(u32::from(speaking), Release);
    }

    /// Returns true where an attempt to resolve the address has ended without an answer since
    /// the last call.
    pub(super) fn take_unanswered(&self) -> bool {
        self.unanswered.xchg(0, Full) != 0
    }

    /// Returns true where the device is being removed.
    pub(super) fn is_removed(&self) -> bool {
        self.removed.load(Acquire) != 0
    }

    /// The private data that came with the established connection.
    pub(super) fn peer_data(&self) -> PeerData {
        *self.peer_data.lock()
    }
}

impl Handler for Events {
    fn event(&self, event: &Event<'_>) {
        let outcome = &self.outcome;
        match *event {
            Event::AddrResolved => outcome.advance(Progress::AddressResolved),
            Event::RouteResolved => outcome.advance(Progress::RouteResolved),
            Event::Established { private_data } => {
                *self.peer_data.lock() = PeerData::copy(private_data);
                outcome.advance(Progress::Established);
            }
            // An attempt is over; its deadline is not the caller's.
            Event::AddrError(status) if status == ETIMEDOUT.to_errno() => {
                self.unanswered.store(1, Release);
                outcome.wake();
            }
            Event::AddrError(status) => {
                outcome.fail(Failure::Kernel(RESOLVING_ADDRESS, status));
            }
            Event::RouteError(status) => {
                outcome.fail(Failure::Kernel(RESOLVING_ROUTE, status));
            }
            Event::ConnectError(status) => outcome.fail(Failure::Kernel(CONNECTING, status)),
            Event::Unreachable(status) => {
                outcome.fail(if outcome.reached(Progress::Established) {
                    Failure::Moved
                } else {
                    self.set_speaking(false);
                    Failure::Unreachable(status)
                });
            }
            // The peer takes its own request back.
            Event::Rejected { .. } if self.passive => {
                self.set_speaking(false);
                outcome.disconnected();
            }
            Event::Rejected {
                reason,
                message,
                private_data,
            } => {
                self.set_speaking(false);
                let data = PeerData::copy(private_data.unwrap_or(&[]));
                let reject = Reject::decode(data.as_slice());
                outcome.fail(Failure::Rejected(reason, message, reject));
            }
            Event::Disconnected => {
                // The client's last message of the three that connect may be lost, or be handled
                // after this one. Who says goodbye has been connected.
                if self.passive && !outcome.reached(Progress::Established) {
                    outcome.advance(Progress::Established);
                }
                outcome.disconnected();
            }
            Event::DeviceRemoval => {
                self.removed.store(1, Release);
                outcome.fail(Failure::DeviceRemoved);
            }
            // Those are of a membership's identifier.
            Event::Joined(_) | Event::JoinError(_) | Event::Other(_) => {}
        }
    }
}
