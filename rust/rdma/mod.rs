// SPDX-License-Identifier: GPL-2.0

//! RDMA: the verbs of the kernel and its connection manager.
//!
//! This is a library for consumers of the verbs ("ULPs"). It owns C objects, checks what can be
//! checked before a device sees it, and reports: it prints nothing, waits for nothing but the end
//! of what it destroys, and has no opinion on errors. Names are those of the C headers.
//!
//! # Rules of life
//!
//! - A [`cm::Id`] is bound to a device once an address is resolved or a request comes in. As long
//!   as it lives the device stays, so all objects on a device hold an `Arc` of the identifier that
//!   they were made through. The removal of a device waits for the drop of its identifiers, which
//!   [`cm::Event::DeviceRemoval`] asks for.
//! - A [`qp::QueuePair`] owns everything that its requests name: a [`memory::Memory`] of buffers
//!   and regions, its completion entries, its completion queue, and the handler that completions
//!   drive. It is drained and destroyed before any of them.
//! - Buffers and regions are named by ids, which name nothing in another memory. So a request
//!   cannot refer to memory that is gone, and posting is safe.
//! - A region is given back, or mapped over other memory, only while the device does not take its
//!   key as valid. The proof of that is a [`cq::WorkCompletion`], of one registration: no key is
//!   registered twice.
//! - Callbacks of the CM run in its workers, completions in softirqs or in the thread that polls,
//!   asynchronous events in any context. The traits for each say what may be done there.
//!
//! # Types
//!
//! | type | wraps |
//! |---|---|
//! | [`cm::Id`], [`cm::Listener`] | `struct rdma_cm_id` |
//! | [`cm::Membership`] | a `struct rdma_cm_id` that joins a multicast group |
//! | [`cm::GroupAddress`] | `struct rdma_ah_attr` of such a group |
//! | [`cm::Handler`], [`cm::ListenHandler`] | `rdma_cm_event_handler` |
//! | [`device::Device`] | `struct ib_device`, with a port of it |
//! | [`pd::ProtectionDomain`] | `struct ib_pd` |
//! | [`memory::Memory`] | buffers mapped for DMA, and `struct ib_mr` over them |
//! | [`qp::QueuePair`], [`qp::Completions`] | `struct ib_qp` with its `struct ib_cq` |
//! | [`qp::ConnectionAttributes`] | the part of `struct ib_qp_attr` that the CM would negotiate |
//! | [`qp::UnreliableCaps`] | a `struct ib_qp` of type UC or UD beside that of a connection |
//! | [`srq::SharedReceiveQueue`] | `struct ib_srq`, with its buffers |
//! | [`rw::TransferId`], [`rw::Pieces`] | `struct rdma_rw_ctx`, and the memory that it moves |
//! | [`wr::WorkRequest`], [`wr::prepared::PreparedList`] | `struct ib_send_wr` and its kinds |
//! | [`cq::WorkCompletion`] | `struct ib_wc` |
//! | [`event::AsyncEvent`], [`event::EventHandler`] | `struct ib_event` |
//!
//! # Examples
//!
//! `samples/rdma_echo.rs` is a module of its own that uses only this folder and `kernel_ext`. Its
//! connections come about like this:
//!
//! ```ignore
//! let pd = ProtectionDomain::new(&id, GlobalKeys::Local)?;
//! let mut memory: Memory = Memory::new(&id, pd)?;
//! let buffer = memory.add_buffer(4096)?;
//! let queue_pair = QueuePair::new(memory, &caps, PollMode::Event, &tags, events, handler)?;
//! queue_pair.with(|handler, queue| handler.post_receives(queue)).ok_or(ENODEV)??;
//! id.accept(&param)?;
//! ```
//!
//! C headers: `include/rdma/ib_verbs.h`, `include/rdma/rdma_cm.h`

pub(crate) mod cm;
pub(crate) mod cq;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod memory;
pub(crate) mod mr;
pub(crate) mod pd;
pub(crate) mod qp;
pub(crate) mod qp_type;
pub(crate) mod rw;
#[allow(
    dead_code,
    reason = "there are these, whichever the users of the module take"
)]
pub(crate) mod srq;
mod text;
pub(crate) mod wr;
