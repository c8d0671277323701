// SPDX-License-Identifier: GPL-2.0

//! The failure of a run: one value that becomes an errno for the writer, a sentence for the log,
//! and a field of the result.
//!
//! Failures are created in completion handlers and CM callbacks, so a failure is a small `Copy`
//! value. It is formatted only when it is read.
//!
//! [`cause`] decides which of several reports is the first cause, [`errno`] has the numbers and
//! names of errnos, [`verdict`] applies `expect=`, and [`packets`] is what explains lost ones.

pub(crate) mod cause;
pub(crate) mod errno;
pub(crate) mod packets;
pub(crate) mod verdict;

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
use core::fmt;

/// An operation on a queue pair, as its completion names it.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Send,
    Read,
    Write,
    Register,
    Invalidate,
    Receive,
    Control,
    Atomic,
}

impl Operation {
    /// All operations, in the order of their numbers.
    pub(crate) const ALL: [Self; 8] = [
        Self::Send,
        Self::Read,
        Self::Write,
        Self::Register,
        Self::Invalidate,
        Self::Receive,
        Self::Control,
        Self::Atomic,
    ];

    /// Returns its usual name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Send | Self::Control => "SEND",
            Self::Read => "RDMA READ",
            Self::Write => "RDMA WRITE",
            Self::Register => "REG_MR",
            Self::Invalidate => "LOCAL_INV",
            Self::Receive => "RECV",
            Self::Atomic => "atomic operation",
        }
    }
}

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
    /// The run succeeded, although `expect=` names this errno, positive.
    Unexpected(i32),
    /// A kernel function failed: (the step, the errno, negative).
    Kernel(&'static str, i32),
}

/// The names of `enum ib_wc_status`.
const STATUSES: [&str; 22] = [
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "WR flushed",
    "memory bind operation error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation error",
    "remote invalid RD request",
    "operation aborted",
    "invalid EE context number",
    "invalid EE context state",
    "fatal error",
    "response timeout error",
    "general error",
];

/// The status of a request that was flushed from a queue pair in error, which is a consequence of
/// another failure.
pub(crate) const STATUS_FLUSHED: u32 = 5;

/// The status of a request whose retransmits the peer never acknowledged.
const STATUS_RETRIES: u32 = 12;

/// The step of [`Failure::Kernel`] that resolves a peer's address.
pub(crate) const RESOLVING_ADDRESS: &str = "resolving the address";

/// The step of [`Failure::Kernel`] that resolves the route to a peer.
pub(crate) const RESOLVING_ROUTE: &str = "resolving the route";

/// The step of [`Failure::Kernel`] that binds a listener to an address.
pub(crate) const BINDING: &str = "binding to the address";

/// The step of [`Failure::Kernel`] that finds the interface of a link-local address.
pub(crate) const FINDING_INTERFACE: &str = "finding the interface";

/// The step of [`Failure::Kernel`] that has a listener listen.
pub(crate) const LISTENING: &str = "listening";

/// The step of [`Failure::TimedOut`] for a connection attempt.
pub(crate) const CONNECTING: &str = "connecting";

pub(crate) fn status_name(status: u32) -> &'static str {
    STATUSES
        .get(status as usize)
        .copied()
        .unwrap_or("unknown status")
}

/// Returns the usual cause of a completion error, in words.
fn usual_cause(status: u32, op: Operation) -> &'static str {
    match (status, op) {
        (STATUS_FLUSHED, _) => "the queue pair went into error: disconnected, or the link is down",
        (_, Operation::Receive) => {
            "the peer sent more than the receive buffer holds, or invalidated a key that is not \
             valid here"
        }
        (1, _) => "the message is larger than the device allows",
        (2, _) => "the device refused the request as malformed or unsupported",
        (4, _) => "a local key was invalid or did not cover the buffer",
        (6, _) => "the memory region was not in the state that the request needs",
        (9, _) => "the peer's device refused the request: unsupported or out of resources",
        (10, _) => "the peer's key was invalid, or did not allow this access or range",
        (11, _) => "the peer's device could not complete the request",
        (12, _) => {
            "the peer stopped answering: link down, host gone, queue pair gone, or packets too \
             large for the way there (mtu=1024 tells)"
        }
        (13, _) => "the peer had no receive posted",
        _ => "see the device's documentation for the vendor code",
    }
}

