// SPDX-License-Identifier: GPL-2.0

//! The private data that the two sides of a disk or tap exchange while they connect, with a layout
//! of its own behind the first eight bytes.

use super::{
    extras::Extras,
    pack,
    Fields,
    PeerRole,
    PrivateData,
    PrivateDataError, //
};
use crate::logic::{
    block::Limits,
    command::{
        limits,
        Test, //
    }, //
};

/// Returns the test that private data names, whatever the rest of it says; `None` from a legacy
/// peer.
///
/// # Errors
///
/// As of [`PrivateData::decode`], where not even the test can be read.
pub(crate) fn announced(bytes: &[u8]) -> Result<Option<Test>, PrivateDataError> {
    match PrivateData::whole(bytes)? {
        None => Ok(None),
        Some(&[_, _, _, _, _, _, test, ..]) => PrivateData::test(test).map(Some),
    }
}

/// The private data that a disk or tap sends with each of its connection requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    /// [`Test::Block`] or [`Test::Tap`].
    pub(crate) test: Test,
    /// The identity of the disk or tap: a random number.
    pub(crate) disk: u64,
    /// The number of times that it has connected, from 1.
    pub(crate) generation: u32,
    /// The number of this connection among its connections, from 0.
    pub(crate) index: u16,
    /// The number of connections that it makes; 1 of a tap.
    pub(crate) queues: u16,
    /// The most requests in flight on this connection, one keepalive or close aside.
    pub(crate) depth: u16,
    /// The most bytes of its requests.
    pub(crate) max_bytes: u32,
    /// The keepalive interval: the longest that it is silent, in milliseconds.
    pub(crate) alive_ms: u32,
    /// The time for which it tries to reconnect after connection loss, in milliseconds.
    pub(crate) hold_ms: u32,
}

impl Hello {
    /// The fewest bytes that the longest request must be able to have.
    const LEAST_BYTES: u32 = 4096;

    /// Returns the bytes on the wire.
    pub(crate) fn encode(&self) -> [u8; PrivateData::LEN] {
        pack(
            head(PeerRole::Client, self.test, 0)
                .into_iter()
                .chain(self.disk.to_be_bytes())
                .chain(self.generation.to_be_bytes())
                .chain(self.index.to_be_bytes())
                .chain(self.queues.to_be_bytes())
                .chain(self.depth.to_be_bytes())
                .chain([0, 0])
                .chain(self.max_bytes.to_be_bytes())
                .chain(self.alive_ms.to_be_bytes())
                .chain(self.hold_ms.to_be_bytes()),
        )
    }

    /// Decodes a client's private data. Bytes after [`PrivateData::LEN`] are ignored.
    ///
    /// # Errors
    ///
    /// What is wrong with it, as that of a disk or tap.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, PrivateDataError> {
        let (test, mut fields) = open(bytes, PeerRole::Client, Test::is_block)?;
        let flags = u32::from_be_bytes(fields.take());
        if flags != 0 {
            return Err(PrivateDataError::Flags(flags));
        }
        let disk = u64::from_be_bytes(fields.take());
        let generation = u32::from_be_bytes(fields.take());
        let index = u16::from_be_bytes(fields.take());
        let queues = u16::from_be_bytes(fields.take());
        let depth = u16::from_be_bytes(fields.take());
        let reserved = u16::from_be_bytes(fields.take());
        let hello = Self {
            test,
            disk,
            generation,
            index,
            queues,
            depth,
            max_bytes: u32::from_be_bytes(fields.take()),
            alive_ms: u32::from_be_bytes(fields.take()),
            hold_ms: u32::from_be_bytes(fields.take()),
        };
        if reserved != 0 || fields.take() != [0; 12] {
            return Err(PrivateDataError::Reserved);
        }
        hello.check()?;
        Ok(hello)
    }

    /// Checks that each number is one that makes sense.
    fn check(&self) -> Result<(), PrivateDataError> {
        let most_queues = match self.test == Test::Tap {
            true => 1,
            false => *limits::QUEUES.end(),
        };
        let hold_ms = limits::RECONNECT_S.end().saturating_mul(1000);
        in_range(&[
            ("generation", self.generation != 0),
            (
                "queues",
                limits::QUEUES.contains(&self.queues.into())
                    && u64::from(self.queues) <= most_queues,
            ),
            ("index", self.index < self.queues),
            ("depth", limits::DEPTH.contains(&self.depth.into())),
            ("max_bytes", self.max_bytes >= Self::LEAST_BYTES),
            ("alive_ms", limits::ALIVE_MS.contains(&self.alive_ms.into())),
            ("hold_ms", u64::from(self.hold_ms) <= hold_ms),
        ])
    }
}

