// SPDX-License-Identifier: GPL-2.0

//! Control messages of a disk's hardware queue: keepalives and the close message.

#![forbid(unsafe_code)]

use super::{
    DiskQueue,
    SentRequest, //
};
use crate::{
    engine::queue::Queue,
    kernel_ext::time::monotonic_ns,
    logic::{
        block::{
            self,
            Action, //
        },
        failure::Failure,
        wire::Advertisement, //
    },
    rdma::wr::List, //
};

impl DiskQueue {
    /// Sends a keepalive, unless the last one has not been answered yet.
    ///
    /// # Errors
    ///
    /// [`Failure::TimedOut`] if that keepalive has not been answered, nor any request, for
    /// `timeout` ms, or if the server has neither answered a request nor reported working on it
    /// for that long.
    pub(crate) fn ping(&mut self, queue: &mut Queue<'_>, timeout: u32) -> Result<(), Failure> {
        let timeout_ns = u64::from(timeout).saturating_mul(1_000_000);
        let Some((_, _, sent)) = self.control else {
            // A request sent after the keepalive counts as seen since.
            let is_lost = |(slot, _): &(SentRequest, _)| {
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

    /// Tells the server that this disk is done with it; the server's answer finishes the outcome.
    /// If a keepalive is under way, its answer is awaited first.
    pub(crate) fn close(&mut self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        if self.control.is_some() {
            self.closing = true;
            return Ok(());
        }
        self.control(queue, Action::Close)
    }

    /// Sends a control message. Only one is under way at a time, and the send queue has room for
    /// it.
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