/// Returns what to do where the kernel's `errno` of a step has a usual cause, as the end of a
/// sentence.
fn what_to_do(step: &str, errno: i32) -> &'static str {
    match (step, errno) {
        (RESOLVING_ADDRESS, errno::ENETUNREACH | errno::EHOSTUNREACH | errno::EACCES) => {
            ": see 'ip route get' of that address"
        }
        (FINDING_INTERFACE, errno::ENODEV) => ": see 'ip link' for those that there are",
        (BINDING | LISTENING, errno::EADDRINUSE) => {
            ": another server has the port; give another port=, or see 'rdma resource show cm_id'"
        }
        _ => "",
    }
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
            Self::NoCpu(_) => errno::EINVAL,
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

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Completion {
                status,
                vendor,
                op,
                iteration,
            } => write!(
                f,
                "{} of iteration {iteration} failed: {} ({status}, vendor code {vendor:#x}): {}",
                op.name(),
                status_name(status),
                usual_cause(status, op)
            ),
            Self::Protocol(Violation::NoReads, _) => f.write_str(
                "the client's request offers no RDMA READ: it is no krping or rping (perftest's \
                 programs serve only each other), or its device has none",
            ),
            Self::Protocol(violation, iteration) => {
                write!(f, "the peer {violation} in iteration {iteration}")
            }
            Self::PrivateData(error) => write!(f, "{error}"),
            Self::Message(error) => write!(f, "the peer {error}"),
            Self::StreamHello(error) => write!(f, "{error}"),
            Self::Stream(violation) => write!(f, "the peer {violation}"),
            Self::Chunk(violation) => write!(f, "the peer {violation}"),
            Self::Mismatch(mismatch) => write!(f, "{mismatch}"),
            Self::PeerMismatch => {
                f.write_str("the peer says that the data which arrived there is not what was sent")
            }
            Self::WrongData(what) => {
                write!(f, "{what} did not bring the data that was sent")
            }
            Self::Disconnected => {
                f.write_str("the peer disconnected before the end: its log may say why")
            }
            Self::LegacyDisconnected => f.write_str(
                "the peer disconnected before the end: it is not this krping, so give both sides \
                 the same size (rping: -S); perftest's programs serve only each other",
            ),
            Self::Replaced => f.write_str("the client has connected anew"),
            Self::OtherStore(why) => {
                write!(
                    f,
                    "the disk cannot go on with what the server has now: {why}"
                )
            }
            Self::Busy(why) => f.write_str(why),
            Self::OldWork => f.write_str("the client's old connections have not ended yet"),
            Self::DeviceRemoved => f.write_str("the RDMA device was removed"),
            Self::NoAddressOfDevice => f.write_str(
                "there is no RDMA device of the name in dev=, or it has no address of the server's \
                 family",
            ),
            Self::Async(event, name) => {
                write!(
                    f,
                    "the device reported an asynchronous error: {name} ({event})"
                )
            }
            Self::TimedOut(what, ms) => write!(f, "{what}: nothing happened for {ms} ms"),
            Self::NoEvent(ms) => write!(
                f,
                "messages came, but none raised an event for {ms} ms: the peer solicits none, or a \
                 device raises none for solicited messages"
            ),
            Self::AllLost(ms) => write!(
                f,
                "no message was answered for {ms} ms, and it was sent again and again: all are lost"
            ),
            Self::Overdue(s) => write!(
                f,
                "the server has not answered a request within request_timeout={s}"
            ),
            Self::Interrupted => f.write_str("interrupted by a signal"),
            Self::Cancelled => f.write_str("ended, since another thread of the command failed"),
            Self::Rejected(_, _, Some(reject)) => write!(f, "the peer refused: {reject}"),
            Self::Rejected(reason, text, None) => {
                write!(f, "the connection was rejected: {text} ({reason})")?;
                if reason == Self::NOTHING_LISTENS {
                    f.write_str("; nothing listens on that port")?;
                }
                Ok(())
            }
            Self::Unreachable(_) => f.write_str("the peer did not answer the connection request"),
            Self::Moved => {
                f.write_str("the peer became unreachable: its link-layer address has changed")
            }
            Self::NamespaceGone => f.write_str(
                "its network namespace is gone: no process is in it, and it has no name",
            ),
            Self::PortDown => f.write_str(
                "the port of the RDMA device is down: see its link with 'rdma link' and 'ip link'",
            ),
            Self::AddressGone => {
                f.write_str("the RDMA device has lost the address that the connection is from")
            }
            Self::ManagementDead => f.write_str(
                "the device's connection management does not answer; recreate it ('rdma link del', \
                 'rdma link add')",
            ),
            Self::Unsupported(why) => f.write_str(why),
            Self::TooLarge(max) => {
                write!(
                    f,
                    "the size is above {max} bytes, the most that can be registered here"
                )
            }
            Self::AbovePathMtu(mtu) => write!(
                f,
                "the size is above {mtu} bytes, the path MTU, and a datagram is one packet"
            ),
            Self::AboveReceives(room) => write!(
                f,
                "the size is above {room} bytes, which the receives have that other clients share"
            ),
            Self::AboveP99(got, limit) => write!(
                f,
                "the 99th percentile is {got} ns, above the {limit} ns of max_p99"
            ),
            Self::OverMemory(limit) => write!(
                f,
                "its buffers take more than the other connections have left of the {limit} bytes \
                 of max_memory"
            ),
            Self::Silent(announced, limit) => write!(
                f,
                "the client may be silent for {announced} ms, longer than the {limit} ms of this \
                 server's silence"
            ),
            Self::BelowBandwidth(got, limit) => write!(
                f,
                "the bandwidth is {got} bytes per second, below the {limit} of min_bw"
            ),
            Self::IntervalAboveP99(got, limit, at) => write!(
                f,
                "the 99th percentile of the interval at {at} ms is {got} ns, above the {limit} ns \
                 of max_p99"
            ),
            Self::IntervalBelowBandwidth(got, limit, at) => write!(
                f,
                "the bandwidth of the interval at {at} ms is {got} bytes per second, below the \
                 {limit} of min_bw"
            ),
            Self::StartsLate(ahead, timeout) => write!(
                f,
                "start_at is {ahead} ms ahead, and no peer waits longer than the {timeout} ms of \
                 timeout"
            ),
            Self::Deviates(failed, ran) => write!(
                f,
                "the device did not do as expected in {failed} of {ran} conformance tests"
            ),
            Self::NoCpu(cpu) => write!(f, "cpu: there is no CPU {cpu}, or it is offline"),
            Self::Unexpected(number) => match errno::name(number) {
                Some(name) => write!(f, "the run succeeded, though {name} was expected"),
                None => write!(f, "the run succeeded, though errno {number} was expected"),
            },
            Self::Kernel(what, _) if self.is_no_device() => write!(
                f,
                "{what} failed with ENODEV: no RDMA device has the address or leads to it"
            ),
            Self::Kernel(what, _) if self.is_elsewhere() => write!(
                f,
                "{what} failed with EADDRNOTAVAIL: this host does not have the address"
            ),
            Self::Kernel(what, number) => {
                match errno::name(number.saturating_neg()) {
                    Some(name) => write!(f, "{what} failed with {name}")?,
                    None => write!(f, "{what} failed with errno {number}")?,
                }
                f.write_str(what_to_do(what, number.saturating_neg()))
            }
        }
    }
}
