// SPDX-License-Identifier: GPL-2.0

//! What a disk's hardware queue says about its connection: keepalives, and the end.

#![forbid(unsafe_code)]

use super::{
    DiskQueue,
    Slot, //
};
use crate::{
    kernel_ext::time::monotonic_ns,
    logic::{
        block::{
            self,
            Action, //
        },
        failure::Failure,
        wire::Advertisement, //
    },
    rdma::{
        qp::Queue,
        wr::List, //
    }, //
};

impl DiskQueue {
    /// Sends a keepalive, unless the last one has not been answered yet.
    ///
    /// # Errors
    ///
    /// [`Failure::TimedOut`] where that has not been, nor anything else, for `timeout` ms, or
    /// where a request has neither been answered nor worked on for so long; what the device
    /// says.
    pub(crate) fn ping(&mut self, queue: &mut Queue<'_>, timeout: u32) -> Result<(), Failure> {
        let timeout_ns = u64::from(timeout).saturating_mul(1_000_000);
        let Some((_, _, sent)) = self.control else {
            // What was sent after the keepalive counts as seen since.
            let is_lost = |(slot, _): &(Slot, _)| {
                slot.is_taken() && self.kept_ns.saturating_sub(slot.seen_ns) > timeout_ns
            };
            if self.slots.iter().any(is_lost) {
                return Err(Failure::TimedOut(
                    "waiting for the server's answer to a request",
                    timeout,
                ));
            }
            let action = if self.surveys {
                Action::Survey
            } else {
                Action::Ping
            };
            return self.control(queue, action);
        };
        let waited = monotonic_ns().saturating_sub(sent.max(self.heard_ns));
        if waited > timeout_ns {
            return Err(Failure::TimedOut(
                "waiting for the server's answer to a keepalive",
                timeout,
            ));
        }
        Ok(())
    }

    /// Tells the server that this disk is done with it; its answer finishes the
    /// outcome. Where a keepalive is under way, that is answered before.
    ///
    /// # Errors
    ///
    /// What the device says.
    pub(crate) fn close(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if self.control.is_some() {
            self.closing = true;
            return Ok(());
        }
        self.control(queue, Action::Close)
    }

    /// Sends what is about the connection, for which the send queue has room: there is one
    /// at a time.
    pub(super) fn control(&mut self, queue: &mut Queue<'_>, action: Action) -> Result<(), Failure> {
        self.seq = self.seq.wrapping_add(1).max(1);
        let tag = self.slots.len();
        let message = block::Request {
            action,
            fua: false,
            inline: false,
            keep: false,
            keep_space: false,
            tag: tag as u16,
            seq: self.seq,
            offset: 0,
            remote: Advertisement::nowhere(0),
        };
        self.control = Some((action, self.seq, monotonic_ns()));
        self.sender.send(queue, &message, None, &mut List::new())
    }
}
