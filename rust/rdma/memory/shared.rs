// SPDX-License-Identifier: GPL-2.0

//! Receives and a completion queue that the queue pair of a memory shares with others.

use super::{
    BufferId,
    ForeignMemory,
    Memory, //
};
use crate::rdma::{
    cq::CompletionQueue,
    srq::SharedReceiveQueue, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
impl<F: ForeignMemory> Memory<F> {
    /// Makes the receives of its queue pair those of `queue`. Work requests can name buffers of
    /// that from then on as if they were its own.
    ///
    /// # Errors
    ///
    /// `EXDEV` where `queue` is in another protection domain: drivers differ in which of the two
    /// domains they look for the keys of receives.
    pub(crate) fn share(&mut self, queue: Arc<SharedReceiveQueue>) -> Result {
        if !Arc::ptr_eq(&self.pd, queue.memory().pd()) {
            return Err(EXDEV);
        }
        self.shared = Some(queue);
        Ok(())
    }

    /// Returns the shared receive queue of its queue pair, if it has one.
    pub(crate) fn shared(&self) -> Option<&Arc<SharedReceiveQueue>> {
        self.shared.as_ref()
    }

    /// Makes the completion queue of its queue pair `queue`, which is
    /// [shared](CompletionQueue::shared).
    ///
    /// # Errors
    ///
    /// `EXDEV` where `queue` is on another device.
    pub(crate) fn complete_to(&mut self, queue: Arc<CompletionQueue>) -> Result {
        if !queue.id().device()?.is(&self.id.device()?) {
            return Err(EXDEV);
        }
        self.completions = Some(queue);
        Ok(())
    }

    /// Sets the bytes that a request of its queue pair can hold itself.
    pub(in crate::rdma) fn set_inline(&mut self, bytes: u32) {
        self.inline = bytes;
    }

    /// Returns the completion queue that its queue pair shares, if it does.
    pub(crate) fn completions(&self) -> Option<&Arc<CompletionQueue>> {
        self.completions.as_ref()
    }

    /// Copies `len` bytes that have arrived in receive number `receive` of the shared receive queue
    /// to the beginning of a buffer. For the handler of its completion; any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is no such receive, or either has less room.
    pub(crate) fn copy_shared(&self, receive: u32, buffer: BufferId, len: usize) -> Result {
        let to = self.buffer(buffer)?;
        let queue = self.shared.as_ref().ok_or(EINVAL)?;
        queue.copy(receive, &to.memory, len)?;
        to.sync_for_device(0, len)
    }
}
