// SPDX-License-Identifier: GPL-2.0

//! The ping/pong as two state machines without I/O, and the checks of private data.
//!
//! Each state machine takes a message of the peer, and returns the next step or the [`Violation`]
//! of the protocol. It checks everything that a peer controls: the length of a message, the order
//! of messages, invalidated keys, and the advertised size against the local buffer.

use super::{
    command::MemMode,
    wire::{
        Advertisement,
        PeerRole,
        PrivateData, //
    }, //
};
use crate::logic::spec::{
    service::Service,
    suits::suits, //
};
use core::fmt;

/// A breach of the protocol by the peer. Reported as `EPROTO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// A message of this many bytes instead of 16.
    Length(u32),
    /// An advertisement of no bytes.
    Empty,
    /// An advertisement larger than the buffer: (advertised, buffer).
    TooLarge(u32, u32),
    /// The sink's size differs from the source's: (sink, source).
    SizeChanged(u32, u32),
    /// A message with immediate data, or a WRITE that brings some.
    Immediate,
    /// A message arrived while none was due.
    Early,
    /// A go-ahead did not invalidate this key, as it had to.
    NotInvalidated(u32),
    /// A go-ahead invalidated this key without having been asked to.
    Unasked(u32),
    /// A go-ahead invalidated a key that was not the advertised one:
    /// (invalidated, advertised).
    WrongKey(u32, u32),
    /// The peer serves no RDMA READ.
    NoReads,
    /// The peer's private data names the wrong side.
    Role,
    /// The peer's private data asks for options that do not go together.
    Contradiction,
    /// The server's private data does not agree to the client's.
    Answer,
    /// An advertisement of another size than that of all transfers: (advertised, size).
    TransferSize(u32, u32),
    /// An advertisement that reaches beyond the last address.
    Wraps,
    /// An answer that is not to the transfer that is due.
    OtherTransfer,
    /// The peer began another iteration after the number that it had announced.
    PastEnd,
    /// A control message of a microbenchmark is malformed or unexpected.
    Control,
    /// A message has neither the length of data nor of a control message: (length, size of data).
    DataLength(u32, u32),
    /// The peer's count of messages differs from the number that arrived: (arrived, peer's count).
    Miscounted(u64, u64),
    /// A message on an unreliable queue pair does not carry its number.
    Unnumbered,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Length(n) => write!(f, "sent a message of {n} bytes instead of 16"),
            Self::Immediate => f.write_str("sent immediate data, which belongs to no message"),
            Self::Empty => f.write_str("advertised a buffer of 0 bytes"),
            Self::TooLarge(n, max) => {
                write!(
                    f,
                    "advertised {n} bytes, more than the {max} of this side's buffer"
                )
            }
            Self::SizeChanged(n, was) => {
                write!(f, "advertised a sink of {n} bytes after a source of {was}")
            }
            Self::TransferSize(n, size) => {
                write!(
                    f,
                    "advertised {n} bytes instead of the {size} of each transfer"
                )
            }
            Self::Wraps => f.write_str("advertised memory beyond the last address"),
            Self::OtherTransfer => {
                f.write_str("answered another transfer than the one that is due")
            }
            Self::Early => f.write_str("sent a message out of turn"),
            Self::NotInvalidated(key) => {
                write!(f, "did not invalidate key {key:#x} with its go-ahead")
            }
            Self::Unasked(key) => {
                write!(
                    f,
                    "invalidated key {key:#x} with its go-ahead without being asked"
                )
            }
            Self::WrongKey(got, want) => {
                write!(f, "invalidated key {got:#x} instead of {want:#x}")
            }
            Self::NoReads => f.write_str("serves no RDMA READ, as its request says"),
            Self::Role => f.write_str("announced itself as the wrong side"),
            Self::Contradiction => f.write_str("asked for what does not go together"),
            Self::Answer => f.write_str("agreed to something other than what was asked for"),
            Self::PastEnd => f.write_str("went on after the last iteration"),
            Self::Control => f.write_str("sent a control message that makes no sense"),
            Self::DataLength(n, size) => write!(
                f,
                "sent a message of {n} bytes, which is neither data ({size}) nor control"
            ),
            Self::Miscounted(arrived, said) => {
                write!(
                    f,
                    "says that it sent {said} messages, and {arrived} arrived"
                )
            }
            Self::Unnumbered => f.write_str("sent a message without its number"),
        }
    }
}

