// SPDX-License-Identifier: GPL-2.0

//! The requests of a hardware queue on their way to the server: where they are put
//! together, and how far the send queue has got.
//!
//! SENDs do not complete one by one. That the server answered means that it has the
//! request; should this side's device repeat the SEND all the same, the server's
//! device knows it for a repetition and drops what it says, so the message may be
//! overwritten as soon as the answer is there.

#![forbid(unsafe_code)]

use crate::{
    engine::traffic::Traffic,
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
    rdma::{
        qp::Queue,
        wr::{
            List,
            Local,
            WorkRequest, //
        }, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Messages in one buffer.
const GROUP: usize = 64;

/// Bytes of a message: a request, and the data of a small write.
const MESSAGE: usize = (block::Request::LEN + block::Request::INLINE as usize).next_multiple_of(64);

/// Every so many SENDs one completes.
const SIGNAL_EVERY: u32 = 16;

/// Lists that always have room, for what is about the connection: there is one under way
/// at a time, beside those that were answered and whose completion has not been asked for.
const CONTROL: u32 = 1 + SIGNAL_EVERY;

/// Requests to the send queue for each request to the disk: its registration, its SEND.
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
    /// Allocates the messages of tags 0 to `depth`, of which the last is for control.
    /// May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(memory: &mut Memory, depth: u16, traffic: Arc<Traffic>) -> Result<Self> {
        let mut groups = KVec::new();
        for _ in 0..=usize::from(depth).div_euclid(GROUP) {
            groups.push(memory.add_shared(GROUP.wrapping_mul(MESSAGE))?, GFP_KERNEL)?;
        }
        Ok(Self {
            groups,
            window: Window::new(
                Self::lists(depth).saturating_sub(CONTROL),
                1,
                SIGNAL_EVERY,
                None,
            ),
            traffic,
        })
    }

    /// Lists that the send queue has room for: one for each request, [`CONTROL`],
    /// and those that nobody has asked a completion for yet.
    fn lists(depth: u16) -> u32 {
        u32::from(depth)
            .saturating_add(CONTROL)
            .saturating_add(2 * SIGNAL_EVERY)
    }

    /// How many requests the send queue must hold.
    pub(super) fn requests(depth: u16) -> u32 {
        Self::lists(depth).saturating_mul(LIST)
    }

    /// Whether another request can be sent, and what is about the connection after it.
    pub(super) fn has_room(&self) -> bool {
        self.window.room() > 0
    }

    /// Takes the completion of a SEND.
    pub(super) fn completed(&mut self) {
        self.window.completed();
    }

    /// Posts a write whose message is nothing but the data of `request`.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
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

    /// Puts `message` together, with the data of `inline`, and posts it after `list`.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a tag that is none; what the device says.
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
            control: false,
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

    /// Where the message of a tag is.
    fn place(&self, message: &block::Request) -> Result<(&Group, usize)> {
        let tag = usize::from(message.tag);
        let group = self.groups.get(tag.div_euclid(GROUP)).ok_or(EINVAL)?;
        Ok((group, tag.rem_euclid(GROUP).wrapping_mul(MESSAGE)))
    }
}

/// Copies what `request` writes to `skip` bytes behind `place`.
fn copy(
    queue: &Queue<'_>,
    place: (&Group, usize),
    skip: usize,
    request: &Request,
) -> Result<Local> {
    let ((buffer, memory), offset) = place;
    let (at, len) = (offset.saturating_add(skip), request.bytes());
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
