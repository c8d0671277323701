// SPDX-License-Identifier: GPL-2.0

//! The description that each side gives of itself while they connect: in private data, or where
//! there is no CM, over TCP.

use crate::logic::{
    spec::{
        limits,
        tests::Test, //
    },
    wire::{
        hello::{
            in_range,
            open, //
        },
        pack,
        PeerRole,
        PrivateData,
        PrivateDataError, //
    }, //
};

/// A queue pair as the other side reaches it without the CM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueuePairAddress {
    /// The number of the queue pair.
    pub(crate) number: u32,
    /// The sequence number of its first packet.
    pub(crate) psn: u32,
    /// The LID of its port.
    pub(crate) lid: u16,
    /// The GID of its port.
    pub(crate) gid: [u8; 16],
    /// Bytes of data of a packet on its path.
    pub(crate) mtu: u16,
}

/// The description that one side gives of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    /// The sender.
    pub(crate) role: PeerRole,
    /// Bytes of each of its chunks: the most of a SEND to it.
    pub(crate) chunk: u32,
    /// Bytes of each message. A server repeats what the client says.
    pub(crate) size: u32,
    /// Connections that the client's thread makes. A server repeats that.
    pub(crate) conns: u16,
    /// The number of this connection among these, from 0. A server repeats that.
    pub(crate) index: u16,
    /// The most messages that the client has under way on the connection. A server repeats that.
    pub(crate) inflight: u16,
    /// The longest that the client is silent because nothing is due, in milliseconds; 0 where each
    /// message follows those before. A server repeats that.
    pub(crate) silence_ms: u32,
    /// The queue pair; all zero where the CM tells.
    pub(crate) queue_pair: QueuePairAddress,
}

impl Hello {
    /// The number of bytes on the wire.
    pub(crate) const LEN: usize = PrivateData::LEN;

    /// Numbers of queue pairs and packets have so many bits.
    const NUMBERS: u32 = 1 << 24;

    /// Returns the bytes on the wire.
    pub(crate) fn encode(&self) -> [u8; Self::LEN] {
        let test = PrivateData::number(Test::Messenger);
        let QueuePairAddress {
            number,
            psn,
            lid,
            gid,
            mtu,
        } = self.queue_pair;
        pack(
            PrivateData::MAGIC
                .into_iter()
                .chain([PrivateData::VERSION, self.role.number(), test, 0])
                .chain(self.chunk.to_be_bytes())
                .chain(self.size.to_be_bytes())
                .chain(self.conns.to_be_bytes())
                .chain(self.index.to_be_bytes())
                .chain(number.to_be_bytes())
                .chain(psn.to_be_bytes())
                .chain(lid.to_be_bytes())
                .chain([0, 0])
                .chain(gid)
                .chain(self.inflight.to_be_bytes())
                .chain(mtu.to_be_bytes())
                .chain(self.silence_ms.to_be_bytes()),
        )
    }

    /// Decodes what the other side has said. Bytes after [`LEN`](Self::LEN) are ignored.
    ///
    /// # Errors
    ///
    /// [`PrivateDataError`], which names what is wrong with it.
    pub(crate) fn decode(bytes: &[u8], from: PeerRole) -> Result<Self, PrivateDataError> {
        let (_, mut fields) = open(bytes, from, Test::is_messenger)?;
        let chunk = u32::from_be_bytes(fields.take());
        let size = u32::from_be_bytes(fields.take());
        let conns = u16::from_be_bytes(fields.take());
        let index = u16::from_be_bytes(fields.take());
        let number = u32::from_be_bytes(fields.take());
        let psn = u32::from_be_bytes(fields.take());
        let lid = u16::from_be_bytes(fields.take());
        let zeroes: [u8; 2] = fields.take();
        let gid = fields.take();
        let inflight = u16::from_be_bytes(fields.take());
        let queue_pair = QueuePairAddress {
            number,
            psn,
            lid,
            gid,
            mtu: u16::from_be_bytes(fields.take()),
        };
        let silence_ms = u32::from_be_bytes(fields.take());
        if zeroes != [0; 2] {
            return Err(PrivateDataError::Reserved);
        }
        let hello = Self {
            role: from,
            chunk,
            size,
            conns,
            index,
            inflight,
            silence_ms,
            queue_pair,
        };
        hello.check().map(|()| hello)
    }

    /// Checks that a server's answer repeats what the client has said.
    ///
    /// # Errors
    ///
    /// The field that it does not.
    pub(crate) fn repeats(&self, asked: &Self) -> Result<(), PrivateDataError> {
        let checks = [
            ("size", self.size == asked.size),
            ("conns", self.conns == asked.conns),
            ("index", self.index == asked.index),
            ("inflight", self.inflight == asked.inflight),
            ("silence", self.silence_ms == asked.silence_ms),
        ];
        in_range(&checks)
    }

    fn check(&self) -> Result<(), PrivateDataError> {
        let QueuePairAddress {
            number, psn, mtu, ..
        } = self.queue_pair;
        let checks = [
            ("chunk", limits::CHUNK.contains(&self.chunk.into())),
            ("size", limits::SIZE.contains(&self.size.into())),
            ("conns", limits::CONNS.contains(&self.conns.into())),
            ("index", self.index < self.conns),
            ("inflight", limits::INFLIGHT.contains(&self.inflight.into())),
            (
                "silence",
                u64::from(self.silence_ms) <= *limits::ALIVE_MS.end(),
            ),
            ("queue pair", number < Self::NUMBERS),
            ("psn", psn < Self::NUMBERS),
            ("mtu", matches!(mtu, 0 | 256 | 512 | 1024 | 2048 | 4096)),
        ];
        in_range(&checks)
    }
}