/// Checks the private data of a client that connects.
///
/// # Errors
///
/// [`Violation::Role`] where a server sent it, and [`Violation::Contradiction`] where its options
/// do not go together.
pub(crate) fn check_request(peer: &PrivateData) -> Result<(), Violation> {
    if peer.role != PeerRole::Client {
        return Err(Violation::Role);
    }
    let invalidates = peer.server_inv || peer.read_inv;
    if (peer.server_inv && peer.read_inv) || (invalidates && peer.mem_mode != MemMode::Reg) {
        return Err(Violation::Contradiction);
    }
    let test = peer.test;
    let is_reg = peer.mem_mode == MemMode::Reg;
    if (test.is_microbench() && is_reg) || !suits(&peer.load, peer.validate, test, peer.size) {
        return Err(Violation::Contradiction);
    }
    let sends_to_group = test.takes_multicast() && peer.load.service == Service::Ud;
    if peer.group.is_some() && !sends_to_group {
        return Err(Violation::Contradiction);
    }
    Ok(())
}

/// Checks the private data with which a server answers `asked`.
///
/// # Errors
///
/// [`Violation::Role`] where a client sent it, and [`Violation::Answer`] where it differs from
/// `asked`.
pub(crate) fn check_answer(asked: &PrivateData, answer: &PrivateData) -> Result<(), Violation> {
    if answer.role != PeerRole::Server {
        return Err(Violation::Role);
    }
    let same = answer.test == asked.test
        && answer.mem_mode == asked.mem_mode
        && answer.server_inv == asked.server_inv
        && answer.read_inv == asked.read_inv
        && answer.validate == asked.validate
        && answer.pattern == asked.pattern
        && answer.size == asked.size;
    // These fields are on the wire for a test with a load only.
    let same_load = !asked.test.has_load()
        || (answer.load == asked.load
            && answer.group == asked.group
            && answer.index == asked.index
            && answer.txdepth == asked.txdepth
            && answer.duration_ms == asked.duration_ms);
    if same && same_load {
        Ok(())
    } else {
        Err(Violation::Answer)
    }
}

/// A received message, as its completion describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    /// The number of bytes that arrived.
    pub(crate) len: u32,
    /// The first 16 bytes of the receive buffer.
    pub(crate) bytes: [u8; Advertisement::LEN],
    /// The rkey that it invalidated, where it was a SEND_WITH_INV.
    pub(crate) invalidated: Option<u32>,
    /// True where it came with immediate data; it may be a WRITE that did not use the buffer.
    pub(crate) has_immediate: bool,
}

impl Message {
    pub(super) fn check_form(&self) -> Result<(), Violation> {
        if self.has_immediate {
            return Err(Violation::Immediate);
        }
        if self.len as usize == Advertisement::LEN {
            Ok(())
        } else {
            Err(Violation::Length(self.len))
        }
    }
}

/// The client's next step after a go-ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientStep {
    /// The server has read the source. Advertise the sink.
    AdvertiseSink,
    /// The server has written the sink. The iteration is over.
    Iterated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientState {
    Idle,
    SourceAdvertised,
    SinkAdvertised,
}

/// The state machine of the client. It tracks the last advertisement, and so the go-ahead that is
/// due.
#[derive(Debug)]
pub(crate) struct Client {
    state: ClientState,
    remote_invalidate: bool,
}

impl Client {
    /// Creates a client before its first iteration. With `remote_invalidate` each go-ahead must
    /// invalidate the key advertised before it.
    pub(crate) const fn new(remote_invalidate: bool) -> Self {
        Self {
            state: ClientState::Idle,
            remote_invalidate,
        }
    }

    /// Notes that the source is being advertised, which begins an iteration.
    pub(crate) fn start(&mut self) {
        self.state = ClientState::SourceAdvertised;
    }

