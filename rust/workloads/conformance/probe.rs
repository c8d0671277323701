// SPDX-License-Identifier: GPL-2.0

//! Requests that try what a device does.
//!
//! A key may be any number, and a region in any state: the worst that a device may make of it is
//! an error. Local memory is always the queue pair's own.

#![forbid(unsafe_code)]

use super::recorder::Recorder;
use crate::{
    engine::tag::{
        Layout,
        Tag, //
    },
    kernel_ext::blk::request::Request,
    logic::{
        failure::Operation,
        wire::Advertisement, //
    },
    mr::{
        Access,
        RegionId, //
    },
    rdma::{
        qp::Queue,
        wr::{
            atomic::{
                Atomic,
                AtomicOp, //
            },
            Local,
            WorkRequest, //
        }, //
    }, //
};
use kernel::prelude::*;

/// Immediate data of requests.
pub(super) const IMMEDIATE: u32 = 0x6b72_7069;

/// The manner in which a request is posted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// It asks for a completion where it succeeds.
    pub(super) signaled: bool,
    /// The bits that are changed in the key of its local memory.
    pub(super) flipped: u32,
}

impl Manner {
    /// It completes, and its key is right.
    pub(super) const PLAIN: Self = Self {
        signaled: true,
        flipped: 0,
    };
}

/// One request that may be wrong.
#[derive(Clone, Copy, Debug)]
pub(super) enum Probe {
    /// SEND, or SEND_WITH_INV of any key.
    Send {
        /// The message.
        local: Local,
        /// The key that its arrival is to invalidate.
        invalidate: Option<u32>,
        /// It waits for the READs before it.
        fence: bool,
    },
    /// SEND that raises an event at a peer which waits for those of solicited messages.
    Solicited {
        /// The message.
        local: Local,
    },
    /// SEND with immediate data.
    SendImmediate {
        /// The message.
        local: Local,
    },
    /// RDMA WRITE with immediate data to any place.
    WriteImmediate {
        /// The data.
        local: Local,
        /// The memory that is said to be the peer's.
        remote: Advertisement,
    },
    /// RDMA WRITE to any place.
    Write {
        /// The data.
        local: Local,
        /// The memory that is said to be the peer's.
        remote: Advertisement,
    },
    /// RDMA READ from any place.
    Read {
        /// The place of the data.
        local: Local,
        /// The memory that is said to be the peer's.
        remote: Advertisement,
    },
    /// An atomic operation.
    Atomic {
        /// The operation.
        op: AtomicOp,
        /// The place of the old value, 8 bytes.
        local: Local,
        /// The memory that is said to be the peer's.
        remote: Advertisement,
    },
    /// REG_MR, whatever state the region is in, with the key that it has.
    Register {
        /// The region.
        region: RegionId,
        /// The operations that the key permits.
        access: Access,
    },
    /// LOCAL_INV, whatever state the region is in.
    Invalidate {
        /// The region.
        region: RegionId,
    },
}

impl Probe {
    /// Returns the operation that its completion is to name.
    pub(super) fn operation(&self) -> Operation {
        match self {
            Self::Send { .. } | Self::Solicited { .. } | Self::SendImmediate { .. } => {
                Operation::Send
            }
            Self::Write { .. } | Self::WriteImmediate { .. } => Operation::Write,
            Self::Read { .. } => Operation::Read,
            Self::Atomic { .. } => Operation::Atomic,
            Self::Register { .. } => Operation::Register,
            Self::Invalidate { .. } => Operation::Invalidate,
        }
    }

    /// Posts the request as number `slot`, in this manner.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a slot that there is not, an operand outside its buffer, or a region that is
    /// not over a buffer; the device's error, `ENOMEM` where the queue is full.
    pub(super) fn post(
        &self,
        queue: &mut Queue<'_, Tag, Request>,
        slot: usize,
        Manner { signaled, flipped }: Manner,
    ) -> Result {
        const LAYOUT: Layout = Layout::new(Recorder::OPERATIONS);
        let request = match *self {
            Self::Send {
                local,
                invalidate,
                fence,
            } => WorkRequest::Send {
                local,
                invalidate,
                fence,
                signaled,
                solicited: false,
            },
            Self::Solicited { local } => WorkRequest::Send {
                local,
                invalidate: None,
                fence: false,
                signaled,
                solicited: true,
            },
            Self::SendImmediate { local } => WorkRequest::SendImmediate {
                parts: (local, None),
                immediate: IMMEDIATE,
                signaled,
            },
            Self::WriteImmediate { local, remote } => WorkRequest::WriteImmediate {
                parts: (local.len > 0).then_some((local, None)),
                remote: remote.into(),
                immediate: IMMEDIATE,
                signaled,
            },
            Self::Write { local, remote } => WorkRequest::Write {
                local,
                remote: remote.into(),
                signaled,
            },
            Self::Read { local, remote } => WorkRequest::Read {
                local,
                remote: remote.into(),
                invalidate_local: false,
                signaled,
            },
            Self::Register { region, access } => WorkRequest::Register {
                region,
                access,
                renew_key: false,
                signaled,
            },
            Self::Invalidate { region } => WorkRequest::Invalidate {
                region,
                fence: false,
                signaled,
            },
            Self::Atomic { op, local, remote } => {
                let atomic = Atomic {
                    op,
                    local,
                    remote: remote.into(),
                    signaled,
                    flipped,
                };
                return queue.post_atomic(LAYOUT.entry(Operation::Atomic, slot), &atomic);
            }
        };
        queue.post_unchecked(LAYOUT.entry(self.operation(), slot), request, flipped)
    }
}