/// The answer of a server to a [`Hello`]: the disk that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// The client's test.
    pub(crate) test: Test,
    /// True where the store is not to be changed.
    pub(crate) read_only: bool,
    /// True where there is no store: what a tap sends is only logged.
    pub(crate) log_only: bool,
    /// Bytes of the disk.
    pub(crate) size: u64,
    /// The identity of the store: the same after a restart of the server where what is in it is the
    /// same.
    pub(crate) store: u64,
    /// Bytes of a block.
    pub(crate) block: u32,
    /// The most bytes of a read or write.
    pub(crate) max_bytes: u32,
    /// The most bytes of a discard or write-zeroes; 0 where there is neither.
    pub(crate) max_discard: u32,
    /// The most requests in flight, one keepalive or close aside.
    pub(crate) depth: u16,
    /// The most bytes of data that may follow a write in the same message.
    pub(crate) inline: u32,
    /// The keepalive interval: the longest that the server is silent while it is asked something,
    /// in milliseconds.
    pub(crate) alive_ms: u32,
    /// The extras, which an older client does not look for.
    pub(crate) extras: Extras,
}

impl Geometry {
    /// The sizes that a block can have.
    const BLOCK: core::ops::RangeInclusive<u32> = 512..=4096;

    const READ_ONLY: u32 = 1 << 0;
    const LOG_ONLY: u32 = 1 << 1;

    /// Returns the bytes on the wire, without the extras.
    pub(crate) fn encode(&self) -> [u8; PrivateData::LEN] {
        let read_only = if self.read_only { Self::READ_ONLY } else { 0 };
        let log_only = if self.log_only { Self::LOG_ONLY } else { 0 };
        pack(
            head(PeerRole::Server, self.test, read_only | log_only)
                .into_iter()
                .chain(self.size.to_be_bytes())
                .chain(self.store.to_be_bytes())
                .chain(self.block.to_be_bytes())
                .chain(self.max_bytes.to_be_bytes())
                .chain(self.max_discard.to_be_bytes())
                .chain(self.depth.to_be_bytes())
                .chain([0, 0])
                .chain(self.inline.to_be_bytes())
                .chain(self.alive_ms.to_be_bytes()),
        )
    }