    /// Handles a go-ahead for the advertisement of key `rkey`, and returns the next step.
    ///
    /// # Errors
    ///
    /// The [`Violation`], after which the session cannot go on.
    pub(crate) fn go_ahead(
        &mut self,
        message: &Message,
        rkey: u32,
    ) -> Result<ClientStep, Violation> {
        message.check_form()?;
        let step = match self.state {
            ClientState::Idle => return Err(Violation::Early),
            ClientState::SourceAdvertised => ClientStep::AdvertiseSink,
            ClientState::SinkAdvertised => ClientStep::Iterated,
        };
        match message.invalidated {
            None if self.remote_invalidate => return Err(Violation::NotInvalidated(rkey)),
            Some(key) if !self.remote_invalidate => return Err(Violation::Unasked(key)),
            Some(key) if key != rkey => return Err(Violation::WrongKey(key, rkey)),
            _ => {}
        }
        self.state = match step {
            ClientStep::AdvertiseSink => ClientState::SinkAdvertised,
            ClientStep::Iterated => ClientState::Idle,
        };
        Ok(step)
    }
}

/// The server's next step after an advertisement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerStep {
    /// READ the source, then send a go-ahead.
    Read(Advertisement),
    /// WRITE the data read last to the sink, then send a go-ahead.
    Write(Advertisement),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerState {
    AwaitSource,
    Reading,
    AwaitSink,
}

/// The state machine of the server. It tracks the advertisement that is due.
#[derive(Debug)]
pub(crate) struct Server {
    state: ServerState,
    /// The size of the local buffer in bytes.
    buffer: u32,
    /// The size of the source read last, in bytes.
    size: u32,
    /// The number of iterations left to serve; `None` where the peer announced no number.
    left: Option<u64>,
}

impl Server {
    /// Creates a server with a buffer of `buffer` bytes. The peer announced `count` iterations; 0
    /// means that it continues until it disconnects.
    pub(crate) const fn new(buffer: u32, count: u64) -> Self {
        Self {
            state: ServerState::AwaitSource,
            buffer,
            size: 0,
            left: if count == 0 { None } else { Some(count) },
        }
    }

    /// Handles an advertisement, and returns the next step.
    ///
    /// # Errors
    ///
    /// The [`Violation`], after which the session cannot go on.
    pub(crate) fn advertisement(&mut self, message: &Message) -> Result<ServerStep, Violation> {
        message.check_form()?;
        if message.invalidated.is_some() || self.state == ServerState::Reading {
            return Err(Violation::Early);
        }
        let adv = Advertisement::decode(&message.bytes);
        if adv.size == 0 {
            return Err(Violation::Empty);
        }
        if adv.size > self.buffer {
            return Err(Violation::TooLarge(adv.size, self.buffer));
        }
        if self.state == ServerState::AwaitSource {
            if self.left == Some(0) {
                return Err(Violation::PastEnd);
            }
            self.size = adv.size;
            self.state = ServerState::Reading;
            return Ok(ServerStep::Read(adv));
        }
        // Anything else would send bytes that were never read.
        if adv.size != self.size {
            return Err(Violation::SizeChanged(adv.size, self.size));
        }
        self.left = self.left.map(|n| n.saturating_sub(1));
        self.state = ServerState::AwaitSource;
        Ok(ServerStep::Write(adv))
    }

    /// Notes that the READ has completed, and returns the number of bytes that it brought.
    pub(crate) fn read_done(&mut self) -> u32 {
        if self.state == ServerState::Reading {
            self.state = ServerState::AwaitSink;
        }
        self.size
    }

    /// Returns true where the peer announced a number of iterations, and all of them were served.
    pub(crate) fn served_all(&self) -> bool {
        self.state == ServerState::AwaitSource && self.left == Some(0)
    }

    /// Returns true where the peer may disconnect now: between iterations, and not before the end
    /// of those that it announced.
    pub(crate) fn may_end(&self) -> bool {
        self.state == ServerState::AwaitSource && matches!(self.left, None | Some(0))
    }
}
