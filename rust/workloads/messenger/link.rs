// SPDX-License-Identifier: GPL-2.0

//! Meeting over TCP: two sides tell each other of their queue pairs, and connect them without the
//! CM.
//!
//! The TCP connection stays as long as the queue pairs are connected, and tells each side of the
//! other's end. Nothing is sent over it but one hello each way.

#![forbid(unsafe_code)]

use super::connection::Connection;
use crate::{
    cm::{
        addr::SocketAddress,
        CmId, //
    },
    engine::{
        drive::failed,
        outcome::Outcome,
        queue_pair::QueuePair,
        session::Session, //
    },
    kernel_ext::{
        random::random,
        socket::Stream,
        time::Deadline, //
    },
    logic::{
        failure::Failure,
        messenger::hello::{
            Hello,
            QueuePairAddress, //
        },
        wire::{
            PeerRole,
            PrivateDataError, //
        }, //
    },
    rdma::device::{
        Device,
        Transport, //
    }, //
};
use core::net::SocketAddr;
use kernel::prelude::*;

/// The time between two looks at what else may have happened, in ms.
pub(super) const SLICE_MS: u32 = 50;

/// Steps of meeting, for failures.
const CONNECTING: &str = "connecting over TCP";
const SAYING: &str = "describing this side over TCP";
const HEARING: &str = "waiting for the other side to describe itself over TCP";
const READING_ROUTE: &str = "reading the route";

/// Refusal of devices that only connect by a handshake.
const IWARP: &str = "tcp: iWARP does not connect without the CM's handshake";

/// Fails where queue pairs of `device` are not connected without the CM.
///
/// # Errors
///
/// [`Failure::Unsupported`].
pub(super) fn check_device(device: &Device<'_>) -> Result<(), Failure> {
    match device.transport() {
        Transport::InfiniBand | Transport::Roce => Ok(()),
        Transport::Iwarp | Transport::Other => Err(Failure::Unsupported(IWARP)),
    }
}

/// The TCP connection beside a connection of queue pairs.
pub(super) struct Link(Stream);

impl Link {
    /// Takes over a connection of a client's.
    pub(super) fn new(stream: Stream) -> Self {
        Self(stream)
    }

    /// Connects to the server at `addr`. Process context; sleeps.
    fn connect(
        session: &Session,
        outcome: &Outcome,
        addr: &SocketAddress,
    ) -> Result<Self, Failure> {
        let timeout = session.timeout();
        let addr = SocketAddr::try_from(*addr).map_err(failed(CONNECTING))?;
        let gives_up = || outcome.failure().is_some();
        match Stream::connect(&session.net, &addr, timeout, gives_up) {
            Ok(stream) => Ok(Self(stream)),
            Err(ETIMEDOUT) => Err(Failure::TimedOut(CONNECTING, timeout)),
            Err(error) => Err(outcome.failure().unwrap_or(failed(CONNECTING)(error))),
        }
    }

    /// Returns this side's address.
    ///
    /// # Errors
    ///
    /// The socket's error.
    pub(super) fn local(&self) -> Result<SocketAddress, Failure> {
        let local = self.0.local().map_err(failed(HEARING))?;
        Ok(unmapped(local))
    }

    /// Says `hello`. Process context; sleeps.
    fn say(&self, hello: &Hello, timeout: u32) -> Result<(), Failure> {
        self.0
            .send_all(&hello.encode(), timeout)
            .map_err(|error| lost(SAYING, error))
    }

    /// Waits for what the other side says, which is `from`, up to `timeout` ms or until `outcome`
    /// has failed. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::TimedOut`]; [`Failure::Disconnected`]; [`Failure::PrivateData`]; the failure that
    /// was reported.
    pub(super) fn hear(
        &self,
        outcome: &Outcome,
        timeout: u32,
        from: PeerRole,
    ) -> Result<Hello, Failure> {
        let mut hearing = Hearing::new(timeout);
        loop {
            if let Some(hello) = hearing.receive(self, SLICE_MS.min(timeout), from)? {
                return Ok(hello);
            }
            if let Some(failure) = outcome.failure() {
                return Err(failure);
            }
        }
    }

    /// Returns true where the other side has ended the connection, within `timeout` ms. There is
    /// nothing more for it to say. Process context; sleeps.
    fn ends_within(&self, timeout: u32) -> bool {
        !matches!(self.0.receive(&mut [0; 1], timeout), Ok(None))
    }

    /// Returns true where the other side has ended the connection. Process context; may sleep.
    pub(super) fn has_ended(&self) -> bool {
        self.ends_within(0)
    }

    /// Tells the other side that this one has come to its end. Process context; may sleep.
    pub(super) fn say_end(&self) {
        self.0.end_sending();
    }

    /// Waits until the other side has ended the connection, until `deadline` or until `outcome`
    /// need not wait for the peer. Process context; sleeps.
    pub(super) fn await_end(&self, outcome: &Outcome, deadline: Deadline) {
        while !outcome.is_released() && !deadline.passed() && !self.ends_within(SLICE_MS) {}
    }
}

/// A description of the other side that is being received.
pub(super) struct Hearing {
    bytes: [u8; Hello::LEN],
    received: usize,
    timeout: u32,
    deadline: Deadline,
}

impl Hearing {
    /// Creates the state before the first byte, of what is to come within `timeout` ms.
    pub(super) fn new(timeout: u32) -> Self {
        Self {
            bytes: [0; Hello::LEN],
            received: 0,
            timeout,
            deadline: Deadline::after_ms(timeout),
        }
    }

