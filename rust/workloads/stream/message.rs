// SPDX-License-Identifier: GPL-2.0

//! Messages as requests: RDMA WRITEs with immediate data, or on iWARP SENDs behind RDMA WRITEs.

#![forbid(unsafe_code)]

use crate::{
    engine::queue::Queue,
    logic::{
        failure::Failure,
        stream::{
            immediate::Message,
            violation::Violation,
            ByteOrder,
            Carrier,
            Segment, //
        }, //
    },
    mr::{
        BufferId,
        Memory, //
    },
    rdma::{
        mr::Remote,
        wr::{
            Local,
            WorkRequest, //
        }, //
    },
    workloads::exchange::memory_failed, //
};
use kernel::prelude::*;

/// Bytes of a receive, of which a WRITE with immediate data fills none.
const WORD: u32 = Message::LEN;

/// Bytes of this side to write, in one piece or two.
pub(super) type Parts = (Local, Option<Local>);

/// The memory of messages.
pub(super) struct Messages {
    carrier: Carrier,
    /// A place for each receive; where nothing is received into, one for all.
    receives: BufferId,
    /// A place for each message that may be under way, for SENDs.
    sends: Option<BufferId>,
}

impl Messages {
    /// Adds the memory for so many receives and messages under way to `memory`. May sleep.
    pub(super) fn new(
        memory: &mut Memory,
        carrier: Carrier,
        receives: u32,
        sends: u32,
    ) -> Result<Self> {
        let (receives, sends) = match carrier {
            Carrier::Immediate => (1, None),
            Carrier::Send => (receives, Some(sends)),
        };
        Ok(Self {
            carrier,
            receives: memory.add_buffer(offset_of(receives) as usize)?,
            sends: match sends {
                Some(count) => Some(memory.add_buffer(offset_of(count) as usize)?),
                None => None,
            },
        })
    }

    /// Returns the way that messages take.
    pub(super) fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Returns the number of receives that completions must tell apart, of `receives`.
    pub(super) fn slots(&self, receives: u32) -> u32 {
        match self.carrier {
            Carrier::Immediate => 1,
            Carrier::Send => receives,
        }
    }

    /// Posts receive number `index`.
    pub(super) fn post_receive(&self, queue: &mut Queue<'_>, index: u32) -> Result<(), Failure> {
        match self.carrier {
            Carrier::Immediate => queue.post_receive(0, self.receives, WORD),
            Carrier::Send => {
                queue.post_receive_at(index as usize, self.receives, offset_of(index), WORD)
            }
        }
    }

    /// Returns the message that receive number `index` has brought, of `bytes` bytes and with that
    /// immediate data, from a peer whose memory has that order.
    ///
    /// # Errors
    ///
    /// [`Failure::Stream`] where it is none.
    pub(super) fn decode(
        &self,
        queue: &Queue<'_>,
        index: usize,
        bytes: u32,
        immediate: Option<u32>,
        order: ByteOrder,
    ) -> Result<Message, Failure> {
        let message = match self.carrier {
            Carrier::Immediate => {
                let length = Failure::Stream(Violation::Length(bytes));
                Message::decode(immediate.ok_or(length)?)
            }
            Carrier::Send => {
                let mut word = [0; WORD as usize];
                let at = index * word.len();
                queue
                    .memory()
                    .read(self.receives, at, &mut word)
                    .map_err(memory_failed)?;
                Message::decode_send(word, bytes, order)
            }
        };
        message.map_err(Failure::Stream)
    }

    /// Posts `message`, whose last completion carries `slot`, behind a write of `data`, if there is
    /// any: bytes of this side, and the peer's memory. With `all` each of its requests completes.
    pub(super) fn post(
        &self,
        queue: &mut Queue<'_>,
        message: Message,
        data: Option<(Parts, Segment)>,
        slot: usize,
        all: bool,
    ) -> Result<(), Failure> {
        let Some(sends) = self.sends else {
            return queue.post_for(slot, &[with_immediate(message, data)]);
        };
        let word = message.encode_send(ByteOrder::HOST);
        let at = slot * word.len();
        queue.write(sends, at, &word).map_err(memory_failed)?;
        let send = WorkRequest::Send {
            local: Local {
                buffer: sends,
                offset: at as u32,
                len: WORD,
                region: None,
            },
            invalidate: None,
            fence: false,
            signaled: true,
            solicited: false,
        };
        match data {
            // The sender's messages lie together where they are SENDs.
            Some(((local, _), to)) => {
                let write = WorkRequest::Write {
                    local,
                    remote: remote(&to),
                    signaled: all,
                };
                queue.post_for(slot, &[write, send])
            }
            None => queue.post_for(slot, &[send]),
        }
    }
}

fn with_immediate(message: Message, data: Option<(Parts, Segment)>) -> WorkRequest {
    let (parts, to) = data.unzip();
    WorkRequest::WriteImmediate {
        parts,
        remote: remote(&to.unwrap_or_default()),
        immediate: message.encode(),
        signaled: true,
    }
}

/// Returns a part of the peer's memory as requests name it.
pub(super) fn remote(segment: &Segment) -> Remote {
    Remote {
        addr: segment.addr,
        rkey: segment.rkey,
        len: segment.len,
    }
}

const fn offset_of(index: u32) -> u32 {
    index * WORD
}
