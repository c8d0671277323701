// SPDX-License-Identifier: GPL-2.0

//! Sending of a hardware queue's requests: the message buffers, and the progress of the send
//! queue.
//!
//! SENDs do not complete one by one. An answer from the server means that it has the request. If
//! this side's device retransmits the SEND all the same, the server's device recognises the
//! duplicate and drops its contents. So the message may be overwritten as soon as the answer has
//! arrived.

#![forbid(unsafe_code)]

use crate::{
    engine::{
        queue::Queue,
        traffic::Traffic, //
    },
    kernel_ext::{
        blk::request::Request,
        pages::Contiguous, //
    },
    logic::{
        block,
        failure::Failure,
        measure::window::Window, //
    },
    mr::{
        BufferId,
        Memory, //
    },
    rdma::wr::{
        List,
        Local,
        WorkRequest, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Number of messages per buffer.
const GROUP: usize = 64;

/// Bytes per message: a request, and the data of a small write.
const MESSAGE: usize = (block::Request::LEN + block::Request::INLINE as usize).next_multiple_of(64);

/// Number of SENDs per requested completion.
const SIGNAL_EVERY: u32 = 16;

/// Number of lists reserved for control messages: one is under way at a time, beside those that
/// were answered and for which no completion was requested yet.
const CONTROL: u32 = 1 + SIGNAL_EVERY;

/// Work requests per disk request: its registration and its SEND.
const LIST: u32 = 2;

/// Messages that share a buffer.
type Group = (BufferId, Arc<Contiguous>);

/// The messages of a hardware queue, one for each tag.
pub(super) struct Sender {
    groups: KVec<Group>,
    window: Window,
    traffic: Arc<Traffic>,
}

impl Sender {
    /// Allocates the messages of tags 0 to `depth`, the last of which is for control messages.
    /// May sleep.
    pub(super) fn new(memory: &mut Memory, depth: u16, traffic: Arc<Traffic>) -> Result<Self> {
        let mut groups = KVec::new();
        for _ in 0..=usize::from(depth) / GROUP {
            groups.push(memory.add_shared(GROUP * MESSAGE)?, GFP_KERNEL)?;
        }
        Ok(Self {
            groups,
            window: Window::new(Self::lists(depth) - CONTROL, 1, SIGNAL_EVERY, None),
            traffic,
        })
    }

    /// Returns the number of lists that the send queue has room for: one per request,
    /// [`CONTROL`], and those that no completion has been asked for yet.
    fn lists(depth: u16) -> u32 {
        u32::from(depth) + CONTROL + 2 * SIGNAL_EVERY
    }

    /// Returns the number of work requests that the send queue must hold.
    pub(super) fn requests(depth: u16) -> u32 {
        Self::lists(depth) * LIST
    }

    /// Returns true if another request can be sent, with room left for a control message.
    pub(super) fn has_room(&self) -> bool {
        self.window.room() > 0
    }

    /// Handles the completion of a SEND.
    pub(super) fn completed(&mut self) {
        self.window.completed();
    }

    /// Posts a bare write: its message is nothing but the data of `request`.
    pub(super) fn send_bare(
        &mut self,
        queue: &mut Queue<'_>,
        message: &block::Request,
        immediate: u32,
        request: &Request,
    ) -> Result<(), Failure> {
        let local = self
            .place(message)
            .and_then(|place| copy(queue, place, 0, request))
            .map_err(failed)?;
        queue.post(&[WorkRequest::SendImmediate {
            parts: (local, None),
            immediate,
            signaled: self.window.signaled(0),
        }])?;
        self.window.post(1);
        self.traffic.sent(local.len);
        Ok(())
    }

    /// Composes `message` with the data of `inline`, and posts it after `list`.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an invalid tag, or the failure of the device.
    pub(super) fn send(
        &mut self,
        queue: &mut Queue<'_>,
        message: &block::Request,
        inline: Option<&Request>,
        list: &mut List,
    ) -> Result<(), Failure> {
        let local = self.compose(queue, message, inline).map_err(failed)?;
        list.push(WorkRequest::Send {
            local,
            invalidate: None,
            fence: false,
            signaled: self.window.signaled(0),
            solicited: false,
        });
        queue.post(list.as_slice())?;
        self.window.post(1);
        self.traffic.sent(local.len);
        Ok(())
    }

    fn compose(
        &self,
        queue: &mut Queue<'_>,
        message: &block::Request,
        inline: Option<&Request>,
    ) -> Result<Local> {
        let place = self.place(message)?;
        let (&(buffer, _), offset) = place;
        queue.write(buffer, offset, &message.encode())?;
        let len = block::Request::LEN as u32;
        let data = match inline {
            Some(request) => copy(queue, place, block::Request::LEN, request)?.len,
            None => 0,
        };
        Ok(Local {
            buffer,
            offset: offset as u32,
            len: len.saturating_add(data),
            region: None,
        })
    }

    /// Returns the buffer of a message's tag, and the offset of the message in it.
    fn place(&self, message: &block::Request) -> Result<(&Group, usize)> {
        let tag = usize::from(message.tag);
        let group = self.groups.get(tag / GROUP).ok_or(EINVAL)?;
        Ok((group, tag % GROUP * MESSAGE))
    }
}

/// Copies the data that `request` writes to `skip` bytes behind `place`.
fn copy(
    queue: &Queue<'_>,
    place: (&Group, usize),
    skip: usize,
    request: &Request,
) -> Result<Local> {
    let ((buffer, memory), offset) = place;
    let (at, len) = (offset + skip, request.bytes());
    request.copy_to(memory, at)?;
    queue.memory().sync_for_device(*buffer, at, len as usize)?;
    Ok(Local {
        buffer: *buffer,
        offset: at as u32,
        len,
        region: None,
    })
}

fn failed(error: Error) -> Failure {
    Failure::Kernel("putting a request together", error.to_errno())
}
