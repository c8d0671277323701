// SPDX-License-Identifier: GPL-2.0

//! The requests for connections that reach a server, by the CM or over TCP, and the replies.

#![forbid(unsafe_code)]

use super::{
    arrivals::{
        Arrival,
        Arrivals,
        Met, //
    },
    connection::Connection,
    link::{
        End,
        Link, //
    }, //
};
use crate::{
    cm::{
        addr::SocketAddress,
        listener::{
            Listener,
            Request, //
        },
        CmId,
        ReadLimits, //
    },
    engine::{
        accept::Accepting,
        drive::failed,
        limits::{
            read_limits,
            READS, //
        },
        outcome::Outcome,
        queue_pair::QueuePair,
        retransmission::retries,
        server::{
            is_allowed,
            next_request,
            reject_as_busy,
            WAITING, //
        },
        session::Session, //
    },
    logic::{
        failure::Failure,
        messenger::hello::Hello,
        wire::PeerRole, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The listener that clients ask for connections, of either way to connect.
pub(super) enum Requests {
    /// The CM's.
    Cm(Listener),
    /// The one of TCP.
    Tcp(Arrivals),
}

impl Requests {
    /// Waits for a client, up to `timeout` ms. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// The failure that was reported; [`Failure::TimedOut`].
    #[inline(never)]
    pub(super) fn next(
        &self,
        session: &Session,
        outcome: &Outcome,
        timeout: Option<u32>,
    ) -> Result<Option<ConnectionRequest>, Failure> {
        match self {
            Self::Cm(listener) => {
                let request = next_request(session, listener, outcome, timeout)?;
                Ok(request.map(ConnectionRequest::Cm))
            }
            Self::Tcp(arrivals) => {
                let mut next = None;
                outcome.wait_until(WAITING, timeout, || {
                    next = arrivals.take();
                    next.is_some()
                })?;
                Ok(next.map(ConnectionRequest::Tcp))
            }
        }
    }

    /// Takes a client that is there, if there is one that the server accepts.
    pub(super) fn take(&self, session: &Session) -> Option<ConnectionRequest> {
        match self {
            Self::Cm(listener) => loop {
                let request = listener.take()?;
                if is_allowed(session, &request) {
                    return Some(ConnectionRequest::Cm(request));
                }
            },
            Self::Tcp(arrivals) => arrivals.take().map(ConnectionRequest::Tcp),
        }
    }
}

/// A client that asks for a connection.
pub(super) enum ConnectionRequest {
    Cm(Request),
    Tcp(Arrival),
}

impl ConnectionRequest {
    /// Returns the client's address.
    pub(super) fn peer(&self) -> SocketAddress {
        match self {
            Self::Cm(request) => request.id.peer(),
            Self::Tcp(arrival) => arrival.peer,
        }
    }

    /// Refuses it, as there are too many clients.
    pub(super) fn refuse_as_busy(self) {
        if let Self::Cm(request) = self {
            reject_as_busy(&request);
        }
    }

    /// Hears what it says.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; that of meeting over TCP.
    pub(super) fn hear(self) -> Result<Heard, Failure> {
        match self {
            Self::Cm(Request { id, data, limits }) => {
                let id = Arc::new(id, GFP_KERNEL).map_err(|e| failed("serving a client")(e.into()));
                let hello = Hello::decode(data.as_slice(), PeerRole::Client);
                Ok(Heard {
                    id: id?,
                    hello: hello.map_err(Failure::PrivateData),
                    reply: Reply::Cm(limits),
                })
            }
            Self::Tcp(arrival) => {
                let Met { link, id, hello } = arrival.met?;
                Ok(Heard {
                    id,
                    hello: Ok(hello),
                    reply: Reply::Tcp(link),
                })
            }
        }
    }
}

/// A connection that a client has asked for.
pub(super) struct Heard {
    /// The identifier of the connection to be.
    pub(super) id: Arc<CmId>,
    /// Its description of itself, or the fault in that.
    pub(super) hello: Result<Hello, Failure>,
    pub(super) reply: Reply,
}

/// The way in which a client is answered.
pub(super) enum Reply {
    /// The CM's acceptance, with the READ limits that the client has offered.
    Cm(ReadLimits),
    Tcp(Link),
}

impl Reply {
    /// Connects the queue pair of a client that has said `theirs`, with `hello` as the answer.
    /// Process context; sleeps.
    ///
    /// # Errors
    ///
    /// The CM's error, or the failure of a step of meeting.
    pub(super) fn answer(
        &self,
        accepting: &Accepting<'_>,
        queue_pair: &QueuePair<Connection>,
        theirs: &Hello,
        hello: Hello,
    ) -> Result<(), Failure> {
        let (session, id) = (accepting.session, accepting.id);
        match self {
            Self::Cm(limits) => {
                let limits = read_limits(&accepting.device()?, Some(*limits), READS);
                let retries = retries(&session.command);
                id.accept_with(&hello.encode(), limits, retries, session.timeout())
            }
            Self::Tcp(link) => End::new(queue_pair, id).answer(session, link, theirs, hello),
        }
    }

    /// Returns the TCP connection beside that of the queue pairs, if there is one.
    pub(super) fn into_link(self) -> Option<Link> {
        match self {
            Self::Cm(_) => None,
            Self::Tcp(link) => Some(link),
        }
    }
}
