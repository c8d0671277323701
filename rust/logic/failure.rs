// SPDX-License-Identifier: GPL-2.0

//! The failure of a run: one value that becomes an errno for the writer, a sentence for the log,
//! and a field of the result.
//!
//! Failures are created in completion handlers and CM callbacks, so a failure is a small `Copy`
//! value. It is formatted only when it is read.
//!
//! [`cause`] decides which of several reports is the first cause, [`errno`] has the numbers and
//! names of errnos, [`verdict`] applies `expect=`, and [`packets`] is what explains lost ones.
//! [`sentence`] has the words, [`completion`] those of completions, and [`step`] the steps.

pub(crate) mod cause;
mod completion;
pub(crate) mod errno;
mod operation;
pub(crate) mod packets;
mod sentence;
mod step;
pub(crate) mod verdict;

use self::completion::STATUS_RETRIES;
pub(crate) use self::{
    completion::{
        status_name,
        STATUS_FLUSHED, //
    },
    operation::Operation,
    step::{
        BINDING,
        CONNECTING,
        FINDING_INTERFACE,
        LISTENING,
        RESOLVING_ADDRESS,
        RESOLVING_ROUTE, //
    }, //
};

use super::{
    block::MessageError,
    data::pattern::Mismatch,
    messenger,
    pingpong::Violation,
    stream::{
        hello::HelloError,
        violation, //
    },
    wire::{
        PrivateDataError,
        Reject, //
    }, //
};

/// Reason why iWARP has no connection management to test or to break.
pub(crate) const OVER_TCP: &str = "iWARP connects over TCP";