    /// Waits up to `wait_ms` for more of it to come over `link`, with 0 not at all, and returns the
    /// whole where that was the rest. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// [`Failure::TimedOut`]; [`Failure::Disconnected`]; [`Failure::PrivateData`].
    pub(super) fn receive(
        &mut self,
        link: &Link,
        wait_ms: u32,
        from: PeerRole,
    ) -> Result<Option<Hello>, Failure> {
        let rest = self.bytes.get_mut(self.received..).unwrap_or_default();
        let received = link.0.receive(rest, wait_ms);
        match received.map_err(|error| lost(HEARING, error))? {
            Some(0) => return Err(Failure::Disconnected),
            Some(count) => self.received += count,
            None => {}
        }
        if self.received == Hello::LEN {
            let hello = Hello::decode(&self.bytes, from);
            return hello.map(Some).map_err(Failure::PrivateData);
        }
        match self.deadline.passed() {
            true => Err(Failure::TimedOut(HEARING, self.timeout)),
            false => Ok(None),
        }
    }
}

/// Returns the failure of a connection in the step `what`.
fn lost(what: &'static str, error: Error) -> Failure {
    match failed(what)(error) {
        failure if failure.errno() == Failure::Disconnected.errno() => Failure::Disconnected,
        failure => failure,
    }
}

/// Returns a socket's address, with one of IPv4 that is mapped into IPv6 as such.
pub(super) fn unmapped(addr: SocketAddr) -> SocketAddress {
    match addr {
        SocketAddr::V6(v6) => match v6.ip().to_ipv4_mapped() {
            Some(ip) => SocketAddress::v4(ip.octets(), v6.port()),
            None => addr.into(),
        },
        SocketAddr::V4(_) => addr.into(),
    }
}

/// A side's own end: its queue pair, and the identifier whose route leads to the other side.
pub(super) struct End<'a> {
    pub(super) queue_pair: &'a QueuePair<Connection>,
    pub(super) id: &'a CmId,
    /// The sequence number of its first packet.
    psn: u32,
}

impl<'a> End<'a> {
    /// Returns the end of `queue_pair`, with an unpredictable first sequence number.
    pub(super) fn new(queue_pair: &'a QueuePair<Connection>, id: &'a CmId) -> Self {
        Self {
            queue_pair,
            id,
            psn: (random() & 0x00ff_ffff) as u32,
        }
    }

    /// Returns the queue pair as the other side reaches it.
    fn address(&self) -> Result<QueuePairAddress, Failure> {
        let id = self.id.rdma();
        let (lid, gid) = id.lid_and_gid().map_err(failed(READING_ROUTE))?;
        let mtu = id.path_mtu().and_then(|mtu| u16::try_from(mtu).ok());
        Ok(QueuePairAddress {
            number: self.queue_pair.number(),
            psn: self.psn,
            lid,
            gid,
            mtu: mtu.ok_or(EINVAL).map_err(failed(READING_ROUTE))?,
        })
    }

    /// Connects the queue pair to that of a side which has said `theirs`, with the smaller path MTU
    /// of both.
    fn join(&self, theirs: &Hello) -> Result<(), Failure> {
        let theirs = theirs.queue_pair;
        let gid = self.id.rdma().peer_gid().map_err(failed(READING_ROUTE))?;
        if gid != theirs.gid {
            return Err(Failure::Unsupported(
                "tcp: the other side's port is not the one that the route leads to",
            ));
        }
        if theirs.mtu == 0 {
            return Err(Failure::PrivateData(PrivateDataError::Range("mtu")));
        }
        if theirs.mtu < self.address()?.mtu {
            self.id.lower_path_mtu(theirs.mtu)?;
        }
        self.queue_pair
            .connect_without_cm(self.psn, theirs.number, theirs.psn)
    }

    /// Meets the server at `addr` as a client that says `hello`, and connects the queue pair.
    /// Returns what the server has said. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::Disconnected`] where the server has refused it; that of a step of meeting.
    #[inline(never)]
    pub(super) fn greet(
        &self,
        session: &Session,
        addr: &SocketAddress,
        hello: Hello,
    ) -> Result<(Link, Hello), Failure> {
        let (outcome, timeout) = (self.id.outcome(), session.timeout());
        let link = Link::connect(session, outcome, addr)?;
        let hello = Hello {
            queue_pair: self.address()?,
            ..hello
        };
        link.say(&hello, timeout)?;
        let theirs = link.hear(outcome, timeout, PeerRole::Server)?;
        theirs.repeats(&hello).map_err(Failure::PrivateData)?;
        self.join(&theirs)?;
        Ok((link, theirs))
    }

    /// Connects the queue pair to that of a client which has said `theirs` over `link`, and then
    /// answers with `hello`: what the client sends finds a queue pair that receives. Process
    /// context; sleeps.
    ///
    /// # Errors
    ///
    /// The failure of a step of meeting.
    #[inline(never)]
    pub(super) fn answer(
        &self,
        session: &Session,
        link: &Link,
        theirs: &Hello,
        hello: Hello,
    ) -> Result<(), Failure> {
        self.join(theirs)?;
        let hello = Hello {
            queue_pair: self.address()?,
            ..hello
        };
        link.say(&hello, session.timeout())
    }
}
