// SPDX-License-Identifier: GPL-2.0

//! Direct writes of a side, and the mappings that they need.

#![forbid(unsafe_code)]

use super::Flow;
use crate::{
    engine::queue::Queue,
    kernel_ext::time::monotonic_ns,
    logic::{
        failure::Failure,
        stream::immediate::Message, //
    },
    workloads::exchange::memory_failed, //
};

/// The mapping of the memory that a side opens.
const MAPPING: u16 = 0;

impl Flow {
    /// Fills the memory that is sent from.
    pub(in crate::workloads::stream) fn prepare(
        &self,
        queue: &mut Queue<'_>,
    ) -> Result<(), Failure> {
        self.buffers.fill_content(queue)?;
        self.direct
            .as_ref()
            .map_or(Ok(()), |direct| direct.prepare(queue))
    }

    /// Checks that the peer has opened the memory that this side writes to directly, if it does.
    ///
    /// # Errors
    ///
    /// [`Failure::Stream`] where it has not.
    pub(in crate::workloads::stream) fn check_peer(&self) -> Result<(), Failure> {
        let mappings = &self.endpoint.mappings;
        self.direct
            .as_ref()
            .map_or(Ok(()), |direct| direct.check_peer(mappings))
    }

    /// Takes a mapping of the peer, which has written it to the list of this side.
    pub(super) fn mapped(&mut self, queue: &mut Queue<'_>, index: u16) -> Result<(), Failure> {
        let entry = self.buffers.mapping(queue, index).map_err(memory_failed)?;
        self.endpoint.mapped(index, &entry).map_err(Failure::Stream)
    }

    /// Tells the peer of the memory that this side opens. Returns true where it has been told, or
    /// this side opens none.
    pub(in crate::workloads::stream) fn tell(
        &mut self,
        queue: &mut Queue<'_>,
    ) -> Result<bool, Failure> {
        let Some(direct) = &mut self.direct else {
            return Ok(true);
        };
        if direct.told {
            return Ok(true);
        }
        let mapping = direct.mapping(queue.memory()).map_err(memory_failed)?;
        let asked = self.endpoint.map(MAPPING).map_err(Failure::Stream)?;
        let Ok(Some(write)) = asked else {
            return Ok(false);
        };
        direct.told = true;
        let bytes = self.endpoint.mapping(&mapping);
        let parts = self
            .buffers
            .outgoing_mapping(queue, &bytes)
            .map_err(memory_failed)?;
        self.post(queue, Message::Mapped(MAPPING), parts, &write)?;
        Ok(true)
    }

    /// Writes bytes directly of a write that has `left` bytes left, and returns their number; 0
    /// where that has to wait.
    pub(in crate::workloads::stream) fn write_direct(
        &mut self,
        queue: &mut Queue<'_>,
        left: u32,
    ) -> Result<u32, Failure> {
        let Some(direct) = &self.direct else {
            return Ok(0);
        };
        let offset = direct.offset(left);
        let write = match self.endpoint.write_direct(offset, left) {
            Ok(Some(write)) => write,
            Ok(None) => return Ok(0),
            Err(stall) => {
                self.stalls(stall, monotonic_ns());
                return Ok(0);
            }
        };
        let request = direct.write(offset, &write.remote);
        if self.stalled.is_some() {
            self.goes_on(monotonic_ns());
        }
        let slot = self.slot(write.mark)?;
        queue.post_for(slot, &[request])?;
        let len = write.remote.len;
        self.traffic.written(len);
        self.figures.direct_bytes = self.figures.direct_bytes.wrapping_add(len.into());
        self.figures.direct_writes = self.figures.direct_writes.wrapping_add(1);
        Ok(len)
    }

    /// Takes the peer's direct write in turn, if it has come.
    pub(in crate::workloads::stream) fn take_direct(
        &mut self,
        queue: &Queue<'_>,
    ) -> Result<bool, Failure> {
        let Some(direct) = &mut self.direct else {
            return Ok(false);
        };
        if !direct.take(queue)? {
            return Ok(false);
        }
        let (size, compares) = (direct.size(), direct.compares());
        if compares {
            self.traffic.validated(size);
        }
        self.came(size);
        Ok(true)
    }

    /// Compares all that the peer's direct writes have left, when those that take no turns have
    /// ended.
    ///
    /// # Errors
    ///
    /// [`Failure::Mismatch`].
    pub(in crate::workloads::stream) fn check_direct(
        &self,
        queue: &Queue<'_>,
    ) -> Result<(), Failure> {
        if let Some(direct) = self.direct.as_ref().filter(|direct| direct.compares()) {
            direct.check(queue)?;
            self.traffic.validated(direct.size());
        }
        Ok(())
    }
}