/// The first cause of a run's failure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failure {
    /// A work request completed with an error.
    Completion {
        /// `enum ib_wc_status`.
        status: u32,
        /// The vendor's code.
        vendor: u32,
        /// The operation that failed.
        op: Operation,
        /// The iteration it belonged to, from 0.
        iteration: u64,
    },
    /// The peer broke the protocol in this iteration.
    Protocol(Violation, u64),
    /// The peer's private data cannot be understood.
    PrivateData(PrivateDataError),
    /// The peer sent a message of a disk or tap that breaks the protocol.
    Message(MessageError),
    /// The peer's private data does not make a stream.
    StreamHello(HelloError),
    /// The peer sent a message of a stream that breaks the protocol.
    Stream(violation::Violation),
    /// The peer sent a chunk of a message that breaks the protocol.
    Chunk(messenger::violation::Violation),
    /// The data that came back is not what was sent.
    Mismatch(Mismatch),
    /// The data that arrived at the peer is not what was sent.
    PeerMismatch,
    /// This operation of a conformance test did not transfer the data correctly.
    WrongData(&'static str),
    /// The peer disconnected.
    Disconnected,
    /// The peer, which is no krping of this kind, disconnected.
    LegacyDisconnected,
    /// The client of this connection has made a new one in its place.
    Replaced,
    /// The server that a disk came back to is not the one it left, with the reason.
    OtherStore(&'static str),
    /// A resource is in use. The text is the sentence for the log.
    Busy(&'static str),
    /// The client's old connections have not ended yet: the server still works on their requests.
    OldWork,
    /// The RDMA device was removed.
    DeviceRemoved,
    /// The RDMA device of `dev=` has no address from which the server can be reached.
    NoAddressOfDevice,
    /// The device reported an asynchronous error: (`enum ib_event_type`, its name).
    Async(u32, &'static str),
    /// There was no progress in this step: (the step, the timeout in milliseconds).
    TimedOut(&'static str, u32),
    /// Completions came, and none of them raised an event for so many milliseconds.
    NoEvent(u32),
    /// No message has come on an unreliable queue pair for so many milliseconds, although the last
    /// one was sent again and again.
    AllLost(u32),
    /// The server has not answered a request within so many seconds, `request_timeout=`.
    Overdue(u32),
    /// A signal ended the run.
    Interrupted,
    /// Another thread of the session failed.
    Cancelled,
    /// The peer rejected the connection: (the CM's reason, its text, the reason of a krping
    /// server).
    Rejected(i32, &'static str, Option<Reject>),
    /// The peer never answered the connection request.
    Unreachable(i32),
    /// The peer's link-layer address changed, which ends a connection.
    Moved,
    /// The port of this side's device is not active.
    PortDown,
    /// The network namespace of a server without a writer has no process and no name any more.
    NamespaceGone,
    /// This side's device has lost the address that the connection is from.
    AddressGone,
    /// The connection management of the device does not respond.
    ManagementDead,
    /// This side does not support the operation, with the reason.
    Unsupported(&'static str),
    /// The size is above this limit in bytes.
    TooLarge(u32),
    /// The messages are longer than a packet of the path, whose data has so many bytes.
    AbovePathMtu(u32),
    /// The messages are longer than the receives that others share, which have so many bytes.
    AboveReceives(u32),
    /// The buffers of a connection need more than the other connections leave of `max_memory=`,
    /// which is this many bytes.
    OverMemory(u64),
    /// The client may be silent for longer than the server allows: (announced, `silence=`), in
    /// milliseconds.
    Silent(u32, u32),
    /// The 99th percentile is above `max_p99=`: (got, limit), in nanoseconds.
    AboveP99(u64, u64),
    /// The bandwidth is below `min_bw=`: (got, limit), in bytes per second.
    BelowBandwidth(u64, u64),
    /// The 99th percentile of an interval is above `max_p99=`: (got, limit), in nanoseconds, and
    /// the start of the interval in milliseconds.
    IntervalAboveP99(u64, u64, u32),
    /// The bandwidth of an interval is below `min_bw=`: (got, limit), in bytes per second, and the
    /// start of the interval in milliseconds.
    IntervalBelowBandwidth(u64, u64, u32),
    /// The time of `start_at=` is too far ahead: (milliseconds until then, `timeout=`).
    StartsLate(u64, u32),
    /// The device failed conformance tests: (cases that failed, cases that ran).
    Deviates(u32, u32),
    /// There is no such CPU, or it is offline.
    NoCpu(u32),
    /// There is no such NUMA node, or it has no memory.
    NoNode(u16),
    /// The run succeeded, although `expect=` names this errno, positive.
    Unexpected(i32),
    /// A kernel function failed: (the step, the errno, negative).
    Kernel(&'static str, i32),
}

impl Failure {
    /// The highest rank, of a failure that is no consequence of another one.
    pub(crate) const CAUSE: u8 = 2;

    /// The reason of a rejection where nothing listens (`IB_CM_REJ_INVALID_SERVICE_ID`).
    const NOTHING_LISTENS: i32 = 8;

    /// Returns the rank. The nearer the failure is to the root cause, the higher its rank.
    ///
    /// Events overtake completions, so a failure is replaced by a later one of a higher rank.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Self::Completion {
                status: STATUS_FLUSHED,
                ..
            } => 0,
            Self::Disconnected | Self::LegacyDisconnected => 1,
            _ => Self::CAUSE,
        }
    }

    /// Returns true where this failure is a consequence of another one, which will be reported too.
    pub(crate) fn is_consequence(&self) -> bool {
        self.rank() == 0
    }

    /// Returns true where a link that is down would explain it.
    pub(crate) fn may_be_the_link(&self) -> bool {
        matches!(
            self,
            Self::Completion {
                status: STATUS_FLUSHED | STATUS_RETRIES,
                ..
            } | Self::Disconnected
                | Self::LegacyDisconnected
                | Self::TimedOut(..)
                | Self::Unreachable(_)
                | Self::Moved
                | Self::ManagementDead
        )
    }

    /// Returns true where no server was there, and one may come: nothing listens on the port, or
    /// the host does not answer.
    pub(crate) fn is_no_server(&self) -> bool {
        match *self {
            Self::Rejected(reason, _, None) => {
                reason == Self::NOTHING_LISTENS || reason.saturating_neg() == errno::ECONNREFUSED
            }
            Self::Kernel(_, number) => [
                errno::ECONNREFUSED,
                errno::EHOSTUNREACH,
                errno::ENETUNREACH,
                errno::ETIMEDOUT,
            ]
            .contains(&number.saturating_neg()),
            _ => self.is_unanswered(),
        }
    }

    /// Returns true where no RDMA device has the address of a command, or leads to it.
    fn is_no_device(&self) -> bool {
        self.is_about_an_address(errno::ENODEV)
    }

    /// Returns true where this host does not have the address of a command.
    fn is_elsewhere(&self) -> bool {
        self.is_about_an_address(errno::EADDRNOTAVAIL)
    }

    /// Returns true where a step that takes an address failed with `errno`.
    fn is_about_an_address(&self, errno: i32) -> bool {
        let steps = [RESOLVING_ADDRESS, RESOLVING_ROUTE, BINDING];
        matches!(self, Self::Kernel(step, number)
            if number.saturating_neg() == errno && steps.contains(step))
    }

    /// Returns true where a command would go on with another address of this host.
    pub(crate) fn needs_another_address(&self) -> bool {
        self.is_no_device() || self.is_elsewhere() || matches!(self, Self::NoAddressOfDevice)
    }

    /// Returns true where a connection request was not answered.
    pub(crate) fn is_unanswered(&self) -> bool {
        matches!(self, Self::TimedOut(CONNECTING, _) | Self::Unreachable(_))
    }

    /// Returns true where it only shows that the peer disconnected (a disconnect or a flushed
    /// request) or rejected the connection.
    pub(crate) fn is_of_the_peer(&self) -> bool {
        self.rank() < Self::CAUSE || matches!(self, Self::Rejected(..))
    }

    /// Returns true where the run finished, but its result did not pass a check.
    pub(crate) fn is_verdict(&self) -> bool {
        matches!(
            self,
            Self::AboveP99(..)
                | Self::BelowBandwidth(..)
                | Self::IntervalAboveP99(..)
                | Self::IntervalBelowBandwidth(..)
                | Self::PeerMismatch
                | Self::Deviates(..)
        )
    }

    /// Returns the errno for the writer, positive.
    pub(crate) fn errno(&self) -> i32 {
        match *self {
            Self::Completion { status, op, .. } => match (status, op) {
                (STATUS_FLUSHED, _) => errno::ECONNRESET,
                // A receive only fails through what the peer sent.
                (_, Operation::Receive) => errno::EPROTO,
                (9..=11 | 13 | 15 | 16, _) => errno::EREMOTEIO,
                (12 | 20, _) => errno::ETIMEDOUT,
                _ => errno::EIO,
            },
            Self::Protocol(..)
            | Self::PrivateData(_)
            | Self::Message(_)
            | Self::StreamHello(_)
            | Self::Stream(_)
            | Self::Chunk(_) => errno::EPROTO,
            Self::Mismatch(_) | Self::PeerMismatch | Self::WrongData(_) => errno::EBADMSG,
            Self::Disconnected | Self::LegacyDisconnected | Self::Replaced => errno::ECONNRESET,
            Self::PortDown | Self::ManagementDead | Self::NamespaceGone => errno::ENETDOWN,
            Self::AddressGone => errno::EADDRNOTAVAIL,
            Self::OtherStore(_) => errno::ESTALE,
            Self::Busy(_) | Self::OldWork => errno::EBUSY,
            Self::DeviceRemoved | Self::NoAddressOfDevice => errno::ENODEV,
            // QP_REQ_ERR, QP_ACCESS_ERR: the peer asked for what it may not.
            Self::Async(2 | 3, _) => errno::EPROTO,
            Self::Async(..) => errno::EIO,
            Self::TimedOut(..) | Self::NoEvent(_) | Self::AllLost(_) | Self::Overdue(_) => {
                errno::ETIMEDOUT
            }
            Self::Interrupted => errno::EINTR,
            Self::Cancelled => errno::ECANCELED,
            Self::Rejected(..) => errno::ECONNREFUSED,
            Self::Unreachable(number) | Self::Kernel(_, number) if number < 0 => {
                number.saturating_neg()
            }
            Self::Unreachable(_) | Self::Moved => errno::ETIMEDOUT,
            Self::Kernel(..) => errno::EIO,
            Self::Unsupported(_) => errno::EOPNOTSUPP,
            Self::Deviates(..) => errno::EBADE,
            Self::NoCpu(_) | Self::NoNode(_) => errno::EINVAL,
            Self::OverMemory(_) => errno::ENOMEM,
            Self::TooLarge(_)
            | Self::AbovePathMtu(_)
            | Self::AboveReceives(_)
            | Self::Silent(..)
            | Self::AboveP99(..)
            | Self::BelowBandwidth(..)
            | Self::IntervalAboveP99(..)
            | Self::IntervalBelowBandwidth(..)
            | Self::StartsLate(..)
            | Self::Unexpected(_) => errno::ERANGE,
        }
    }
}
