// SPDX-License-Identifier: GPL-2.0

//! The sentence of a failure.

use super::{
    completion::{
        status_name,
        usual_cause, //
    },
    errno,
    step::what_to_do,
    Failure, //
};
use crate::logic::pingpong::Violation;
use core::fmt;

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
            Self::NoNode(node) => {
                write!(f, "node={node}: this machine has no memory on that node")
            }
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
