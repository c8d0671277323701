// SPDX-License-Identifier: GPL-2.0

//! Memory of a side that its peer writes to directly, and direct writes to the peer's.
//!
//! The bytes of a direct write leave from where they lie. Nothing tells the peer of one: a side
//! that waits for it looks at the last byte. The order in which a device stores the bytes is not
//! defined, so a side that compares waits for the others, too.

#![forbid(unsafe_code)]

use super::{
    memory::{
        compare,
        fill,
        Opened, //
    },
    message::remote, //
};
use crate::{
    engine::queue::Queue,
    kernel_ext::time::Deadline,
    logic::{
        command::Command,
        failure::Failure,
        stream::{
            iomap::{
                Mapping,
                Mappings, //
            },
            receiver::Piece,
            turns::Turns,
            violation::Violation,
            Segment, //
        }, //
    },
    mr::{
        BufferId,
        Memory, //
    },
    rdma::wr::{
        Local,
        WorkRequest, //
    },
    workloads::exchange::memory_failed, //
};
use kernel::prelude::*;

/// The offset that either side maps its memory at.
const OFFSET: u64 = 0;

/// The longest time from the last byte of a direct write to all others, in milliseconds. What
/// differs after that is wrong, not late.
const WHOLE_MS: u32 = 1000;

/// Both memories of a side.
pub(super) struct Direct {
    /// The memory that the peer writes to.
    target: Opened,
    /// The memory that this side writes from.
    source: BufferId,
    size: u32,
    turns: Turns,
    /// Compares what comes, and has ever new bytes to send.
    validate: bool,
    /// The last byte of the next write has come, and all others have to by then.
    whole_by: Option<Deadline>,
    /// The peer was told of the memory that it writes to.
    pub(super) told: bool,
}

impl Direct {
    /// Adds both memories to `memory`, as the command asks for; `None` where it does not. May
    /// sleep.
    pub(super) fn new(command: &Command, memory: &mut Memory) -> Result<Option<Self>> {
        if !command.stream.iomap {
            return Ok(None);
        }
        let all = command.unsafe_global_rkey;
        Ok(Some(Self {
            target: Opened::new(memory, command.size as usize, all)?,
            source: memory.add_buffer(command.size as usize)?,
            size: command.size,
            turns: Turns::new(command.size),
            validate: command.validate,
            whole_by: None,
            told: false,
        }))
    }

    /// Returns the bytes of a direct write.
    pub(super) fn size(&self) -> u32 {
        self.size
    }

    /// Posts the registration that makes the key of the target valid, and returns the number of
    /// such.
    pub(super) fn register(&self, queue: &mut Queue<'_>) -> Result<u16, Failure> {
        self.target.register(queue)
    }

    /// Returns the mapping that the peer is told of.
    pub(super) fn mapping(&self, memory: &Memory) -> Result<Mapping> {
        Ok(Mapping {
            offset: OFFSET,
            memory: self.target.segment(memory)?,
        })
    }

    /// Fills the memory to write from, and marks the target as not written.
    pub(super) fn prepare(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        fill(queue, self.source, self.size, 0)?;
        let last = self.turns.content() as usize;
        queue
            .write(self.target.buffer, last, &[Turns::BEFORE])
            .map_err(memory_failed)
    }

    /// Makes the bytes of this side's next write in turn.
    pub(super) fn make(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        let last = self.turns.content();
        if self.validate {
            fill(queue, self.source, last, self.turns.position())?;
        }
        queue
            .write(self.source, last as usize, &[self.turns.mark()])
            .map_err(memory_failed)?;
        self.turns.pass();
        Ok(())
    }

    /// Takes the peer's next write in turn, where all of it has come. Returns true where it has.
    ///
    /// # Errors
    ///
    /// [`Failure::Mismatch`] where its bytes are compared, and [`WHOLE_MS`] after the last of them
    /// are not those of its side.
    pub(super) fn take(&mut self, queue: &Queue<'_>) -> Result<bool, Failure> {
        let last = self.turns.content();
        let mut mark = [0];
        queue
            .memory()
            .read(self.target.buffer, last as usize, &mut mark)
            .map_err(memory_failed)?;
        if mark != [self.turns.mark()] {
            return Ok(false);
        }
        if self.validate {
            let whole_by = *self
                .whole_by
                .get_or_insert_with(|| Deadline::after_ms(WHOLE_MS));
            let may_be_late = !whole_by.passed();
            match self.compare(queue, last, self.turns.position()) {
                Err(Failure::Mismatch(_)) if may_be_late => return Ok(false),
                compared => compared?,
            }
            self.whole_by = None;
        }
        self.turns.pass();
        Ok(true)
    }

    /// Returns true where what comes is compared.
    pub(super) fn compares(&self) -> bool {
        self.validate
    }

    /// Compares all of the target, when writes that take no turns have ended.
    ///
    /// # Errors
    ///
    /// As of [`take`](Self::take).
    pub(super) fn check(&self, queue: &Queue<'_>) -> Result<(), Failure> {
        self.compare(queue, self.size, 0)
    }

    fn compare(&self, queue: &Queue<'_>, len: u32, position: u64) -> Result<(), Failure> {
        let all = Piece { offset: 0, len };
        let number = self.turns.number();
        compare(queue, self.target.buffer, all, position, number)
    }

    /// Checks that the peer has mapped as much memory as this side writes to.
    ///
    /// # Errors
    ///
    /// [`Violation::Unmapped`].
    pub(super) fn check_peer(&self, mappings: &Mappings) -> Result<(), Failure> {
        let found = mappings.find(OFFSET, self.size);
        match found.map_or(0, |part| part.len) {
            len if len == self.size => Ok(()),
            len => Err(Failure::Stream(Violation::Unmapped(len, self.size))),
        }
    }

    /// Returns the offset that the byte has of which `left` are left to write.
    pub(super) fn offset(&self, left: u32) -> u64 {
        OFFSET + u64::from(self.size.saturating_sub(left))
    }

    /// Returns the request that writes from `offset` on to `remote`, of so many bytes.
    pub(super) fn write(&self, offset: u64, remote: &Segment) -> WorkRequest {
        WorkRequest::Write {
            local: Local {
                buffer: self.source,
                // It is below `size`.
                offset: offset.saturating_sub(OFFSET) as u32,
                len: remote.len,
                region: None,
            },
            remote: self::remote(remote),
            signaled: true,
        }
    }
}