    /// Decodes a server's private data. Bytes after [`Extras::END`] are ignored.
    ///
    /// # Errors
    ///
    /// What is wrong with it, as the answer to a disk or tap.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, PrivateDataError> {
        let (test, mut fields) = open(bytes, PeerRole::Server, Test::is_block)?;
        let flags = u32::from_be_bytes(fields.take());
        let known = match test == Test::Tap {
            true => Self::READ_ONLY | Self::LOG_ONLY,
            false => Self::READ_ONLY,
        };
        if flags & !known != 0 {
            return Err(PrivateDataError::Flags(flags & !known));
        }
        let size = u64::from_be_bytes(fields.take());
        let store = u64::from_be_bytes(fields.take());
        let block = u32::from_be_bytes(fields.take());
        let max_bytes = u32::from_be_bytes(fields.take());
        let max_discard = u32::from_be_bytes(fields.take());
        let depth = u16::from_be_bytes(fields.take());
        let reserved = u16::from_be_bytes(fields.take());
        let geometry = Self {
            test,
            read_only: flags & Self::READ_ONLY != 0,
            log_only: flags & Self::LOG_ONLY != 0,
            size,
            store,
            block,
            max_bytes,
            max_discard,
            depth,
            inline: u32::from_be_bytes(fields.take()),
            alive_ms: u32::from_be_bytes(fields.take()),
            extras: Extras::decode(bytes),
        };
        if reserved != 0 || fields.take() != [0; 4] {
            return Err(PrivateDataError::Reserved);
        }
        geometry.check()?;
        Ok(geometry)
    }

    /// Checks that each number is one that a disk can have.
    fn check(&self) -> Result<(), PrivateDataError> {
        let block = self.block;
        let in_blocks = |bytes: u64| bytes.checked_rem(block.into()) == Some(0);
        in_range(&[
            (
                "block",
                Self::BLOCK.contains(&block) && block.is_power_of_two(),
            ),
            (
                "size",
                (1..=limits::MOST_BYTES).contains(&self.size) && in_blocks(self.size),
            ),
            (
                "max_bytes",
                self.max_bytes >= Hello::LEAST_BYTES && in_blocks(self.max_bytes.into()),
            ),
            ("max_discard", in_blocks(self.max_discard.into())),
            ("depth", limits::DEPTH.contains(&self.depth.into())),
            (
                "inline",
                self.inline <= crate::logic::block::Request::INLINE,
            ),
            ("alive_ms", limits::ALIVE_MS.contains(&self.alive_ms.into())),
        ])?;
        self.extras.topology.check(block)
    }

    /// Checks that a disk is not given more than `asked`, which its buffers and
    /// registrations are made for.
    ///
    /// # Errors
    ///
    /// The field that is beyond it.
    pub(crate) fn keeps_to(&self, asked: &Hello) -> Result<(), PrivateDataError> {
        in_range(&[("max_bytes", self.max_bytes <= asked.max_bytes)])
    }

    /// Returns the limits of requests.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            size: self.size,
            block: self.block,
            max_bytes: self.max_bytes,
            max_discard: self.max_discard,
            read_only: self.read_only,
        }
    }

    /// Returns the reason why a disk that began as `self` cannot go on as `other`; `None` where it
    /// can.
    pub(crate) fn continues(&self, other: &Self) -> Option<&'static str> {
        if self.store != other.store {
            Some("it is another store")
        } else if self.size != other.size {
            Some("its size is another one")
        } else if self.block != other.block {
            Some("its blocks have another size")
        } else if self.read_only != other.read_only {
            Some("whether it can be written to has changed")
        } else if other.extras.volatile && !self.extras.volatile {
            Some("it has a volatile cache now, which the disk does not flush")
        } else if other.depth < self.depth
            || other.max_bytes < self.max_bytes
            || other.max_discard < self.max_discard
        {
            Some("it takes fewer or smaller requests")
        } else {
            None
        }
    }
}

/// Returns the beginning of the private data of a disk or tap.
fn head(role: PeerRole, test: Test, flags: u32) -> [u8; 12] {
    let [m, a, g, i] = PrivateData::MAGIC;
    let [f0, f1, f2, f3] = flags.to_be_bytes();
    let (role, test) = (role.number(), PrivateData::number(test));
    [
        m,
        a,
        g,
        i,
        PrivateData::VERSION,
        role,
        test,
        0,
        f0,
        f1,
        f2,
        f3,
    ]
}

/// Reads the beginning of private data with a layout of its own, of a test that `fits`: the test,
/// and the fields behind the first eight bytes.
///
/// # Errors
///
/// The reason why there is no such beginning.
pub(crate) fn open(
    bytes: &[u8],
    from: PeerRole,
    fits: impl FnOnce(Test) -> bool,
) -> Result<(Test, Fields<'_>), PrivateDataError> {
    let bytes = PrivateData::whole(bytes)?.ok_or(PrivateDataError::Missing)?;
    let mut fields = Fields(bytes);
    let [_, _, _, _, _, role, test, reserved] = fields.take();
    if PeerRole::of_number(role)? != from {
        return Err(PrivateDataError::Side);
    }
    let test = PrivateData::test(test)?;
    if !fits(test) {
        return Err(PrivateDataError::OtherTest(test));
    }
    if reserved != 0 {
        return Err(PrivateDataError::Reserved);
    }
    Ok((test, fields))
}

/// Checks fields by name.
///
/// # Errors
///
/// [`PrivateDataError::Range`] with the first one whose check does not hold.
pub(crate) fn in_range(checks: &[(&'static str, bool)]) -> Result<(), PrivateDataError> {
    match checks.iter().find(|(_, holds)| !holds) {
        None => Ok(()),
        Some((name, _)) => Err(PrivateDataError::Range(name)),
    }
}
